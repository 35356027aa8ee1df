// The result of checking a request: mistakes, and what it would do.

import { element, facts, table } from "./elements.js";
import { bytes, duration } from "./figures.js";

function mistakes(list, heading, style, goTo) {
  if (list.length === 0) return null;
  const line = (one) =>
    one.line && goTo
      ? element("li", {}, element("a", { href: "#job", onclick: (event) => {
          event.preventDefault();
          goTo(one.line);
        } }, `Line ${one.line}`), `: ${one.text}`)
      : element("li", {}, one.text);
  return element("div", { class: `panel ${style}` }, element("strong", {}, heading), element("ul", {}, ...list.map(line)));
}

const atMost = (value, otherwise) => (value === null ? otherwise : value === 0 ? "nothing" : `at most ${bytes(value)}`);

function action(target) {
  if (target.in_use) return `in use: ${target.in_use}`;
  if (target.is_destroyed && target.is_removed) return "is removed: its data is lost";
  if (target.is_destroyed && target.writes) return "is overwritten: its data may be lost";
  if (target.is_destroyed) return "is made longer, and was not made here";
  const then = target.is_removed ? ", then removed" : "";
  if (target.kind === "new file") return (target.writes ? "is made and written" : "is made and filled, then read") + then;
  if (target.is_removed) return "is removed; made by an earlier run";
  if (target.is_longer && !target.writes) return "is made longer; made by an earlier run";
  if (target.writes) return target.reads ? "is read and overwritten; made by an earlier run" : "is overwritten; made by an earlier run";
  return "is only read";
}

function ofForecast(forecast, kind) {
  const unlimited = "as much as the targets take in that time";
  const rows = forecast.targets.map((target) => [
    target.path, target.kind, target.size === null ? "" : bytes(target.size), target.model ?? "", action(target), target.jobs.join(", "),
  ]);
  const jobs = forecast.jobs.map((job) => [job.name, job.pattern, job.engine, String(job.depth), String(job.clones)]);
  const each = kind === "sweep" ? " of each run" : "";
  return [
    element("h3", {}, "What it will do"),
    facts([
      [`time${each}`, forecast.seconds_at_most === null ? "until its amount is done" : `at most ${duration(forecast.seconds_at_most)}`],
      [`reads${each}`, atMost(forecast.reads_at_most, unlimited)],
      [`writes${each}`, atMost(forecast.writes_at_most, unlimited)],
      ["makes files of", forecast.makes === 0 ? "" : bytes(forecast.makes)],
    ]),
    kind === "job" ? table("Jobs", [["job"], ["pattern"], ["engine"], ["depth", true], ["clones", true]], jobs) : null,
    rows.length > 0 ? table("Targets", [["target"], ["kind"], ["size", true], ["model"], ["what happens"], ["jobs"]], rows) : element("p", {}, "It works on no files and no devices."),
    forecast.further_targets > 0 ? element("p", {}, `There are ${forecast.further_targets} further targets.`) : null,
  ];
}

// The elements that show it.
export function tell(found, kind, goTo) {
  const parts = [
    mistakes(found.mistakes, "It cannot run as it is", "bad", goTo),
    mistakes(found.notes, "Notes", "", goTo),
    ...(found.forecast ? ofForecast(found.forecast, kind) : []),
    found.text ? element("pre", { tabindex: "0", "aria-label": "Plan" }, found.text) : null,
  ];
  return parts.filter((part) => part !== null);
}
