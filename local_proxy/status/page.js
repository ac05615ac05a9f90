// The live status page: one event stream of snapshots (local_proxy/status/snapshot.py) in, DOM out.
// Names come from web pages, so everything is set as text, never as HTML.
import { Chart, rateText } from "/chart.js";

const at = (id) => document.getElementById(id);
const chart = new Chart(at("chart"));
const pathChart = new Chart(at("paths-chart"), "path");

const shortly = (url) => url.replace(/^https?:\/\//, "");
const fileOf = (url) => url.split(/[?#]/)[0].split("/").pop() || shortly(url);

function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function bytesText(bytes) {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(2)} GB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 1)} MB`;
  if (bytes >= 1e3) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} KB`;
  return `${bytes} B`;
}

function timeText(seconds) {
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

function figure(id, [value, unit], note = "") {
  at(id).replaceChildren(value, " ", make("small", "", unit));
  at(`${id}-note`).textContent = note;
}

function showState(link) {
  const since = timeText(link.seconds);
  at("state").className = link.connected ? "state up" : "state down";
  at("state-text").textContent = link.connected
    ? `Connected to ${link.remote}${link.transport === "udp" ? " over UDP" : link.transport === "paths" ? ` over ${link.paths.map((path) => path.name).join(" and ")}` : ""} for ${since}${link.instead ? ` (over TCP: ${link.instead})` : ""}`
    : `No connection to ${link.remote} for ${since}${link.reason ? `: ${link.reason}` : ""}. Trying again.`;
  document.title = link.connected ? "Sluice" : "Sluice: no link";
}

function showTexts({ count, bytes, most, spared }) {
  at("texts").textContent = !most
    ? "No texts are kept: a page that is opened again comes whole."
    : `${count} texts of pages are kept (${bytesText(bytes)} of ${bytesText(most)}), so that only changes come${spared ? `: ${bytesText(spared)} less since the start` : ""}.`;
}

function showTiles({ link, savings }) {
  figure("rate", rateText(chart.now()), `${bytesText(link.received)} down, ${bytesText(link.sent)} up so far`);
  const { down, up, available, shared } = link;
  const others = shared.length ? `; other programs use the line too, ${shared.join(" and ")}` : "";
  if (down) {
    const sure = !link.connected ? "before the link broke" : down.confidence < 0.5 ? "a guess" : down.age > 10 ? `measured ${timeText(down.age)} ago` : "measured";
    figure("estimate", rateText(down.rate), `${sure}${up ? `; up ${rateText(up.rate).join(" ")}` : ""}${available ? `; others leave ${rateText(available.rate).join(" ")}` : ""}${others}`);
  } else figure("estimate", ["–", ""], `not measured yet${others}`);
  if (link.delay !== null) {
    const delay = timeText(link.delay).split(/ (?=\S+$)/);
    figure("delay", delay, link.min_delay !== null ? `${timeText(link.min_delay)} at its lowest` : "");
  } else figure("delay", ["–", ""]);
  const { origin_bytes: origin, link_bytes: spent } = savings;
  if (!origin) figure("saved", ["–", ""], "nothing delivered yet");
  else {
    const share = Math.round((1 - spent / origin) * 100);
    figure("saved", [`${share}`, "%"], `${bytesText(origin)} came as ${bytesText(spent)}`);
  }
}

function showLegend() {
  const { layers } = chart.shown ?? { layers: [] };
  const items = layers.map(({ id, name }) =>
    make("li", "", make("i", `swatch ${chart.colour(id)}`), make("span", "name", name)));
  if (chart.limit) items.push(make("li", "", make("i", "dashes"), "what the link can carry"));
  at("legend").replaceChildren(...items);
}

// An interface keeps its colour though its path goes and comes again: the history knows its number.
function showPaths(link, history) {
  at("paths-card").hidden = history === null && !link.budgets.length;
  showBudgets(link.budgets);
  if (history === null) return;
  pathChart.merge(history);
  pathChart.draw();
  const numbers = Object.fromEntries(Object.entries(pathChart.labels).map(([number, name]) => [name, number]));
  at("paths").replaceChildren(...(link.paths.length ? link.paths.map((path) => {
    const line = make("div", "line", make("i", `swatch ${pathChart.colour(numbers[path.name])}`), make("span", "name", path.name));
    if (!path.answers) line.append(make("span", "tag off", "no answer"));
    else if (path.quickest) line.append(make("span", "tag", "quickest"));
    else if (path.spare) line.append(make("span", "tag", "spare"));
    const facts = [`${timeText(path.round_trip)} there and back`, path.rate ? `lately ${rateText(path.rate).join(" ")}` : "", `${bytesText(path.carried)} came`];
    return make("li", "", line, make("p", "note", facts.filter(Boolean).join(" · ")));
  }) : none("li", "No path at present.")));
}

function showBudgets(budgets) {
  const today = { use: "pages come as a saver's", none: "gone: no pictures until midnight, but those that you load by Alt+Shift+click" };
  const words = { spare: "ahead of its time: only while no other answers", none: "spent: nothing more crosses" };
  at("budgets").replaceChildren(...budgets.map((one) => {
    const line = make("div", "line", make("span", "name", one.name), make("span", "", `${bytesText(one.spent)} of ${bytesText(one.size)}${one.day ? "" : " this month"}`));
    if (one.duty === "none") line.append(make("span", "tag off", "spent"));
    const gone = make("i", one.duty);
    gone.style.width = `${Math.min(100, 100 * one.spent / one.size)}%`;
    const facts = one.day ? [today[one.duty]] : [words[one.duty], `the next month begins on ${one.until}`];
    return make("li", "", line, make("div", "budget", gone), make("p", "note", facts.filter(Boolean).join(" · ")));
  }));
}

function cell(part) {
  const state = part.complete ? "original" : part.level || (part.received ? "some" : "");
  const made = make("i", `cell ${state}`);
  const length = part.length === null ? "" : ` of ${bytesText(part.length)}`;
  made.title = `${part.kind} ${part.url}\n${bytesText(part.received)}${length}${part.level ? `, ${part.level}` : ""}${part.held ? ", held at this level" : ""}`;
  return made;
}

function showDocument(doc) {
  const done = doc.components.filter((part) => part.complete).length;
  const all = doc.components.length + doc.more;
  const line = make("div", "line", make("i", `swatch ${chart.colour(doc.id)}`),
    make("span", "name", doc.title || shortly(doc.url)));
  if (doc.front) line.append(make("span", "tag front", "in front"));
  line.append(make("span", "amount", `${done} of ${all}, ${bytesText(doc.received)}`));
  const made = make("div", "document", line);
  const how = [doc.title ? doc.url : "", doc.scheduler, doc.weight !== 1 ? `weight ${+doc.weight.toFixed(2)}` : "", doc.within !== null ? `pictures within ${timeText(doc.within)}` : "", doc.earliest !== null ? `they can be here ${timeText(doc.earliest)} after it was asked for, at the earliest` : ""];
  if (how.some(Boolean)) made.append(make("p", "address", how.filter(Boolean).join(" · ")));
  for (const part of doc.components.filter((one) => one.rate && !one.complete)) {
    const what = part.guaranteed ? "guaranteed" : "needed, but the link carries too little to guarantee it";
    made.append(make("p", "note", `${shortly(part.url)}: ${rateText(part.rate).join(" ")} ${what}`));
  }
  if (all) made.append(make("div", "cells", ...doc.components.map(cell), doc.more ? make("span", "amount", `and ${doc.more} more`) : ""));
  return made;
}

function showNode(node, name, titles) {
  const line = make("div", `node ${node.state}`, make("span", "name", name));
  const facts = [node.scheduler || node.kind, node.weight !== 1 ? `×${+node.weight.toFixed(2)}` : "", node.state === "disabled" ? `held back by ${node.held_by || "somebody"}` : node.state];
  line.append(make("span", "what", facts.filter(Boolean).join(" · ")));
  if (node.backlog) line.append(make("span", "amount", bytesText(node.backlog)));
  const made = make("li", "", line);
  if (node.children.length) {
    const inner = node.children.map((child) => showNode(child, titles[child.name] ?? child.name, titles));
    if (node.more) inner.push(make("li", "empty", `and ${node.more} more`));
    made.append(make("ul", "", ...inner));
  }
  return made;
}

const unfolded = new Set();

function showRules({ name, rules, more_rules: more }) {
  const made = make("details", "help", make("summary", "", `${rules.length + more} ${rules.length + more === 1 ? "rule" : "rules"} in force`));
  made.open = unfolded.has(name);
  made.addEventListener("toggle", () => (made.open ? unfolded.add(name) : unfolded.delete(name)));
  const lines = rules.map((rule) => make("li", "", rule));
  if (more) lines.push(make("li", "empty", `and ${more} more`));
  made.append(make("ol", "rules", ...lines));
  return made;
}

function showPolicy(policy) {
  const line = make("div", "line", make("span", "name", policy.name),
    make("span", policy.on ? "tag" : "tag off", policy.on ? "on" : "off"));
  const facts = `${policy.reactions} events, ${policy.commands} commands${policy.refused ? `, ${policy.refused} refused` : ""}, slowest ${timeText(policy.slowest)}`;
  const made = make("li", "", line, make("p", "note", facts));
  if (policy.why_off) made.append(make("p", "why", policy.why_off));
  if (policy.rules.length) made.append(showRules(policy));
  return made;
}

const none = (tag, text) => [make(tag, "empty", text)];

// Problems of the same words as one, as old as the latest: [text, age, count].
function grouped(problems) {
  const found = new Map();
  for (const { text, age } of problems) {
    const [latest, count] = found.get(text) ?? [age, 0];
    found.set(text, [Math.min(latest, age), count + 1]);
  }
  return [...found].map(([text, [age, count]]) => [text, age, count]);
}

function show(status) {
  const { link } = status;
  chart.limit = link.connected && link.down ? link.down.rate : null;
  chart.merge(status.history);
  chart.draw();
  showState(link);
  showTiles(status);
  showTexts(status.texts);
  showPaths(link, status.paths);
  showLegend();
  const { documents, pictures, tree, policies, problems } = status;
  at("documents").replaceChildren(...(documents.length ? documents.map(showDocument) : none("p", "No document is open.")));
  at("pictures").replaceChildren(...pictures.map(({ count, text }) =>
    make("li", "note", `${count} ${count === 1 ? "picture" : "pictures"} ${text}`)));
  const titles = Object.fromEntries(documents.flatMap((doc) => [
    [String(doc.id), doc.title || shortly(doc.url)], ...doc.components.filter(({ id }) => id !== doc.id).map(({ id, url }) => [String(id), fileOf(url)])]));
  at("tree").replaceChildren(...(tree ? [make("ul", "", showNode(tree, "link", titles)), make("p", "note", `As it was ${timeText(status.tree_age)} ago.`)]
    : none("p", "The remote proxy has not sent it yet.")));
  at("policies").replaceChildren(...(policies.length ? policies.map(showPolicy) : none("li", "None.")));
  at("problems").replaceChildren(...(problems.length
    ? grouped(problems).map(([text, age, count]) => make("li", "", text,
      make("p", "note", `${timeText(age)} ago${count > 1 ? `, ${count} times lately` : ""}`)))
    : none("li", "None.")));
  at("about").textContent = `Version ${status.version}, up for ${timeText(status.uptime)}.`;
}

for (const button of document.querySelectorAll("[data-span]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-span]")) other.setAttribute("aria-pressed", String(other === button));
    for (const one of [chart, pathChart]) {
      one.span = Number(button.dataset.span);
      one.draw();
    }
    showLegend();
  });
}

const stream = new EventSource("/events");
stream.addEventListener("status", (event) => show(JSON.parse(event.data)));
stream.addEventListener("error", () => {
  at("state").className = "state down";
  at("state-text").textContent = "The local proxy does not answer. Is it running?";
});
