  // -- the event channel ----------------------------------------------------------------------

  // Part of driver.js, in whose scope it is. An event stream, read by a fetch: an EventSource would
  // carry the key in its address, which the page's scripts can read off Resource Timing.

  let channel = null;
  let finished = false; // the proxy has said that there is nothing more for now
  let meanwhile = false; // a picture has loaded since the channel was opened

  const shut = () => {
    if (channel) abort(channel);
    channel = null;
  };

  // Tells of each event of the stream; resolves to how soon to come again, in milliseconds.
  const hear = async (mine) => {
    const response = await request(BASE + "events", {
      __proto__: null, // no getter of the page's may look at the rest
      method: "POST", body: KEY + "\n", signal: mine.signal, cache: "no-store", priority: "low",
    });
    if (response.status !== 200) return response.status === 404 ? 0 : LATER;
    const source = reader(stream(response));
    const decoder = new TextDecoder();
    let held = "";
    for (let again = LATER; ; ) {
      const { done, value } = await read(source);
      if (done) return again;
      held += text(decoder, value, { stream: true });
      for (let end = held.indexOf("\n\n"); end >= 0; end = held.indexOf("\n\n")) {
        const event = held.slice(0, end);
        held = held.slice(end + 2);
        if (channel !== mine) return 0;
        if (event.startsWith("data: ")) step(event.slice(6));
        else if (event.startsWith("retry: ")) again = +event.slice(7);
        else if (event.startsWith("event: done")) {
          finished = true;
          return 0;
        }
      }
    }
  };

  // A policy in a <meta> holds for what comes after it, and tells the page of whatever breaks it.
  const named = (url) => {
    const { protocol, origin, host } = new URL(url);
    const self = origin === location.origin ? ["'self'"] : [];
    return ["*", protocol, origin, host, lower(url), ...self];
  };
  const HERE = named(BASE);
  const THERE = named(AT_ONCE_TO);
  const barred = (names = HERE) => {
    const metas = every(document, "meta[http-equiv]");
    for (let i = 0; i < metas.length; i++) {
      if (lower(attribute(metas[i], "http-equiv")) !== "content-security-policy") continue;
      const held = table();
      const parts = lower(attribute(metas[i], "content") ?? "").split(";");
      for (let j = 0; j < parts.length; j++) {
        const words = parts[j].trim().split(/\s+/);
        held[words[0]] ??= words;
      }
      const sources = held["connect-src"] ?? held["default-src"];
      if (!sources) continue;
      let open = false;
      for (let j = 1; j < sources.length; j++) {
        for (let k = 0; k < names.length; k++) open ||= sources[j] === names[k];
      }
      if (!open) return true;
    }
    return false;
  };

  const open = async () => {
    finished = meanwhile = false;
    // Hidden pages hold no connection: a browser has six for all its windows of a host.
    if (channel || document.visibilityState === "hidden" || barred()) return;
    const mine = (channel = new AbortController());
    let again = LATER;
    try {
      again = await hear(mine);
    } catch {}
    if (channel !== mine) return;
    shut();
    if (again) later(() => { if (!channel) open(); }, again);
    // It may have been delivered coarse just when the proxy said so.
    else if (finished && meanwhile) later(() => { if (finished) open(); }, 1000);
  };
