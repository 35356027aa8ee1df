//! The hosts of a run on a page: a table, and the rate and tail latency of each host over time, on a common clock.

use super::chart::heat::SHADES;
use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure, Series};
use super::charts::charts;
use crate::figures;
use crate::hosts::{cells, directions, skew, state, together};
use crate::shapes::Moment;
use crate::table::{Align, Table};
use fathom_results::{HostResult, HostsResult};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Maximum number of hosts with individual charts; more hosts share heat maps.
const MOST_CHARTS: usize = 12;
/// Maximum number of rows in a heat map. If there are more hosts, those with remarks are shown, and the first
/// of the others.
const MOST_ROWS: usize = 200;
/// Maximum number of intervals in a heat map; if there are more, adjacent ones are merged.
const MOST_STRETCHES: usize = 120;

/// The section after the summary; `id` is the prefix of ids in the page.
pub(super) fn html(hosts: &HostsResult, id: &str) -> Markup {
    let sentences = together(hosts);
    let lines: Vec<(&HostResult, Vec<Moment>)> = shown(hosts)
        .into_iter()
        .map(|host| (host, timeline(host)))
        .filter(|(_, line)| line.len() > 1)
        .collect();
    html! {
        h3 id=(id) { "Hosts" }
        (table(hosts))
        @if !sentences.is_empty() { p { (sentences.join(" ")) } }
        @match lines.len() {
            0 => {},
            number if number <= MOST_CHARTS => (small_charts(&lines, id)),
            _ => (heat_maps(&lines, hosts.hosts.len(), id)),
        }
    }
}

/// A table with a row for each host and direction. Slow or missing hosts are marked, in words as well.
fn table(hosts: &HostsResult) -> Markup {
    const HEADINGS: [(&str, &str); 12] = [
        ("host", ""),
        ("state", ""),
        ("direction", ""),
        ("MB/s", "right"),
        ("IOPS", "right"),
        ("p50", "right less"),
        ("p99", "right"),
        ("p99.9", "right less"),
        ("max", "right less"),
        ("start", "right less"),
        ("done", "right less"),
        ("remark", ""),
    ];
    let mark = |host: &HostResult| match (host.is_whole(), host.straggling.is_empty()) {
        (false, _) => Some("lost"),
        (true, false) => Some("straggler"),
        (true, true) => None,
    };
    let row = |host: &HostResult, number: usize, (direction, of_direction): (&str, _)| {
        let done = host.last_done_ms.map_or("-".to_owned(), |ms| figures::duration(ms as f64 * 1e6));
        let remark = if number == 0 { host.remark() } else { String::new() };
        let mut row = vec![host.name.clone(), state(host), direction.to_owned()];
        row.extend(cells(of_direction));
        row.extend([skew(host), done, remark]);
        row
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table: hosts" { table.hosts {
            thead { tr { @for (heading, class) in HEADINGS { th scope="col" class=(class) { (heading) } } } }
            tbody { @for host in &hosts.hosts { @for (number, direction) in directions(host).into_iter().enumerate() {
                tr class=[mark(host)] {
                    @for (cell, (heading, class)) in row(host, number, direction).iter().zip(HEADINGS) {
                        @match heading {
                            "host" => th scope="row" { (cell) },
                            "remark" => td.doubts { (cell) },
                            _ => td class=(class) { (cell) },
                        }
                    }
                }
            } } }
        } }
    }
}

/// The hosts that are drawn, in order.
fn shown(hosts: &HostsResult) -> Vec<&HostResult> {
    let has_remark = |host: &&HostResult| !host.remark().is_empty();
    let mut room = MOST_ROWS.saturating_sub(hosts.hosts.iter().filter(has_remark).count());
    let mut taken = 0;
    let mut is_shown = |host: &&HostResult| {
        let is_plain = !has_remark(host);
        let fits = taken < MOST_ROWS && (!is_plain || room > 0);
        room -= usize::from(is_plain && fits);
        taken += usize::from(fits);
        fits
    };
    hosts.hosts.iter().filter(|host| is_shown(host)).collect()
}

/// The I/O of all jobs and directions of a host, on the common clock.
fn timeline(host: &HostResult) -> Vec<Moment> {
    let skew_s = host.start_skew_ns.unwrap_or(0) as f64 / 1e9;
    let entries = host.result.timeline.iter().flat_map(|timeline| &timeline.jobs);
    let mut moments: BTreeMap<u64, Moment> = BTreeMap::new();
    for entry in entries {
        for (index, point) in entry.points.iter().enumerate() {
            let start_ms = entry.start_ms(index);
            let length_s = point.end_ms.saturating_sub(start_ms).max(1) as f64 / 1e3;
            let moment = moments.entry(point.end_ms).or_insert_with(|| Moment {
                start_s: (start_ms as f64 / 1e3 + skew_s).max(0.0),
                end_s: (point.end_ms as f64 / 1e3 + skew_s).max(0.0),
                ..Moment::default()
            });
            for figures in point.directions() {
                moment.bytes_per_second += figures.io_bytes as f64 / length_s;
                moment.iops += figures.total_ios as f64 / length_s;
                for (&ns, &count) in &figures.clat_bins {
                    *moment.bins.entry(ns).or_default() += count;
                }
            }
        }
    }
    moments.into_values().collect()
}

fn end_of(lines: &[(&HostResult, Vec<Moment>)]) -> impl Iterator<Item = f64> {
    let ends = lines.iter().filter_map(|(_, line)| line.last()).map(|moment| moment.end_s);
    ends.collect::<Vec<f64>>().into_iter()
}

fn time_axis(lines: &[(&HostResult, Vec<Moment>)]) -> Axis {
    Axis {
        label: "seconds since the agreed start".into(),
        scale: Scale::up_to_last(end_of(lines)),
        unit: Unit::Seconds,
    }
}

/// A chart for each host, all with the same axes, so that they can be compared.
fn small_charts(lines: &[(&HostResult, Vec<Moment>)], id: &str) -> Markup {
    let rates = lines.iter().flat_map(|(_, line)| line.iter().map(|moment| moment.bytes_per_second));
    let scale = Scale::linear(rates);
    let mut drawn = Vec::new();
    for (number, (host, line)) in lines.iter().enumerate() {
        let y = Axis { label: "MB/s".into(), scale, unit: Unit::Bandwidth };
        let style = if host.remark().is_empty() { 0 } else { 4 };
        let mut points: Vec<(f64, f64)> =
            line.iter().map(|moment| (moment.start_s, moment.bytes_per_second)).collect();
        points.extend(line.last().map(|moment| (moment.end_s, moment.bytes_per_second)));
        let mut chart = Chart::new(&title(host), time_axis(lines), y);
        chart.lines(&[Series { name: "all I/O".into(), style, points }], true);
        let mut table = Table::new(&[
            ("from", Align::Right),
            ("to", Align::Right),
            ("MB/s", Align::Right),
            ("p99", Align::Right),
        ]);
        let step = line.len().div_ceil(super::charts::TABLE_ROWS).max(1);
        for moment in line.iter().step_by(step) {
            table.row(vec![
                Unit::Seconds.text(moment.start_s),
                Unit::Seconds.text(moment.end_s),
                Unit::Bandwidth.text(moment.bytes_per_second),
                moment.percentile(99.0).map_or("-".to_owned(), figures::duration),
            ]);
        }
        drawn.push(chart.figure(&format!("{id}-rate-{number}"), &table));
    }
    html! { div.charts.small { @for chart in drawn { (chart) } } }
}

fn title(host: &HostResult) -> String {
    match host.remark() {
        remark if remark.is_empty() => format!("{}: bandwidth over time", host.name),
        remark => format!("{}: bandwidth over time ({remark})", host.name),
    }
}

/// Two heat maps of hosts over time: one for the rate, one for the tail latency.
fn heat_maps(lines: &[(&HostResult, Vec<Moment>)], of: usize, id: &str) -> Markup {
    let end_s = end_of(lines).fold(0.0, f64::max);
    let points = lines.iter().map(|(_, line)| line.len()).max().unwrap_or(1);
    let stretch_s = end_s / points.clamp(1, MOST_STRETCHES) as f64;
    let of_stretches: Vec<Vec<Moment>> = lines.iter().map(|(_, line)| stretches(line, stretch_s)).collect();
    let rates = grid(&of_stretches, |moment| Some(moment.bytes_per_second));
    let tails = grid(&of_stretches, |moment| moment.percentile(99.0));
    let names: Vec<&str> = lines.iter().map(|(host, _)| host.name.as_str()).collect();
    let rate = Map {
        title: "Bandwidth of each host over time: darker = more",
        unit: Unit::Bandwidth,
        is_high_worse: false,
        stretch_s,
    };
    let tail = Map {
        title: "99th percentile of each host over time: darker = slower",
        unit: Unit::Latency,
        is_high_worse: true,
        stretch_s,
    };
    let has_tails = tails.iter().flatten().any(Option::is_some);
    let rates = rate.figure(&names, &rates, time_axis(lines), &format!("{id}-rates"));
    let tails = has_tails.then(|| tail.figure(&names, &tails, time_axis(lines), &format!("{id}-tails")));
    html! {
        @if lines.len() < of { p {
            "The maps show " (lines.len()) " of the " (of)
            " hosts: those that the table has remarks on, and the first of the others."
        } }
        (charts([rates].into_iter().chain(tails)))
    }
}

/// A value for each host and interval; `None` if there is no data.
type Grid = Vec<Vec<Option<f64>>>;

fn grid(of_stretches: &[Vec<Moment>], value: impl Fn(&Moment) -> Option<f64>) -> Grid {
    let value = |moment: &Moment| value(moment).filter(|_| moment.iops > 0.0 || !moment.bins.is_empty());
    of_stretches.iter().map(|line| line.iter().map(value).collect()).collect()
}

/// Divides the timeline into intervals of equal length. A point belongs to the interval that contains its
/// middle.
fn stretches(line: &[Moment], stretch_s: f64) -> Vec<Moment> {
    let mut stretches: Vec<(Moment, f64)> = Vec::new();
    for moment in line {
        let middle = (moment.start_s + moment.end_s) / 2.0;
        let at = ((middle / stretch_s) as usize).min(MOST_STRETCHES - 1);
        if stretches.len() <= at {
            stretches.resize_with(at + 1, Default::default);
        }
        let (own, length_s) = &mut stretches[at];
        let length = moment.end_s - moment.start_s;
        // These are sums at first; rates are computed from them below.
        own.bytes_per_second += moment.bytes_per_second * length;
        own.iops += moment.iops * length;
        *length_s += length;
        for (&ns, &count) in &moment.bins {
            *own.bins.entry(ns).or_default() += count;
        }
    }
    let rates = |(mut moment, length_s): (Moment, f64)| {
        if length_s > 0.0 {
            moment.bytes_per_second /= length_s;
            moment.iops /= length_s;
        }
        moment
    };
    stretches.into_iter().map(rates).collect()
}

/// Description of a heat map.
struct Map {
    title: &'static str,
    unit: Unit,
    is_high_worse: bool,
    stretch_s: f64,
}

impl Map {
    fn figure(&self, names: &[&str], grid: &Grid, x: Axis, id: &str) -> Figure {
        let y = Axis {
            label: "host, the first at the top".into(),
            scale: Scale::Linear { max: names.len().max(1) as f64 },
            unit: Unit::Row,
        };
        let values = || grid.iter().flatten().copied().flatten();
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let mut chart = Chart::new(self.title, x, y);
        let mut cells = Vec::new();
        for (row, line) in grid.iter().enumerate() {
            let y = ((names.len() - row - 1) as f64, (names.len() - row) as f64);
            for (column, value) in line.iter().enumerate() {
                let x = (column as f64 * self.stretch_s, (column + 1) as f64 * self.stretch_s);
                cells.extend(value.map(|value| (x, y, self.shade(value, low, high))));
            }
        }
        chart.shaded(&cells);
        let columns = grid.iter().map(Vec::len).max().unwrap_or(0);
        let stops = (0..columns).filter_map(|column| self.told(names, grid, column));
        chart.stops_at(&stops.collect::<Vec<(f64, String)>>());
        chart.figure(id, &self.table(names, grid))
    }

    /// The shade of a value. Rates are divided into equal steps from zero, latencies into equal ratios.
    fn shade(&self, value: f64, low: f64, high: f64) -> usize {
        let share = match self.is_high_worse {
            true if high > low && low > 0.0 => (value / low).ln() / (high / low).ln(),
            _ if high > 0.0 => value / high,
            _ => 0.0,
        };
        ((share * SHADES as f64) as usize).min(SHADES - 1)
    }

    /// Describes an interval by its median host and its worst host.
    fn told(&self, names: &[&str], grid: &Grid, column: usize) -> Option<(f64, String)> {
        let at = |row: usize| grid[row].get(column).copied().flatten().map(|value| (value, row));
        let mut values: Vec<(f64, usize)> = (0..names.len()).filter_map(at).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (worst, row) = if self.is_high_worse { *values.last()? } else { *values.first()? };
        let (middle, _) = values[values.len() / 2];
        let start_s = column as f64 * self.stretch_s;
        let told = format!(
            "{}: median {}, slowest {} ({})",
            Unit::Seconds.text(start_s),
            self.unit.text(middle),
            names[row],
            self.unit.text(worst)
        );
        Some((start_s, told))
    }

    /// A table with a row for each host.
    fn table(&self, names: &[&str], grid: &Grid) -> Table {
        let mut table = Table::new(&[
            ("host", Align::Left),
            ("least", Align::Right),
            ("median", Align::Right),
            ("most", Align::Right),
        ]);
        for (name, line) in names.iter().zip(grid) {
            let mut values: Vec<f64> = line.iter().copied().flatten().collect();
            values.sort_by(f64::total_cmp);
            let at = |place: usize| values.get(place).map_or("-".to_owned(), |&value| self.unit.text(value));
            let last = values.len().saturating_sub(1);
            table.row(vec![(*name).to_owned(), at(0), at(values.len() / 2), at(last)]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, remark: &str) -> HostResult {
        let state = if remark.is_empty() { "whole" } else { "lost" };
        HostResult { name: name.into(), state: state.into(), reason: remark.into(), ..HostResult::default() }
    }

    #[test]
    fn hosts_with_remarks_are_always_drawn() {
        let hosts: Vec<HostResult> =
            (0..300).map(|index| host(&index.to_string(), if index >= 295 { "x" } else { "" })).collect();
        let hosts = HostsResult { hosts, ..HostsResult::default() };
        let shown = shown(&hosts);
        assert_eq!((shown.len(), &*shown[194].name, &*shown[195].name), (MOST_ROWS, "194", "295"));
        let lost: Vec<HostResult> = (0..300).map(|index| host(&index.to_string(), "x")).collect();
        assert_eq!(super::shown(&HostsResult { hosts: lost, ..HostsResult::default() }).len(), MOST_ROWS);
    }

    #[test]
    fn stretches_keep_what_was_done() {
        let moment = |start_s: f64, end_s: f64, rate: f64| Moment {
            start_s,
            end_s,
            bytes_per_second: rate,
            iops: rate,
            bins: [(1000, 2)].into(),
        };
        let line = [moment(0.0, 0.5, 10.0), moment(0.5, 1.0, 20.0), moment(2.0, 2.5, 40.0)];
        let found = stretches(&line, 1.0);
        let rates: Vec<f64> = found.iter().map(|moment| moment.bytes_per_second).collect();
        assert_eq!(rates, [15.0, 0.0, 40.0]);
        assert_eq!(found[0].bins, [(1000, 4)].into());
        let grid = grid(&[found], |moment| Some(moment.bytes_per_second));
        assert_eq!(grid, [[Some(15.0), None, Some(40.0)]]);
    }
}
