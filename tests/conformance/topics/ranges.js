// Ranges, validators, caches and codings. Source: RFC 9110, 8, 13, 14; RFC 9111.
const part = async (range, more = {}, query = "") => {
  const answer = await fetch("/bytes?" + uid() + query, {headers: {range, ...more}});
  const data = new Uint8Array(await answer.arrayBuffer());
  return [answer.status, answer.headers.get("content-range"), data.length, data.length ? data[0] : null];
};
const TAG = fetch("/bytes?tag").then((answer) => answer.headers.get("etag"));
check("the whole says that there are ranges", async () => { const a = await fetch("/bytes?" + uid()); return [a.status, a.headers.get("accept-ranges"), (await a.arrayBuffer()).byteLength]; }, [200, "bytes", 4096]);
check("the first bytes", () => part("bytes=0-9"), [206, "bytes 0-9/4096", 10, 0]);
check("bytes in the middle", () => part("bytes=300-309"), [206, "bytes 300-309/4096", 10, 44]);
check("the last bytes", () => part("bytes=-5"), [206, "bytes 4091-4095/4096", 5, 251]);
check("all from one on", () => part("bytes=4090-"), [206, "bytes 4090-4095/4096", 6, 250]);
check("beyond the end", () => part("bytes=5000-"), [416, "bytes */4096", 0, null]);
check("a little beyond the end", () => part("bytes=4090-9999"), [206, "bytes 4090-4095/4096", 6, 250]);
check("several ranges", async () => { const a = await fetch("/bytes?" + uid(), {headers: {range: "bytes=0-1,10-11"}}); return [a.status, a.headers.get("content-type"), (await a.text()).split("--cut").length]; }, [206, "multipart/byteranges; boundary=cut", 4]);
check("a range that nobody knows", () => part("bytes=0-9", {}, "&none=1"), [200, null, 4096, 0]);
check("If-Range with the tag", async () => part("bytes=0-9", {"if-range": await TAG}), [206, "bytes 0-9/4096", 10, 0]);
check("If-Range with another tag", () => part("bytes=0-9", {"if-range": '"other"'}), [200, null, 4096, 0]);
check("a range after the whole", async () => {
  const url = "/bytes?" + uid();
  await (await fetch(url)).arrayBuffer();
  const answer = await fetch(url, {headers: {range: "bytes=5-6"}});
  return [answer.status, [...new Uint8Array(await answer.arrayBuffer())]];
}, [206, [5, 6]]);
check("the whole after a range", async () => {
  const url = "/bytes?" + uid();
  await (await fetch(url, {headers: {range: "bytes=5-6"}})).arrayBuffer();
  return (await (await fetch(url)).arrayBuffer()).byteLength;
}, 4096);
check("a range of a photo that was shown", async () => {
  const url = picture("photo.jpg", {u: uid(), headers: {"cache-control": "max-age=60"}});
  await image(url);
  const answer = await fetch(url, {headers: {range: "bytes=0-3"}});
  return [answer.status, (await answer.arrayBuffer()).byteLength];
});
check("a range across origins", async () => {
  const answer = await fetch(order("/bytes", CROSS, {u: uid(), headers: {...open, "access-control-expose-headers": "content-range"}}), {headers: {range: "bytes=0-9"}});
  return [answer.status, answer.headers.get("content-range")];
});

// validators
const again = (headers, cache, options = {}) => async () => {
  const key = uid(), url = order("/check", SAME, {key, headers, ...options}), told = [];
  for (let times = 0; times < 2; times++) {
    const answer = await fetch(url, {cache});
    told.push([answer.status, await answer.text()]);
  }
  return [told, (await seen(key)).map((one) => one.headers["if-none-match"] ?? one.headers["if-modified-since"] ?? "none")];
};
const DATE = "Mon, 23 Nov 2020 10:00:00 GMT";
check("an entity tag is asked with", again({etag: '"v"', "cache-control": "no-cache"}), [[[200, "made"], [200, "made"]], ["none", '"v"']]);
check("a weak one as well", again({etag: 'W/"v"', "cache-control": "no-cache"}), [[[200, "made"], [200, "made"]], ["none", 'W/"v"']]);
check("a date is asked with", again({"last-modified": DATE, "cache-control": "no-cache"}), [[[200, "made"], [200, "made"]], ["none", DATE]]);
check("no-store forgets all", again({etag: '"v"', "cache-control": "no-store"}));
check("what is fresh is not asked for", again({etag: '"v"', "cache-control": "max-age=60"}), [[[200, "made"], [200, "made"]], ["none"]]);
check("immutable is not asked for", again({"cache-control": "max-age=60, immutable"}), [[[200, "made"], [200, "made"]], ["none"]]);
check("what is stale is", again({etag: '"v"', "cache-control": "max-age=0"}), [[[200, "made"], [200, "made"]], ["none", '"v"']]);
check("cache: no-store", again({etag: '"v"', "cache-control": "max-age=60"}, "no-store"), [[[200, "made"], [200, "made"]], ["none"]]);
check("cache: reload", again({etag: '"v"', "cache-control": "max-age=60"}, "reload"));
check("cache: no-cache", again({etag: '"v"', "cache-control": "max-age=60"}, "no-cache"), [[[200, "made"], [200, "made"]], ["none", '"v"']]);
check("cache: force-cache", again({etag: '"v"', "cache-control": "max-age=0"}, "force-cache"), [[[200, "made"], [200, "made"]], ["none"]]);
check("cache: only-if-cached of nothing", () => fetch(give({u: uid()}), {cache: "only-if-cached", mode: "same-origin"}).then((a) => a.status), undefined);
check("a 304 for a page's own condition is told", async () => {
  const answer = await fetch(order("/check", SAME, {key: uid(), headers: {etag: '"v"'}}), {headers: {"if-none-match": '"v"'}});
  return [answer.status, await answer.text()];
}, [304, ""]);
check("vary: another field, another answer", async () => {
  const id = uid(), url = order("/count", SAME, {id, headers: {vary: "x-a", "cache-control": "max-age=60"}}), told = [];
  for (const value of ["1", "1", "2"]) told.push(await (await fetch(url, {headers: {"x-a": value}})).text());
  return told;
});
check("age and date are the origin's", async () => {
  const answer = await fetch(give({headers: {age: "7", date: DATE, expires: DATE}}));
  return ["age", "date", "expires"].map((name) => answer.headers.get(name));
}, ["7", DATE, DATE]);
check("a photo in markup is kept by the browser", async () => {
  const key = uid(), url = picture("photo.jpg", {key, headers: {"cache-control": "max-age=600"}});
  for (let times = 0; times < 2; times++) await ask(html(`${TELL}<img src="${url}"><script>onload=()=>setTimeout(()=>tell(1),500)</script>`, {}, SAME, {times}));
  return (await seen(key)).length;
}, 1);
check("a count that may not be kept is counted", async () => {
  const url = order("/count", SAME, {id: uid(), headers: {"cache-control": "no-store"}});
  return [await (await fetch(url)).text(), await (await fetch(url)).text()];
}, ["1", "2"]);

// codings and charsets
for (const coding of HTTPS ? ["gzip", "br", "gzip, br", ""] : ["gzip", ""]) { // browsers take br over https alone
  check(`coding ${coding || "none"}`, async () => (await (await fetch(order("/coded", SAME, {coding, body: "a text".repeat(99), u: uid()}))).text()).length, 594);
}
check("a coding is told as the origin's field", async () => (await fetch(order("/coded", SAME, {coding: "gzip", body: "x", u: uid()}))).headers.get("content-encoding"));
for (const coding of HTTPS ? ["gzip", "br"] : ["gzip"]) {
  const cut = {coding, short: 1, body: Array.from({length: 999}, (_, n) => n).join(), u: uid()};
  check(`a body of ${coding} that is cut off`, async () => (await fetch(order("/coded", SAME, cut))).text());
}
check("a body that is not what its coding says is an error", async () => (await fetch(give({body: "no gzip", headers: {"content-encoding": "gzip"}}))).text());
check("a coding that nobody knows passes", async () => (await fetch(give({body: "x", headers: {"content-encoding": "unknown"}}))).text(), "x");
check("accepted codings", async () => (await (await fetch("/echo?" + uid())).json()).headers["accept-encoding"].includes("gzip"), true);
for (const charset of ["iso-8859-1", "windows-1251", "shift_jis", "utf-16le", "utf-8"]) {
  const word = {"iso-8859-1": "äé", "windows-1251": "Ж", "shift_jis": "日本", "utf-16le": "hi", "utf-8": "ü日"}[charset];
  const body = `<!doctype html><p id=p>${word}</p>${TELL}<script>tell([document.characterSet, p.textContent])</script>`;
  check(`a page in ${charset}`, () => ask(order("/coded", SAME, {coding: "", charset, body, type: "text/html;charset=" + charset, u: uid()})));
  if (charset !== "utf-16le") check(`a page in ${charset} that says so itself`, () => ask(order("/coded", SAME, {coding: "", charset, type: "text/html",
    body: `<!doctype html><meta charset=${charset}><p id=p>${word}</p>${TELL}<script>tell([document.characterSet, p.textContent])</script>`, u: uid()})));
  check(`a script in ${charset}`, async () => {
    const name = "s" + uid();
    await script(order("/coded", SAME, {coding: "", charset, body: `window["${name}"] = "${word}"`, type: "text/javascript;charset=" + charset, u: uid()}));
    return window[name];
  }, word);
}
check("a page with a byte order mark", () => ask(give({type: "text/html", base64: btoa("\xef\xbb\xbf<!doctype html><script>parent.postMessage({value: document.characterSet}, '*')</script>")})), "UTF-8");
check("a meta charset at the end of its 1,024 bytes", () => ask(order("/coded", SAME, {coding: "", charset: "windows-1251", type: "text/html", u: uid(),
  body: "<!doctype html><!--" + "x".repeat(940) + "--><meta charset=windows-1251><p id=p>Ж</p>" + TELL + "<script>tell([document.characterSet, p.textContent])</script>"})), ["windows-1251", "Ж"]);
finish();
