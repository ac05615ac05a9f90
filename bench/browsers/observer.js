/* Runs in an isolated world of every document under test: the page can't see it. Reports through
 * the binding `benchReport` when the text is readable, when something was painted first and when
 * the load event has come, in seconds since navigation; and each time that a whole version of a picture
 * was painted, by the mark it gets here. EXPECTED is the text's length; it is put in front of this function. */
(EXPECTED => {
  'use strict';
  if (window !== window.top || !location.protocol.startsWith('http')) return;
  const SKIPPED = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'TEXTAREA']);
  // A script may change a few words ("5 min read"); half a percent of the text is 20 ms at 384k.
  const ENOUGH = 0.995 * EXPECTED;
  const FONT_BLOCK = 3;  // Seconds for which Chromium hides text whose font is still loading.

  function length(root) {
    let sum = 0;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!SKIPPED.has(walker.currentNode.parentNode.nodeName))
        sum += walker.currentNode.data.replace(/\s+/g, '').length;
    }
    return sum;
  }
  const report = (name, at = performance.now(), more = {}) =>
    benchReport(JSON.stringify({name, at: at / 1000, origin: performance.timeOrigin / 1000, ...more}));
  let changed = true, complete = false, hidden_since = null, marks = 0;
  // Element Timing (W3C) tells of what has this attribute.
  function mark(node) {
    const images = node.nodeName === 'IMG' ? [node] : node.querySelectorAll?.('img') ?? [];
    for (const image of images)
      if (!image.hasAttribute('elementtiming')) image.setAttribute('elementtiming', `bench-${marks++}`);
  }
  new MutationObserver(records => {
    changed = true;
    for (const record of records) record.addedNodes.forEach(mark);
  }).observe(document, {childList: true, characterData: true, subtree: true});

  function text_complete() {
    if (changed && !complete && document.body) {
      changed = false;
      complete = length(document.body) >= ENOUGH;
    }
    return complete;
  }
  function styled() {
    return [...document.querySelectorAll('link[rel~=stylesheet i]')]
      .every(link => link.sheet || link.disabled || !matchMedia(link.media || 'all').matches);
  }
  function visible() {
    const hides = face => face.status === 'loading' && /^(auto|block)$/.test(face.display);
    if (![...document.fonts].some(hides)) return true;
    hidden_since ??= performance.now() / 1000;
    return performance.now() / 1000 - hidden_since > FONT_BLOCK;
  }
  // Frames are produced only once the style sheets that block rendering, imports too, are there.
  requestAnimationFrame(function frame() {
    if (text_complete() && styled() && visible()) setTimeout(() => report('text'), 0);
    else requestAnimationFrame(frame);
  });
  new PerformanceObserver(list => {
    for (const entry of list.getEntriesByName('first-paint')) report('first-paint', entry.startTime);
  }).observe({type: 'paint', buffered: true});
  new PerformanceObserver(list => {
    for (const entry of list.getEntries())
      report('picture', entry.renderTime || entry.loadTime, {mark: entry.identifier});
  }).observe({type: 'element', buffered: true});
  window.addEventListener('load', () => report('load'));
})
