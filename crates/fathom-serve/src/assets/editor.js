// The editor of a job file: completion from the declarations of options, and their help.

import { byId, element, facts } from "./elements.js";
import { completions, engineOf, find, wordAt } from "./completion.js";

export class Editor {
  constructor(options) {
    this.options = options;
    this.text = byId("job");
    this.list = byId("completions");
    this.help = byId("option-help");
    this.found = [];
    this.chosen = -1;
    this.text.addEventListener("input", () => this.offer());
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("blur", () => this.close());
    for (const event of ["keyup", "click"]) this.text.addEventListener(event, () => this.explain());
  }

  get value() {
    return this.text.value;
  }

  set value(text) {
    this.text.value = text;
    this.close();
  }

  offer() {
    const { at, list } = completions(this.options, this.text.value, this.text.selectionStart);
    this.at = at;
    this.found = list;
    this.chosen = -1;
    this.list.replaceChildren(...list.map((one, index) =>
      element("li", { id: `completion-${index}`, role: "option", "aria-selected": "false", onmousedown: (event) => {
        event.preventDefault();
        this.take(index);
      } }, one.text, element("span", {}, one.help))));
    this.list.hidden = list.length === 0;
    this.text.removeAttribute("aria-activedescendant");
    if (list.length > 0) this.place();
  }

  // Below the line of the cursor.
  place() {
    const style = getComputedStyle(this.text);
    const line = this.text.value.slice(0, this.text.selectionStart).split("\n").length;
    const top = line * parseFloat(style.lineHeight) + parseFloat(style.paddingTop) - this.text.scrollTop;
    this.list.style.setProperty("top", `${Math.min(Math.max(top, 0), this.text.clientHeight)}px`);
    this.list.style.setProperty("left", "0");
  }

  close() {
    this.list.hidden = true;
    this.found = [];
    this.chosen = -1;
    this.text.removeAttribute("aria-activedescendant");
  }

  choose(index) {
    const items = this.list.children;
    items[this.chosen]?.setAttribute("aria-selected", "false");
    this.chosen = (index + items.length) % items.length;
    items[this.chosen].setAttribute("aria-selected", "true");
    items[this.chosen].scrollIntoView({ block: "nearest" });
    this.text.setAttribute("aria-activedescendant", items[this.chosen].id);
  }

  take(index) {
    const one = this.found[index];
    const cursor = this.text.selectionStart;
    this.text.setRangeText(one.insert, this.at.start, cursor, "end");
    this.close();
    // Suggests values of the option that was inserted.
    if (one.insert.endsWith("=")) this.offer();
    this.explain();
  }

  key(event) {
    if (this.list.hidden) return;
    if (event.key === "ArrowDown") this.choose(this.chosen + 1);
    else if (event.key === "ArrowUp") this.choose(this.chosen < 0 ? -1 : this.chosen - 1);
    else if (event.key === "Enter" && this.chosen >= 0) this.take(this.chosen);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  // Help on the option under the cursor.
  explain() {
    const cursor = this.text.selectionStart;
    const end = this.text.value.indexOf("\n", cursor);
    const line = wordAt(this.text.value, end < 0 ? this.text.value.length : end);
    const option = line && find(this.options, line.option, engineOf(this.text.value, cursor));
    const name = option ? `${option.name} ${option.engine}` : "";
    if (this.help.dataset.option === name) return;
    this.help.dataset.option = name;
    if (!option) {
      this.help.replaceChildren();
      return;
    }
    const values = option.values.map(([value, help]) => `${value} (${help})`).join(", ");
    this.help.replaceChildren(
      element("p", {}, element("strong", {}, option.name), ` ${option.summary}`),
      option.details ? element("p", {}, option.details) : "",
      facts([["value", option.kind], ["default", option.default], ["engine", option.engine], ["values", values]]));
  }

  // Moves the cursor to an invalid line.
  goTo(number) {
    const lines = this.text.value.split("\n");
    const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + (lines[number - 1] ?? "").length);
    this.explain();
  }
}
