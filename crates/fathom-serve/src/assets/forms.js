// Forms for a request (a job, quick, or a sweep), to check and run it.

import { byId, element, tellProblem } from "./elements.js";
import { tell } from "./forecast.js";
import { post } from "./server.js";

const EXAMPLE = "# 4 KiB random reads from a file of 256 MiB, for 10 seconds\n[read]\nfilename=example.data\nsize=256m\nrw=randread\nbs=4k\n" +
  "ioengine=io_uring\niodepth=16\ndirect=1\nruntime=10\ntime_based\n";
const TITLES = { job: "Job", quick: "Quick: how fast is this disk?", sweep: "Sweep: which setting is best?" };
// Where unsaved text survives a reload.
const DRAFT = "fathom-job";

export class Forms {
  constructor(editor, place) {
    this.editor = editor;
    this.kind = "job";
    let draft = null;
    try {
      draft = sessionStorage.getItem(DRAFT);
    } catch {
      // Without storage, drafts are not kept.
    }
    editor.value = draft ?? EXAMPLE;
    byId("directory").value = place.directory;
    byId("directories").replaceChildren(...place.paths.map((path) => element("option", { value: path })));
    byId("open").addEventListener("change", (event) => this.openFile(event.target));
    byId("add-varied").addEventListener("click", () => this.addVaried("", "").focus());
    byId("check").addEventListener("click", () => this.check());
    byId("write").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run([]);
    });
    byId("write").addEventListener("input", () => this.changed());
    byId("confirm").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run([...byId("to-confirm").querySelectorAll("input")].map((input) => input.value.trim()));
    });
    this.addVaried("iodepth", "1,8,32");
  }

  changed() {
    byId("confirm").hidden = true;
    try {
      sessionStorage.setItem(DRAFT, this.editor.value);
    } catch {
      // The page works without storage.
    }
  }

  show(kind) {
    this.kind = kind;
    byId("write-title").textContent = TITLES[kind];
    byId("of-job").hidden = kind === "quick";
    byId("of-quick").hidden = kind !== "quick";
    byId("of-sweep").hidden = kind !== "sweep";
    byId("found").replaceChildren();
    byId("confirm").hidden = true;
  }

  // Opens an earlier request.
  fill(request) {
    byId("title").value = request.title;
    if (request.kind === "quick") {
      for (const field of ["directory", "size", "time"]) byId(field).value = request[field];
    } else {
      this.editor.value = request.job;
    }
    if (request.kind === "sweep") {
      byId("varied").replaceChildren();
      for (const vary of request.vary) this.addVaried(vary.slice(0, vary.indexOf("=")), vary.slice(vary.indexOf("=") + 1));
      byId("repeats").value = request.repeats ?? 3;
    }
    this.changed();
  }

  async openFile(input) {
    const [file] = input.files;
    if (!file) return;
    if (file.size > 512 * 1024) {
      tellProblem(`${file.name} is not a job file: it is larger than 512 KiB.`);
    } else {
      this.editor.value = await file.text();
      byId("title").value = file.name;
      this.changed();
      tellProblem("");
    }
    input.value = "";
  }

  addVaried(name, values) {
    const number = byId("varied").children.length + 1;
    const field = (label, id, value) => [element("label", { for: `${id}-${number}` }, label), element("input", { id: `${id}-${number}`, class: id, autocomplete: "off", spellcheck: "false", value })];
    const item = element("li", { class: "varied" },
      element("div", {}, ...field("Option", "vary-name", name)),
      element("div", {}, ...field("Values, separated by commas", "vary-values", values)),
      element("button", { type: "button", "aria-label": `Remove option ${number}`, onclick: () => {
        item.remove();
        byId("add-varied").focus();
      } }, "Remove"));
    byId("varied").append(item);
    return item.querySelector("input");
  }

  request() {
    const request = { kind: this.kind, title: byId("title").value.trim() };
    if (this.kind === "quick") {
      for (const field of ["directory", "size", "time"]) request[field] = byId(field).value.trim();
      return request;
    }
    request.job = this.editor.value;
    if (this.kind === "sweep") {
      const items = [...byId("varied").children];
      const pairs = items.map((item) => [".vary-name", ".vary-values"].map((field) => item.querySelector(field).value.trim()));
      request.vary = pairs.filter(([name]) => name).map(([name, values]) => `${name}=${values}`);
      request.repeats = Number(byId("repeats").value) || 3;
    }
    return request;
  }

  async check() {
    try {
      const found = await post("api/check", this.request());
      byId("found").replaceChildren(...tell(found, this.kind, (line) => this.editor.goTo(line)));
      if (found.mistakes.length === 0 && !found.forecast && !found.text) byId("found").textContent = "It can run.";
      tellProblem("");
      return found;
    } catch (problem) {
      tellProblem(problem.message);
      return null;
    }
  }

  async run(confirm) {
    const found = await this.check();
    if (!found || found.mistakes.length > 0) return;
    try {
      const { id } = await post("api/runs", { ...this.request(), confirm });
      byId("confirm").hidden = true;
      location.hash = `#run/${id}`;
    } catch (problem) {
      if (problem.status === 428) this.askFor(problem.details.to_confirm, confirm.length > 0 ? problem.message : "");
      else tellProblem(problem.message);
    }
  }

  // Names have to be typed; a click does not copy them.
  askFor(names, text) {
    tellProblem(text);
    byId("to-confirm").replaceChildren(...names.map((name, index) => element("p", {},
      element("label", { for: `confirm-${index}` }, `Type ${name} to confirm that all that is on it may be lost`),
      element("input", { id: `confirm-${index}`, autocomplete: "off", spellcheck: "false" }))));
    byId("confirm").hidden = false;
    byId("confirm-0").focus();
  }
}
