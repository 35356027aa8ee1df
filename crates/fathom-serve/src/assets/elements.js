// Creates elements. Texts are never interpreted as HTML, because they may come from a job or a result.

export const byId = (id) => document.getElementById(id);

export function element(name, properties = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...content.filter((part) => part !== null && part !== undefined));
  return made;
}

export function drawing(name, properties = {}, ...content) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

// A table; columns are [heading, is right-aligned]. The first cell of a row is its header.
export function table(caption, columns, rows) {
  const side = (index) => (columns[index][1] ? "right" : null);
  const head = columns.map(([text], index) => element("th", { scope: "col", class: side(index) }, text));
  const body = rows.map((row) =>
    element("tr", {}, ...row.map((cell, index) =>
      element(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : null, class: side(index) }, cell))));
  return element("div", { class: "scroll" },
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
}

export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== "");
  return element("dl", { class: "facts" }, ...told.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

export function tellProblem(text) {
  const place = byId("problem");
  place.textContent = text ?? "";
  place.hidden = !text;
}
