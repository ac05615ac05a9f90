// Evaluated in a hostile page: all that the page can read of its driver, and what it gets by that.
(async () => {
  const photo = document.images[0].src;
  const page = await (await fetch(location.href)).text();
  const tag = (page.match(/\/\.well-known\/sluice\/driver\.js\?d=\w+/) || [""])[0];
  const said = tag ? await (await fetch(tag)).text() : "";
  const sheets = document.adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules]);
  const told = [...seen, ...sheets.map((rule) => rule.cssText), said,
    getComputedStyle(document.images[0]).content].join(" ");
  const words = [...new Set(told.match(/\b[0-9a-f]{24}\b/g) || [])];
  const bodies = [];
  const get = async (url, init) => {
    try {
      const answer = await fetch(url, { credentials: "omit", cache: "reload", ...init });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      bodies.push(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")));
    } catch {}
  };
  const Accept = "image/avif,image/webp,*/*";
  // Numbers of components are odd where the device has asked; the page's own requests are the last.
  const last = performance.getEntriesByType("resource").length * 2 + 60;
  for (const word of words) {
    for (let id = 1; id < last; id += 2) {
      await get(photo + "?sluice-level=" + word + "." + id + ".original", { headers: { Accept } });
      await get(photo, { headers: { Accept, "Content-Language": "sluice." + word + "." + id } });
    }
  }
  await get(photo, {});
  return bodies;
})()
