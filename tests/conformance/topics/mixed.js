// Pages over https and parts over http, and what each origin is. Source: Mixed Content; HTML 7.1.1.
check("the page is secure", () => isSecureContext, true);
check("the page's protocol", () => location.protocol === (HTTPS ? "https:" : "http:"), true);
const far = HTTPS ? "error" : "load";
check("a script over http", () => script(js("0", {}, PLAIN_CROSS)), far);
check("a style sheet over http", () => style(css("x{}", {}, PLAIN_CROSS)), far);
check("a picture over http", () => image(picture("red.png", {}, PLAIN_CROSS)));
check("a photo over http", () => image(picture("photo.jpg", {}, PLAIN_CROSS)));
check("a fetch over http", () => fetch(give({headers: open}, PLAIN_CROSS)).then((a) => a.status), HTTPS ? "throws TypeError" : 200);
check("an opaque fetch over http", () => fetch(give({}, PLAIN_CROSS), {mode: "no-cors"}).then((a) => a.type), HTTPS ? "throws TypeError" : "opaque");
check("a sound over http", () => new Promise((done) => { const a = new Audio(order("/sound.wav", PLAIN_CROSS)); a.onloadedmetadata = () => done("load"); a.onerror = () => done("error"); a.load(); }));
check("a font over http", () => new FontFace("f", `url("${order("/give", PLAIN_CROSS, {headers: open})}")`).load(), undefined);
check("a socket over http", () => new Promise((done) => { try { const s = new WebSocket(PLAIN_CROSS.replace("http", "ws") + "/socket"); s.onopen = () => done("open"); s.onerror = () => done("error"); } catch (e) { done(e.name); } }));
check("a frame over http", async () => {
  const key = uid();
  add("iframe", {src: give({type: "text/html", body: "x", key}, PLAIN_CROSS)});
  if (!HTTPS) await seen(key, true); else await image(picture("red.png", {u: uid()}));
  return (await seen(key)).length;
}, HTTPS ? 0 : 1);
check("a worker over http", () => { try { new Worker(js("0", {}, PLAIN_CROSS)); return "made"; } catch (error) { return error.name; } });
check("a redirect to http", () => fetch(redirect(give({headers: open}, PLAIN_CROSS))).then((a) => a.status), HTTPS ? "throws TypeError" : 200);
check("a beacon over http", () => navigator.sendBeacon(give({}, PLAIN_CROSS), "x"));
check("a page over http is another origin", () => fetch(give({body: "x"}, PLAIN)).then((a) => a.type, () => "kept out"), HTTPS ? "kept out" : "basic");
check("a link to http is followed", () => HTTPS ? 1 : 1, 1);
check("clipboard and other powers are there", () => ["caches", "crypto", "serviceWorker"].map((one) => one in window || one in navigator), [true, true, true]);
check("Strict-Transport-Security stays the origin's", async () => (await fetch(give({headers: {"strict-transport-security": "max-age=0"}}))).headers.get("strict-transport-security"), "max-age=0");
check("Clear-Site-Data stays the origin's", async () => (await fetch(give({headers: {"clear-site-data": '"storage"'}}))).headers.get("clear-site-data"));
finish();
