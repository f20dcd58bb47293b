// What moves on the page. Without it everything is still there to read: the numbers stand in the page as written.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const read = (id) => JSON.parse(find("#" + id).textContent);

  const page = read("page-data");
  const radii = page.radii;

  // Choosing a radius: every shown number is a text that the certificate's own number was written as.
  const slider = find("#rho");
  const show = (name, text) => all(`[data-show="${name}"]`).forEach((place) => { place.textContent = text; });

  const place = (picture, radius) => {
    const at = (name) => Number(picture.dataset[name]);
    return {
      x: at("left") + (at("right") - at("left")) * radius.x,
      y: at("bottom") - (at("bottom") - at("top")) * radius.y,
    };
  };

  const choose = (index) => {
    const radius = radii[index];
    for (const name of ["rho", "bound", "attained", "gap"]) show(name, radius[name]);
    if (slider) {
      slider.value = index;
      slider.setAttribute("aria-valuetext", `rho ${radius.rho}, bound ${radius.bound}`);
    }
    for (const picture of all("svg.curve")) {
      const { x, y } = place(picture, radius);
      const line = find(".chosen", picture), dot = find(".pick", picture);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
    }
    all("#radii tbody tr").forEach((row) => row.classList.toggle("on", row.dataset.index === String(index)));
    all("#worst tbody tr").forEach((row, cell) => {
      const [after, change, loss, end, grows] = radius.cells[cell];
      find('[data-cell="after"]', row).textContent = after;
      find('[data-cell="change"]', row).textContent = change;
      if (loss !== null) find('[data-cell="loss"]', row).textContent = loss;
      const move = find("svg.move", row), kind = grows ? "grows" : "shrinks";
      move.setAttribute("class", "move " + kind);
      find(".path", move).setAttribute("x2", end);
      find(".to", move).setAttribute("d", page.arrows[kind]);
      find(".to", move).setAttribute("transform", `translate(${end} 9)`);
      find(".most", row).hidden = cell !== radius.most;
    });
  };

  if (slider) slider.addEventListener("input", () => choose(Number(slider.value)));

  // Hovering over the curve tells the values of the nearest radius; a click chooses it.
  const tip = find(".tip");
  const nearest = (picture, event) => {
    const box = find(".surface", picture).getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return radii.reduce((best, radius, index) =>
      Math.abs(radius.x - share) < Math.abs(radii[best].x - share) ? index : best, 0);
  };
  const tell = (picture, event) => {
    const box = find(".surface", picture).getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const frame = picture.parentElement.getBoundingClientRect();
    const radius = radii[nearest(picture, event)];
    tip.textContent = share < page.barred
      ? `nothing to certify below rho = ${page.nearest}`
      : `rho       ${radius.rho}\nbound     ${radius.bound}\nattained  ${radius.attained}\ngap       ${radius.gap}`;
    tip.hidden = false;
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    tip.style.left = Math.max(0, Math.min(x + 14, frame.width - tip.offsetWidth)) + "px";
    tip.style.top = Math.max(0, y - tip.offsetHeight - 12) + "px";
  };
  for (const picture of all("svg.curve")) {
    const surface = find(".surface", picture);
    surface.addEventListener("pointermove", (event) => {
      tell(picture, event);
      if (event.buttons === 1) choose(nearest(picture, event));
    });
    surface.addEventListener("pointerleave", () => { tip.hidden = true; });
    surface.addEventListener("pointerdown", (event) => choose(nearest(picture, event)));
  }

  // The certificate travels compressed; the file that is saved is the one that was checked, to the byte.
  const button = find("#download");
  if (button) button.addEventListener("click", async () => {
    const status = find("#download-status");
    try {
      const packed = Uint8Array.from(atob(find("#certificate").textContent.trim()), (c) => c.charCodeAt(0));
      const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const address = URL.createObjectURL(await new Response(text).blob());
      const link = document.createElement("a");
      link.href = address;
      link.download = "certificate.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      status.textContent = "Saved as certificate.json.";
    } catch {
      status.textContent = "This browser cannot unpack the certificate; ask for the file itself.";
    }
  });

  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
})();
