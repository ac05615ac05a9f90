  // -- films that wait for a tap --------------------------------------------------------------

  // Part of driver.js, in whose scope it is. Who pays by the megabyte has no film before: its element
  // has failed to load, and is told to load anew as soon as its film may come.

  const NO_SOURCE = 3; // HTMLMediaElement.NETWORK_NO_SOURCE
  const COMES = 202;
  const TOUCHES = 500; // milliseconds between two reports that the reader does something
  // Browsers keep all events to themselves that are over the controls of what has failed.
  const LOOK = "{pointer-events:none!important;outline:1px dashed #888!important;outline-offset:-1px!important}";
  const { HTMLMediaElement } = window;
  const again = HTMLMediaElement && unbound(HTMLMediaElement.prototype.load);
  const play = HTMLMediaElement && unbound(HTMLMediaElement.prototype.play);
  const first = unbound(Element.prototype.querySelector);
  const holds = unbound(Node.prototype.contains);
  const waits = table(); // selector -> its rule

  const isFilm = (node) => node?.localName === "video" || node?.localName === "audio";
  const failed = (film) => !film.readyState && film.networkState === NO_SOURCE && film.currentSrc;

  const filmSelector = (film) => {
    if (attribute(film, "src") !== null) return film.localName + matching(film, "src");
    const source = first(film, "source");
    return source && film.localName + ":has(>source" + matching(source, "src") + ")";
  };

  const mark = (film) => {
    const name = failed(film) && filmSelector(film);
    if (!name || waits[name]) return;
    const at = sheet.insertRule(name + LOOK, sheet.cssRules.length);
    waits[name] = sheet.cssRules[at];
    adopt();
  };

  const unmark = (film) => {
    const name = filmSelector(film);
    if (!name || !waits[name]) return;
    const list = sheet.cssRules;
    for (let i = list.length - 1; i >= 0; i--) if (list[i] === waits[name]) sheet.deleteRule(i);
    delete waits[name];
  };

  // Of several sources the last one to fail ends it, a little later.
  const fails = (event) => {
    const film = event.target?.localName === "source" ? event.target.parentNode : event.target;
    if (isFilm(film)) later(() => mark(film), 0);
  };

  // Whatever a reader does may have a script of the page play a sound, which has no place of its own.
  let touchedAt = -TOUCHES;
  const touched = (event) => {
    if (!event.isTrusted || event.timeStamp - touchedAt < TOUCHES || barred()) return;
    touchedAt = event.timeStamp;
    news.x = "";
    send();
  };

  // Also under what the page has laid over it: its own button can't begin what has failed.
  const filmUnder = ({ clientX: x, clientY: y }) => {
    const top = beneath(document, x, y)[0];
    const films = every(document, "audio,video");
    for (let i = 0; i < films.length; i++) {
      if (!failed(films[i])) continue;
      const { left, right, top: above, bottom } = films[i].getBoundingClientRect();
      const over = left <= x && x < right && above <= y && y < bottom;
      if (over && top && holds(films[i].parentNode, top)) return films[i];
    }
    return null;
  };

  const tapFilm = async (event) => {
    if (!event.isTrusted || event.button !== 0 || barred()) return;
    const film = filmUnder(event);
    if (!film) return touched(event);
    const said = table();
    said.x = plain(film.currentSrc);
    try {
      const body = KEY + "\n" + stringify(said);
      const { status } = await request(BASE + "beacon", { method: "POST", body });
      if (status !== COMES) return;
      unmark(film);
      again(film);
      await play(film);
    } catch {} // the page is gone, or has begun something else with it
  };

  if (SAVES) {
    listen(document, "error", fails, true);
    listen(window, "pointerup", tapFilm, true); // no click comes of a button that is disabled
    listen(window, "keydown", touched, true);
  }
