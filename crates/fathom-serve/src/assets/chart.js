// A chart of values over time. With the focus, arrow keys, Home and End step through its values; Escape leaves.

import { drawing, element } from "./elements.js";
import { duration } from "./figures.js";

const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 86;
const RIGHT = 8;
const TOP = 12;
const BOTTOM = 30;
// Maximum number of points; beyond it, neighbours are merged into their mean or their maximum.
const MOST = 600;

function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

export class Chart {
  // names: of the lines; format: formats a value. For latencies, the larger of two neighbours is kept, and the
  // scale is logarithmic.
  constructor(place, title, names, format, isLatency = false) {
    const merge = isLatency ? Math.max : (one, other) => (one + other) / 2;
    Object.assign(this, { title, names, format, isLatency, merge, points: [], at: -1, weight: 1, pending: [] });
    this.drawing = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0" });
    this.told = element("p", { class: "told" });
    const legend = names.map((name, index) =>
      element("li", {}, drawing("svg", { viewBox: "0 0 28 8", "aria-hidden": "true" }, drawing("path", { class: `line s${index}`, d: "M0 4H28" })), name));
    place.replaceChildren(element("figure", {}, element("figcaption", {}, title), element("ul", { class: "legend" }, ...legend), this.drawing, this.told));
    this.drawing.addEventListener("keydown", (event) => this.key(event));
    this.drawing.addEventListener("pointermove", (event) => this.point(event));
    for (const leave of ["pointerleave", "blur"]) this.drawing.addEventListener(leave, () => this.show(-1));
    this.draw();
  }

  clear() {
    Object.assign(this, { points: [], at: -1, weight: 1, pending: [] });
  }

  // values: one per line, null for a missing value.
  add(seconds, values) {
    this.pending.push([seconds, ...values]);
    if (this.pending.length < this.weight) return;
    this.points.push(this.pending.reduce((one, other) => this.join(one, other)));
    this.pending = [];
    if (this.points.length > MOST) {
      const halves = [];
      for (let index = 0; index + 1 < this.points.length; index += 2) halves.push(this.join(this.points[index], this.points[index + 1]));
      this.points = halves;
      this.weight *= 2;
      this.at = -1;
    }
  }

  join(one, other) {
    const value = (a, b) => (a === null ? b : b === null ? a : this.merge(a, b));
    return [other[0], ...one.slice(1).map((a, index) => value(a, other[index + 1]))];
  }

  x(seconds) {
    const last = this.points.length > 0 ? this.points[this.points.length - 1][0] : 1;
    return LEFT + ((WIDTH - LEFT - RIGHT) * seconds) / Math.max(last, 1);
  }

  // Values with a line, and the share of the height at which a value is drawn.
  scale() {
    const values = this.points.flatMap((point) => point.slice(1).filter((value) => value !== null));
    if (!this.isLatency) {
      const top = ceiling(Math.max(0, ...values));
      return { ticks: [0, top / 2, top], share: (value) => value / top };
    }
    const known = values.filter((value) => value > 0);
    const low = Math.floor(Math.log10(Math.min(...known, 1e9)));
    const high = Math.max(Math.ceil(Math.log10(Math.max(...known, 1))), low + 1);
    const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
    return { ticks, share: (value) => Math.max(0, (Math.log10(Math.max(value, 1)) - low) / (high - low)) };
  }

  draw() {
    const { ticks, share } = this.scale();
    const y = (value) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share(value);
    const parts = [];
    for (const tick of ticks) {
      parts.push(drawing("path", { class: "grid", d: `M${LEFT} ${y(tick)}H${WIDTH - RIGHT}` }));
      parts.push(drawing("text", { class: "tick", x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, this.format(tick)));
    }
    const last = this.points.length > 0 ? this.points[this.points.length - 1][0] : 1;
    parts.push(drawing("text", { class: "tick", x: LEFT, y: HEIGHT - 8 }, "0 s"));
    parts.push(drawing("text", { class: "tick", x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, duration(Math.max(last, 1))));
    this.names.forEach((_, index) => {
      let path = "";
      let isDown = false;
      for (const point of this.points) {
        const value = point[index + 1];
        if (value !== null) path += `${isDown ? "L" : "M"}${this.x(point[0]).toFixed(1)} ${y(value).toFixed(1)}`;
        isDown = value !== null;
      }
      parts.push(drawing("path", { class: `line s${index}`, d: path || "M0 0" }));
    });
    this.cursor = drawing("path", { class: "cursor", d: `M0 ${TOP}V${HEIGHT - BOTTOM}`, visibility: "hidden" });
    this.drawing.replaceChildren(...parts, this.cursor);
    const latest = this.points.length > 0 ? `, latest ${this.words(this.points.length - 1)}` : ", no values yet";
    this.drawing.setAttribute("aria-label", `${this.title}${latest}`);
    if (this.at >= 0) this.show(this.at);
    else this.tellLatest();
  }

  words(index) {
    const [seconds, ...values] = this.points[index];
    const told = values.map((value, line) => `${this.names[line]} ${value === null ? "-" : this.format(value)}`);
    return `${duration(seconds)}: ${told.join(", ")}`;
  }

  tellLatest() {
    this.told.textContent = this.points.length > 0 ? this.words(this.points.length - 1) : "";
  }

  show(index) {
    this.at = index < 0 ? -1 : Math.min(index, this.points.length - 1);
    this.told.setAttribute("aria-live", this.at < 0 ? "off" : "polite");
    if (this.at < 0) {
      this.cursor.setAttribute("visibility", "hidden");
      this.tellLatest();
      return;
    }
    this.cursor.setAttribute("transform", `translate(${this.x(this.points[this.at][0])} 0)`);
    this.cursor.setAttribute("visibility", "visible");
    this.told.textContent = this.words(this.at);
  }

  key(event) {
    const last = this.points.length - 1;
    if (last < 0) return;
    const to = { ArrowRight: this.at < 0 ? 0 : this.at + 1, ArrowLeft: this.at < 0 ? last : Math.max(this.at - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.show(to);
  }

  point(event) {
    if (this.points.length === 0) return;
    const box = this.drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const distances = this.points.map(([seconds]) => Math.abs(this.x(seconds) - x));
    this.show(distances.indexOf(Math.min(...distances)));
  }
}
