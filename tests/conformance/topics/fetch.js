// fetch() itself: methods, bodies, answers, redirects, streams. Source: Fetch.
const text = async (input, init) => (await fetch(input, init)).text();
const echo = async (init, path = "/echo") => (await fetch(order(path, SAME, {u: uid()}), init)).json();

for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH"]) {
  check(`a ${method} arrives as it was sent`, async () => {
    const told = await echo({method, body: method === "GET" ? undefined : "a body"});
    return [told.method, told.body];
  }, [method, method === "GET" ? "" : "a body"]);
}
check("an OPTIONS is answered by the origin", async () => {
  const answer = await fetch(give({body: "options", headers: {"allow": "GET"}}), {method: "OPTIONS"});
  return [answer.status, answer.headers.get("allow"), await answer.text()];
}, [200, "GET", "options"]);
check("a HEAD has the fields and no body", async () => {
  const answer = await fetch(give({body: "twelve bytes", headers: {"x-own": "1"}}), {method: "HEAD"});
  return [answer.status, answer.headers.get("x-own"), answer.headers.get("content-length"), await answer.text()];
}, [200, "1", "12", ""]);
check("an unusual method arrives in its own letters", async () => (await echo({method: "chicken"})).method, "chicken");
check("fields of a request arrive", async () => {
  const told = await echo({headers: {"X-Own": "one, two", "Accept": "x/y", "Accept-Language": "xx", "Cache-Control": "no-store"}});
  return ["x-own", "accept", "accept-language", "cache-control"].map((name) => told.headers[name]);
}, ["one, two", "x/y", "xx", "no-store"]);
check("a request names its host", async () => (await echo()).headers.host === location.host, true);
check("a request says what it is", async () => {
  const told = await echo();
  return ["mode", "site", "dest", "user"].map((name) => told.headers["sec-fetch-" + name] ?? "none");
}, ["cors", "same-origin", "empty", "none"]);
check("a request has no fields of a proxy", async () => {
  const told = await echo();
  return Object.keys(told.headers).filter((name) => /via|forward|proxy|sluice/.test(name));
}, []);
check("the program names itself to the origin as to the page", async () =>
  (await echo()).headers["user-agent"] === navigator.userAgent, true);
check("a request has the fields that it has", async () => {
  const {headers} = await echo();
  return Object.entries(headers).filter(([name]) => !["host", "referer", "accept-encoding", "user-agent"].includes(name));
});
for (const [what, make, type] of [
  ["a text", () => "text", "text/plain;charset=UTF-8"],
  ["parameters", () => new URLSearchParams({a: "1 2", b: "&"}), "application/x-www-form-urlencoded;charset=UTF-8"],
  ["a blob", () => new Blob(["blob"], {type: "x/blob"}), "x/blob"],
  ["bytes", () => new Uint8Array([0, 1, 128, 255]), "none"],
]) {
  check(`a body that is ${what} has its type and bytes`, async () => {
    const told = await echo({method: "POST", body: make()});
    return [told.headers["content-type"] ?? "none", told.body];
  }, [type, {"a text": "text", parameters: "a=1+2&b=%26", "a blob": "blob", bytes: "\x00\x01\x80\xff"}[what]]);
}
check("a form as body arrives with its files", async () => {
  const form = new FormData();
  form.append("field", "v");
  form.append("file", new Blob(["data"], {type: "x/y"}), "n.bin");
  const told = await echo({method: "POST", body: form});
  const parsed = await new Response(told.body, {headers: {"content-type": told.headers["content-type"]}}).formData();
  return [parsed.get("field"), parsed.get("file").name, parsed.get("file").type, await parsed.get("file").text()];
}, ["v", "n.bin", "x/y", "data"]);
check("an upload of a megabyte arrives whole", async () => {
  const told = await echo({method: "POST", body: new Uint8Array(1 << 20).fill(65)});
  return [told.body.length, told.headers["content-length"]];
}, [1 << 20, String(1 << 20)]);
check("an empty POST says that it is empty", async () => {
  const told = await echo({method: "POST"});
  return [told.headers["content-length"], told.body];
}, ["0", ""]);
check("keepalive changes nothing in what is sent", async () => (await echo({method: "POST", body: "k", keepalive: true})).body, "k");

// answers
for (const status of [200, 201, 202, 203, 204, 205, 206, 299, 300, 400, 401, 403, 404, 410, 418, 429, 451, 499, 500, 501, 502, 503, 504, 599]) {
  check(`a status of ${status} is told`, async () => {
    const answer = await fetch(give({status, body: [204, 205].includes(status) ? "" : "said"}));
    return [answer.status, answer.ok, await answer.text()];
  }, [status, status < 300, [204, 205].includes(status) ? "" : "said"]);
}
check("an answer's status text is told", async () => (await fetch(give({}))).statusText);
check("an answer's own fields are told", async () => {
  const answer = await fetch(give({headers: {"x-one": ["a", "b"], "x-empty": "", "content-language": "tlh", link: "<x>; rel=author"}}));
  return ["x-one", "x-empty", "content-language", "link", "x-none"].map((name) => answer.headers.get(name));
}, ["a, b", "", "tlh", "<x>; rel=author", null]);
check("an answer has no fields but the origin's", async () => {
  const answer = await fetch(give({body: "x", headers: {"x-one": "1", etag: '"e"', "cache-control": "no-store", vary: "accept"}}));
  return fields(answer.headers);
}, [["cache-control", "no-store"], ["content-length", "1"], ["content-type", "text/plain"], ["etag", '"e"'], ["vary", "accept"], ["x-one", "1"]]);
check("a picture's answer has no fields but the origin's", async () => {
  const answer = await fetch(picture("photo.jpg", {u: uid(), headers: {etag: '"e"'}}));
  return fields(answer.headers);
}, [["content-length", "75680"], ["content-type", "image/jpeg"], ["etag", '"e"']]);
check("Set-Cookie is told to nobody", async () => (await fetch(give({headers: {"set-cookie": "told=1"}}))).headers.get("set-cookie"), null);
check("a picture's bytes are the origin's", async () =>
  hex(await crypto.subtle.digest("SHA-256", await (await fetch(picture("photo.jpg", {u: uid()}))).arrayBuffer())).slice(0, 16));
check("a picture's bytes are the origin's after it was shown", async () => {
  const url = picture("photo.jpg", {u: uid(), headers: {"cache-control": "max-age=60"}});
  await image(url);
  return hex(await crypto.subtle.digest("SHA-256", await (await fetch(url)).arrayBuffer())).slice(0, 16);
});
check("a PNG's bytes are the origin's after it was shown", async () => {
  const url = picture("photo.png", {u: uid(), headers: {"cache-control": "max-age=60", etag: '"png"'}});
  await image(url);
  const answer = await fetch(url, {cache: "force-cache"});
  return [answer.headers.get("content-type"), hex(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer())).slice(0, 16)];
});
check("a blob has the answer's type", async () => (await (await fetch(give({type: "X/Y; a=b"}))).blob()).type, undefined);
check("JSON is read as such", async () => (await (await fetch(give({type: "application/json", body: '{"a":[1]}'}))).json()).a[0], 1);
check("a byte order mark is not part of a text", async () => text(give({base64: "77u/YWI="})), "ab");
check("an answer with a clone is read twice", async () => {
  const answer = await fetch(give({body: "both"}));
  return [await answer.clone().text(), await answer.text()];
}, ["both", "both"]);
check("a fragment stays in the address", async () => new URL((await fetch(give({}) + "#part")).url).hash);
check("an answer's address is what was asked", async () => {
  const url = give({u: uid()});
  return (await fetch(url)).url === url;
}, true);

// redirects
for (const status of [301, 302, 303, 307, 308]) {
  check(`a POST that gets ${status} goes on as it must`, async () => {
    const answer = await fetch(redirect("/echo?" + uid(), {status}), {method: "POST", body: "again"});
    const told = await answer.json();
    return [told.method, told.body, told.headers["content-type"] ?? "none", answer.redirected, answer.type];
  }, status < 304 ? ["GET", "", "none", true, "basic"] : ["POST", "again", "text/plain;charset=UTF-8", true, "basic"]);
}
check("redirect: manual gives an opaque answer", async () => {
  const answer = await fetch(redirect("/echo"), {redirect: "manual"});
  return [answer.type, answer.status, answer.redirected, [...answer.headers].length, answer.body === null];
}, ["opaqueredirect", 0, false, 0, true]);
check("redirect: error fails", () => fetch(redirect("/echo"), {redirect: "error"}), "throws TypeError");
check("redirect: error without a redirect does not", () => text(give({body: "x"}), {redirect: "error"}), "x");
check("of several redirects the last address is told", async () => {
  const answer = await fetch(redirect(redirect("/give?body=end#f")));
  return [named(answer.url), answer.redirected, await answer.text()];
});
check("redirects in a circle fail", () => fetch(order("/count", SAME, {id: uid(), status: 302})
  .replace("/count", "/give") + "&h=location:" + encodeURIComponent("/give?status=302&h=location%3A%2Fgive%3Fstatus%3D302")), undefined);
check("a redirect without an address is an answer", async () => {
  const answer = await fetch(give({status: 302, body: "here"}));
  return [answer.status, await answer.text()];
}, [302, "here"]);
check("a redirect to another scheme fails", () => fetch(redirect("data:text/plain,x")), "throws TypeError");
check("a 304 that nobody asked for is an answer", async () => (await fetch(give({status: 304}), {cache: "no-store"})).status, 304);

// streams and ends
check("a body comes as it is sent", async () => {
  const id = uid(), decoder = new TextDecoder();
  const reader = (await fetch("/slow?id=" + id)).body.getReader();
  let all = "";
  while (all.length < 5) all += decoder.decode((await reader.read()).value);
  const first = all;
  fetch("/go?id=" + id);
  for (let part; !(part = await reader.read()).done;) all += decoder.decode(part.value);
  return [first, all];
}, ["first", "firstsecond"]);
check("an abort before the answer ends it", async () => {
  const stop = new AbortController(), id = uid();
  const asked = fetch(order("/wait", SAME, {id}), {signal: stop.signal});
  setTimeout(() => stop.abort(), 50);
  try { return (await asked).status; } finally { fetch("/go?id=" + id); }
}, "throws AbortError");
check("an abort in the body ends it", async () => {
  const stop = new AbortController(), id = uid();
  const answer = await fetch("/slow?id=" + id, {signal: stop.signal});
  stop.abort();
  try { return await answer.text(); } finally { fetch("/go?id=" + id); }
}, "throws AbortError");
check("a body that is given up leaves the others alone", async () => {
  const id = uid(), answer = await fetch("/slow?id=" + id);
  await answer.body.cancel();
  fetch("/go?id=" + id);
  return text(give({body: "well"}));
}, "well");
check("a body that is cut off is an error", async () => text("/cut?" + uid()), "throws TypeError");
check("a name without a server is a network error", () => fetch("/give?status=200", {method: "GET", integrity: "sha256-AAAA"}), "throws TypeError");
check("a port where nobody listens does not give an opaque success", async () => {
  const answer = await fetch(location.protocol + "//" + location.hostname + ":1/", {mode: "no-cors"});
  return answer.type;
});
check("trailers are read over", () => {
  const id = uid();
  fetch("/go?id=" + id);
  return text("/slow?id=" + id);
}, "firstsecond");
check("a data URL needs no origin", () => text("data:text/plain,hello"), "hello");
check("a blob URL needs no origin", () => text(URL.createObjectURL(new Blob(["blob"]))), "blob");
check("two hundred requests at once all have their own answer", async () => {
  const all = await Promise.all([...Array(200).keys()].map((one) => text("/give?body=" + one + "&" + uid())));
  return all.every((body, one) => body === String(one));
}, true);
finish();
