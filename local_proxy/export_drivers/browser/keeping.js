  // -- the browser's cache --------------------------------------------------------------------

  // Part of driver.js, in whose scope it is. What was shown in steps no browser keeps: once it is
  // final it is asked for again, of the local proxy alone, as the page asked for it, so that another
  // visit finds it (browser_copies.py).
  const final = table(); // address -> {id, keep}
  let storing = 0;
  let filling = 0;

  const credentials = (url, cors) => {
    if (!cors) return "include";
    for (let i = 0; i < pictures.length; i++) {
      if (plain(pictures[i].currentSrc) !== url) continue;
      if (lower(attribute(pictures[i], "crossorigin") ?? "") === "use-credentials") return "include";
    }
    return "same-origin";
  };

  // A policy that a script has put there is not known to the proxy, and would tell of us.
  const restricted = () => {
    const metas = every(document, "meta[http-equiv]");
    for (let i = 0; i < metas.length; i++) {
      if (lower(attribute(metas[i], "http-equiv")) !== "content-security-policy") continue;
      const policy = lower(attribute(metas[i], "content") ?? "");
      if (policy.includes("connect-src") || policy.includes("default-src")) return true;
    }
    return false;
  };

  const store = async (url, { id, keep: { accept, cors } }) => {
    try {
      const response = await request(url, {
        __proto__: null, // no getter of the page's may look at the rest
        mode: cors ? "cors" : "no-cors",
        credentials: credentials(url, cors),
        cache: "reload",
        priority: "low",
        headers: { __proto__: null, Accept: accept, "Content-Language": "sluice." + KEY + "." + id },
      });
      await whole(response); // else it is kept in part
    } catch {}
    storing--;
    fill();
  };

  // Each costs the browser as much as a picture that somebody waits for.
  const fillSoon = () => {
    if (filling) cancel(filling);
    filling = later(() => { filling = 0; fill(); }, REST);
  };

  const fill = () => {
    // A service worker would be asked for it, and might tell the page or answer by itself.
    if (active || document.visibilityState === "hidden" || navigator.serviceWorker?.controller) return;
    for (const url in final) {
      if (storing >= KEPT_AT_ONCE) return;
      const job = final[url];
      delete final[url];
      if (restricted()) continue;
      storing++;
      store(url, job);
    }
  };
