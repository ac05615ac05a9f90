// In the page, first of all scripts: shows finer levels of pictures in place, and tells the local
// proxy what the reader looks at. The page must not notice: no globals, no changed attribute, node
// or event. Whatever is needed of the page's world is taken before the page can change it.
(() => {
  "use strict";
  const script = document.currentScript;
  if (!script) return;
  const KEY = "@KEY@"; // in no address and no attribute, where the page could read it
  const NAME = "@NAME@"; // in addresses; unlocks nothing
  const BASE = new URL(script.src).origin + "/.well-known/sluice/";
  const AT_ONCE_TO = "@AT_ONCE_TO@"; // what can't wait for one of the six connections
  const SAVES = "@SAVES@" === "yes"; // its reader pays by the megabyte
  script.remove();

  const AT_ONCE = 3; // levels loaded at a time: the page needs connections too
  // Milliseconds for the page's own pictures, coarse, where they have six connections.
  const many = performance.getEntriesByType("navigation")[0]?.nextHopProtocol === "h2";
  const LET_LOAD = many ? 0 : 1000;
  const TRIES = 3;
  const LATER = 5000; // milliseconds until a broken event channel is tried again
  const KEPT_AT_ONCE = 2;
  const REST = 300; // milliseconds without finer levels until the browser is to keep what is final
  // Bytes of pixels from which Chromium may decode off the drawing thread and show a blank meanwhile
  // (kMinImageSizeToCheckerBytes). It does so for decoding=async alone where one image follows
  // another, and such levels are decoded first. Others are not: from an image decoded in full
  // Chromium scales down otherwise than from a file, by up to 6 of 255.
  const LARGE = 512 * 1024;
  const PADS = 32; // pixels that padding may give an <img> of no size
  const GECKO = CSS.supports("-moz-appearance", "none"); // blank at any size
  const { CSSStyleSheet, Image, IntersectionObserver, MutationObserver } = window;
  const { AbortController, Promise, TextDecoder, URL: Address, WeakSet } = window;
  const unbound = (method) => Function.prototype.call.bind(method);
  const decode = unbound(Image.prototype.decode);
  const listen = unbound(EventTarget.prototype.addEventListener);
  const replace = unbound(String.prototype.replace);
  const lower = unbound(String.prototype.toLowerCase);
  const attribute = unbound(Element.prototype.getAttribute);
  const every = unbound(Document.prototype.querySelectorAll);
  const within = unbound(Element.prototype.querySelectorAll);
  const beneath = unbound(Document.prototype.elementsFromPoint);
  const observe = unbound(IntersectionObserver.prototype.observe);
  const prevent = unbound(Event.prototype.preventDefault);
  const stop = unbound(Event.prototype.stopImmediatePropagation);
  const has = unbound(WeakSet.prototype.has);
  const add = unbound(WeakSet.prototype.add);
  const remove = unbound(WeakSet.prototype.delete);
  const { keys } = Object;
  const { parse, stringify } = JSON;
  const { round } = Math;
  const later = window.setTimeout.bind(window);
  const cancel = window.clearTimeout.bind(window);
  const request = window.fetch.bind(window);
  const whole = unbound(Response.prototype.arrayBuffer);
  const stream = unbound(Object.getOwnPropertyDescriptor(Response.prototype, "body").get);
  const reader = unbound(ReadableStream.prototype.getReader);
  const read = unbound(ReadableStreamDefaultReader.prototype.read);
  const text = unbound(TextDecoder.prototype.decode);
  const abort = unbound(AbortController.prototype.abort);
  const each = window.FontFaceSet && unbound(FontFaceSet.prototype.forEach);
  const beacon = navigator.sendBeacon.bind(navigator);
  const pictures = document.images;
  const absolute = (reference) => {
    try {
      return reference && new Address(reference, document.baseURI).href;
    } catch {
      return "";
    }
  };
  const table = () => ({ __proto__: null });

  // -- finer levels ---------------------------------------------------------------------------

  const shown = table(); // address -> {id, level, nth, href, width, image}, loaded and ruled
  const queue = table(); // address -> {id, level, nth, keep, tries}, to be loaded
  const besides = table(); // address -> true, its levels stand in while it comes by itself
  const ended = table(); // address -> true, and it has come
  const rules = table(); // selector -> {rule, value}
  const roots = [document];
  const sheet = new CSSStyleSheet();
  let steps = 0; // heard of so far; the later one of a picture is the finer
  let active = 0;
  let adopting = 0;

  const plain = (url) => {
    const hash = url.indexOf("#");
    return hash < 0 ? url : url.slice(0, hash);
  };
  const quoted = (text) =>
    '"' + replace(text, /["\\\0-\x1f]/g, (c) => "\\" + c.charCodeAt(0).toString(16) + " ") + '"';
  const matching = (node, name) => {
    const value = attribute(node, name);
    return value === null ? ":not([" + name + "])" : "[" + name + "=" + quoted(value) + "]";
  };

  // Names an image by all that decides which file it shows.
  const selector = (image) => {
    const parent = image.parentNode;
    const own = "img" + matching(image, "src") + matching(image, "srcset") + matching(image, "sizes");
    if (!parent || parent.localName !== "picture") return own + ":not(picture>*)";
    let sources = "picture>";
    for (let node = parent.firstElementChild; node && node !== image; node = node.nextElementSibling) {
      if (node.localName === "source") {
        sources += "source" + matching(node, "srcset") + matching(node, "media") + "~";
      }
    }
    return sources + own;
  };

  // A candidate of a srcset has a density; the level that replaces it must keep it.
  const content = (image, level) => {
    const dense = attribute(image, "srcset") !== null || image.parentNode?.localName === "picture";
    const stands = left[plain(image.currentSrc)]; // what is there has no such size
    // While its own is not here its density is not known: then only the layout may say its size.
    if (level.beside && dense && !image.naturalWidth && !hasSize(image)) return "";
    const density = dense && !stands && image.naturalWidth ? level.width / image.naturalWidth : 1;
    const url = "url(" + quoted(level.href) + ")";
    return density > 0.99 && density < 1.01 ? url : "image-set(" + url + " " + density + "x)";
  };

  // What it shows, or will. Chromium names none before the size of what comes is known: then one that
  // stands in for it tells, if it is the only one that may.
  const address = (image) => {
    if (image.currentSrc) return plain(image.currentSrc);
    const offered = offers(image);
    let only = "";
    for (let i = 0; i < offered.length; i++) {
      const url = plain(i ? absolute(offered[i]) : offered[i]); // of the first it is that already
      if (!shown[url]?.beside || url === only) continue;
      if (only) return "";
      only = url;
    }
    return only;
  };

  const hasBox = (image) => attribute(image, "width") > 0 && attribute(image, "height") > 0;
  // One side will do: the other follows by the proportions, which every level has.
  const hasSize = (image) => hasBox(image) || image.clientWidth > PADS || image.clientHeight > PADS;

  const adopt = () => {
    for (let i = 0; i < roots.length; i++) {
      const list = roots[i].adoptedStyleSheets;
      let there = false;
      for (let j = 0; j < list.length; j++) there ||= list[j] === sheet;
      if (!there) {
        const next = [];
        for (let j = 0; j < list.length; j++) next[j] = list[j];
        next[next.length] = sheet;
        roots[i].adoptedStyleSheets = next;
      }
    }
    // A page that sets its own list drops ours: look again.
    if (!adopting) adopting = later(() => { adopting = 0; adopt(); }, 1000);
  };

  const setRule = (name, value) => {
    const known = rules[name];
    if (known) {
      if (known.value === value) return;
      known.rule.style.setProperty("content", value, "important");
      known.value = value;
      return;
    }
    const index = sheet.insertRule(name + "{content:" + value + "!important}", sheet.cssRules.length);
    rules[name] = { rule: sheet.cssRules[index], value };
    adopt();
  };

  const dropRule = (name) => {
    const list = sheet.cssRules;
    for (let i = 0; i < list.length; i++) if (list[i] === rules[name].rule) sheet.deleteRule(i);
    delete rules[name];
  };

  const ruleFor = (image, found) => {
    const url = address(image);
    const level = shown[url];
    const name = selector(image);
    if (!level) {
      if (left[url]) found[url] = true;
      const box = standIn(image, name);
      if (box) return setRule(name, box);
      if (rules[name] && image.currentSrc && image.complete) dropRule(name);
      return;
    }
    found[url] = true;
    if (level.beside && image.complete) return;
    const value = content(image, level);
    if (value) setRule(name, value);
    level.image = null; // the rule holds it from here on
  };

  // Images in open shadow trees are not among document.images and need the sheet in their own root.
  const searchShadows = (root, found) => {
    const nodes = root === document ? every(document, "*") : root.querySelectorAll("*");
    for (let i = 0; i < nodes.length; i++) {
      const shadow = nodes[i].shadowRoot;
      if (!shadow) continue;
      let known = false;
      for (let j = 0; j < roots.length; j++) known ||= roots[j] === shadow;
      const images = shadow.querySelectorAll("img");
      for (let j = 0; j < images.length; j++) {
        const url = plain(images[j].currentSrc);
        if (!known && (shown[url] || left[url])) {
          known = true;
          roots[roots.length] = shadow;
          adopt();
        }
        // That one of these has come by itself no event tells outside of its tree: nothing stands in.
        if (!shown[url]?.beside) ruleFor(images[j], found);
      }
      searchShadows(shadow, found);
    }
  };

  const apply = () => {
    const found = table();
    for (let i = 0; i < pictures.length; i++) ruleFor(pictures[i], found);
    beyond(found);
  };

  // The same for one address alone: a page of hundreds of pictures has a finer level for each.
  const applyTo = (url) => {
    const found = table();
    for (let i = 0; i < pictures.length; i++) {
      if (address(pictures[i]) === url) ruleFor(pictures[i], found);
    }
    if (!found[url]) apply();
  };

  const beyond = (found) => {
    for (const url in shown) if (!found[url]) return searchShadows(document, found);
    for (const url in left) if (!found[url]) return searchShadows(document, found);
  };

  // Whether every image that shows it is drawn in step with its page, blank at no time. Of images
  // in shadow trees that is not known.
  const inStep = (url) => {
    let found = false;
    for (let i = 0; i < pictures.length; i++) {
      if (plain(pictures[i].currentSrc) !== url) continue;
      if (lower(attribute(pictures[i], "decoding") ?? "") === "async") return false;
      found = true;
    }
    return found;
  };

  // Several levels of a picture can be loading at once, and end in any order.
  const overtaken = (url, job) => shown[url] !== undefined && shown[url].nth > job.nth;

  const load = async (url, job) => {
    const image = new Image();
    const mark = "sluice-level=" + NAME + "." + job.id + "." + job.level;
    try {
      await new Promise((loaded, failed) => {
        listen(image, "load", loaded);
        listen(image, "error", failed);
        // Without CORS whatever the picture's own mode: so the style rule asks, and finds this one.
        image.src = url + (url.includes("?") ? "&" : "?") + mark;
      });
      const large = image.naturalWidth * image.naturalHeight * 4 >= LARGE;
      if (GECKO || (large && !inStep(url))) await decode(image);
      if (!overtaken(url, job) && !(job.beside && ended[url])) {
        const { id, level, nth, beside } = job;
        shown[url] = { id, level, nth, beside, href: image.src, width: image.naturalWidth, image };
        applyTo(url);
        if (job.keep) final[url] = job;
      }
    } catch {
      if (job.tries < TRIES && !queue[url] && !overtaken(url, job)) {
        job.tries++;
        later(() => { queue[url] ||= job; run(); }, 500 * 4 ** job.tries);
      } else if (wished[url]) {
        delete wished[url];
        apply();
      }
    }
    active--;
    run();
  };

  // What is in view goes first; a step that a better one has overtaken is never loaded.
  const run = () => {
    while (active < AT_ONCE) {
      let next = null;
      for (const url in queue) {
        if (viewed[url]) { next = url; break; }
        next ??= url;
      }
      if (next === null) return fillSoon();
      const job = queue[next];
      delete queue[next];
      active++;
      load(next, job);
    }
  };

  const step = (said) => {
    const { u: url, c: id, l: level, k: keep, b: beside } = parse(said);
    if (level === "left") {
      left[url] = true;
      return lookSoon();
    }
    if (!level) {
      final[url] = { id, keep };
      return run();
    }
    const known = shown[url];
    if (known && known.id === id && known.level === level) return;
    if (beside && ended[url]) return;
    if (beside) besides[url] = true;
    queue[url] = { id, level, nth: ++steps, keep, beside, tries: 0 };
    run();
  };

  // A picture whose levels stood in for it is here by itself, or will not be.
  const own = async (image) => {
    const url = plain(image.currentSrc);
    if (!besides[url]) return;
    delete besides[url];
    delete queue[url];
    ended[url] = true;
    try {
      if (GECKO || image.naturalWidth * image.naturalHeight * 4 >= LARGE) await decode(image);
    } catch {}
    if (shown[url]?.beside) delete shown[url];
    apply();
  };

  // @KEEPING@

  // @CHANNEL@

  // @LEFT_OUT@

  // @FILMS@

  // -- what the reader does -------------------------------------------------------------------

  const viewed = table(); // address -> true, in the window now
  const watched = new WeakSet();
  let news = table();
  let sending = 0;

  const send = () => {
    if (sending) cancel(sending);
    sending = 0;
    const said = stringify(news);
    news = table();
    if (said !== "{}" && !barred()) beacon(BASE + "beacon", KEY + "\n" + said);
  };
  const soon = () => {
    if (!sending) sending = later(send, 100);
  };

  const watcher = new IntersectionObserver((entries) => {
    for (let i = 0; i < entries.length; i++) {
      const { target, isIntersecting, boundingClientRect: box } = entries[i];
      const url = address(target) || plain(target.src);
      if (!url.startsWith("http:") && !url.startsWith("https:")) continue;
      if (isIntersecting) viewed[url] = true;
      else delete viewed[url];
      news.l ??= table();
      if (box.width && keys(news.l).length < 256) {
        news.l[url] = [round(box.width) & 65535, round(box.height) & 65535];
      }
    }
    news.i = keys(viewed).slice(0, 256);
    soon();
  });

  let looking = 0;
  const look = () => {
    looking = 0;
    for (let i = 0; i < pictures.length; i++) {
      const image = pictures[i];
      if (!has(watched, image) && (image.complete || address(image))) {
        add(watched, image);
        observe(watcher, image);
      }
    }
    for (const url in shown) return apply();
    for (const url in left) return apply();
  };
  const lookSoon = () => {
    if (!looking) looking = later(look, 50);
  };

  let resting = 0;
  const pointer = (event) => {
    const url = event.target?.localName === "img" ? address(event.target) : "";
    cancel(resting);
    resting = later(() => { news.p = url; soon(); }, 150);
  };
  // Alt+Shift+click: the original of this picture, first. Found under what may lie over it, too.
  const wanted = (event) => {
    if (!event.isTrusted || !event.altKey || !event.shiftKey || event.button !== 0) return;
    const under = beneath(document, event.clientX, event.clientY);
    for (let i = 0; i < under.length; i++) {
      if (under[i].localName !== "img" || !address(under[i])) continue;
      prevent(event);
      stop(event);
      if (event.type !== "click") return;
      return wish(address(under[i]));
    }
  };
  // Whether anything plays: it has its rate then, and what is only prepared has not.
  const playing = new WeakSet();
  let plays = 0;
  const played = (event) => {
    const { target: one, type } = event;
    if (one?.localName !== "video" && one?.localName !== "audio") return;
    const on = type === "play" || (type === "loadstart" && (one.autoplay || !one.paused));
    if (on === has(playing, one)) return;
    (on ? add : remove)(playing, one);
    const before = plays > 0;
    plays += on ? 1 : -1;
    if (plays > 0 === before) return;
    news.m = plays > 0;
    soon();
  };
  const visibility = () => {
    const on = document.visibilityState !== "hidden";
    news.v = on;
    send();
    if (!on) return shut();
    open();
    fillSoon();
  };
  // For its user's own status page; a frame's is not the page's.
  let titled = "";
  const entitle = () => {
    const { title } = document;
    if (window.top !== window || title === titled || typeof title !== "string") return;
    titled = title;
    news.t = title.slice(0, 200);
    soon();
  };
  // By which pictures are chosen that are offered in several sizes: the next page's, before it asks.
  let sized = "";
  const measure = () => {
    if (window.top !== window) return;
    const size = [innerWidth, innerHeight, devicePixelRatio * 100];
    for (let i = 0; i < 3; i++) size[i] = round(size[i]) & 65535;
    const said = stringify(size);
    if (said === sized) return;
    sized = said;
    news.w = size;
    soon();
  };
  let begun = 0;
  const begin = () => {
    if (!begun) return;
    cancel(begun);
    begun = 0;
    open();
  };

  // @MADE@

  // @FONTS@

  listen(document, "error", (event) => {
    if (event.target?.localName === "img") own(event.target);
  }, true);
  listen(document, "load", (event) => {
    if (event.target?.localName !== "img") return;
    own(event.target);
    lookSoon();
    if (finished) open();
    else meanwhile = true;
  }, true);
  new MutationObserver((records) => { made(records); lookSoon(); }).observe(document, {
    childList: true, subtree: true, attributes: true, attributeFilter: ["src", "srcset", "sizes", "media"],
  });
  listen(window, "resize", () => { lookSoon(); measure(); });
  listen(document, "pointerover", pointer, { passive: true, capture: true });
  listen(window, "click", wanted, true);
  listen(window, "mousedown", wanted, true); // else Shift selects text
  listen(window, "click", tapped);
  for (const type of ["loadstart", "play", "pause", "ended", "emptied"]) {
    listen(document, type, played, true);
  }
  listen(document, "visibilitychange", visibility);
  listen(window, "focus", () => { news.f = true; soon(); });
  listen(window, "blur", () => { news.f = false; soon(); });
  listen(window, "pagehide", () => {
    shut();
    news.v = false;
    // Also when it may come back from the back/forward cache: nobody looks at it now, so nothing
    // more of it is worth the link. If it does come back, what it lacks is asked for again.
    news.c = true;
    send();
  });
  listen(window, "pageshow", (event) => {
    // Back from the back/forward cache with the pictures it had: ask what there is now.
    if (event.persisted) visibility();
  });
  news.f = document.hasFocus();
  news.v = document.visibilityState !== "hidden";
  send();
  begun = later(begin, LET_LOAD);
  listen(window, "load", begin);
  listen(document, "DOMContentLoaded", entitle);
  listen(window, "load", entitle);
  listen(window, "load", measure); // a page says in its head how wide it is on a phone
})();
