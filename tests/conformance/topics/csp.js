// Content security policies in frames: what is let in, what is told of it. Source: CSP 3.
const NONCE = "<script nonce=n>const told = []; document.addEventListener('securitypolicyviolation', (event) =>" +
  " told.push([event.effectiveDirective, event.disposition, /^(https?|wss?|data|blob):/.test(event.blockedURI) ? 'url' : event.blockedURI]));" +
  "const tell = (value) => setTimeout(() => parent.postMessage({value: [value, told.map(String).sort()]}, '*'), 60);" +
  "const on = (e) => new Promise((d) => { e.onload = () => d('load'); e.onerror = () => d('error'); });" +
  "const put = (tag, values) => { const e = Object.assign(document.createElement(tag), values); const l = on(e); document.body.append(e); return l; };</script>";
const under = (policy, body, more = {}) => ask(html("<html><head>" + NONCE + "</head><body>" + body + "</body></html>", {"content-security-policy": policy, ...more}));
const run = (code) => `<script nonce=n>(async () => tell(await (async () => { ${code} })()))()</script>`;
const text = JSON.stringify;

const ways = {
  "img-src": (origin) => `return put("img", {src: ${text(picture("red.png", {u: uid()}, origin))}})`,
  "script-src-elem": (origin) => `return put("script", {src: ${text(js("0", {}, origin))}})`,
  "style-src-elem": (origin) => `return put("link", {rel: "stylesheet", href: ${text(css("x{}", {}, origin))}})`,
  "connect-src": (origin) => `return fetch(${text(give({headers: open}, origin))}).then(() => "load", () => "error")`,
  "font-src": (origin) => `return new FontFace("f", "url(" + ${text(order("/give", origin, {headers: open, u: uid()}))} + ")").load().then(() => "load", (e) => e.name)`,
  "media-src": (origin) => `return new Promise((done) => { const a = new Audio(${text(order("/sound.wav", origin, {u: uid()}))}); a.onloadedmetadata = () => done("load"); a.onerror = () => done("error"); a.load(); })`,
  "frame-src": (origin) => `put("iframe", {src: ${text(html("<script>parent.postMessage('in', '*')</script>", {}, origin))}});
    return new Promise((done) => { onmessage = () => done("in"); document.addEventListener("securitypolicyviolation", () => done("kept out")); })`,
  "object-src": (origin) => `put("object", {data: ${text(html("<script>parent.postMessage('in', '*')</script>", {}, origin))}});
    return new Promise((done) => { onmessage = () => done("in"); document.addEventListener("securitypolicyviolation", () => done("kept out")); })`,
  "worker-src": () => `return new Promise((done) => { try { const w = new Worker(${text(js("postMessage(1)"))}); w.onmessage = () => done("load"); w.onerror = () => done("error"); } catch (e) { done(e.name); } })`,
  "manifest-src": (origin) => `return fetch(${text(give({headers: open}, origin))}).then(() => "load")`,
};
const base = "script-src 'nonce-n'";
for (const [directive, way] of Object.entries(ways)) {
  if (directive === "manifest-src") continue;
  const source = directive === "script-src-elem" ? (allowed) => `script-src 'nonce-n' ${allowed}`
    : (allowed) => `${base}; ${directive} ${allowed}`;
  check(`${directive}: what is named is let in`, () => under(source("'self'"), run(way(SAME))));
  check(`${directive}: what is not named is kept out`, () => under(source(directive === "worker-src" ? "'none'" : CROSS), run(way(SAME))));
  if (directive !== "worker-src") {
    check(`${directive}: another origin is let in by its name`, () => under(source(CROSS), run(way(CROSS))));
    check(`${directive}: another origin is kept out by 'self'`, () => under(source("'self'"), run(way(CROSS))));
  }
}
for (const directive of ["img-src", "style-src-elem", "connect-src", "media-src", "font-src"]) {
  check(`default-src stands for ${directive}`, () => under(`default-src 'none'; ${base}`, run(ways[directive](SAME))));
}
check("default-src 'self' lets the page's own in", () => under(`default-src 'self'; ${base}`, run(ways["img-src"](SAME))), ["load", []]);
check("a path in a source is looked at", () => under(`${base}; img-src ${SAME}/other/`, run(ways["img-src"](SAME))));
check("of two policies both hold", () => under(`${base}, img-src 'none'`, run(ways["img-src"](SAME))));
check("of two headers both hold", () => under([base, "img-src 'none'"], run(ways["img-src"](SAME))));
check("data: is kept out unless named", () => under(`${base}; img-src 'self'`, run("return put('img', {src: 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='})")));
check("data: is let in by its name", () => under(`${base}; img-src data:`, run("return put('img', {src: 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAAAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=='})")), ["load", []]);
check("a redirect is looked at where it goes", () => under(`${base}; img-src 'self'`, run(`return put("img", {src: ${text(redirect(picture("red.png", {}, CROSS)))}})`)));

// scripts
const inline = (attributes = "") => `<script ${attributes}>window.ran = 1</script>` + run("return window.ran === 1");
check("an inline script needs a nonce", () => under(base, inline()));
check("an inline script with the nonce runs", () => under(base, inline("nonce=n")), [true, []]);
check("an inline script with another nonce does not", () => under(base, inline("nonce=m")));
check("an inline script runs by its hash", async () => {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("window.ran = 1"));
  return under(`${base} 'sha256-${btoa(String.fromCharCode(...new Uint8Array(sum)))}'`, inline());
}, [true, []]);
check("an inline script does not run by another's hash", () => under(`${base} 'sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='`, inline()));
check("unsafe-inline is nothing beside a nonce", () => under(`${base} 'unsafe-inline'`, inline()));
check("unsafe-inline alone lets all inline scripts in", () => ask(html(NONCE.replace("nonce=n", "") + inline().replace("nonce=n", ""), {"content-security-policy": "script-src 'unsafe-inline'"})), [true, []]);
check("unsafe-inline alone keeps files out", () => ask(html(NONCE + `<body>` + run(ways["script-src-elem"](SAME)), {"content-security-policy": "script-src 'unsafe-inline'"})));
check("a nonce is not to be read in the page", () => under(base, "<script nonce=n id=s></script>" + run("const s = document.getElementById('s'); return [s.getAttribute('nonce'), s.nonce]")), [["", "n"], []]);
check("strict-dynamic trusts what a trusted script makes", () => under("script-src 'nonce-n' 'strict-dynamic'", run(ways["script-src-elem"](CROSS))), ["load", []]);
check("strict-dynamic does not trust the parser's", () => under("script-src 'nonce-n' 'strict-dynamic' 'self'", `<script src="${js("window.ran = 1")}"></script>` + run("return window.ran === 1")));
check("eval needs leave", () => under(base, run("try { return eval('1') } catch (e) { return e.name }")));
check("eval with leave", () => under(base + " 'unsafe-eval'", run("return eval('1')")), [1, []]);
check("a handler in an attribute needs leave", () => under(base, "<i id=i onclick='window.ran = 1'></i>" + run("document.getElementById('i').click(); return window.ran === 1")));
check("script-src-attr is for attributes alone", () => under(base + "; script-src-attr 'unsafe-inline'", "<i id=i onclick='window.ran = 1'></i>" + run("document.getElementById('i').click(); return window.ran === 1")), [true, []]);
check("a javascript: address needs leave", () => under(base, "<a id=a href='javascript:window.ran = 1'></a>" + run("document.getElementById('a').click(); await new Promise((d) => setTimeout(d, 50)); return window.ran === 1")));
check("a module is let in by the nonce", () => under(base, `<script type=module nonce=n>window.ran = 1</script>` + run("await new Promise((d) => onload = d); return window.ran === 1")), [true, []]);
check("import() of a file needs leave", () => under(base, run(`return import(${text(js("export default 1"))}).then(() => "in", (e) => e.name)`)));

// styles
const styled = run("return getComputedStyle(document.body).color");
check("an inline style needs leave", () => under(`${base}; style-src 'self'`, "<style>body{color:rgb(1,2,3)}</style>" + styled));
check("an inline style with a nonce is let in", () => under(`${base}; style-src 'nonce-n'`, "<style nonce=n>body{color:rgb(1,2,3)}</style>" + styled), ["rgb(1, 2, 3)", []]);
check("a style attribute needs leave", () => under(`${base}; style-src 'self'`, "<i id=i style='color:rgb(1,2,3)'></i>" + run("return getComputedStyle(document.getElementById('i')).color")));
check("a style that a script sets needs none", () => under(`${base}; style-src 'none'`, run("document.body.style.color = 'rgb(1,2,3)'; return document.body.style.color")), ["rgb(1, 2, 3)", []]);

// other directives
check("base-uri", () => under(base + "; base-uri 'none'", `<base href="${CROSS}/">` + run("return document.baseURI.startsWith(location.origin)")));
check("sandbox in a policy", () => under(base + "; sandbox allow-scripts", run("return [origin, (() => { try { return document.cookie } catch (e) { return e.name } })()]")), [["null", "SecurityError"], []]);
check("sandbox without scripts", async () => {
  const key = uid();
  const loading = add("iframe", {src: html(`<script>document.write('<img src="${picture("red.png", {key})}">')</script><img src="${picture("green.png", {key})}">`, {"content-security-policy": "sandbox"})});
  await loading;
  return (await seen(key)).map((one) => one.path);
}, ["/green.png"]);
check("frame-ancestors 'none'", async () => {
  const key = uid();
  await add("iframe", {src: html(`<script>${leave(key, "'in'")}</script>`, {"content-security-policy": "frame-ancestors 'none'"})});
  return (await seen(key)).length;
}, 0);
check("frame-ancestors 'self'", () => under(base + "; frame-ancestors 'self'", run("return 'in'")), ["in", []]);
check("trusted types keep texts out of markup", () => under(base + "; require-trusted-types-for 'script'", run("try { document.body.innerHTML = '<b>'; return 'in' } catch (e) { return e.name }")));
check("trusted types let what a policy makes in", () => under(base + "; require-trusted-types-for 'script'; trusted-types one", run("if (!window.trustedTypes) return 'none here'; document.body.innerHTML = trustedTypes.createPolicy('one', {createHTML: (t) => t}).createHTML('<b>b</b>'); return document.body.innerHTML")));
check("trusted types name their policies", () => under(base + "; trusted-types one", run("if (!window.trustedTypes) return 'none here'; try { trustedTypes.createPolicy('two', {}); return 'made' } catch (e) { return e.name }")));
check("trusted types keep texts out of script addresses", () => under(base + "; require-trusted-types-for 'script'", run("try { document.createElement('script').src = '/x'; return 'in' } catch (e) { return e.name }")));

// reports alone
const only = (policy, body) => ask(html("<html><head>" + NONCE + "</head><body>" + body, {"content-security-policy-report-only": policy}));
check("report-only keeps nothing out and tells", () => only("img-src 'none'; script-src 'nonce-n'", run(ways["img-src"](SAME))));
check("report-only of a strict policy tells of nothing of ours", () => only("default-src 'none'; script-src 'nonce-n'", run("await new Promise((d) => setTimeout(d, 300)); return 'quiet'")), ["quiet", []]);
check("report-only without any script tells of the page's own", () => only("script-src 'none'", run("await new Promise((d) => setTimeout(d, 300)); return 'quiet'")));
check("a strict policy and pictures tell of nothing of ours", () =>
  under("default-src 'none'; script-src 'nonce-n'; img-src 'self'", `<img src="${picture("photo.jpg", {u: uid()})}"><img src="${picture("photo.png", {u: uid()})}">` +
    run("await new Promise((d) => onload = d); await new Promise((d) => setTimeout(d, 500)); return [...document.images].map((i) => i.naturalWidth)")), [[640, 320], []]);
check("a report is sent as it would be", async () => {
  const key = uid();
  await under(`${base}; img-src 'none'; report-uri ${give({key})}`, run(ways["img-src"](SAME)));
  const all = await seen(key, true);
  return all.map((one) => [one.method, one.headers["content-type"], Object.keys(JSON.parse(one.body)["csp-report"]).sort().join(),
    JSON.parse(one.body)["csp-report"]["original-policy"].includes("sluice"), JSON.parse(one.body)["csp-report"]["effective-directive"]]);
});
check("a policy that is told is the origin's", () => under(base + "; img-src 'none'", `<script nonce=n>document.addEventListener("securitypolicyviolation", (e) => window.policy = e.originalPolicy)</script>` +
  run(ways["img-src"](SAME).replace("return", "await") + "; await new Promise((d) => setTimeout(d, 50)); return window.policy")), [base + "; img-src 'none'", ["img-src,enforce,url"]]);
check("the field of a policy is the origin's", async () => (await fetch(html("x", {"content-security-policy": base}))).headers.get("content-security-policy"), "script-src 'nonce-n'");

// in the page
const meta = (policy, body) => ask(html(`<html><head><meta http-equiv=Content-Security-Policy content="${policy}">` + NONCE + "</head><body>" + body));
check("a meta policy keeps pictures out", () => meta("img-src 'none'", run(ways["img-src"](SAME))));
check("a meta policy keeps scripts out", () => meta(base, inline()));
check("a meta policy of none tells of nothing of ours", () => meta("default-src 'none'; script-src 'nonce-n'; img-src 'self'", `<img src="${picture("photo.jpg", {u: uid()})}">` + run("await new Promise((d) => setTimeout(d, 500)); return 'quiet'")), ["quiet", []]);
check("a meta policy does not know frame-ancestors", () => meta("frame-ancestors 'none'", run("return 'in'")), ["in", []]);
check("a srcdoc frame has the policy of its page", () => under(base, `<iframe srcdoc="<script>parent.postMessage('ran', '*')</script><script nonce=n>parent.postMessage('nonce', '*')</script>"></iframe>` +
  run("return new Promise((d) => onmessage = (e) => d(e.data))")), ["nonce", []]);
finish();
