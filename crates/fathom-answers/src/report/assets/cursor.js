// A cursor for the charts, moved with the pointer, or with the arrow keys when a chart has the focus. Charts
// are complete without it.
"use strict";
for (const chart of document.querySelectorAll("svg[data-stops]")) {
  const stops = JSON.parse(chart.dataset.stops);
  const cursor = chart.querySelector(".cursor");
  const told = document.getElementById(chart.getAttribute("aria-describedby"));
  let at = -1;
  const show = (index) => {
    if (stops.length === 0) return;
    at = Math.max(0, Math.min(stops.length - 1, index));
    cursor.setAttribute("transform", `translate(${stops[at][0]} 0)`);
    cursor.setAttribute("visibility", "visible");
    const [, text, href] = stops[at];
    if (href) {
      const link = document.createElement("a");
      link.href = href;
      link.textContent = text;
      told.replaceChildren(link);
    } else {
      told.textContent = text;
    }
  };
  const clear = () => {
    cursor.setAttribute("visibility", "hidden");
    told.textContent = "";
  };
  // A link remains, so that it can be reached with Tab, or touched.
  const hide = () => told.querySelector("a") || clear();
  const nearest = (event) => {
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    let best = 0;
    stops.forEach((stop, index) => {
      if (Math.abs(stop[0] - x) < Math.abs(stops[best][0] - x)) best = index;
    });
    return best;
  };
  const step = Math.max(1, Math.round(stops.length / 10));
  const keys = {
    ArrowRight: () => at + 1,
    ArrowLeft: () => at - 1,
    PageUp: () => at + step,
    PageDown: () => at - step,
    Home: () => 0,
    End: () => stops.length - 1,
  };
  chart.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return clear();
    if (event.key === "Enter" && event.target === chart && stops[at]?.[2]) location.href = stops[at][2];
    if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    show(keys[event.key]());
  });
  chart.addEventListener("pointermove", (event) => show(nearest(event)));
  chart.addEventListener("pointerleave", () => document.activeElement === chart || hide());
  chart.addEventListener("blur", hide);
}
