// Going on and back: what is kept of a page. The page leaves itself and comes back several times, so
// its values lie in the session's storage. Source: HTML 7.4; the back/forward cache.
const kept = JSON.parse(sessionStorage.getItem("told") || "{}");
const told = (name, value, expected) => {
  kept[name] = expected === undefined ? {value} : {value, expected};
  sessionStorage.setItem("told", JSON.stringify(kept));
};
const away = (more = "", headers = {}) => html(`<title>away</title><script>addEventListener("pageshow", () => setTimeout(() => { ${more || "history.back()"} }, 150))</script><p>away`, headers, SAME, {u: uid()});
const settled = () => new Promise((done) => setTimeout(done, 100));
const steps = [
  async () => {
    const before = history.length;
    history.pushState({n: 1}, "", "?one");
    told("pushState: length, state, address", [history.length - before, history.state.n, location.search], [1, 1, "?one"]);
    history.replaceState({n: 2}, "", "?two");
    told("replaceState: length, state, address", [history.length - before, history.state.n, location.search], [1, 2, "?two"]);
    const popped = new Promise((done) => addEventListener("popstate", (event) => done(event.state), {once: true}));
    history.back();
    told("back pops the state", [await popped, location.search], [null, ""]);
    const again = new Promise((done) => addEventListener("popstate", (event) => done(event.state.n), {once: true}));
    history.forward();
    told("forward pops the next", [await again, location.search], [2, "?two"]);
    const hashed = new Promise((done) => addEventListener("hashchange", (event) => done(new URL(event.newURL).hash), {once: true}));
    location.hash = "far";
    const hash = await hashed;
    await settled();
    told("a fragment is a step", [hash, history.length - before], ["#far", 2]);
    history.replaceState(null, "", "/run/history");
    document.getElementById("field").value = "typed";
    scrollTo(0, 1500);
    await settled();
    sessionStorage.setItem("length", history.length);
    location.href = away();
  },
  async (event) => {
    told("back from another page: from the cache", event.persisted);
    told("back from another page: where it was scrolled to", Math.abs(scrollY - 1500) < 5, true);
    told("back from another page: what was typed", document.getElementById("field").value, "typed");
    told("back from another page: its length", history.length - Number(sessionStorage.getItem("length")), 1);
    told("back from another page: its picture", [document.images[0].complete, document.images[0].naturalWidth], [true, 640]);
    await settled();
    location.href = away("", {"cache-control": "no-store"});
  },
  async (event) => {
    told("back from a page that nobody keeps", event.persisted);
    location.href = away("location.replace(" + JSON.stringify(away()) + ")");
  },
  async (event) => {
    told("back over a page that was replaced", event.persisted);
    told("a replaced page is no step", history.length - Number(sessionStorage.getItem("length")), 1);
    location.href = redirect(away());
  },
  async (event) => {
    told("back over a redirect", event.persisted);
    told("the way it came: its type", performance.getEntriesByType("navigation")[0].type);
    location.reload();
  },
  async (event) => {
    told("a reload: fresh, and says so", [event.persisted, performance.getEntriesByType("navigation")[0].type], [false, "reload"]);
    told("a reload: where it was scrolled to", Math.abs(scrollY - 1500) < 5);
    history.scrollRestoration = "manual";
    location.href = away("history.go(-1)");
  },
  async (event) => {
    told("scrollRestoration is kept", history.scrollRestoration, "manual");
    told("back by go()", event.persisted);
    const tries = performance.getEntriesByType("navigation")[0].notRestoredReasons;
    told("why it was not kept", tries ? (tries.reasons || []).map((one) => one.reason).sort() : "kept");
    const text = sessionStorage.getItem("told");
    sessionStorage.clear();
    window.report = text;
  },
];
addEventListener("pageshow", (event) => {
  const step = Number(sessionStorage.getItem("step") || 0);
  sessionStorage.setItem("step", step + 1);
  setTimeout(() => steps[step](event).catch((error) => { window.report = JSON.stringify({...kept, ["step " + step]: {value: String(error), expected: "none"}}); }), 50);
});
