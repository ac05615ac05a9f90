  // -- pictures that were left out ------------------------------------------------------------

  // Part of driver.js, in whose scope it is. A site's switch, or a budget that is gone, keeps pictures
  // away. Each has a box in its place that says what it would show, and a tap on it brings it.

  const BOX = 16; // CSS pixels of a side, below which it is a spacer
  const LINE = 28; // height of a box that has no size but words to say
  const ACTS = "a[href],area,button,label,summary,input,select,textarea,[role=button],[role=link],[onclick]";
  const closest = unbound(Element.prototype.closest);
  const encode = window.encodeURIComponent;
  const left = table(); // address -> true
  const boxes = table(); // selector -> {width, height, words}, as it was when it was left out

  // The size that it has in the layout. What is there is a single pixel, which styles may stretch to
  // a square: then attributes tell how high it would be; most pictures are wider than high.
  const measured = (image) => {
    let { width, height } = image.getBoundingClientRect();
    const words = attribute(image, "alt") ?? "";
    const pixel = image.naturalWidth === 1 && image.naturalHeight === 1;
    if (pixel && width && width <= 1 && height <= 1) {
      if (!words) return null; // a decoration, if it is anything
      width = 40 + 8 * words.length;
      if (width > 300) width = 300;
      height = LINE;
    } else if (pixel && width === height) {
      const ratio = attribute(image, "height") / attribute(image, "width");
      height = width * (ratio > 0 && ratio < 100 ? ratio : 9 / 16);
    }
    if (width < BOX || height < BOX) return null;
    return { width: round(width) & 65535, height: round(height) & 65535, words: words.slice(0, 200) };
  };

  const standIn = (image, name) => {
    const url = plain(image.currentSrc);
    if (!left[url]) return null;
    const box = (boxes[name] ??= measured(image));
    if (!box) return null;
    let words = "";
    try {
      words = encode(box.words);
    } catch {} // half of a character
    const mark = (wished[url] ? "wait" : "box") + box.width + "x" + box.height;
    return "url(" + quoted(url + (url.includes("?") ? "&" : "?") + "sluice-alt=" + words
      + "&sluice-level=" + NAME + ".0." + mark) + ")";
  };

  // -- a reader wants one -----------------------------------------------------------------------

  const wished = table(); // address -> true, and it is on its way

  const wish = (url) => {
    news.o = url;
    send();
    if (finished || !channel) open();
    if (!left[url] || shown[url]) return;
    wished[url] = true;
    apply();
  };

  // A tap on a box, where the page itself has nothing to do with it.
  const tapped = (event) => {
    const image = event.target;
    if (!event.isTrusted || event.defaultPrevented || event.button !== 0) return;
    if (image?.localName !== "img" || closest(image, ACTS)) return;
    const url = plain(image.currentSrc);
    if (left[url] && !shown[url] && !wished[url]) wish(url);
  };
