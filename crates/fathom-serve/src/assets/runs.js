// The list of runs, and a comparison of two of them.

import { byId, element, table, tellProblem } from "./elements.js";
import { moment } from "./figures.js";
import { get } from "./server.js";

const STATES = {
  starting: "is starting",
  running: "is running",
  done: "done",
  stopped: "was stopped",
  failed: "failed",
  lost: "was lost: its process ended without a result",
};

export function stateInWords(run) {
  return run.is_stopping && run.state === "running" ? "is stopping" : STATES[run.state];
}

// Links to everything that a finished run has.
export function links(run) {
  const link = (text, href, properties = {}) => element("a", { href, ...properties }, text);
  const list = [];
  if (run.has_result) list.push(link("Result", `api/runs/${run.id}/page`, { target: "_blank", rel: "noopener" }));
  list.push(link("Open as a new job", `#again/${run.id}`));
  for (const name of run.files) list.push(link(name, `api/runs/${run.id}/files/${name}`, { download: "" }));
  return list;
}

export class Runs {
  constructor() {
    // Selected runs, in the order of selection.
    this.chosen = [];
    byId("compare").addEventListener("click", () => {
      const [a, b] = this.chosen;
      window.open(`compare?a=${a}&b=${b}`, "_blank", "noopener");
    });
  }

  async show() {
    const runs = await get("api/runs");
    this.chosen = this.chosen.filter((id) => runs.some((run) => run.id === id));
    const rows = runs.map((run) => [
      element("a", { href: `#run/${run.id}` }, run.title),
      run.kind,
      stateInWords(run),
      moment(run.accepted_ms),
      run.has_result && run.state !== "running" ? this.box(run) : "",
    ]);
    const columns = [["run"], ["kind"], ["state"], ["started"], ["compare"]];
    byId("list").replaceChildren(runs.length > 0 ? table("All runs, the latest first", columns, rows) : element("p", {}, "There are no runs yet."));
    this.update();
    tellProblem("");
  }

  box(run) {
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${run.title}, ${moment(run.accepted_ms)}` });
    box.checked = this.chosen.includes(run.id);
    box.addEventListener("change", () => {
      this.chosen = this.chosen.filter((id) => id !== run.id);
      if (box.checked) this.chosen.push(run.id);
      this.update();
    });
    return box;
  }

  update() {
    byId("compare").disabled = this.chosen.length !== 2;
  }
}
