// Figures for people: three digits and a unit, as in the reports.

function three(value) {
  if (value >= 100 || value === 0) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function scaled(value, base, units) {
  let at = 0;
  while (value >= base * 0.9995 && at < units.length - 1) {
    value /= base;
    at += 1;
  }
  return [three(value), units[at]];
}

export const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]).join(" ");
export const rate = (value) => scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]).join(" ");
export const count = (value) => (Number.isInteger(value) && value < 1000 ? String(value) : scaled(value, 1000, ["", "k", "M", "G"]).join(""));
export const latency = (ns) => (ns === null || ns === undefined ? "-" : scaled(ns, 1000, ["ns", "µs", "ms", "s"]).join(" "));

export function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 120) return `${seconds < 10 ? Number(seconds.toFixed(1)) : whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 120) return `${minutes} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  const hours = Math.floor(minutes / 60);
  return `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

export const moment = (ms) => new Date(ms).toLocaleString();
