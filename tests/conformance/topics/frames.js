// Frames, windows, navigations, errors. Source: HTML 4.8.5, 7.
const inside = (body, headers = {}, origin = SAME) => html(TELL + `<script>tell((() => { ${body} })())</script>`, headers, origin);
check("a frame of its own origin", () => ask(inside("return [parent.document.title, location.pathname, window.length, frameElement.tagName]")), ["frames", "/give", 0, "IFRAME"]);
check("a frame of another origin", () => ask(inside("try { return parent.document.title } catch (e) { return e.name }", {}, CROSS)), "SecurityError");
check("a subdomain's frame is another origin", () => ask(inside("try { return parent.document.title } catch (e) { return e.name }", {}, WWW)), "SecurityError");
check("origins by name", async () => named(await ask(inside("return origin"))), "SAME");
check("ancestors", async () => FIREFOX ? "none here" : (await ask(inside("return [...location.ancestorOrigins].length"))));
for (const [value, origin, expected] of [["DENY", "SAME", 0], ["SAMEORIGIN", "SAME", 1], ["SAMEORIGIN", "CROSS", 0], ["unknown", "SAME", 1]]) {
  check(`X-Frame-Options ${value} of ${origin}`, async () => {
    const key = uid(), from = origin === "SAME" ? SAME : CROSS;
    await add("iframe", {src: html(`<script>new Image().src = "${picture("red.png", {key})}"</script><img src="${picture("red.png", {key})}">`, {"x-frame-options": value}, from)});
    return Math.min(1, (await seen(key)).length);
  }, expected);
}
for (const [sandbox, expected] of [["allow-scripts", ["null", "SecurityError"]], ["allow-scripts allow-same-origin", ["SAME", "ok"]]]) {
  check(`a frame with sandbox="${sandbox}"`, async () => (await ask(inside("try { localStorage.x; return [origin, 'ok'] } catch (e) { return [origin, e.name] }"), {sandbox})).map(named), expected);
}
check("a frame with sandbox runs no scripts", async () => {
  const key = uid();
  await add("iframe", {sandbox: "", src: html(`<script>new Image().src = "${picture("red.png", {key})}"</script>`)});
  return (await seen(key)).length;
}, 0);
check("a sandboxed frame's photos", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {u: uid()})}"><script>onload=()=>tell(document.images[0].naturalWidth)</script>`), {sandbox: "allow-scripts"}), 640);
check("srcdoc", async () => {
  const frame = document.createElement("iframe");
  frame.srcdoc = TELL + "<img src=/red.png?srcdoc><script>onload = () => tell([document.URL, document.images[0].naturalWidth, document.scripts.length])</script>";
  const answer = said(() => frame.contentWindow);
  document.body.append(frame);
  return answer;
}, ["about:srcdoc", 12, 2]);
check("a blob's frame", async () => (await ask(URL.createObjectURL(new Blob([TELL + "<script>tell(document.scripts.length)</script>"], {type: "text/html"})))), 2);
check("messages between origins name theirs", () => new Promise((done) => {
  const hear = (event) => { if (event.data === "named") { removeEventListener("message", hear); done(named(event.origin)); } };
  addEventListener("message", hear);
  add("iframe", {src: html("<script>parent.postMessage('named', '*')</script>", {}, CROSS)});
}), "CROSS");
check("a port is handed over", () => new Promise((done) => {
  const {port1, port2} = new MessageChannel();
  port1.onmessage = (event) => done(event.data);
  const frame = add("iframe", {src: html("<script>onmessage = (e) => e.ports[0].postMessage('by port')</script>")});
  frame.then(() => frame.element.contentWindow.postMessage(0, "*", [port2]));
}), "by port");
check("a channel by name", () => new Promise((done) => {
  const name = uid(), channel = new BroadcastChannel(name);
  channel.onmessage = (event) => done(event.data);
  add("iframe", {src: html(`<script>new BroadcastChannel("${name}").postMessage("heard")</script>`)});
}), "heard");

// navigations
check("a redirect of a frame", async () => named(await ask(redirect(inside("return location.href.split('?')[0]")))), "SAME/give");
check("a redirect of a frame to another origin", async () => named(await ask(redirect(inside("return location.href.split('?')[0]", {}, CROSS)))), "CROSS/give");
check("a fragment outlives a redirect", () => ask(redirect(inside("return location.hash")) + "#kept"), "#kept");
check("Refresh goes on", () => ask(give({type: "text/html", body: "x", headers: {refresh: "0;url=" + inside("return 'refreshed'")}})), "refreshed");
check("a meta refresh goes on", () => ask(html(`<meta http-equiv=refresh content="0;url=${inside("return 'refreshed'").replaceAll("&", "&amp;")}">`)), "refreshed");
for (const status of [203, 400, 403, 404, 410, 418, 500, 502, 503, 504]) {
  check(`a page with status ${status} is shown`, () => ask(order("/give", SAME, {status, type: "text/html", body: "<!doctype html>" + TELL + "<script>tell(document.scripts.length)</script>", u: uid()})), 2);
}
check("204 stays on the page", async () => {
  const key = uid();
  return ask(html(`${TELL}<script>location = "${give({status: 204, key})}"; fetch("/seen?wait&key=${key}").then(() => setTimeout(() => tell(document.readyState), 100))</script>`));
}, "complete");
check("a text is shown as text", () => add("iframe", {src: give({body: "<b>text"})}).then((end) => [end, frames[frames.length - 1] !== null]));
check("a page's type is its own", () => ask(give({type: "application/xhtml+xml", body: `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><script>parent.postMessage({value: [document.contentType, document.getElementsByTagName("script").length, document.head.childNodes.length]}, "*")</script></body></html>`})), ["application/xhtml+xml", 1, 1]);
check("a page of no type is looked at", () => ask(give({type: "", body: "<!doctype html><html><body><script>parent.postMessage({value: document.contentType}, '*')</script>"})), "text/html");
check("a page asks as pages do", async () => {
  const key = uid();
  await ask(html(TELL + "<script>tell(1)</script>", {}, SAME, {key}));
  const [{headers}] = await seen(key);
  return ["sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "upgrade-insecure-requests", "accept"].map((name) => headers[name] ?? "none");
});
check("a window asks as windows do", () => window_(async () => {
  const key = uid(), other = window.open(html(TELL + "<script>tell(1)</script>", {}, SAME, {key}));
  await said(() => other);
  other.close();
  const all = await seen(key);
  return [all.length, ...["sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "accept", "cache-control"].map((name) => all[0].headers[name] ?? "none")];
}));
check("a window and its opener", () => window_(async () => {
  const other = window.open(html(TELL + "<script>tell([opener !== null, name, document.referrer !== '', history.length])</script>"), "w" + RUN);
  const told = await said(() => other);
  const same = other.document.title === "" && other.opener === window;
  other.close();
  return [told[0], told[1] === "w" + RUN, told[2], told[3], same];
}), [true, true, true, 1, true]);
check("a window of another origin", () => window_(async () => {
  const other = window.open(html(TELL + "<script>tell(1)</script>", {}, CROSS));
  await said(() => other);
  let told;
  try { told = other.document.title; } catch (error) { told = error.name; }
  other.close();
  return told;
}), "SecurityError");
check("noopener", () => apart("<script>LEAVE(opener === null)</script>"), true);
check("noreferrer", () => window_(async () => {
  const id = uid();
  window.open(html(LEAVE(id) + "<script>LEAVE([opener === null, document.referrer])</script>"), "_blank", "noreferrer");
  return left(id);
}), [true, ""]);
check("a picture's own window", () => window_(async () => {
  const other = window.open(picture("photo.jpg", {u: uid()}));
  while (!(other.document && other.document.images && other.document.images[0] && other.document.images[0].naturalWidth)) await sleep(30);
  const told = [other.document.contentType, other.document.images[0].naturalWidth];
  other.close();
  return told;
}), ["image/jpeg", 640]);
check("a page that is left says so", async () => {
  const key = uid(), frame = add("iframe", {src: html(`<script>addEventListener("pagehide", () => navigator.sendBeacon("${give({key})}", "left"))</script>`)});
  await frame;
  frame.element.remove();
  return (await seen(key, true)).map((one) => one.body);
}, ["left"]);
finish();
