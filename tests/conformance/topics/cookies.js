// Cookies: which are kept, read and sent. Source: RFC 6265bis; CHIPS.
const sets = (cookie, origin = SAME, options = {}) => give({headers: {"set-cookie": cookie, ...open}, u: uid(), ...options}, origin);
const has = async (name, origin = SAME, init = {}) => {
  const told = await (await fetch(order("/echo", origin, {u: uid(), headers: {"access-control-allow-origin": SAME, "access-control-allow-credentials": "true"}}), {credentials: "include", ...init})).json();
  return (told.headers.cookie ?? "").split("; ").filter((one) => one.startsWith(name + "=")).join("; ");
};
const kept = (attributes, expected) => check(`a cookie with ${attributes || "no attributes"}: sent, seen`, async () => {
  const name = "c" + uid();
  await fetch(sets(`${name}=v${attributes ? "; " + attributes : ""}`));
  return [(await has(name)).replace(name, "NAME"), document.cookie.includes(name + "=")];
}, expected);
kept("", ["NAME=v", true]);
kept("HttpOnly", ["NAME=v", false]);
kept("Secure", HTTPS ? ["NAME=v", true] : undefined);
kept("Path=/", ["NAME=v", true]);
kept("Path=/echo", ["NAME=v", false]);
kept("Path=/other", ["", false]);
kept("Max-Age=100", ["NAME=v", true]);
kept("Max-Age=0", ["", false]);
kept("Expires=Thu, 01 Jan 1970 00:00:00 GMT", ["", false]);
kept("Expires=Fri, 01 Jan 2038 00:00:00 GMT", ["NAME=v", true]);
kept("SameSite=Strict", ["NAME=v", true]);
kept("SameSite=Lax", ["NAME=v", true]);
kept("SameSite=None", undefined);
kept("SameSite=None; Secure", HTTPS ? ["NAME=v", true] : undefined);
kept("SameSite=None; Secure; Partitioned", undefined);
kept("Domain=" + topic, ["NAME=v", true]);
kept("Domain=www." + topic, ["", false]);
kept("Domain=cross.test", ["", false]);
kept("Domain=test", ["", false]);
check("a cookie of the host alone does not go to a subdomain", async () => {
  const name = "c" + uid();
  await fetch(sets(name + "=v"));
  return has(name, WWW);
}, "");
check("a cookie of the domain goes to a subdomain", async () => {
  const name = "c" + uid();
  await fetch(sets(`${name}=v; Domain=${topic}`));
  return (await has(name, WWW)) === name + "=v";
}, true);
check("a cookie goes to another port", async () => {
  const name = "c" + uid();
  await fetch(sets(name + "=v"));
  return (await has(name, OTHER_PORT)) === name + "=v";
}, true);
for (const [prefix, attributes] of [["__Host-", "Secure; Path=/"], ["__Host-", "Secure; Path=/x"], ["__Host-", "Path=/"], ["__Secure-", "Secure"], ["__Secure-", ""]]) {
  check(`${prefix} with ${attributes || "nothing"}`, async () => {
    const name = prefix + uid();
    await fetch(sets(`${name}=v; ${attributes}`));
    return (await has(name)) === name + "=v";
  });
}
check("several cookies of one answer are all kept", async () => {
  const [a, b] = ["c" + uid(), "c" + uid()];
  await fetch(sets([a + "=1", b + "=2"]));
  return [await has(a), await has(b)].map((text) => text.slice(-2));
}, ["=1", "=2"]);
check("a later cookie of a name stands in the earlier one's place", async () => {
  const name = "c" + uid();
  await fetch(sets([name + "=1", name + "=2"]));
  return (await has(name)).slice(-2);
}, "=2");
check("a value keeps its letters", async () => {
  const name = "c" + uid();
  await fetch(sets(`${name}="a=b c,d"; Path=/`));
  return (await has(name)).slice(name.length);
}, '="a=b c,d"');
for (const [what, load] of [
  ["a picture", (url) => image(url)], ["a photo that is shown in levels", (url) => image(url.replace("/give", "/photo.jpg"))],
  ["a script", (url) => script(url)], ["a style sheet", (url) => style(url)],
  ["a frame", (url) => add("iframe", {src: url})], ["an answer that is 404", (url) => fetch(url + "&status=404")],
  ["a redirect", (url) => fetch(url + "&status=302&h=location:/give")], ["a HEAD", (url) => fetch(url, {method: "HEAD"})],
]) {
  check(`${what} sets a cookie`, async () => {
    const name = "c" + uid();
    await load(sets(name + "=v"));
    return (await has(name)).slice(-2);
  }, "=v");
}
check("pictures in markup set and send cookies", async () => {
  const name = "c" + uid(), key = uid();
  await fetch(sets(name + "=v"));
  await ask(html(`${TELL}<img src="${picture("photo.jpg", {key})}"><script src="${js("0", {key})}"></script><link rel=stylesheet href="${css("x{}", {key})}"><script>onload=()=>tell(1)</script>`));
  return (await seen(key)).map((one) => [one.path, (one.headers.cookie ?? "").includes(name)]).map(String).sort().filter((one, at, all) => all.indexOf(one) === at);
}, ["/give,true", "/photo.jpg,true"]);
check("a script's cookie is sent", async () => {
  const name = "c" + uid();
  await write(name + "=s; path=/");
  return (await has(name)).slice(-2);
}, "=s");
check("a cookie that a script sets goes with the next picture", async () => {
  const name = "c" + uid(), key = uid();
  await write(name + "=s; path=/");
  await image(picture("red.png", {key}));
  return (await sent(key, "cookie")).includes(name);
}, true);
for (const same of ["Strict", "Lax", "None", ""]) {
  const attribute = same ? `; SameSite=${same}` : "";
  const safe = HTTPS && same === "None" ? "; Secure" : "";
  check(`SameSite ${same || "unsaid"}: with a picture on another site's page`, async () => {
    const name = "c" + uid(), key = uid();
    await fetch(sets(`${name}=v${attribute}${safe}`));
    await ask(html(`${TELL}<img src="${picture("red.png", {key})}"><script>onload=()=>tell(1)</script>`, {}, CROSS));
    return (await sent(key, "cookie")).includes(name);
  });
  check(`SameSite ${same || "unsaid"}: with a window that another site opens`, async () => {
    const name = "c" + uid(), key = uid();
    await fetch(sets(`${name}=v${attribute}${safe}`));
    const here = html("<script>close()</script>", {}, SAME, {key});
    window.open(html(`<script>location = ${JSON.stringify(here)}</script>`, {}, CROSS), "_blank", "noopener");
    return (await sent(key, "cookie", true)).includes(name);
  });
  check(`SameSite ${same || "unsaid"}: with a form that another site posts`, async () => {
    const name = "c" + uid(), key = uid();
    await fetch(sets(`${name}=v${attribute}${safe}`));
    await ask(html(`${TELL}<form method=post target=f action="${give({key, type: "text/html", body: "x"})}"></form><iframe name=f></iframe><script>document.forms[0].submit(); document.querySelector("iframe").addEventListener("load", () => frames[0].length === 0 && setTimeout(tell, 100))</script>`, {}, CROSS));
    return (await sent(key, "cookie", true)).includes(name);
  });
}
check("another site's answer sets no cookie here", async () => {
  const name = "c" + uid();
  await fetch(sets(`${name}=v; Domain=${topic}`, CROSS), {mode: "no-cors", credentials: "include"});
  return has(name);
}, "");
check("what came with one cookie is not shown with another", async () => {
  const name = "c" + uid(), url = "/echo?" + uid() + "&h=vary:cookie&h=cache-control:max-age=60";
  const told = [];
  for (const value of ["one", "two"]) {
    await write(name + "=" + value + "; path=/");
    told.push((await (await fetch(url)).json()).headers.cookie.match(new RegExp(name + "=(\\w+)"))[1]);
  }
  return told;
}, ["one", "two"]);
if (window.cookieStore) check("the cookie store knows them", async () => { const name = "c" + uid(); await cookieStore.set(name, "v"); return (await cookieStore.get(name)).value; }, "v");
else check("the cookie store knows them", () => "v");
finish();
