// Cross-origin requests: modes, credentials, preflights, what is exposed. Source: Fetch, 3.2, 4.8.
const echoes = (allow, options = {}) => order("/echo", CROSS, {u: uid(), headers: allow, ...options});
const read = async (url, init) => {
  const answer = await fetch(url, init);
  return [answer.type, answer.status, (await answer.text()).slice(0, 10)];
};
const self = {"access-control-allow-origin": SAME};
const trusted = {...self, "access-control-allow-credentials": "true"};

check("without leave another origin is not read", () => read(give({body: "b"}, CROSS)), "throws TypeError");
check("with leave for all it is read", () => read(give({body: "b", headers: open}, CROSS)), ["cors", 200, "b"]);
check("with leave for this origin it is read", () => read(give({body: "b", headers: self}, CROSS)), ["cors", 200, "b"]);
check("with leave for another origin it is not", () => read(give({body: "b", headers: {"access-control-allow-origin": WWW}}, CROSS)), "throws TypeError");
check("two origins in one leave are none", () => read(give({headers: {"access-control-allow-origin": SAME + ", " + WWW}}, CROSS)), "throws TypeError");
check("two leaves are none", () => read(give({headers: {"access-control-allow-origin": ["*", SAME]}}, CROSS)), "throws TypeError");
check("leave for null is not leave for this origin", () => read(give({headers: {"access-control-allow-origin": "null"}}, CROSS)), "throws TypeError");
check("another port is another origin", () => read(give({}, OTHER_PORT)), "throws TypeError");
check("a subdomain is another origin", () => read(give({}, WWW)), "throws TypeError");
check("an error status is read with leave", () => read(give({status: 404, body: "b", headers: open}, CROSS)), ["cors", 404, "b"]);
check("an error status is not read without", () => read(give({status: 404}, CROSS)), "throws TypeError");

for (const where of ["SAME", "CROSS"]) {
  const origin = where === "SAME" ? SAME : CROSS;
  check(`mode no-cors, ${where}`, async () => {
    const answer = await fetch(give({body: "b", headers: {"x-a": "1"}}, origin), {mode: "no-cors"});
    return [answer.type, answer.status, answer.ok, answer.url === "", (await answer.text()).length, answer.headers.get("x-a")];
  }, where === "SAME" ? ["basic", 200, true, false, 1, "1"] : ["opaque", 0, false, true, 0, null]);
  check(`mode same-origin, ${where}`, () => read(give({body: "b"}, origin), {mode: "same-origin"}),
    where === "SAME" ? ["basic", 200, "b"] : "throws TypeError");
  check(`mode cors, ${where}`, () => read(give({body: "b", headers: open}, origin), {mode: "cors"}),
    [where === "SAME" ? "basic" : "cors", 200, "b"]);
}
check("mode navigate is for no script", () => fetch("/give", {mode: "navigate"}), "throws TypeError");
check("no-cors with another method is refused", () => fetch(give({}, CROSS), {mode: "no-cors", method: "PUT"}), "throws TypeError");
check("no-cors drops unsafe fields", async () => {
  const key = uid();
  await fetch(give({key}, CROSS), {mode: "no-cors", headers: {"x-own": "1", "accept-language": "xx"}});
  const [one] = await seen(key);
  return [one.headers["x-own"] ?? "none", one.headers["accept-language"], one.headers.origin ?? "none"];
}, ["none", "xx", "none"]);
check("no-cors sends a POST with its origin", async () => {
  const key = uid();
  await fetch(give({key}, CROSS), {mode: "no-cors", method: "POST", body: "x"});
  return sent(key, "origin");
});

// credentials; cookies of the other site are SameSite=None where they may be
const cookie = "jar" + RUN;
const ready = fetch(give({headers: {...trusted, "set-cookie": cookie + "=1" + (HTTPS ? "; SameSite=None; Secure" : "")}}, CROSS), {credentials: "include"})
  .then(() => fetch(give({headers: {"set-cookie": cookie + "=1"}})));
for (const credentials of ["omit", "same-origin", "include"]) {
  for (const where of ["SAME", "WWW", "PORT", "CROSS"]) {
    check(`credentials ${credentials}, ${where}: which cookies go`, async () => {
      await ready;
      const origin = {SAME, WWW, PORT: OTHER_PORT, CROSS}[where];
      const told = await (await fetch(order("/echo", origin, {u: uid(), headers: trusted}), {credentials})).json();
      return (told.headers.cookie ?? "").includes(cookie);
    }, where === "WWW" || (credentials === "include" && where === "CROSS") ? undefined
      : credentials === "include" || (credentials === "same-origin" && where === "SAME"));
  }
}
check("credentials and leave for all don't go together", () => read(give({headers: open}, CROSS), {credentials: "include"}), "throws TypeError");
check("credentials need leave of their own", () => read(give({headers: self}, CROSS), {credentials: "include"}), "throws TypeError");
check("credentials with leave are read", () => read(give({body: "c", headers: trusted}, CROSS), {credentials: "include"}), ["cors", 200, "c"]);
check("leave for credentials is spelt in small letters", () =>
  read(give({headers: {...self, "access-control-allow-credentials": "TRUE"}}, CROSS), {credentials: "include"}), "throws TypeError");

// what is exposed
const exposed = async (headers, init) => {
  const answer = await fetch(give({headers: {"x-a": "1", "x-b": "2", "content-language": "x", "cache-control": "no-store", ...headers}}, CROSS), init);
  return [...answer.headers.keys()].sort();
};
check("only safelisted fields are exposed", () => exposed(open), ["cache-control", "content-language", "content-length", "content-type"]);
check("named fields are exposed", () => exposed({...open, "access-control-expose-headers": "x-a"}),
  ["cache-control", "content-language", "content-length", "content-type", "x-a"]);
check("a star exposes all without credentials", async () => {
  const names = await exposed({...open, "access-control-expose-headers": "*"});
  return [names.includes("x-a"), names.includes("x-b")];
}, [true, true]);
check("a star exposes none with credentials", async () =>
  (await exposed({...trusted, "access-control-expose-headers": "*"}, {credentials: "include"})).includes("x-a"), false);
check("nothing of a proxy's is exposed", async () => {
  const answer = await fetch(give({headers: {...open, "access-control-expose-headers": "*"}}, CROSS));
  return fields(answer.headers).map(([name]) => name);
}, ["access-control-allow-origin", "access-control-expose-headers", "content-length", "content-type"]);

// preflights
const flight = async (options, init, to = CROSS) => {
  const key = uid();
  let end;
  try {
    const answer = await fetch(give({body: "f", key, ...options}, to), init);
    end = await answer.text();
  } catch (error) {
    end = error.name;
  }
  return [end, (await seen(key)).map((one) => one.method)];
};
check("a PUT needs leave", () => flight({headers: self}, {method: "PUT"}), ["TypeError", ["OPTIONS"]]);
check("a PUT with leave is sent", () => flight({headers: self, "allow-methods": "PUT"}, {method: "PUT"}), ["f", ["OPTIONS", "PUT"]]);
check("a DELETE with a star is sent", () => flight({headers: self, "allow-methods": "*"}, {method: "DELETE"}), ["f", ["OPTIONS", "DELETE"]]);
check("with credentials a star is a method's name", async () => {
  await ready;
  return flight({headers: trusted, "allow-methods": "*"}, {method: "DELETE", credentials: "include"});
}, ["TypeError", ["OPTIONS"]]);
check("with leave to send credentials, and none to send, it is so as well", () =>
  flight({headers: trusted, "allow-methods": "*"}, {method: "DELETE", credentials: "include"}, WWW), ["TypeError", ["OPTIONS"]]);
check("with credentials a star is no leave for one that has none", () =>
  flight({headers: open, "allow-methods": "PUT"}, {method: "PUT", credentials: "include"}, WWW));
check("a field of one's own needs leave", () => flight({headers: self}, {headers: {"x-own": "1"}}), ["TypeError", ["OPTIONS"]]);
check("a field with leave is sent", () => flight({headers: self, "allow-headers": "X-Own"}, {headers: {"x-own": "1"}}), ["f", ["OPTIONS", "GET"]]);
check("authorization needs its own name", () =>
  flight({headers: self, "allow-headers": "*"}, {headers: {authorization: "x"}}));
check("a JSON body needs leave", () =>
  flight({headers: self}, {method: "POST", body: "{}", headers: {"content-type": "application/json"}}), ["TypeError", ["OPTIONS"]]);
check("a plain POST needs none", () => flight({headers: self}, {method: "POST", body: "x"}), ["f", ["POST"]]);
check("a preflight that fails stops it", () => flight({headers: self, "allow-methods": "PUT", preflight: 500}, {method: "PUT"}), ["TypeError", ["OPTIONS"]]);
check("a preflight asks without cookies and names all", async () => {
  await ready;
  const key = uid();
  await fetch(give({key, headers: trusted, "allow-methods": "PUT", "allow-headers": "x-b,x-a"}, CROSS),
    {method: "PUT", credentials: "include", headers: {"x-b": "1", "x-a": "2"}});
  const [first] = await seen(key);
  const {headers} = first;
  return [headers["access-control-request-method"], headers["access-control-request-headers"], headers.cookie ?? "none",
    named(headers.origin), headers["sec-fetch-mode"]];
}, ["PUT", "x-a,x-b", "none", "SAME", "cors"]);
check("a preflight is remembered as long as it says", async () => {
  const key = uid(), url = give({key, headers: {...self, "access-control-max-age": "60", vary: "x"}, "allow-methods": "PUT"}, CROSS);
  for (let times = 0; times < 3; times++) await fetch(url, {method: "PUT", headers: {}, body: String(times)});
  return (await seen(key)).map((one) => one.method + one.body);
}, ["OPTIONS", "PUT0", "PUT1", "PUT2"]);

// redirects
check("from here to there, with leave", async () => {
  const answer = await fetch(redirect(echoes(open)));
  const told = await answer.json();
  return [answer.type, answer.redirected, told.headers.origin && named(told.headers.origin)];
}, ["cors", true, "SAME"]);
check("from here to there, without", () => fetch(redirect(echoes({}))), "throws TypeError");
check("from there to here: the origin is null", async () => {
  const answer = await fetch(redirect(order("/echo", SAME, {headers: open}), {headers: open}, CROSS));
  const told = await answer.json();
  return [answer.type, told.headers.origin];
}, ["cors", "null"]);
check("a redirect without leave stops at once", () => fetch(redirect(echoes(open), {}, CROSS)), "throws TypeError");
check("mode same-origin does not follow away", () => fetch(redirect(echoes(open)), {mode: "same-origin"}), "throws TypeError");
check("no-cors follows anywhere", async () => (await fetch(redirect(echoes({})), {mode: "no-cors"})).type, "opaque");
check("manual across origins", async () => (await fetch(redirect(echoes(open), {headers: open}, CROSS), {redirect: "manual"})).type, "opaqueredirect");
check("authorization does not go across origins", async () => {
  const key = uid();
  try {
    await fetch(redirect(give({key, headers: open, "allow-headers": "authorization"}, CROSS)), {headers: {authorization: "Basic eDp5"}});
  } catch { /* a browser may also ask for leave in vain */ }
  return (await seen(key)).filter((one) => one.headers.authorization).length;
});
check("after a preflight a redirect is followed", async () => {
  const headers = {...self};
  const to = give({body: "end", headers: open, "allow-headers": "x-own"}, CROSS);
  return read(redirect(to, {headers, "allow-headers": "x-own"}, CROSS), {headers: {"x-own": "1"}});
}, ["cors", 200, "end"]);

// elements
check("a script of another origin runs", () => script(js("0", {}, CROSS)), "load");
check("a script with crossorigin needs leave", () => script(js("0", {}, CROSS), {crossorigin: "anonymous"}), "error");
check("a script with crossorigin and leave runs", () => script(js("0", {headers: open}, CROSS), {crossorigin: "anonymous"}), "load");
check("a picture with crossorigin needs leave", () => image(picture("red.png", {u: uid()}, CROSS), {crossorigin: ""}), "error");
check("a picture with crossorigin and leave is shown", () => image(picture("red.png", {u: uid(), headers: open}, CROSS), {crossorigin: ""}), "12x8");
check("a photo with crossorigin and leave is shown", () => image(picture("photo.jpg", {u: uid(), headers: open}, CROSS), {crossorigin: ""}), "640x480");
check("a photo with credentials needs leave for them", () => image(picture("photo.jpg", {u: uid(), headers: open}, CROSS), {crossorigin: "use-credentials"}), "error");
check("a style sheet of another origin hides its rules", async () => {
  const loading = style(css("x{}", {}, CROSS));
  await loading;
  try { return loading.element.sheet.cssRules.length; } catch (error) { return error.name; }
}, "SecurityError");
check("a style sheet with leave shows them", async () => {
  const loading = style(css("x{}", {headers: open}, CROSS), {crossorigin: ""});
  await loading;
  return loading.element.sheet.cssRules.length;
}, 1);
check("a module of another origin needs leave", () => script(js("0", {}, CROSS), {type: "module"}), "error");
check("a module with leave runs", () => script(js("0", {headers: open}, CROSS), {type: "module"}), "load");
finish();
