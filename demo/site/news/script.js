/* Made for this page: small page behaviours, no dependencies. */
(function () {
  'use strict';
  var doc = document;
  function all(sel, root) { return Array.prototype.slice.call((root || doc).querySelectorAll(sel)); }
  function on(el, ev, fn) { if (el) el.addEventListener(ev, fn, { passive: true }); }

  // Menu button on small screens.
  var nav = doc.querySelector('.nav');
  var button = nav && nav.querySelector('button');
  on(button, 'click', function () {
    var open = nav.classList.toggle('open');
    button.setAttribute('aria-expanded', String(open));
  });

  // Reading progress and the way back up.
  var bar = doc.createElement('div');
  bar.className = 'progress';
  doc.body.appendChild(bar);
  var top = doc.createElement('button');
  top.className = 'totop';
  top.type = 'button';
  top.textContent = 'Top';
  doc.body.appendChild(top);
  on(top, 'click', function () { window.scrollTo(0, 0); });
  var waiting = false;
  function draw() {
    waiting = false;
    var h = doc.documentElement.scrollHeight - window.innerHeight;
    var part = h > 0 ? window.pageYOffset / h : 0;
    bar.style.width = (part * 100).toFixed(1) + '%';
    top.classList.toggle('on', window.pageYOffset > 600);
  }
  on(window, 'scroll', function () {
    if (!waiting) { waiting = true; window.requestAnimationFrame(draw); }
  });

  // Minutes to read, from the words of each story.
  all('[data-minutes]').forEach(function (el) {
    var text = (doc.querySelector(el.getAttribute('data-minutes')) || doc.body).textContent;
    var words = text.split(/\s+/).length;
    el.textContent = Math.max(1, Math.round(words / 230)) + ' min read';
  });

  // Filter cards by what is typed in the search field.
  var field = doc.querySelector('.search input');
  on(field, 'input', function () {
    var want = field.value.toLowerCase();
    all('.card, .story').forEach(function (el) {
      el.style.display = el.textContent.toLowerCase().indexOf(want) < 0 ? 'none' : '';
    });
  });
  doc.documentElement.className += ' js';
  draw();
})();
