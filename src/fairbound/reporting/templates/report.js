// What moves on the page. Without it everything is still there to read: the numbers stand in the page as written.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const read = (id) => JSON.parse(find("#" + id).textContent);

  const questions = read("page-data");

  // Choosing a distance: every shown number is a text that the certificate's own number was written as.
  const place = (picture, radius) => {
    const at = (name) => Number(picture.dataset[name]);
    return {
      x: at("left") + (at("right") - at("left")) * radius.x,
      y: at("bottom") - (at("bottom") - at("top")) * radius.y,
    };
  };

  questions.forEach((question, number) => {
    const radii = question.radii;
    const own = (selector) => all(`[data-q="${number}"]${selector}`);
    const slider = own("[type=range]")[0];
    const figure = own(".figure")[0];

    const choose = (index) => {
      const radius = radii[index];
      for (const name of ["rho", "bound", "attained", "grows", "gap", "exact", "found", "leads"]) {
        own(`[data-show="${name}"]`).forEach((place) => { place.textContent = radius[name]; });
      }
      if (slider) {
        slider.value = index;
        slider.setAttribute("aria-valuetext", `rho ${radius.rho}, ${question.side} ${radius.bound}${question.sign}`);
      }
      for (const picture of figure ? all("svg.curve", figure) : []) {
        const { x, y } = place(picture, radius);
        const line = find(".chosen", picture), dot = find(".pick", picture);
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", y);
      }
      own("[data-index]").forEach((row) => row.classList.toggle("on", row.dataset.index === String(index)));
      own("[data-place]").forEach((row) => {
        const [after, change, loss, end, grows] = radius.cells[Number(row.dataset.place)];
        find('[data-cell="after"]', row).textContent = after;
        find('[data-cell="change"]', row).textContent = change;
        if (loss !== null) find('[data-cell="loss"]', row).textContent = loss;
        const move = find("svg.move", row), kind = grows ? "grows" : "shrinks";
        move.setAttribute("class", "move " + kind);
        find(".path", move).setAttribute("x2", end);
        find(".to", move).setAttribute("d", question.arrows[kind]);
        find(".to", move).setAttribute("transform", `translate(${end} 9)`);
        find(".most", row).hidden = Number(row.dataset.place) !== radius.most;
      });
    };

    if (slider) slider.addEventListener("input", () => choose(Number(slider.value)));
    if (!figure) return;

    // Hovering over the curve tells the values of the nearest distance, beside its point; a click chooses it.
    const tip = find(".tip", figure);
    const shareOf = (picture, event) => {
      const box = find(".surface", picture).getBoundingClientRect();
      return (event.clientX - box.left) / box.width;
    };
    const nearest = (share) => radii.reduce((best, radius, index) =>
      Math.abs(radius.x - share) < Math.abs(radii[best].x - share) ? index : best, 0);
    const tell = (picture, event) => {
      const share = shareOf(picture, event), radius = radii[nearest(share)];
      const nothing = share < question.barred;
      tip.textContent = nothing
        ? `nothing to certify below rho = ${question.nearest}`
        : `rho      ${radius.rho}\n${question.side.padEnd(8)} ${radius.bound}${question.sign}\n` +
          `reached  ${radius.attained}${question.sign}`;
      tip.hidden = false;
      const frame = figure.getBoundingClientRect(), drawn = picture.getBoundingClientRect();
      const size = drawn.width / picture.viewBox.baseVal.width;
      const mark = nothing ? null : place(picture, radius);
      const x = mark ? drawn.left - frame.left + mark.x * size : event.clientX - frame.left;
      const y = mark ? drawn.top - frame.top + mark.y * size : event.clientY - frame.top;
      // Where the curve is not: below it on the right, above it on the left; the other way round if it falls.
      const right = x + 16 + tip.offsetWidth <= frame.width;
      const below = right === (question.side === "at most");
      const top = below ? y + 16 : y - 16 - tip.offsetHeight;
      tip.style.left = (right ? x + 16 : Math.max(0, x - 16 - tip.offsetWidth)) + "px";
      tip.style.top = Math.max(0, Math.min(top, frame.height - tip.offsetHeight)) + "px";
    };
    for (const picture of all("svg.curve", figure)) {
      const surface = find(".surface", picture);
      surface.addEventListener("pointermove", (event) => {
        tell(picture, event);
        if (event.buttons === 1) choose(nearest(shareOf(picture, event)));
      });
      surface.addEventListener("pointerleave", () => { tip.hidden = true; });
      surface.addEventListener("pointerdown", (event) => choose(nearest(shareOf(picture, event))));
    }
  });

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

  // On paper nothing can be unfolded: what is short is printed open, long tables stay folded.
  addEventListener("beforeprint", () => all("details[data-print]").forEach((part) => { part.open = true; }));
})();
