// Cache Storage and service workers: what goes in comes out, and nothing else. Source: Service Workers.
const digest = async (answer) => hex(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer())).slice(0, 16);
const ours = (text) => /sluice/i.test(text);
const put = async (url, init) => {
  const cache = await caches.open(uid()), answer = await fetch(url, init);
  await cache.put(url, answer);
  return [cache, await cache.match(url)];
};
check("what is put is matched", async () => (await put(give({body: "kept"})))[1].text(), "kept");
check("the fields are kept too", async () => fields((await put(give({body: "x", headers: {"x-a": "1", etag: '"e"'}})))[1].headers),
  [["content-length", "1"], ["content-type", "text/plain"], ["etag", '"e"'], ["x-a", "1"]]);
for (const name of ["photo.jpg", "photo.png"]) {
  check(`${name} is kept to the byte`, async () => digest((await put(picture(name, {u: uid()})))[1]));
  check(`${name} is kept to the byte after it was shown`, async () => {
    const url = picture(name, {u: uid(), headers: {"cache-control": "max-age=60"}});
    await image(url);
    return digest((await put(url))[1]);
  });
}
check("a page is kept to the byte", async () => digest((await put(html("<head><title>t</title></head><body><img src=/photo.jpg>", {etag: '"page"', "cache-control": "max-age=60"})))[1]));
check("a page is kept to the byte after it was shown", async () => {
  const url = html(`<head><title>t</title></head><body>${TELL}<img src=/photo.jpg><script>tell(1)</script>`, {etag: '"page"', "cache-control": "max-age=60"}, SAME, {});
  await ask(url);
  return digest((await put(url, {cache: "force-cache"}))[1]).then((sum) => sum.length);
}, 16);
check("nothing of ours is in a page that is kept", async () => {
  const url = html(`<head><title>t</title></head><body>${TELL}<img src=/photo.jpg><script>tell(1)</script>`, {"cache-control": "max-age=60"}, SAME, {n: uid()});
  await ask(url);
  return ours(await (await put(url, {cache: "force-cache"}))[1].text());
}, false);
check("add() and addAll()", async () => {
  const cache = await caches.open(uid()), urls = [give({body: "1"}), give({body: "2"})];
  await cache.addAll(urls);
  return Promise.all(urls.map(async (url) => (await cache.match(url)).text()));
}, ["1", "2"]);
check("add() takes no error", async () => (await caches.open(uid())).add(give({status: 404})), "throws TypeError");
check("vary: * is not kept", () => put(give({headers: {vary: "*"}})), "throws TypeError");
check("vary is looked at", async () => {
  const [cache] = await put(give({headers: {vary: "x-a"}}));
  const [request] = await cache.keys();
  return [!!(await cache.match(request)), !!(await cache.match(new Request(request.url, {headers: {"x-a": "2"}})))];
}, [true, false]);
check("a part is not kept", () => put("/bytes?" + uid(), {headers: {range: "bytes=0-9"}}), "throws TypeError");
check("an opaque answer is kept", async () => (await put(give({}, CROSS), {mode: "no-cors"}))[1].type, "opaque");
check("a redirected answer says so", async () => (await put(redirect("/give?body=r")))[1].redirected, true);

// a service worker for each scope; what it does it finds in its own address
const WORKER = `
const how = new URL(location).searchParams.get("how");
const name = "kept-" + how + registration.scope;
addEventListener("install", (event) => { skipWaiting(); event.waitUntil(caches.open(name)); });
addEventListener("activate", (event) => event.waitUntil((async () => { if (how === "preload") await registration.navigationPreload?.enable(); await clients.claim(); })()));
addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (url.pathname === "/seen" || url.pathname === "/keep" || how === "none") return;
  if (how === "passes") return event.respondWith(fetch(event.request));
  if (how === "answers") return event.respondWith(new Response("<!doctype html><script>parent.postMessage({value: 'offline'}, '*')</script>", {headers: {"content-type": "text/html"}}));
  if (how === "marks" && url.searchParams.has("mark")) return event.respondWith(new Response("marked"));
  if (how === "tells") event.waitUntil(clients.matchAll({includeUncontrolled: true}).then((all) => all.forEach((one) => one.postMessage([event.request.mode, event.request.destination, url.pathname]))));
  if (how === "keeps" || how === "preload") event.respondWith((async () => {
    const answer = (await event.preloadResponse) || await fetch(event.request), copy = answer.clone();
    await caches.open(name).then((cache) => cache.put(event.request, copy)).catch(() => {});
    return answer;
  })());
});`;
let scopes = 0;
const serve = async (how) => {
  // A scope is a folder, and the origin answers by path alone: the query makes it its own.
  const scope = give({type: "text/html", scope: ++scopes + RUN});
  const registration = await navigator.serviceWorker.register(
    give({type: "text/javascript", body: WORKER, how, headers: {"service-worker-allowed": "/"}}), {scope});
  const worker = registration.installing || registration.waiting || registration.active;
  while (worker.state !== "activated") await new Promise((done) => worker.addEventListener("statechange", done, {once: true}));
  return {scope, registration};
};
const inside = async (how, body) => {
  const {scope, registration} = await serve(how);
  const value = await ask(scope + "&body=" + encodeURIComponent("<!doctype html><html><head><title>s</title></head><body>" + TELL + body));
  await registration.unregister();
  return value;
};
const say = (code) => `<script>(async () => tell(await (async () => { ${code} })()))().catch((e) => tell("throws " + e.name))</script>`;
check("a worker is registered", async () => (await serve("none")).registration.active.state, "activated");
check("a worker's scope needs leave", () => navigator.serviceWorker.register(js("0"), {scope: "/"}).then(() => "registered"), undefined);
check("a worker must be a script", () => navigator.serviceWorker.register(give({type: "text/plain", body: "0"})), "throws SecurityError");
check("a worker of another origin is none", () => navigator.serviceWorker.register(js("0", {}, CROSS)), "throws SecurityError");
check("a page under a worker that does nothing", () => inside("none", say("return !!navigator.serviceWorker.controller")), true);
check("a page under a worker that passes all on", () => inside("passes", say("return [!!navigator.serviceWorker.controller, await (await fetch('/give?body=through')).text()]")), [true, "through"]);
check("pictures under a worker that passes all on", () => inside("passes", `<img src="${picture("photo.jpg", {u: uid()})}"><img src="${picture("photo.png", {u: uid()})}">` +
  say("await new Promise((d) => onload = d); return [...document.images].map((i) => i.naturalWidth)")), [640, 320]);
check("a worker answers without the origin", () => inside("answers", "<script>tell('online')</script>"), "offline");
check("a worker answers what it marks", () => inside("marks", say("return [await (await fetch('/give?mark=1')).text(), await (await fetch('/give?body=far')).text()]")), ["marked", "far"]);
for (const how of ["keeps", "preload"]) {
  check(`a worker that ${how} has the origin's bytes and nothing of ours`, async () => {
    const {scope} = await serve(how);
    const photo = picture("photo.jpg", {u: uid()}), drawing = picture("photo.png", {u: uid()});
    const page = scope + "&body=" + encodeURIComponent(`<!doctype html><html><head><title>s</title></head><body>${TELL}<img src="${photo}"><img src="${drawing}"><script>onload = () => setTimeout(() => tell(1), 800)</script>`);
    await ask(page);
    const cache = await caches.open("kept-" + how + scope), out = [];
    for (const request of await cache.keys()) {
      const answer = await cache.match(request), data = await answer.arrayBuffer();
      out.push([new URL(request.url).pathname, ours(request.url) || ours(new TextDecoder("latin1").decode(data)) || ours(JSON.stringify([...answer.headers])),
        request.url.startsWith(scope) ? "page" : hex(await crypto.subtle.digest("SHA-256", data)).slice(0, 16)]);
    }
    return out.map(String).sort();
  });
}
check("a worker sees what a page asks for and nothing of ours", async () => {
  const {scope} = await serve("tells"), told = [];
  const hear = (event) => Array.isArray(event.data) && told.push(event.data.join());
  navigator.serviceWorker.addEventListener("message", hear);
  await ask(scope + "&body=" + encodeURIComponent(`<!doctype html><html><head><title>s</title></head><body>${TELL}<img src="${picture("photo.jpg", {u: uid()})}"><script>onload = () => setTimeout(() => tell(1), 500)</script>`));
  navigator.serviceWorker.removeEventListener("message", hear);
  return told.sort();
});
check("what one page keeps another finds", async () => {
  const name = uid();
  await (await caches.open(name)).put("/x", new Response("y"));
  return ask(html(TELL + say(`return (await (await caches.open("${name}")).match("/x")).text()`)));
}, "y");
check("another origin's page does not", async () => {
  const name = uid();
  await caches.open(name);
  return ask(html(TELL + say(`return caches.has("${name}").catch(() => false)`), {}, CROSS));
}, false);
check("local storage and databases are the origin's", async () => {
  localStorage.setItem("k", "v");
  return ask(html(TELL + say(`return localStorage.getItem("k")`)));
}, "v");
finish();
