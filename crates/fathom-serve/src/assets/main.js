// The page: which view is shown. The address contains the view (#job, #quick, #sweep, #runs, #run/ID), so that
// the browser's back and forward buttons work.

import { byId, element, tellProblem } from "./elements.js";
import { Editor } from "./editor.js";
import { Forms } from "./forms.js";
import { Live } from "./live.js";
import { Runs } from "./runs.js";
import { get } from "./server.js";

const FORMS = ["job", "quick", "sweep"];

function show(view, isAsked) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== `view-${view}`;
  // Moves a screen reader to the new content.
  if (isAsked) byId("content").focus({ preventScroll: true });
}

function mark(name) {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function start() {
  const [place, { options }] = await Promise.all([get("api/place"), get("api/options")]);
  const also = [place.devices.length > 0 ? `devices: ${place.devices.join(", ")}` : "", place.commands ? "commands" : "", place.network ? "servers" : ""];
  byId("place").textContent = `Version ${place.version}. Jobs may use files in ${place.paths.join(", ")}${also.filter(Boolean).map((text) => `; ${text}`).join("")}. Relative names count from ${place.directory}.`;
  if (place.history) byId("views").append(element("li", {}, element("a", { href: "history" }, "History")));
  const forms = new Forms(new Editor(options), place);
  const live = new Live();
  const runs = new Runs();

  async function go(isAsked) {
    const [name, id] = location.hash.slice(1).split("/");
    tellProblem("");
    if (name !== "run") live.close();
    try {
      if (name === "run" && id) {
        mark("runs");
        show("run", isAsked);
        await live.open(id);
      } else if (name === "again" && id) {
        const { request } = await get(`api/runs/${id}`);
        forms.fill(request);
        location.replace(`#${request.kind}`);
      } else if (name === "runs") {
        mark(name);
        show("runs", isAsked);
        await runs.show();
      } else {
        const kind = FORMS.includes(name) ? name : "job";
        mark(kind);
        forms.show(kind);
        show("write", isAsked);
      }
    } catch (problem) {
      tellProblem(problem.message);
    }
  }

  window.addEventListener("hashchange", () => go(true));
  await go(false);
}

start().catch((problem) => tellProblem(problem.message));
