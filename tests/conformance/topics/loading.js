// Scripts, styles, fonts, workers, preloads: when and in which order. Source: HTML 4.12, 8.1; Preload.
const page = (body, head = "") => ask(html(`<html><head>${head}${TELL}<script>const order = [];</script></head><body>${body}`));
const pushes = (what, options = {}) => js(`order.push("${what}")`, options);
const end = "<script>addEventListener('load', () => setTimeout(() => tell(order), 50))</script>";
check("scripts run in their order", () => page(`<script src="${pushes("a")}"></script><script>order.push("b")</script><script src="${pushes("c")}"></script>${end}`), ["a", "b", "c"]);
check("deferred scripts come last, in their order", () => page(`<script defer src="${pushes("c")}"></script><script defer src="${pushes("d")}"></script><script src="${pushes("a")}"></script><script>order.push("b")</script>${end}`), ["a", "b", "c", "d"]);
check("modules are deferred", () => page(`<script type=module src="${pushes("c")}"></script><script type=module>order.push("d")</script><script>order.push("a")</script>${end}`), ["a", "c", "d"]);
check("nomodule does not run", () => page(`<script nomodule>order.push("old")</script><script type=module>order.push("new")</script>${end}`), ["new"]);
check("unknown types do not run", () => page(`<script type=text/unknown>order.push("no")</script><script type="">order.push("yes")</script>${end}`), ["yes"]);
check("async scripts run before load", () => page(`<script async src="${pushes("a")}"></script>${end}`), ["a"]);
check("document.write of a script", () => page(`<script>document.write('<script src="${pushes("w")}"><\\/script>')</script><script>order.push("after")</script>${end}`), ["w", "after"]);
check("states come in their order", () => ask(html(`${TELL}<script>const order = [document.readyState]; document.addEventListener("readystatechange", () => order.push(document.readyState)); document.addEventListener("DOMContentLoaded", () => order.push("parsed")); onload = () => { order.push("load"); setTimeout(() => tell(order)); }</script><img src="${picture("photo.jpg", {u: uid()})}">`)), ["loading", "interactive", "parsed", "complete", "load"]);
check("load waits for pictures", () => page(`<img src="${picture("photo.png", {u: uid()})}" onload="order.push('img')"><script>onload = () => { order.push("load"); tell(order); }</script>`), ["img", "load"]);
check("a script waits for a style sheet", () => ask(html(`<head><link rel=stylesheet href="${css("p{color:rgb(9,8,7)}")}">${TELL}</head><p id=p><script>tell(getComputedStyle(p).color)</script>`)), "rgb(9, 8, 7)");
check("a style sheet's import", () => ask(html(`<head><style>@import "${css("p{color:rgb(1,8,7)}")}";</style>${TELL}</head><p id=p><script>onload = () => tell(getComputedStyle(p).color)</script>`)), "rgb(1, 8, 7)");
check("a style sheet for print does not hold", () => ask(html(`<head><link rel=stylesheet media=print href="${css("p{color:rgb(1,1,1)}")}">${TELL}</head><p id=p><script>onload = () => tell(getComputedStyle(p).color)</script>`)), "rgb(0, 0, 0)");
check("an alternate style sheet does not hold", () => ask(html(`<head><link rel="alternate stylesheet" title=x href="${css("p{color:rgb(1,1,1)}")}">${TELL}</head><p id=p><script>onload = () => tell(getComputedStyle(p).color)</script>`)), "rgb(0, 0, 0)");
check("a module imports another", async () => { const name = "m" + uid(); await script(js(`import value from ${JSON.stringify(js("export default 7"))}; window.${name} = value`), {type: "module"}); return window[name]; }, 7);
check("import() of a module", async () => (await import(js("export default 8"))).default, 8);
check("import() of what is not there", () => import(give({status: 404, type: "text/javascript"})), "throws TypeError");
check("import maps", () => ask(html(`${TELL}<script type=importmap>{"imports": {"x": "${js("export default 'mapped'")}"}}</script><script type=module>import x from "x"; tell(x)</script>`)), "mapped");
check("import.meta.url", async () => { const url = js("export default import.meta.url"); return (await import(url)).default === url; }, true);
check("JSON by module", () => ask(html(`${TELL}<script type=module>tell((await import("${give({type: "application/json", body: '{"a": 1}'})}", {with: {type: "json"}}).catch((e) => ({default: e.name}))).default)</script>`)));
check("an error in a script is told with its place", () => new Promise((done) => {
  const url = js("\n  throw new Error('placed' + 1)");
  const hear = (event) => { if (/placed1/.test(event.message)) { removeEventListener("error", hear); done([event.filename === url, event.lineno]); } };
  addEventListener("error", hear);
  script(url);
}), [true, 2]);
check("currentScript is the script", async () => { const name = "c" + uid(), url = js(`window.${name} = document.currentScript.src`); await script(url); return window[name] === url; }, true);

// hints
for (const [as, make, use] of [["script", () => js("0"), (url) => script(url)], ["style", () => css("x{}"), (url) => style(url)], ["image", () => picture("red.png", {u: uid()}), (url) => image(url)], ["fetch", () => give({u: uid()}), (url) => fetch(url).then((a) => a.status)]]) {
  check(`a preload of a ${as} is used`, async () => {
    const key = uid(), url = make() + "&key=" + key;
    const told = await add("link", {rel: "preload", as, href: url, ...(as === "fetch" ? {crossorigin: ""} : {})}, document.head);
    return [told, await use(url), await (await fetch("/asked?key=" + key)).text()];
  }, [{script: "load", style: "load", image: "load", fetch: "load"}[as], {script: "load", style: "load", image: "12x8", fetch: 200}[as], "1"]);
}
check("a preload in a page's field is made", async () => {
  const key = uid(), url = js("0", {key});
  await ask(html(TELL + `<script src="${url}"></script><script>tell(1)</script>`, {link: `<${url}>; rel=preload; as=script`}));
  return await (await fetch("/asked?key=" + key)).text();
}, "1");
check("modulepreload", async () => { const url = js("export default 1"); return [await add("link", {rel: "modulepreload", href: url}, document.head), (await import(url)).default]; }, ["load", 1]);
check("prefetch", async () => { const key = uid(); add("link", {rel: "prefetch", href: give({key})}, document.head); return FIREFOX ? "off here" : (await seen(key, true)).map((one) => one.headers["sec-purpose"] ?? one.headers.purpose ?? "none"); });
check("a script in a page is asked for once", async () => {
  const key = uid();
  await ask(html(`${TELL}<script src="${js("0", {key})}"></script><link rel=stylesheet href="${css("x{}")}"><script>onload=()=>tell(1)</script>`));
  return await (await fetch("/asked?key=" + key)).text();
}, "1");
check("a script in a page asks as scripts do", async () => {
  const key = uid();
  await ask(html(`${TELL}<script src="${js("0", {key})}"></script><script>onload=()=>tell(1)</script>`));
  return (await seen(key)).map((one) => ["accept", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "origin"].map((name) => one.headers[name] ?? "none"));
});
check("a style sheet in a page asks as style sheets do", async () => {
  const key = uid();
  await ask(html(`${TELL}<link rel=stylesheet href="${css("x{}", {key})}"><script>onload=()=>tell(1)</script>`));
  return (await seen(key)).map((one) => ["accept", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "origin"].map((name) => one.headers[name] ?? "none"));
});

// fonts
check("a font that is none", () => new FontFace("f", `url("${give({body: "no font", type: "font/woff2"})}")`).load());
check("a font of another origin needs leave", async () => { const key = uid(); await new FontFace("g", `url("${give({body: "x", key}, CROSS)}")`).load().catch(() => 0); return (await seen(key)).map((one) => [one.headers["sec-fetch-mode"] ?? "none", named(one.headers.origin)]); });

// workers
const work = (worker) => new Promise((done) => { worker.onmessage = (event) => done(event.data); worker.onerror = (event) => done("error " + (event.message ? "told" : "")); });
check("a worker runs", () => work(new Worker(js("postMessage([typeof document, location.pathname, self.origin === location.origin])"))), ["undefined", "/give", true]);
check("a module worker runs", () => work(new Worker(js(`import x from ${JSON.stringify(js("export default 5"))}; postMessage(x)`), {type: "module"})), 5);
check("a worker fetches", () => work(new Worker(js(`fetch("/give?body=w").then((a) => a.text()).then(postMessage)`))), "w");
check("a worker's requests come from it", async () => { const key = uid(), url = js(`fetch("/give?key=${key}").then(() => postMessage(1))`); await work(new Worker(url)); return (await sent(key, "referer")) === named(url); }, true);
check("importScripts()", () => work(new Worker(js(`importScripts(${JSON.stringify(js("self.x = 3", {}, CROSS))}); postMessage(x)`))), 3);
check("a worker that is not there", () => work(new Worker(give({status: 404, type: "text/javascript"}))), "error ");
check("a worker of the wrong type", () => work(new Worker(give({type: "text/html", body: "postMessage(1)"}))));
check("a shared worker", () => new Promise((done) => { const one = new SharedWorker(js("onconnect = (e) => e.ports[0].postMessage('shared')")); one.port.onmessage = (event) => done(event.data); }), "shared");
check("a worker from a blob", () => work(new Worker(URL.createObjectURL(new Blob(["postMessage(2)"])))), 2);
check("a worker has its own policy", () => work(new Worker(js("fetch('/give').then(() => postMessage('in'), () => postMessage('kept out'))", {headers: {"content-security-policy": "connect-src 'none'"}}))), "kept out");
finish();
