// The second checker in the page: it runs in a worker, on the attached certificate or on a file of the reader's.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const find = (selector, within = document) => within.querySelector(selector);
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const unpack = async (id) => {
    const packed = Uint8Array.from(atob(find(id).textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const results = find("#check-results"), attached = find("#certificate");

  // The worker is started when the reader comes near, waits for work, and is kept for the next document.
  let program = null, waiting = null, running = null, latest = null;
  const worker = () => {
    program ??= unpack("#checker").then((code) => URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    waiting ??= program.then((address) => new Worker(address));
    return waiting;
  };
  const near = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    near.disconnect();
    worker().catch(() => { program = waiting = null; }); // the check itself will say so
  }, { rootMargin: "100%" });
  near.observe(find("#here"));

  const run = (bytes, patient, progress) => new Promise((resolve, reject) => {
    const mine = worker();
    const stop = (why) => {
      mine.then((one) => one.terminate(), () => {});
      running = waiting = null;
      reject(new Error(why));
    };
    running = () => stop("it was stopped");
    mine.then((one) => {
      one.onerror = (event) => stop(event.message || "the checker did not start");
      one.onmessage = ({ data }) => {
        if (!data.result) { progress(data); return; }
        running = null;
        resolve(data.result);
      };
      one.postMessage({ bytes, patient });
    }, (error) => stop(error.message));
  });

  // Every number that the page shows of a radius has to be one that the certificate claims.
  const shownElsewhere = (result) => {
    const data = find("#page-data"), shown = data ? JSON.parse(data.textContent) : [];
    const claims = result.questions.map((one) => one.points);
    return !shown.every((question, number) => (claims[number] ?? []).every(({ bound }) =>
      question.radii.some((radius) => Number(radius.exact) === bound)));
  };

  const refute = (why) => {
    root.classList.add("refuted");
    const verdict = find("#verdict");
    if (verdict) { verdict.className = "verdict refused"; verdict.textContent = "\u2717 Refused in this browser"; }
    const note = make("div", undefined, { class: "note bad", role: "alert", id: "refutation" });
    note.append(make("p", `The check in this browser failed: ${why}. Rely on nothing that this page claims.`));
    find("#refutation")?.remove();
    find("main").prepend(note);
  };

  const list = (title, lines) => {
    const part = make("div"), items = make("ul");
    items.append(...lines.map((line) => make("li", line)));
    part.append(make("h3", title), items);
    return part;
  };

  const show = (part, result, whose) => {
    const proved = result.status === 0;
    part.replaceChildren(make("p", whose, { class: "muted" }));
    part.append(make("p", `${proved ? "\u2713" : result.beyond ? "\u2013" : "\u2717"} ${result.verdict}`, { class: `verdict ${proved ? "proved" : "refused"}` }));
    if (result.reason !== null) part.append(make("p", `It says: ${result.reason}.`));
    if (result.about !== null) part.append(make("p", `About the data: ${result.about}.`));
    if (proved) {
      for (const question of result.questions) {
        const table = make("table"), head = make("tr"), body = make("tbody");
        head.append(...["rho", "claimed bound", "proof gives", "worst case reaches"].map((name) => make("th", name, { class: "n" })));
        body.append(...question.points.map((point) => {
          const row = make("tr");
          row.append(...["rho", "bound", "proved", "value"].map((key) => make("td", point[key] === null ? "" : String(point[key]), { class: "n" })));
          return row;
        }));
        const above = make("thead"), wide = make("div", undefined, { class: "wide" });
        above.append(head);
        table.setAttribute("aria-label", question.words);
        table.append(above, body);
        wide.append(table);
        part.append(make("p", question.words), wide);
        if (question.gate) part.append(make("p", `The ${question.gate.words}.`));
      }
      part.append(list("What was checked", result.checked));
    }
    const left = [...result.notes.map((note) => `not seen: ${note}`), ...result.left];
    part.append(list("What was not checked", left));
    if (result.digest !== null) part.append(make("p", `Digest of the statistics: ${result.digest}`, { class: "digest" }));
    if (result.sha256 !== null) part.append(make("p", `SHA-256 of the document: ${result.sha256}`, { class: "digest" }));
  };

  const check = async (bytes, whose, own, patient = false) => {
    if (running) running();
    const part = make("div", undefined, { class: "checked", role: "status" });
    const place = () => { if (latest === part) results.replaceChildren(part); };
    latest = part;
    const soon = setTimeout(place, 100); // most checks have ended by then
    const said = make("p", "Checking ..."), bar = make("progress"), stop = make("button", "Stop", { type: "button" });
    part.append(said, bar, stop);
    stop.addEventListener("click", () => running && running());
    try {
      const result = await run(bytes, patient, ({ done, of }) => {
        said.textContent = `Checking ... ${done} of ${of} radii`;
        bar.max = of;
        bar.value = done;
      });
      show(part, result, whose);
      if (result.unfinished && !patient) {
        const more = make("button", "Take some minutes", { type: "button" });
        more.addEventListener("click", () => check(bytes, whose, own, true));
        part.append(more);
      } else if (own && (result.unfinished || result.beyond)) return; // neither proved nor refused
      else if (own && result.status !== 0) refute(result.reason);
      else if (own && shownElsewhere(result)) refute("the page shows other bounds than the certificate claims");
      else if (own && !root.classList.contains("confirmed")) {
        root.classList.add("confirmed");
        find("#verdict")?.nextElementSibling?.append(", and by a second one, just now, in this browser");
      }
    } catch (error) {
      part.replaceChildren(make("p", `The check could not be run in this browser: ${error.message}. Use fairbound verify, or Node.`));
    } finally {
      clearTimeout(soon);
      place();
    }
  };

  const dropped = async (input) => {
    const file = input.files[0];
    if (!file) return;
    if (file.size > 32000000) { results.replaceChildren(make("p", `${file.name} is too long to be a certificate.`)); return; }
    const whose = `About ${file.name}, which is on this machine and was sent nowhere${attached ? "; it is not about this page" : ""}.`;
    let bytes;
    try { bytes = new Uint8Array(await file.arrayBuffer()); } catch { bytes = null; }
    if (input.value) input.value = ""; // the same file can be chosen again
    if (bytes === null) results.replaceChildren(make("p", `${file.name} cannot be read.`));
    else await check(bytes, whose, false);
  };

  find("#check-here")?.addEventListener("click", async () => check(await unpack("#certificate"), "About the certificate of this page.", true));
  find("#check-file").addEventListener("change", (event) => dropped(event.target));
  addEventListener("dragover", (event) => { event.preventDefault(); root.classList.add("dropping"); });
  addEventListener("dragleave", () => root.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("dropping");
    dropped(event.dataTransfer);
  });
})();
