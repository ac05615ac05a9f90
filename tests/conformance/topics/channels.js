// XMLHttpRequest, EventSource, WebSocket, sendBeacon. Sources: XHR; HTML 9.2; WebSockets; Beacon.
const xhr = (method, url, {body, type, headers = {}, credentials = false, wait} = {}) => new Promise((done) => {
  const one = new XMLHttpRequest(), events = [];
  one.open(method, url);
  if (type) one.responseType = type;
  one.withCredentials = credentials;
  for (const [name, value] of Object.entries(headers)) one.setRequestHeader(name, value);
  for (const name of ["loadstart", "load", "error", "abort", "timeout", "loadend"]) one.addEventListener(name, () => events.push(name));
  one.onloadend = () => done({one, events});
  if (wait) one.timeout = wait;
  one.send(body);
});
check("XHR: a GET", async () => { const {one, events} = await xhr("GET", give({body: "b"})); return [one.status, one.responseText, events, one.readyState]; }, [200, "b", ["loadstart", "load", "loadend"], 4]);
for (const method of ["POST", "PUT", "DELETE", "PATCH"]) check(`XHR: a ${method}`, async () => { const {one} = await xhr(method, "/echo?" + uid(), {body: "b", type: "json"}); return [one.response.method, one.response.body]; }, [method, "b"]);
check("XHR: all fields", async () => { const {one} = await xhr("GET", give({headers: {"x-b": "2", "x-a": "1"}, u: uid()})); return one.getAllResponseHeaders().split("\r\n").filter((line) => line && !/^(connection|x-firefox-spdy)/.test(line)).sort(); }, ["content-length: 0", "content-type: text/plain", "x-a: 1", "x-b: 2"]);
check("XHR: bytes", async () => { const {one} = await xhr("GET", give({base64: "AAH/"}), {type: "arraybuffer"}); return [...new Uint8Array(one.response)]; }, [0, 1, 255]);
check("XHR: a document", async () => { const {one} = await xhr("GET", html("<head><title>t</title></head><body><script>1</script><p>p", {}, SAME, {u: uid()}), {type: "document"}); return [one.response.title, one.response.scripts.length, one.response.head.innerHTML]; }, ["t", 1, "<title>t</title>"]);
check("XHR: a page's text", async () => (await xhr("GET", html("<head></head><body>x", {}, SAME, {u: uid()}))).one.responseText, "<!doctype html><head></head><body>x");
check("XHR: XML", async () => { const {one} = await xhr("GET", give({type: "text/xml", body: "<a><b/></a>"})); return one.responseXML.documentElement.firstChild.nodeName; }, "b");
check("XHR: a type that is overridden", async () => { const one = new XMLHttpRequest(); one.open("GET", give({base64: "5A=="})); one.overrideMimeType("text/plain;charset=iso-8859-1"); await new Promise((done) => { one.onload = done; one.send(); }); return one.responseText; }, "ä");
check("XHR: its length is told as it comes", async () => { let all; await new Promise((done) => { const one = new XMLHttpRequest(); one.open("GET", "/bytes?" + uid()); one.onprogress = (event) => { all = [event.lengthComputable, event.total]; }; one.onload = done; one.send(); }); return all; }, [true, 4096]);
check("XHR: an upload's events", () => new Promise((done) => { const one = new XMLHttpRequest(), events = []; one.open("POST", "/echo?" + uid()); for (const name of ["loadstart", "load", "loadend"]) one.upload["on" + name] = (event) => events.push(name + event.loaded); one.onload = () => done(events); one.send("x".repeat(5000)); }), ["loadstart0", "load5000", "loadend5000"]);
check("XHR: another origin without leave", async () => { const {one, events} = await xhr("GET", give({}, CROSS)); return [one.status, events]; }, [0, ["loadstart", "error", "loadend"]]);
check("XHR: a redirect's end is told", async () => { const {one} = await xhr("GET", redirect("/give?body=x")); return named(one.responseURL); }, "SAME/give?body=x");
check("XHR: synchronous", () => { const one = new XMLHttpRequest(); one.open("GET", give({body: "s"}), false); one.send(); return one.responseText; }, "s");
check("XHR: time is up", async () => { const id = uid(), {events} = await xhr("GET", "/wait?id=" + id, {wait: 100}); fetch("/go?id=" + id); return events; }, ["loadstart", "timeout", "loadend"]);
check("XHR: abort", async () => { const id = uid(), one = new XMLHttpRequest(); one.open("GET", "/wait?id=" + id); one.send(); await sleep(30); one.abort(); fetch("/go?id=" + id); return [one.readyState, one.status]; }, [0, 0]);
check("XHR: text as it comes", async () => { const id = uid(), one = new XMLHttpRequest(); one.open("GET", "/slow?type=application/json&id=" + id); let first; const end = new Promise((done) => { one.onload = done; }); one.onprogress = () => { if (first === undefined) { first = one.responseText; fetch("/go?id=" + id); } }; one.send(); await end; return [first, one.responseText]; }, ["first", "firstsecond"]);

const source = (url, init) => new Promise((done) => {
  const one = new EventSource(url, init), told = [];
  one.onopen = () => told.push("open");
  one.onmessage = (event) => { told.push([event.data, event.lastEventId]); if (told.filter(Array.isArray).length === 2) { one.close(); done(told); } };
  one.addEventListener("other", (event) => told.push("other " + event.data));
  one.onerror = () => { if (one.readyState === 2) done([...told, "closed"]); };
});
check("events come, and again from the last one", () => source("/events?" + uid()), ["open", ["last none", "7"], "other one\ntwo", "open", ["last 7", "7"]]);
check("events need their type", () => source("/events?type=text/plain&" + uid()), ["closed"]);
check("events of another origin need leave", () => source(order("/events", CROSS, {u: uid()})));
check("events of another origin with leave", () => source(order("/events", CROSS, {u: uid(), headers: open})));
check("events that are 204 are the end", () => source(give({status: 204})), ["closed"]);
check("events ask as events do", async () => { const key = uid(); await source("/events?key=" + key); const all = await seen(key); return all.map((one) => [one.headers.accept, one.headers["cache-control"] ?? "none", one.headers["last-event-id"] ?? "none"]); });

const socket = (what = {}, work = () => 0, protocols = []) => new Promise((done) => {
  const one = new WebSocket(order("/socket", (what.origin || SAME).replace(/^http/, "ws"), what.query), protocols), told = [];
  one.binaryType = "arraybuffer";
  one.onopen = () => { told.push("open " + one.protocol + one.extensions); };
  one.onmessage = (event) => { told.push(event.data); work(one, told, event); };
  one.onerror = () => told.push("error");
  one.onclose = (event) => done([...told, [event.code, event.wasClean, event.reason]]);
});
const once = (data) => (one, told) => { if (told.length === 2) { told[1] = "hello"; one.send(data); } else one.close(1000, "enough"); };
check("a socket echoes a text", () => socket({}, once("häß")), ["open ", "hello", "häß", [1000, true, "enough"]]);
check("a socket echoes bytes", async () => { const told = await socket({}, once(new Uint8Array([1, 0, 255]))); return [...new Uint8Array(told[2])]; }, [1, 0, 255]);
check("a socket echoes a hundred kilobytes", async () => (await socket({}, once("x".repeat(100000))))[2].length, 100000);
check("a socket of another origin opens", () => socket({origin: CROSS}, once("x")), ["open ", "hello", "x", [1000, true, "enough"]]);
check("a socket chooses a protocol", async () => (await socket({}, once("x"), ["one", "two"]))[0], "open two");
check("a socket that is refused", () => socket({query: {refuse: 1}}), ["error", [1006, false, ""]]);
check("a socket says where it comes from", async () => { let told; await socket({}, (one, _, event) => { told = JSON.parse(event.data).headers; one.close(); }); return [named(told.origin), told["user-agent"] === navigator.userAgent, told["sec-websocket-version"], told.host === location.host]; }, ["SAME", true, "13", true]);
check("a socket sends cookies", async () => { const name = "c" + uid(); await write(name + "=1; path=/"); let told; await socket({}, (one, _, event) => { told = JSON.parse(event.data).headers; one.close(); }); return told.cookie.includes(name); }, true);

for (const [what, data, type, body] of [["a text", "text", "text/plain;charset=UTF-8", "text"], ["parameters", new URLSearchParams({a: "b"}), "application/x-www-form-urlencoded;charset=UTF-8", "a=b"], ["nothing", undefined, "none", ""]]) {
  check(`a beacon with ${what}`, async () => { const key = uid(), sentOff = navigator.sendBeacon(give({key}), data); const [one] = await seen(key, true); return [sentOff, one.method, one.headers["content-type"] ?? "none", one.body, named(one.headers.origin)]; }, [true, "POST", type, body, "SAME"]);
}
check("a beacon to another origin", async () => { const key = uid(); navigator.sendBeacon(give({key}, CROSS), "x"); return (await seen(key, true)).map((one) => [one.method, one.headers["sec-fetch-mode"] ?? "none"]); });

// forms
const posted = (attributes, fields, submit) => new Promise((done) => {
  const hear = (event) => { if (event.data && event.data.form && event.source === frame.contentWindow.frames[0]) { removeEventListener("message", hear); done(event.data.form); } };
  addEventListener("message", hear);
  const answer = order("/echo", SAME, {m: uid(), html: "parent.parent.postMessage({form: [told.method, (told.headers['content-type'] || 'none').replace(/boundary=.*/, ''), told.body.replace(/-{2,}\\w+/g, 'CUT').replace(/CUT-*/g, 'CUT'), named(told.headers.origin)]}, '*'); function named(t) { return (t || 'none').replace(/:\\d+/, '').replace(/^https/, 'http') }"});
  const all = Object.entries({action: answer, target: "in", ...attributes}).map(([name, value]) => `${name}="${value.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`).join(" ");
  const frame = document.createElement("iframe");
  frame.src = html(`<iframe name=in></iframe><form ${all}>${fields}</form><script>document.forms[0].${submit || "submit()"}</script>`);
  document.body.append(frame);
});
check("a form by POST", () => posted({method: "post"}, "<input name=a value='1 &amp; ü'><input name=b value=2>"));
check("a form in parts", () => posted({method: "post", enctype: "multipart/form-data"}, "<input name=a value=1><textarea name=t>x\ny</textarea>"));
check("a form as text", () => posted({method: "post", enctype: "text/plain"}, "<input name=a value='1 2'>"));
check("a form with a button's value", () => posted({method: "post"}, "<input name=a value=1><button name=b value=2 id=b></button>", "requestSubmit(b)"));
check("a form that is checked before", () => posted({method: "post"}, "<input type=checkbox name=c checked><input type=checkbox name=d><select name=s><option>1<option selected>2</select>"));
check("a form by GET asks with its fields", async () => {
  const key = uid();
  await ask(html(`${TELL}<iframe name=in></iframe><form target=in action=/give><input name=key value=${key}><input name=q value="1 ü"></form><script>document.forms[0].submit(); frames[0].frameElement.onload = () => setTimeout(tell, 100)</script>`));
  return (await seen(key, true)).map((one) => [one.method, one.path, one.headers["content-type"] ?? "none"]);
}, [["GET", "/give", "none"]]);
check("a form to another origin says where it comes from", async () => {
  const key = uid();
  await ask(html(`${TELL}<iframe name=in></iframe><form target=in method=post action="${give({key}, CROSS).replaceAll("&", "&amp;")}"><input name=a value=1></form><script>document.forms[0].submit(); setTimeout(tell, 100)</script>`));
  return (await seen(key, true)).map((one) => [one.method, named(one.headers.origin), one.body, one.headers["sec-fetch-site"] ?? "none", one.headers["sec-fetch-mode"] ?? "none"]);
});
check("a form that redirects by 303", async () => {
  const key = uid();
  await ask(html(`${TELL}<iframe name=in></iframe><form target=in method=post action="${redirect(give({key}), {status: 303}).replaceAll("&", "&amp;")}"><input name=a value=1></form><script>document.forms[0].submit(); setTimeout(tell, 100)</script>`));
  return (await seen(key, true)).map((one) => [one.method, one.body]);
}, [["GET", ""]]);
finish();
