// What all pages of the suite have: names of the origin's hosts, orders to the origin, and `check`,
// which collects named values. A value must be the same on every run: no ports, no random names.
"use strict";
const PORTS = @PORTS@;
const HTTPS = location.protocol === "https:";
const FIREFOX = CSS.supports("-moz-appearance", "none");
const ports = HTTPS ? PORTS.https : PORTS.http;
const topic = location.hostname.replace(/^www\./, "");
const at = (host, port = ports[0]) => location.protocol + "//" + host + ":" + port;
const SAME = location.origin;
const OTHER_PORT = at(location.hostname, ports[1]);
const WWW = at("www." + topic); // of the same site, another origin
const CROSS = at("cross.test"); // of another site
const PLAIN = "http://" + location.hostname + ":" + PORTS.http[0];
const PLAIN_CROSS = "http://cross.test:" + PORTS.http[0];

// Hosts as words, so that values are the same whatever the ports and the protocol.
const named = (text) => String(text)
  .replaceAll(OTHER_PORT, "PORT").replaceAll(SAME, "SAME").replaceAll(WWW, "WWW")
  .replaceAll(CROSS, "CROSS").replaceAll(PLAIN, "PLAIN").replaceAll(PLAIN_CROSS, "PLAIN_CROSS");

const results = {};
const running = [];
const PATIENCE = 45000; // milliseconds; a check that takes as long says so and fails
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// At most so many at a time: a page is to be busy, not the machine to be at its end.
const slots = (count) => {
  const queue = [];
  const next = () => count > 0 && queue.length && (count--, queue.shift()());
  return (work) => new Promise((done, failed) => {
    queue.push(() => work().then(done, failed).finally(() => { count++; next(); }));
    next();
  });
};
const inTurn = slots(12);
const window_ = slots(3);

// A named value: what `run` returns, and what the platform's rules say that it is, if they do.
function check(name, run, expected) {
  if (name in results) throw new Error("twice: " + name);
  const result = results[name] = {value: "unfinished"};
  if (expected !== undefined) result.expected = expected;
  const all = inTurn(async () => {
    try {
      const value = await Promise.race([run(), sleep(PATIENCE).then(() => "no end")]);
      result.value = value === undefined ? null : value;
    } catch (error) {
      result.value = "throws " + (error && error.name ? error.name : String(error));
      result.detail = String(error && error.message);
    }
  });
  running.push(all);
  return all;
}

// The page is done when all its checks are, and `last` has come to an end.
function finish(last = Promise.resolve()) {
  (async () => {
    try {
      await last;
    } catch (error) {
      results["the page itself"] = {value: "throws " + error, expected: "nothing"};
    }
    for (let count = -1; count !== running.length;) {
      count = running.length;
      await Promise.all(running);
    }
    window.report = JSON.stringify(results);
  })();
}

// A cookie that a script sets. Chromium sends it off to its network process and does not wait; what it
// reads comes by the same way behind it, so a cookie that can be read goes with what is asked next.
const write = async (cookie) => {
  document.cookie = cookie;
  while (!document.cookie.includes(cookie.split(";")[0])) await sleep(5);
};

let numbers = 0;
const RUN = Math.random().toString(36).slice(2);
const uid = () => RUN + "x" + numbers++; // unknown to every cache

function order(path, origin, options = {}) {
  const url = new URL(path, origin);
  for (const [name, value] of Object.entries(options)) {
    if (name === "headers") {
      for (const [field, text] of Object.entries(value)) {
        for (const one of [text].flat()) url.searchParams.append("h", field + ":" + one);
      }
    } else {
      url.searchParams.append(name, value);
    }
  }
  return url.href;
}
const give = (options, origin = SAME) => order("/give", origin, options);
const html = (body, headers = {}, origin = SAME, options = {}) =>
  give({type: "text/html;charset=utf-8", body: "<!doctype html>" + body, headers, ...options}, origin);
const js = (body, options = {}, origin = SAME) =>
  give({type: "text/javascript", body, u: uid(), ...options}, origin);
const css = (body, options = {}, origin = SAME) => give({type: "text/css", body, u: uid(), ...options}, origin);
const picture = (name, options = {}, origin = SAME) => order("/" + name, origin, options);
const redirect = (to, options = {}, origin = SAME) =>
  give({status: 302, ...options, headers: {location: to, ...(options.headers || {})}}, origin);
const open = {"access-control-allow-origin": "*"};

const seen = async (key, wait = false) =>
  (await fetch("/seen?key=" + key + (wait ? "&wait" : ""), {cache: "no-store"})).json();
// One field of the only request with that key; more than one sort of request is told.
const sent = async (key, name, wait = false) => {
  const values = (await seen(key, wait)).map((one) => one.headers[name] ?? "none");
  return named(values.length === 1 ? values[0] : JSON.stringify(values));
};

// The fields of an answer but those of its connection, one of which Firefox makes itself.
const fields = (headers) => [...headers].filter(([name]) => !["connection", "x-firefox-spdy"].includes(name)).sort();

const loads = (element) => new Promise((done) => {
  element.addEventListener("load", () => done("load"));
  element.addEventListener("error", () => done("error"));
});
function add(tag, attributes, parent = document.body) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  const loaded = loads(element);
  parent.append(element);
  return Object.assign(loaded, {element});
}
const image = async (src, attributes = {}) => {
  const loading = add("img", {...attributes, src});
  const end = await loading;
  return end === "load" ? loading.element.naturalWidth + "x" + loading.element.naturalHeight : end;
};
const script = (src, attributes = {}) => add("script", {...attributes, src});
const style = (href, attributes = {}) => add("link", {...attributes, rel: "stylesheet", href}, document.head);

// The next message of a frame or window that tells `tell`'s value.
const TELL = "<script>const tell = (value) => (window.opener || parent).postMessage({value}, '*');</script>";
const said = (source) => new Promise((done) => {
  const hear = (event) => {
    if (event.source !== source() || !event.data || !("value" in event.data)) return;
    removeEventListener("message", hear);
    done(event.data.value);
  };
  addEventListener("message", hear);
});
const ask = (src, attributes = {}) => {
  const frame = document.createElement("iframe");
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value);
  frame.src = src;
  const answer = said(() => frame.contentWindow);
  document.body.append(frame);
  return answer;
};
// A window without an opener whose page leaves a value at the origin by LEAVE(value) and closes.
const LEAVE = (id) => `<script>const LEAVE = (value) => fetch(${JSON.stringify(SAME)} + "/keep?id=${id}",
  {method: "POST", mode: "no-cors", body: JSON.stringify(value)}).then(() => close());</script>`;
const apart = (body, headers = {}, origin = SAME, wrap = (url) => url) => window_(async () => {
  const id = uid();
  window.open(wrap(html(LEAVE(id) + body, headers, origin)), "_blank", "noopener");
  return left(id);
});
// What a window without an opener leaves at the origin for this one.
const left = async (id) => {
  const text = await (await fetch("/kept?id=" + id)).text();
  if (text === "never") throw Object.assign(new Error(), {name: "no word"});
  return JSON.parse(text);
};
const leave = (id, value, origin = SAME) =>
  `fetch(${JSON.stringify(origin)} + "/keep?id=${id}", {method: "POST", mode: "no-cors", body: JSON.stringify(${value})})`;
const hex = (buffer) => [...new Uint8Array(buffer)].map((one) => one.toString(16).padStart(2, "0")).join("");
