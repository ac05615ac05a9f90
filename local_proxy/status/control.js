// Sites' switches and savings by day (local_proxy/status/control.py): polled, and changed by POSTs
// that carry the page's token. Names come from web pages, so everything is set as text.
const at = (id) => document.getElementById(id);
const EVERY = 4000; // milliseconds
const DAYS = 30;
const SITES = 12;
const TIMES = [0, 3, 5, 10, 20]; // seconds; 0: as they come
let token = "";

function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function bytesText(bytes) {
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]]) {
    if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

function percent({ origin_bytes: origin, link_bytes: link }) {
  return origin ? `${Math.round((1 - link / origin) * 100)} % saved` : "";
}

async function change(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "x-sluice-token": token, "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
  const { problem = "" } = await answer.json();
  at("sites-note").textContent = problem;
  await refresh();
}

// Seconds for a page's pictures: the usual ones, and the one that is set.
function timeChoice(pattern, within) {
  const select = make("select", "time");
  for (const seconds of [...new Set([...TIMES, within])].sort((a, b) => a - b)) {
    select.append(new Option(seconds ? `pictures within ${seconds} s` : "pictures as they come", seconds));
  }
  select.value = within;
  select.setAttribute("aria-label", `Time for pictures of ${pattern}`);
  select.onchange = () => change("/sites/within", { pattern, seconds: Number(select.value) });
  return select;
}

function showSite(modes, { pattern, mode, chosen, within }) {
  const buttons = modes.map((name) => {
    const button = make("button", "", name);
    button.type = "button";
    button.dataset.mode = name;
    button.setAttribute("aria-pressed", String(name === mode));
    button.onclick = () => change("/sites", { pattern, mode: name });
    return button;
  });
  const spans = make("div", "spans", ...buttons);
  spans.setAttribute("role", "group");
  spans.setAttribute("aria-label", pattern);
  const line = make("div", "line", make("span", "name", pattern), timeChoice(pattern, within), spans);
  const clear = make("button", "clear", "as configured");
  clear.type = "button";
  clear.hidden = !chosen;
  clear.onclick = async () => {
    await change("/sites", { pattern, mode: null });
    await change("/sites/within", { pattern, seconds: null });
  };
  line.append(clear);
  const row = make("li", "", line);
  row.dataset.site = pattern;
  return row;
}

function showLearnt({ host, client, seconds }) {
  const time = `for ${Math.max(1, Math.round(seconds / 60))} min more`;
  return make("li", "", make("div", "line", make("span", "name", host === "*" ? "all hosts" : host),
    make("span", "amount", time)), make("p", "note", client));
}

let shown = "";
function showSites(report) {
  token = report.token;
  const now = JSON.stringify([report.sites, report.learnt.map(({ host }) => host)]);
  if (now === shown) return; // buttons keep their focus
  shown = now;
  const { modes, sites, learnt } = report;
  const rows = sites.map((site) => showSite(modes, site));
  at("sites").replaceChildren(...(rows.length ? rows : [make("li", "empty", "No page has been opened.")]));
  if (!at("site-mode").options.length) at("site-mode").append(...modes.map((mode) => new Option(mode, mode)));
  at("learnt").hidden = !learnt.length;
  at("learnt-list").replaceChildren(...learnt.map(showLearnt));
}

function showDay(day, most) {
  const bar = make("i", "bar", make("i", "came"));
  bar.style.height = `${(100 * Math.max(day.origin_bytes, day.link_bytes)) / most}%`;
  const whole = Math.max(day.origin_bytes, day.link_bytes, 1);
  bar.firstChild.style.height = `${(100 * day.link_bytes) / whole}%`;
  const column = make("div", "day", bar);
  column.title = `${day.day}: ${bytesText(day.origin_bytes)} came as ${bytesText(day.link_bytes)}, ${day.requests} requests, ${day.pictures} pictures`;
  return column;
}

function showSavings({ kept, days, sites, problem }) {
  at("erase").hidden = !kept;
  const recent = days.slice(0, DAYS).reverse();
  const most = Math.max(1, ...recent.map((day) => Math.max(day.origin_bytes, day.link_bytes)));
  const none = problem || (kept ? "Nothing yet." : "Nothing is kept.");
  at("days").replaceChildren(...(recent.length ? recent.map((day) => showDay(day, most)) : [make("p", "empty", none)]));
  at("saved-sites").replaceChildren(...sites.slice(0, SITES).map((one) => make("li", "",
    make("div", "line", make("span", "name", one.site || "all others"),
      make("span", "amount", `${bytesText(one.origin_bytes)} came as ${bytesText(one.link_bytes)}, ${one.requests} requests, ${one.pictures} pictures; ${percent(one)}`)))));
}

async function get(path) {
  return (await fetch(path)).json();
}

async function refresh() {
  if (document.visibilityState === "hidden") return;
  showSites(await get("/sites.json"));
  showSavings(await get("/savings.json"));
}

at("site-form").onsubmit = (event) => {
  event.preventDefault();
  change("/sites", { pattern: at("site-pattern").value, mode: at("site-mode").value });
};
at("forget").onclick = () => change("/sites/forget");
at("erase").onclick = () => {
  if (confirm("Erase what was kept about savings, and the texts of earlier visits?")) change("/savings/erase");
};
setInterval(() => refresh().catch(() => {}), EVERY);
refresh().catch(() => {});
