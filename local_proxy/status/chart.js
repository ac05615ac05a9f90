// The stacked chart of bandwidth by document (HATS, figures 5 to 7), or by path: keeps the buckets
// that the event stream brings and draws them as SVG. Colours come from the style sheet, by slot; a
// document, or path, keeps its slot for as long as it is on the chart.

const SLOTS = 7;
const NS = "http://www.w3.org/2000/svg";
const REST = "0";

export function rateText(bytes) {
  if (bytes >= 1e6) return [(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 1), "MB/s"];
  if (bytes >= 1e3) return [(bytes / 1e3).toFixed(bytes < 1e5 ? 1 : 0), "KB/s"];
  return [String(Math.round(bytes)), "B/s"];
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Of a round number, without the decimals that it hasn't got.
function tickText(bytes) {
  const [value, unit] = rateText(bytes);
  return bytes ? `${Number(value)} ${unit}` : "0";
}

// A round number of about top/3, so that three or four grid lines fit.
function gridStep(top) {
  const power = 10 ** Math.floor(Math.log10(top / 3));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= top / 3.6);
}

export class Chart {
  constructor(box, what = "document") {
    this.box = box;
    this.what = what;
    this.span = 120;
    this.limit = null;
    this.forget();
    this.pointer = null;
    box.addEventListener("pointermove", (event) => this.point(event.offsetX));
    box.addEventListener("pointerdown", (event) => this.point(event.offsetX));
    box.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  forget() {
    this.series = new Map(); // document -> Map(bucket -> bytes)
    this.labels = {};
    this.slots = new Map();
    this.end = 0;
    this.bucket = 0.5;
  }

  // Takes a HistoryStatus: new buckets are added, those sent again replaced.
  merge(history) {
    if (history.first + history.buckets < this.end) this.forget(); // the proxy was started anew
    this.bucket = history.bucket;
    this.end = history.first + history.buckets;
    const oldest = this.end - 600 / this.bucket;
    for (const [id, counts] of Object.entries(history.series)) {
      const known = this.series.get(id) ?? new Map();
      counts.forEach((bytes, i) => known.set(history.first + i, bytes));
      this.series.set(id, known);
    }
    for (const [id, known] of this.series) {
      for (const number of known.keys()) if (number < oldest) known.delete(number);
      if (!known.size) { this.series.delete(id); this.slots.delete(id); }
    }
    Object.assign(this.labels, history.labels);
    for (const id of this.series.keys()) {
      if (id === REST || this.slots.has(id)) continue;
      const taken = new Set(this.slots.values());
      const free = [...Array(SLOTS).keys()].find((slot) => !taken.has(slot));
      if (free !== undefined) this.slots.set(id, free);
    }
  }

  // The class that colours a document.
  colour(id) {
    const slot = this.slots.get(String(id));
    return slot === undefined ? "rest" : `k${slot}`;
  }

  // Bytes/second of all documents over the last full second.
  now() {
    let bytes = 0;
    for (const known of this.series.values())
      for (let n = this.end - 3; n < this.end - 1; n++) bytes += known.get(n) ?? 0;
    return bytes / (2 * this.bucket);
  }

  // Layers from the bottom up, one value (bytes/second) a column; the rest is one layer on top.
  layers() {
    const shown = this.span / this.bucket;
    const perColumn = Math.max(1, Math.round(shown / 240));
    const columns = Math.floor(shown / perColumn);
    const lastGroup = Math.floor((this.end - 1) / perColumn); // columns don't shift as time goes on
    const values = (known) => Array.from({ length: columns }, (_, c) => {
      let bytes = 0;
      const start = (lastGroup - columns + c) * perColumn;
      for (let n = start; n < start + perColumn; n++) bytes += known.get(n) ?? 0;
      return bytes / (perColumn * this.bucket);
    });
    const layers = [], rest = Array(columns).fill(0);
    const ids = [...this.series.keys()].sort((a, b) => (this.slots.get(a) ?? 99) - (this.slots.get(b) ?? 99));
    for (const id of ids) {
      const line = values(this.series.get(id));
      if (!line.some((value) => value)) continue;
      if (this.slots.has(id)) layers.push({ id, name: this.labels[id] || `${this.what} ${id}`, line });
      else line.forEach((value, c) => { rest[c] += value; });
    }
    if (rest.some((value) => value)) layers.push({ id: REST, name: "all others", line: rest });
    return { layers, columns };
  }

  draw() {
    const { layers, columns } = this.layers();
    const width = this.box.clientWidth, height = this.box.clientHeight;
    const left = 64, right = 6, top = 8, bottom = 22;
    const inner = { w: width - left - right, h: height - top - bottom };
    if (inner.w < 40) return;
    const sums = Array.from({ length: columns }, (_, c) => layers.reduce((sum, l) => sum + l.line[c], 0));
    const most = Math.max(1000, ...sums, (this.limit ?? 0) * 1.05);
    const x = (c) => left + (c / (columns - 1)) * inner.w;
    const y = (value) => top + inner.h * (1 - Math.min(value / most, 1));
    const root = svg("svg", { role: "img", "aria-label": `Bytes per second by ${this.what} over time` });
    const step = gridStep(most);
    for (let value = 0; value <= most; value += step) {
      root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
      root.append(svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, tickText(value)));
    }
    const base = Array(columns).fill(0);
    for (const { id, line } of layers) {
      const below = [...base];
      line.forEach((value, c) => { base[c] += value; });
      const up = base.map((value, c) => `${x(c).toFixed(1)},${y(value).toFixed(1)}`);
      const down = below.map((value, c) => `${x(c).toFixed(1)},${y(value).toFixed(1)}`).reverse();
      root.append(svg("path", { class: `area ${this.colour(id)}`, d: `M${up.join("L")}L${down.join("L")}Z` }));
    }
    if (this.limit)
      root.append(svg("line", { class: "limit", x1: left, x2: width - right, y1: y(this.limit), y2: y(this.limit) }));
    const ago = this.span >= 120 ? `${this.span / 60} min ago` : `${this.span} s ago`;
    root.append(svg("text", { x: left, y: height - 5 }, ago));
    root.append(svg("text", { x: width - right, y: height - 5, "text-anchor": "end" }, "now"));
    if (!layers.length)
      root.append(svg("text", { x: left + inner.w / 2, y: top + inner.h / 2, "text-anchor": "middle" }, "Nothing has arrived in this time"));
    this.box.replaceChildren(root);
    this.shown = { layers, columns, left, inner };
    if (this.pointer !== null) this.tip(root);
  }

  point(at) {
    this.pointer = at;
    this.draw();
  }

  tip(root) {
    const { layers, columns, left, inner } = this.shown;
    const c = Math.round(((this.pointer - left) / inner.w) * (columns - 1));
    if (c < 0 || c >= columns) return;
    const at = left + (c / (columns - 1)) * inner.w;
    root.append(svg("line", { class: "cross", x1: at, x2: at, y1: 8, y2: 8 + inner.h }));
    const box = document.createElement("div");
    box.className = "tip";
    const seconds = Math.round(((columns - 1 - c) / columns) * this.span);
    const row = (name, value) => {
      const line = document.createElement("p"), figure = document.createElement("b");
      figure.textContent = value;
      line.append(name.length > 40 ? `${name.slice(0, 39)}…` : name, figure);
      box.append(line);
    };
    row(seconds ? `${seconds} s ago` : "now", "");
    for (const { name, line } of [...layers].reverse()) if (line[c]) row(name, rateText(line[c]).join(" "));
    box.style[at > left + inner.w / 2 ? "right" : "left"] = at > left + inner.w / 2 ? `${left + inner.w - at + 16}px` : `${at + 10}px`;
    this.box.append(box);
  }
}
