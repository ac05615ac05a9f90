// Pages that keep to themselves: COOP, COEP, CORP, ORB. Source: HTML 7.1.3, 7.1.4; Fetch 3.5, 3.7.
const ISOLATED = {"cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp"};
const alone = (body, headers = ISOLATED) => apart(`<script>
    const show = (src, more = {}) => new Promise((done) => { const i = Object.assign(new Image(), more); i.onload = () => done("load"); i.onerror = () => done("error"); i.src = src; });
    (async () => LEAVE(await (async () => { ${body} })()))()</script>`, headers);
const text = JSON.stringify;
const corp = (value) => ({"cross-origin-resource-policy": value});
check("this page is not isolated", () => [crossOriginIsolated, typeof SharedArrayBuffer], [false, "undefined"]);
check("a page with both fields is isolated", () => alone("return [crossOriginIsolated, typeof SharedArrayBuffer]"), [true, "function"]);
check("a page with credentialless is isolated", () => alone("return crossOriginIsolated", {...ISOLATED, "cross-origin-embedder-policy": "credentialless"}), true);
check("one field alone isolates nothing", () => alone("return crossOriginIsolated", {"cross-origin-opener-policy": "same-origin"}), false);
check("report-only isolates nothing", () => alone("return crossOriginIsolated", {"cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy-report-only": "require-corp"}), false);
check("an isolated page shows its own pictures", () => alone(`return show(${text(picture("photo.jpg", {u: uid()}))})`), "load");
check("an isolated page shows no others' pictures", () => alone(`return show(${text(picture("red.png", {u: uid()}, CROSS))})`), "error");
check("an isolated page shows others' pictures by their leave", () => alone(`return show(${text(picture("red.png", {u: uid(), headers: corp("cross-origin")}, CROSS))})`), "load");
check("an isolated page shows others' photos by their leave", () => alone(`return show(${text(picture("photo.jpg", {u: uid(), headers: corp("cross-origin")}, CROSS))})`), "load");
check("an isolated page shows others' pictures by CORS", () => alone(`return show(${text(picture("red.png", {u: uid(), headers: open}, CROSS))}, {crossOrigin: ""})`), "load");
check("a credentialless page shows others' pictures without cookies", async () => {
  const key = uid(), name = "cl" + RUN;
  await fetch(give({headers: {"set-cookie": name + "=1; SameSite=None; Secure"}}, CROSS), {mode: "no-cors", credentials: "include"});
  const end = await alone(`return show(${text(picture("red.png", {key}, CROSS))})`, {...ISOLATED, "cross-origin-embedder-policy": "credentialless"});
  return [end, (await seen(key)).map((one) => (one.headers.cookie ?? "").includes(name))];
}, ["load", [false]]);
check("in markup an isolated page's pictures", () => apart(`<img src="${picture("photo.jpg", {u: uid()})}"><img src="${picture("photo.jpg", {u: uid()}, CROSS)}"><img src="${picture("photo.png", {u: uid(), headers: corp("cross-origin")}, CROSS)}">
    <script>onload = () => LEAVE([...document.images].map((one) => one.naturalWidth))</script>`, ISOLATED), [640, 0, 320]);
check("an isolated page's style sheets and scripts", () => alone(`return Promise.all([["link", {rel: "stylesheet", href: ${text(css("x{}"))}}], ["script", {src: ${text(js("0"))}}], ["script", {src: ${text(js("0", {}, CROSS))}}]]
  .map(([tag, values]) => new Promise((done) => { const e = Object.assign(document.createElement(tag), values); e.onload = () => done("load"); e.onerror = () => done("error"); document.head.append(e); })))`), ["load", "load", "error"]);
check("an isolated page's frames must say so", () => alone(`const frame = (src) => new Promise((done) => { const f = document.createElement("iframe"); onmessage = (e) => done(e.data); setTimeout(() => done("nothing"), 2000); f.src = src; document.documentElement.append(f); });
  const own = await frame(${text(html("<script>parent.postMessage('in', '*')</script>"))});
  const saying = await frame(${text(html("<script>parent.postMessage('in', '*')</script>", {"cross-origin-embedder-policy": "require-corp"}))});
  return [own, saying]`));
check("an isolated page's worker must say so", () => alone(`const work = (src) => new Promise((done) => { const w = new Worker(src); w.onmessage = (e) => done(e.data); w.onerror = () => done("error"); });
  return [await work(${text(js("postMessage(self.crossOriginIsolated)", {headers: {"cross-origin-embedder-policy": "require-corp"}}))}), await work(${text(js("postMessage(1)"))})]`));
check("an isolated page fetches by CORS", () => alone(`return fetch(${text(give({body: "b", headers: open}, CROSS))}).then((a) => a.text())`), "b");
check("an isolated page fetches nothing opaque", () => alone(`return fetch(${text(give({}, CROSS))}, {mode: "no-cors"}).then((a) => a.type, (e) => e.name)`), "TypeError");
check("an isolated page has a finer clock", () => alone(`return performance.measureUserAgentSpecificMemory ? "function" : "none"`));
check("an isolated page tells of nothing of ours", () => alone(`const told = []; new ReportingObserver((all) => told.push(...all.map((one) => one.type))).observe(); await new Promise((d) => setTimeout(d, 300)); return told`), FIREFOX ? undefined : []);
check("an opener of another kind is cut off", () => window_(async () => {
  const id = uid();
  window.open(html(LEAVE(id) + "<script>LEAVE(window.opener === null)</script>", {"cross-origin-opener-policy": "same-origin"}));
  return left(id);
}), true);
check("same-origin-allow-popups keeps those it opens", () => alone(`const w = open(${text(html("<script>opener.postMessage('here', '*')</script>"))}); return new Promise((done) => onmessage = (e) => done([e.data, w.closed]))`, {"cross-origin-opener-policy": "same-origin-allow-popups"}), ["here", false]);
check("an opener without a policy stays", async () => {
  const other = window.open(html(TELL + "<script>tell(window.opener !== null)</script>"));
  return said(() => other);
}, true);

// CORP
for (const [value, where, expected] of [
  ["same-origin", "SAME", "12x8"], ["same-origin", "WWW", "error"], ["same-origin", "CROSS", "error"], ["same-origin", "PORT", "error"],
  ["same-site", "SAME", "12x8"], ["same-site", "WWW", "12x8"], ["same-site", "CROSS", "error"],
  ["cross-origin", "CROSS", "12x8"], ["unknown", "CROSS", "12x8"],
]) {
  check(`a picture of ${where} that says ${value}`, () =>
    image(picture("red.png", {u: uid(), headers: corp(value)}, {SAME, WWW, CROSS, PORT: OTHER_PORT}[where])), expected);
}
check("a photo that says same-origin is not shown elsewhere", () => image(picture("photo.jpg", {u: uid(), headers: corp("same-origin")}, CROSS)), "error");
check("a photo that says same-origin is shown at home", () => image(picture("photo.jpg", {u: uid(), headers: corp("same-origin")})), "640x480");
check("a photo in markup that says same-origin is not shown elsewhere", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {u: uid(), headers: corp("same-origin")}, CROSS)}"><script>onload = () => tell(document.images[0].naturalWidth)</script>`)), 0);
check("a script that says same-site", () => script(js("0", {headers: corp("same-site")}, CROSS)), "error");
check("no-cors fetch of what says same-origin", () => fetch(give({headers: corp("same-origin")}, CROSS), {mode: "no-cors"}), "throws TypeError");
check("cors fetch of what says same-origin", async () => (await fetch(give({body: "b", headers: {...corp("same-origin"), ...open}}, CROSS))).text(), "b");

// ORB
check("another site's JSON is no picture", () => image(give({type: "application/json", body: '{"a":1}', headers: {"x-content-type-options": "nosniff"}}, CROSS)), "error");
check("another site's JSON is no script", () => script(give({type: "application/json", body: "[1]", headers: {"x-content-type-options": "nosniff"}}, CROSS)), "error");
check("another site's HTML is no script", () => script(give({type: "text/html", body: "<!doctype html>0"}, CROSS)));
check("another site's picture of no type is one", () => image(give({file: "red.png", type: ""}, CROSS)));
check("another site's picture with a wrong type is one", () => image(give({file: "red.png", type: "image/jpeg"}, CROSS)), "12x8");
check("nosniff: a text is no script", () => script(give({type: "text/plain", body: "0", headers: {"x-content-type-options": "nosniff"}})), "error");
check("nosniff: a text is no style", () => style(give({type: "text/plain", body: "x{}", headers: {"x-content-type-options": "nosniff"}})), "error");
check("nosniff: a picture with a type of pictures is one", () => image(give({file: "red.png", type: "image/png", headers: {"x-content-type-options": "nosniff"}})), "12x8");
check("nosniff: a photo that is named a text", () => image(give({file: "photo.jpg", type: "text/plain", headers: {"x-content-type-options": "nosniff"}})));
check("a text without nosniff is a script", () => script(give({type: "text/plain", body: "0"})), "load");
check("a picture's type is no script", () => script(give({type: "image/png", body: "0"})), "error");
check("origin-agent-cluster", async () => typeof (await ask(html(TELL + "<script>tell(window.originAgentCluster)</script>", {"origin-agent-cluster": "?1"}))));
check("document-policy and permissions-policy hold", () => ask(html(TELL + "<script>tell(document.featurePolicy ? document.featurePolicy.allowsFeature('geolocation') : 'none')</script>", {"permissions-policy": "geolocation=()"})));
finish();
