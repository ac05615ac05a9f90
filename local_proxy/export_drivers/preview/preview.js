// Fills the page of a preview as the document comes, and tells where the reader is.
(() => {
  "use strict";
  const root = document.documentElement, base = root.dataset.base;
  if (window.top !== window.self) {  // a page has this in a frame: it wants the file
    root.classList.add("framed");
    location.replace(base + "file");
    return;
  }
  const sections = [...document.querySelectorAll("section")];
  const levels = new Map();
  const paint = (image) => {
    const number = Number(image.dataset.m), level = levels.get(number);
    if (level && image.dataset.l !== level) {
      image.dataset.l = level;
      image.src = `${base}picture?m=${number}&l=${level}`;
    }
  };
  const fill = (number, keep, html) => {
    const section = sections[number - 1];
    if (!section) return;
    while (section.children.length > keep) section.lastElementChild.remove();
    section.insertAdjacentHTML("beforeend", html);
    section.querySelectorAll("img[data-m]").forEach(paint);
  };
  const hear = (said) => {
    if (said.w) {
      root.style.setProperty("--w", said.w);
      root.style.setProperty("--h", said.h);
    }
    if (said.p) fill(said.p, said.k, said.h);
    if (said.m) {
      said.m.forEach((number) => levels.set(number, said.l));
      document.querySelectorAll("img[data-m]").forEach(paint);
    }
    if (said.s !== undefined) document.getElementById("progress").textContent = said.s;
    if (said.done !== undefined) {
      document.querySelector("#bar div").style.width = `${100 * said.done}%`;
    }
    if (said.end) root.dataset.end = said.end;
  };
  const channel = new EventSource(base + "events");
  channel.onmessage = (event) => hear(JSON.parse(event.data));
  channel.onerror = () => {
    if (channel.readyState === EventSource.CLOSED && !root.dataset.end) {
      document.getElementById("progress").textContent = "The proxy has gone; load the page again.";
    }
  };

  let told = "", timer = 0;
  const inView = (element) => {
    const box = element.getBoundingClientRect();
    return Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  };
  const look = () => {
    timer = 0;
    if (document.hidden) return;
    let page = 1, most = 0;
    sections.forEach((section, at) => {
      const shown = inView(section);
      if (shown > most) [page, most] = [at + 1, shown];
    });
    const pictures = sections.length > 1 ? [] : [...document.querySelectorAll("img[data-m]")]
      .filter((image) => inView(image) > 0).map((image) => Number(image.dataset.m)).slice(0, 64);
    const said = JSON.stringify({p: page, m: [...new Set(pictures)]});
    if (said === told) return;
    told = said;
    fetch(base + "focus", {method: "POST", mode: "no-cors", body: said}).catch(() => {});
  };
  const soon = () => { timer = timer || setTimeout(look, 300); };
  addEventListener("scroll", soon, {passive: true});
  addEventListener("resize", soon);
  document.addEventListener("visibilitychange", () => { told = ""; soon(); });
  new IntersectionObserver(soon, {threshold: [0, 0.5]}).observe(sections[0]);
})();
