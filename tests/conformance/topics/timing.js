// What the browser tells of a page's loads. Source: Resource Timing; Navigation Timing.
const entry = async (url) => {
  for (let tries = 0; tries < 200; tries++) {
    const found = performance.getEntriesByName(url);
    if (found.length) return found;
    await sleep(20);
  }
  return [];
};
performance.setResourceTimingBufferSize(1000);
const timed = (what, load, url) => {
  check(`${what} has one entry`, async () => {
    await load(url);
    return (await entry(url)).map((one) => one.initiatorType);
  });
};
timed("a fetch", fetch, give({u: uid()}));
timed("a picture", image, picture("red.png", {u: uid()}));
timed("a photo", image, picture("photo.jpg", {u: uid()}));
timed("a script", script, js("0"));
timed("a style sheet", style, css("x{}"));
timed("a frame", (url) => add("iframe", {src: url}), html("x", {}, SAME, {u: uid()}));
timed("another origin's picture", image, picture("red.png", {u: uid()}, CROSS));
const sizes = (what, load, url, expected) => check(`${what}: its sizes`, async () => {
  await load(url);
  const [one] = await entry(url);
  return [one.encodedBodySize, one.decodedBodySize, one.transferSize > 0, one.responseStatus];
}, expected);
sizes("a fetch", async (url) => (await fetch(url)).text(), give({body: "twelve bytes", u: uid()}), [12, 12, true, 200]);
sizes("a small picture", image, picture("red.png", {u: uid()}), [76, 76, true, 200]);
sizes("an error", async (url) => (await fetch(url)).text(), give({body: "no", status: 404, u: uid()}), [2, 2, true, 404]);
sizes("another origin's text", async (url) => (await fetch(url)).text(), give({body: "secret", u: uid(), headers: open}, CROSS));
sizes("another origin's text with leave", async (url) => (await fetch(url)).text(), give({body: "told", u: uid(), headers: {...open, "timing-allow-origin": "*"}}, CROSS));
check("a photo in markup: its sizes", async () => {
  const url = picture("photo.jpg", {u: uid()});
  return ask(html(`${TELL}<img src="${url}"><script>onload = () => setTimeout(() => tell(performance.getEntriesByName(${JSON.stringify(url)}).map((one) => [one.initiatorType, one.encodedBodySize, one.decodedBodySize])), 300)</script>`));
});
check("a coded text: its sizes", async () => {
  const url = order("/coded", SAME, {coding: "gzip", body: "x".repeat(5000), u: uid()});
  await (await fetch(url)).text();
  const [one] = await entry(url);
  return [one.decodedBodySize, one.encodedBodySize < 5000];
});
check("a page's entries are the page's", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {n: 1})}"><img src="${picture("red.png", {n: 1})}"><script src="${give({type: "text/javascript", body: "0"})}"></script>
  <script>onload = () => setTimeout(() => tell(performance.getEntriesByType("resource").map((one) => new URL(one.name)).filter((url) => !url.pathname.startsWith("/.well-known/sluice/")).map((url) => url.pathname + " " + [...url.searchParams.keys()]).sort()), 900)</script>`)),
  ["/give type,body", "/photo.jpg n", "/red.png n"]);
check("nothing of ours but under our own path", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {n: uid()})}"><img src="${picture("photo.png", {n: uid()})}">
  <script>onload = () => setTimeout(() => tell(performance.getEntriesByType("resource").map((one) => one.name).filter((one) => /sluice/.test(one) && !new URL(one).pathname.startsWith("/.well-known/sluice/"))), 900)</script>`)), []);
check("no entry of ours tells more than a few", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {n: uid()})}">
  <script>onload = () => setTimeout(() => tell(performance.getEntriesByType("resource").filter((one) => new URL(one.name).pathname.startsWith("/.well-known/sluice/")).length <= 5), 900)</script>`)), true);
check("the page has one entry of its own", () => performance.getEntriesByType("navigation").map((one) => [one.type, one.redirectCount, one.initiatorType]), [["navigate", 0, "navigation"]]);
check("the page's own sizes are of its own bytes", () => ask(give({type: "text/html", body: "<!doctype html><html><head></head><body>" + TELL + "<script>onload = () => setTimeout(() => { const [one] = performance.getEntriesByType('navigation'); tell([one.decodedBodySize, one.encodedBodySize]) }, 50)</script>"})));
check("times stand in their order", async () => {
  const url = give({u: uid()});
  await (await fetch(url)).text();
  const [one] = await entry(url);
  const all = ["startTime", "fetchStart", "domainLookupStart", "connectStart", "connectEnd", "requestStart", "responseStart", "responseEnd"].map((name) => one[name]);
  return all.every((time, at) => at === 0 || time >= all[at - 1]);
}, true);
check("Server-Timing is told", async () => {
  const url = give({u: uid(), headers: {"server-timing": 'db;dur=5;desc="x"'}});
  await (await fetch(url)).text();
  return (await entry(url))[0].serverTiming.map((one) => [one.name, one.duration, one.description]);
}, HTTPS ? [["db", 5, "x"]] : undefined);
check("a redirect in the same origin is told in times", async () => {
  const url = redirect("/give?" + uid(), {u: uid()});
  await (await fetch(url)).text();
  const [one] = await entry(url);
  return one.redirectStart > 0;
});
check("the protocol between", async () => {
  const url = give({u: uid()});
  await (await fetch(url)).text();
  return (await entry(url))[0].nextHopProtocol;
});
check("render blocking is told", async () => {
  const url = css("x{}");
  await style(url);
  return (await entry(url))[0].renderBlockingStatus ?? "none";
});
check("what fails has an entry or not", async () => {
  const url = give({u: uid()}, CROSS);
  await fetch(url).catch(() => 0);
  await sleep(100);
  return performance.getEntriesByName(url).length;
});
check("an observer hears of the same", async () => {
  const url = give({u: uid()}), heard = [];
  const observer = new PerformanceObserver((list) => heard.push(...list.getEntries().map((one) => one.name)));
  observer.observe({type: "resource"});
  await (await fetch(url)).text();
  await entry(url);
  await sleep(100);
  observer.disconnect();
  return heard.filter((one) => one === url).length;
}, 1);
check("long before the page's end there is a first paint", () => performance.getEntriesByType("paint").every((one) => one.startTime > 0), true);
finish();
