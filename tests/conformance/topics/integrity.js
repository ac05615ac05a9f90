// Subresource integrity: a script or a style whose bytes are others is not used. Source: SRI.
const sum = async (text, name = "SHA-256") => {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return name.toLowerCase().replace("-", "") + "-" + btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest(name, bytes))));
};
const BAD = "sha256-" + btoa("x".repeat(32));
for (const name of ["SHA-256", "SHA-384", "SHA-512"]) {
  check(`a script with its ${name} runs`, async () => {
    const mark = uid(), code = `window["${mark}"] = 1`;
    return [await script(js(code), {integrity: await sum(code, name)}), window[mark]];
  }, ["load", 1]);
}
check("a script with another sum does not run", async () => {
  const mark = uid();
  return [await script(js(`window["${mark}"] = 1`), {integrity: BAD}), window[mark] ?? "did not run"];
}, ["error", "did not run"]);
check("one of two sums is enough", async () => script(js("0"), {integrity: BAD + " " + await sum("0")}), "load");
check("the strongest sum counts", async () => script(js("0"), {integrity: await sum("0") + " sha512-" + btoa("x".repeat(64))}), "error");
check("a sum of no known kind is none", () => script(js("0"), {integrity: "md5-AAAA"}), "load");
check("an empty one is none", () => script(js("0"), {integrity: ""}), "load");
check("options after a sum are read over", async () => script(js("0"), {integrity: (await sum("0")) + "?x=y"}), "load");
check("another origin's script needs crossorigin", async () => script(js("0", {headers: open}, CROSS), {integrity: await sum("0")}), "error");
check("another origin's script with leave", async () => script(js("0", {headers: open}, CROSS), {integrity: await sum("0"), crossorigin: ""}), "load");
check("another origin's script with leave and a bad sum", () => script(js("0", {headers: open}, CROSS), {integrity: BAD, crossorigin: ""}), "error");
check("another origin's script without leave", async () => script(js("0", {}, CROSS), {integrity: await sum("0"), crossorigin: ""}), "error");
check("a style with its sum", async () => style(css("x{}"), {integrity: await sum("x{}")}), "load");
check("a style with another sum", () => style(css("x{}"), {integrity: BAD}), "error");
check("a style of another origin with leave", async () => style(css("x{}", {headers: open}, CROSS), {integrity: await sum("x{}"), crossorigin: ""}), "load");
check("a style of another origin with a bad sum", () => style(css("x{}", {headers: open}, CROSS), {integrity: BAD, crossorigin: ""}), "error");
check("a module with its sum", async () => script(js("0"), {type: "module", integrity: await sum("0")}), "load");
check("a module with another sum", () => script(js("0"), {type: "module", integrity: BAD}), "error");
check("fetch with its sum", async () => (await fetch(give({body: "x"}), {integrity: await sum("x")})).text(), "x");
check("fetch with another sum", async () => (await fetch(give({body: "x"}), {integrity: BAD})).text(), "throws TypeError");
check("a photo has its sum", async () => {
  const once = await (await fetch(picture("photo.jpg", {u: uid()}))).arrayBuffer();
  return (await fetch(picture("photo.jpg", {u: uid()}), {integrity: await sum(once)})).status;
}, 200);
check("a photo has its sum after it was shown", async () => {
  const once = await (await fetch(picture("photo.jpg", {u: uid()}))).arrayBuffer();
  const url = picture("photo.jpg", {u: uid(), headers: {"cache-control": "max-age=60"}});
  await image(url);
  return (await fetch(url, {integrity: await sum(once)})).status;
}, 200);
check("a coded script has the sum of what it says", async () => {
  const code = "window.coded = 1;" + " ".repeat(2000);
  return script(order("/coded", SAME, {coding: "gzip", type: "text/javascript", body: code, u: uid()}), {integrity: await sum(code)});
}, "load");
check("a script in another charset has the sum of its bytes", async () => {
  const bytes = new Uint8Array([39, 0xe4, 39]);
  return script(give({base64: btoa(String.fromCharCode(...bytes)), type: "text/javascript;charset=iso-8859-1"}), {integrity: await sum(bytes)});
}, "load");
check("a preload with its sum is used", async () => {
  const url = js("0");
  const integrity = await sum("0");
  await add("link", {rel: "preload", as: "script", href: url, integrity}, document.head);
  return script(url, {integrity});
}, "load");
check("a page's own markup with sums", async () => {
  const code = "window.sum = 1", good = await sum(code);
  return ask(html(`${TELL}<script src="${js(code)}" integrity="${good}"></script><script src="${js("window.bad = 1")}" integrity="${BAD}"></script><script>tell([window.sum, window.bad ?? 0])</script>`));
}, [1, 0]);
check("a redirect's end has the sum", async () => script(redirect(js("0")), {integrity: await sum("0")}), "load");
finish();
