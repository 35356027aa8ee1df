// The view of one run: its events, live or recorded.

import { byId, element, table, tellProblem } from "./elements.js";
import { Chart } from "./chart.js";
import { count, duration, latency, rate } from "./figures.js";
import { get, post, textOf } from "./server.js";
import { links, stateInWords } from "./runs.js";

const MOST_MESSAGES = 1000;
const DIRECTIONS = ["read", "write", "trim"];

const isUnderWay = (run) => run.state === "running" || run.state === "starting";
const further = (number) => (number > 0 ? ` (${number} more are not listed)` : "");

export class Live {
  constructor() {
    byId("stop").addEventListener("click", () => this.stop());
    // A browser has few connections to a server, and hidden pages would block the others.
    document.addEventListener("visibilitychange", () => {
      if (!this.id) return;
      if (document.hidden) {
        this.source?.close();
      } else if (this.source?.readyState === EventSource.CLOSED) {
        this.open(this.id);
      }
    });
  }

  async open(id) {
    this.close();
    this.id = id;
    this.bytes = new Chart(byId("chart-bytes"), "Bandwidth", DIRECTIONS, rate);
    this.iops = new Chart(byId("chart-iops"), "I/Os per second", DIRECTIONS, count);
    this.latency = new Chart(byId("chart-latency"), "Completion latency of each second", ["p50", "p99", "p99.9"], latency, true);
    this.depth = new Chart(byId("chart-depth"), "I/Os in flight", ["in flight", "asked for"], count);
    this.reset();
    byId("run-links").replaceChildren();
    byId("connection").textContent = "";
    const { run, request } = await get(`api/runs/${id}`);
    if (this.id !== id) return;
    this.show(run);
    byId("asked").textContent = request.job || JSON.stringify(request, null, 1);
    this.listen();
  }

  close() {
    this.source?.close();
    this.id = null;
    this.run = null;
  }

  reset() {
    for (const chart of this.charts()) {
      chart.clear();
      chart.draw();
    }
    this.messages = [];
    this.latest = null;
    this.hasNews = false;
    for (const place of ["jobs", "disks"]) byId(place).replaceChildren();
    byId("messages").textContent = byId("answer").textContent = "";
    byId("answer").hidden = byId("answer-title").hidden = true;
    byId("progress").removeAttribute("value");
    byId("to-go").textContent = "";
    byId("chart-latency").hidden = byId("chart-depth").hidden = true;
  }

  charts() {
    return [this.bytes, this.iops, this.latency, this.depth];
  }

  show(run) {
    const goesOn = isUnderWay(run);
    // A response from before the end may arrive after the event that reports the end.
    if (goesOn && this.run && !isUnderWay(this.run)) return;
    this.run = run;
    byId("run-title").textContent = run.title;
    const words = run.end?.problem ?? run.last_words;
    const problem = words ? `: ${words}` : "";
    byId("run-state").textContent = `${run.id}, ${stateInWords(run)}${problem}`;
    byId("stop").hidden = !goesOn;
    byId("stop").textContent = run.is_stopping ? "Stop now" : "Stop";
    byId("run-links").replaceChildren(...(goesOn ? [] : links(run)));
    if (!goesOn) {
      byId("progress").value = run.state === "done" ? 100 : byId("progress").value;
      byId("to-go").textContent = "";
    }
    if (!goesOn) this.answer(run);
  }

  // The output of the quick or sweep command.
  async answer(run) {
    const isOfCommand = run.kind !== "job" && run.files.includes("output.txt");
    const text = isOfCommand ? await textOf(`api/runs/${run.id}/files/output.txt`) : "";
    if (this.id !== run.id) return;
    byId("answer").textContent = text;
    byId("answer").hidden = byId("answer-title").hidden = text === "";
  }

  listen() {
    const source = new EventSource(`api/runs/${this.id}/events`);
    this.source = source;
    source.onopen = () => {
      byId("connection").textContent = "";
    };
    source.onmessage = (event) => this.take(event.data);
    source.addEventListener("restart", () => this.reset());
    source.addEventListener("end", (event) => {
      source.close();
      this.draw();
      this.show(JSON.parse(event.data));
    });
    source.onerror = () => {
      byId("connection").textContent = source.readyState === EventSource.CLOSED
        ? "The server was restarted and no longer accepts this page. Open the address that it printed. The run goes on."
        : "The connection is lost; trying again. The run goes on.";
    };
  }

  take(line) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      return;
    }
    // A message shows that the run is alive.
    if (this.run.state === "starting") this.show({ ...this.run, state: "running" });
    if (event.event === "message") this.message(event.text);
    else if (event.event === "tick") this.tick(event);
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  message(text) {
    this.messages.push(text);
    if (this.messages.length > MOST_MESSAGES) this.messages.shift();
    this.hasNews = true;
  }

  tick(event) {
    const seconds = event.at_ms / 1000;
    this.bytes.add(seconds, event.bytes_per_second);
    this.iops.add(seconds, event.iops);
    if (event.depth) {
      byId("chart-latency").hidden = byId("chart-depth").hidden = false;
      const found = event.latency;
      this.latency.add(seconds, found ? [found.p50_ns, found.p99_ns, found.p99_9_ns] : [null, null, null]);
      this.depth.add(seconds, event.depth);
    }
    this.latest = event;
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    if (this.id === null) return;
    this.charts().forEach((chart) => chart.draw());
    if (this.hasNews) {
      const place = byId("messages");
      place.textContent = this.messages.join("\n");
      place.scrollTop = place.scrollHeight;
      this.hasNews = false;
    }
    const event = this.latest;
    if (!event) return;
    if (event.percent !== null) byId("progress").value = event.percent;
    byId("to-go").textContent = event.to_go_s === null ? "" : `${duration(event.to_go_s)} to go`;
    const job = (one) => [one.name, one.state, `${one.running} of ${one.clones}`, rate(one.bytes_per_second), count(one.iops), latency(one.p99_ns), String(one.errors)];
    const columns = [["job"], ["state"], ["running", true], ["rate", true], ["IOPS", true], ["p99", true], ["errors", true]];
    byId("jobs").replaceChildren(...(event.jobs.length > 0 ? [table(`Jobs in the last second${further(event.further_jobs)}`, columns, event.jobs.map(job))] : []));
    const disk = (one) => [`${one.is_member ? "below: " : ""}${one.name}`, `${one.util_percent.toFixed(0)} %`, rate(one.bytes_per_second[0]), count(one.iops[0]), rate(one.bytes_per_second[1]), count(one.iops[1])];
    const ofDisks = [["device"], ["busy", true], ["read", true], ["reads/s", true], ["write", true], ["writes/s", true]];
    byId("disks").replaceChildren(...(event.disks.length > 0 ? [table(`Devices, as the kernel counts${further(event.further_disks)}`, ofDisks, event.disks.map(disk))] : []));
  }

  async stop() {
    try {
      await post(`api/runs/${this.id}/stop`);
      this.show((await get(`api/runs/${this.id}`)).run);
      tellProblem("");
    } catch (problem) {
      tellProblem(problem.message);
    }
  }
}
