// What a page finds of itself: nothing in it may be ours. Source: HTML 3.1, 7.2; DOM.
const mark = document.currentScript;
check("the first script is the page's", () => window.first.scripts, 1);
check("the first script knows itself", () => window.first.current, true);
check("the first script finds the page loading", () => window.first.state, "loading");
check("the head as the first script finds it", () => window.first.head);
check("the head's nodes as the first script finds them", () => window.first.nodes);
check("the scripts of the page", () => [...document.scripts].map((one) => one.getAttribute("src")), [null, "/harness.js", "/topics/document.js"]);
check("currentScript", () => mark.getAttribute("src"), "/topics/document.js");
check("the head's own markup", () => document.head.innerHTML.replace(/<script>[^]*?<\/script>/, "<script>"));
check("the head's attributes", () => [document.head.id, document.head.attributes.length, document.documentElement.attributes.length], ["head", 1, 1]);
check("the page's nodes", () => [...document.childNodes].map((one) => one.nodeType + " " + one.nodeName));
check("all elements", () => [...document.querySelectorAll("*")].map((one) => one.tagName).join(" "));
check("style sheets", () => [document.styleSheets.length, document.adoptedStyleSheets ? document.adoptedStyleSheets.length : 0], [0, 0]);
check("the pictures' own markup", () => [...document.images].map((one) => one.outerHTML));
check("compatMode", () => document.compatMode, "CSS1Compat");
check("characterSet", () => document.characterSet, "UTF-8");
check("contentType", () => document.contentType, "text/html");
check("doctype", () => document.doctype.name + document.doctype.publicId, "html");
check("title, lang, dir", () => [document.title, document.documentElement.lang, document.dir], ["document", "en", ""]);
check("URL, domain, referrer", () => [named(document.URL), document.domain, document.referrer], ["SAME/run/document", "document.test", ""]);
check("cookie", () => document.cookie, "");
check("the window's own names", async () => {
  const frame = document.createElement("iframe");
  document.body.append(frame);
  const plain = new Set(Object.getOwnPropertyNames(frame.contentWindow));
  frame.remove();
  return Object.getOwnPropertyNames(window).filter((name) => !plain.has(name) && isNaN(name)).sort();
});
check("the document's own names", () => Object.getOwnPropertyNames(document), ["location"]);
check("nothing is overridden", () => [fetch, Image, XMLHttpRequest, EventTarget.prototype.addEventListener, Document.prototype.querySelector, Response.prototype.text, navigator.sendBeacon, IntersectionObserver, CSSStyleSheet, performance.getEntries]
  .every((one) => /\[native code\]/.test(Function.prototype.toString.call(one))), true);
check("no listeners slow it down: history is one", () => [history.length >= 1, history.state], [true, null]);
check("visibility and focus are told", () => document.visibilityState, "visible");
check("no worker, no cache, no storage of ours", async () => [localStorage.length, sessionStorage.length, (await caches.keys()).length, (await navigator.serviceWorker.getRegistrations()).length], [0, 0, 0, 0]);
check("the last change is the origin's", async () => ask(give({type: "text/html", body: TELL + "<script>tell(new Date(document.lastModified).getUTCFullYear())</script>", headers: {"last-modified": "Mon, 23 Nov 2015 10:00:00 GMT"}})), 2015);
const quirks = (text, headers = {}) => ask(give({type: "text/html", body: text.replace("TELL", TELL + "<script>tell([document.compatMode, document.scripts.length, document.head.innerHTML.indexOf('<'), document.childNodes.length, document.documentElement.attributes.length, document.body ? document.body.attributes.length : -1])</script>"), headers, u: uid()}));
for (const [what, text] of Object.entries({
  "a doctype": "<!doctype html>TELL", "no doctype": "TELL", "an old doctype": '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 3.2//EN">TELL',
  "all tags": "<!doctype html><html a=b><head c=d></head><body e=f>TELL</body></html>", "no head": "<!doctype html><html><body>TELL", "text first": "<!doctype html>text TELL",
  "a comment first": "<!-- x --><!doctype html>TELL", "blanks first": "\n\n  <!doctype html>\nTELL", "a title first": "<!doctype html><title>t</title>TELL",
  "a base first": "<!doctype html><base href=/x/>TELL", "frames instead of a body": "<!doctype html><html><head>TELL</head><frameset></frameset></html>",
  "a noscript first": "<!doctype html><noscript><p>x</p></noscript>TELL", "a template first": "<!doctype html><template><b></b></template>TELL", "an unclosed title": "<!doctype html><head>TELL<title>x",
  "two heads": "<!doctype html><head></head><head id=z>TELL</head>", "an xml line first": "<?xml version='1.0'?><!doctype html>TELL", "a script first": "<script>0</script>TELL", "svg first": "<!doctype html><svg></svg>TELL",
})) check(`a page with ${what}`, () => quirks(text));
check("document.write takes the page's place", () => ask(html(`${TELL}<script>onload = () => { document.open(); document.write("<p>new</p>"); document.close(); tell([document.body.innerHTML, document.scripts.length]) }</script>`)), ["<p>new</p>", 0]);
check("print and dialogs are the page's", () => [typeof print, typeof alert], ["function", "function"]);
check("scroll and anchors", () => ask(html(`${TELL}<div style="height:3000px"></div><a id=here></a><script>onload = () => setTimeout(() => tell(scrollY > 0), 50)</script>`) + "#here", {style: "height:100px"}), true);
finish();
