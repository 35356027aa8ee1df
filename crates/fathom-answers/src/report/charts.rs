//! Draws the charts of a subject from its shapes.

use super::chart::heat::Cell;
use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure, Series};
use crate::figures;
use crate::shapes::{Moment, Shapes, Subject, depth_range};
use crate::table::{Align, Table};
use fathom_results::model::MadeOf;
use fathom_stats::Direction;
use fathom_stats::layers::{Layer, Made};
use fathom_stats::timeline::{coarse_bin_of, coarse_value_of};
use maud::{Markup, Render, html};

/// Suffix of the names of response-time curves.
const RESPONSE: &str = "response";
/// Maximum number of rows in a timeline's table. Longer timelines are thinned out there, but not in the chart.
pub(crate) const TABLE_ROWS: usize = 60;

/// All charts of a subject. `id` is the prefix of their ids in the page.
pub(super) fn of(subject: &Subject, id: &str) -> Vec<Figure> {
    let bandwidth = |moment: &Moment| moment.bytes_per_second;
    let before = [
        percentiles("Latency by percentile", &curves(subject), id),
        distribution(subject, id),
        rate(subject, id, "bandwidth", "Bandwidth over time", "MB/s", Unit::Bandwidth, bandwidth),
        rate(subject, id, "iops", "I/Os per second over time", "IOPS", Unit::Count, |moment| moment.iops),
    ];
    let layers = subject.directions.iter().map(|direction| layers(direction, id));
    let latencies = subject.directions.iter().map(|direction| latency_over_time(direction, id));
    before.into_iter().chain(layers).chain(latencies).chain([depths(subject, id)]).flatten().collect()
}

/// Places charts side by side, as many as fit.
pub(crate) fn charts<T: Render>(all: impl IntoIterator<Item = T>) -> Markup {
    html! { div.charts { @for chart in all { (chart) } } }
}

/// The percentile curves of a subject, named after their directions.
fn curves(subject: &Subject) -> Vec<Series> {
    let completion = subject.directions.iter().map(|direction| Series {
        name: direction.name.to_owned(),
        style: direction.direction,
        points: direction.curve.clone(),
    });
    let open = subject.directions.iter().filter(|direction| !direction.response.is_empty());
    let response = open.map(|direction| Series {
        name: format!("{} {RESPONSE}", direction.name),
        style: direction.direction + Direction::ALL.len(),
        points: direction.response.clone(),
    });
    completion.chain(response).collect()
}

/// A chart of percentile curves.
pub(crate) fn percentiles(title: &str, series: &[Series], id: &str) -> Option<Figure> {
    let series: Vec<Series> = series.iter().filter(|line| line.points.len() > 1).cloned().collect();
    let last = series.iter().filter_map(|line| line.points.last()).map(|point| point.0).fold(0.0, f64::max);
    if series.is_empty() {
        return None;
    }
    let first =
        series.iter().filter_map(|line| line.points.first()).map(|point| point.0).fold(100.0, f64::min);
    let x = Axis { label: "percentile".into(), scale: Scale::percentile(first, last), unit: Unit::Percent };
    let values = series.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let is_of_completions = !series.iter().any(|line| line.name.ends_with(RESPONSE));
    let label = if is_of_completions { "completion latency" } else { "completion latency, response time" };
    let y = Axis { label: label.into(), scale: Scale::logarithmic(values), unit: Unit::Latency };
    let mut chart = Chart::new(title, x, y);
    chart.lines(&series, false);
    let mut table = table_of("percentile", &series);
    let mut places: Vec<f64> =
        series.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    for place in places {
        let at = |line: &Series| {
            line.points.iter().find(|point| (point.0 - place).abs() < 1e-9).map(|point| point.1)
        };
        let values = series.iter().map(|line| at(line).map_or("-".to_owned(), figures::duration));
        table.row(std::iter::once(Unit::Percent.text(place)).chain(values).collect());
    }
    Some(chart.figure(&format!("{id}-percentiles"), &table))
}

fn table_of(first: &str, series: &[Series]) -> Table {
    let columns = std::iter::once((first, Align::Right));
    let columns: Vec<(&str, Align)> =
        columns.chain(series.iter().map(|line| (line.name.as_str(), Align::Right))).collect();
    Table::new(&columns)
}

fn distribution(subject: &Subject, id: &str) -> Option<Figure> {
    let shown: Vec<&Shapes> =
        subject.directions.iter().filter(|direction| !direction.distribution.is_empty()).collect();
    let bins = || shown.iter().flat_map(|direction| &direction.distribution);
    if shown.is_empty() {
        return None;
    }
    let x = Axis {
        label: "completion latency".into(),
        scale: Scale::logarithmic(bins().flat_map(|bin| [bin.start_ns.max(1.0), bin.end_ns])),
        unit: Unit::Latency,
    };
    let y = Axis {
        label: "share of the I/Os".into(),
        scale: Scale::linear(bins().map(|bin| bin.percent)),
        unit: Unit::Percent,
    };
    let mut chart = Chart::new("Latency distribution", x, y);
    let mut table = Table::new(&[
        ("direction", Align::Left),
        ("from", Align::Right),
        ("to", Align::Right),
        ("share", Align::Right),
    ]);
    let series: Vec<Series> = shown
        .iter()
        .map(|direction| {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for bin in &direction.distribution {
                // The outline drops to zero in the gaps between bins.
                match points.last_mut() {
                    Some(last) if (last.0 - bin.start_ns).abs() < 0.5 => *last = (bin.start_ns, bin.percent),
                    _ => points.push((bin.start_ns, bin.percent)),
                }
                points.push((bin.end_ns, 0.0));
                table.row(vec![
                    direction.name.to_owned(),
                    figures::duration(bin.start_ns),
                    figures::duration(bin.end_ns),
                    figures::percent(bin.percent),
                ]);
            }
            Series { name: direction.name.to_owned(), style: direction.direction, points }
        })
        .collect();
    chart.areas(&series);
    Some(chart.figure(&format!("{id}-distribution"), &table))
}

/// A time axis from the start to the end of the data, in seconds.
fn time_axis(subject: &Subject) -> Axis {
    let ends = subject
        .directions
        .iter()
        .filter_map(|direction| direction.timeline.last())
        .map(|moment| moment.end_s);
    seconds_axis(ends)
}

/// A time axis in seconds that ends at the last of these values.
pub(crate) fn seconds_axis(ends: impl Iterator<Item = f64>) -> Axis {
    Axis { label: "seconds since the start".into(), scale: Scale::up_to_last(ends), unit: Unit::Seconds }
}

fn rate(
    subject: &Subject,
    id: &str,
    what: &str,
    title: &str,
    label: &str,
    unit: Unit,
    value: impl Fn(&Moment) -> f64,
) -> Option<Figure> {
    let shown: Vec<&Shapes> =
        subject.directions.iter().filter(|direction| direction.timeline.len() > 1).collect();
    if shown.is_empty() {
        return None;
    }
    let values = shown.iter().flat_map(|direction| direction.timeline.iter().map(&value));
    let y = Axis { label: label.into(), scale: Scale::linear(values), unit };
    let series: Vec<Series> = shown
        .iter()
        .map(|direction| {
            let mut points: Vec<(f64, f64)> =
                direction.timeline.iter().map(|moment| (moment.start_s, value(moment))).collect();
            points.extend(direction.timeline.last().map(|moment| (moment.end_s, value(moment))));
            Series { name: direction.name.to_owned(), style: direction.direction, points }
        })
        .collect();
    let mut chart = Chart::new(title, time_axis(subject), y);
    chart.lines(&series, true);
    let mut table = Table::new(&[
        ("direction", Align::Left),
        ("from", Align::Right),
        ("to", Align::Right),
        (label, Align::Right),
    ]);
    for direction in &shown {
        let step = direction.timeline.len().div_ceil(TABLE_ROWS).max(1);
        for moment in direction.timeline.iter().step_by(step) {
            table.row(vec![
                direction.name.to_owned(),
                Unit::Seconds.text(moment.start_s),
                Unit::Seconds.text(moment.end_s),
                unit.text(value(moment)),
            ]);
        }
    }
    Some(chart.figure(&format!("{id}-{what}"), &table))
}

/// The heat map of a direction, with its median and 99th percentile as lines.
fn latency_over_time(direction: &Shapes, id: &str) -> Option<Figure> {
    let timeline = &direction.timeline;
    if timeline.len() < 2 || timeline.iter().all(|moment| moment.bins.is_empty()) {
        return None;
    }
    let ends = std::iter::once(timeline[timeline.len() - 1].end_s);
    let x = seconds_axis(ends);
    let values = timeline.iter().flat_map(|moment| moment.bins.keys()).map(|&ns| ns as f64);
    let y =
        Axis { label: "completion latency".into(), scale: Scale::logarithmic(values), unit: Unit::Latency };
    let mut chart =
        Chart::new(&format!("Latency of {}s over time: darker = more I/Os", direction.name), x, y);
    let cells: Vec<Cell> = timeline
        .iter()
        .flat_map(|moment| {
            moment.bins.iter().map(|(&ns, &count)| Cell {
                x: (moment.start_s, moment.end_s),
                y: limits(ns),
                count,
            })
        })
        .collect();
    chart.heat(&cells);
    let mut table = Table::new(&[
        ("from", Align::Right),
        ("to", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
    ]);
    let step = timeline.len().div_ceil(TABLE_ROWS).max(1);
    for moment in timeline.iter().step_by(step) {
        let mut row = vec![Unit::Seconds.text(moment.start_s), Unit::Seconds.text(moment.end_s)];
        row.extend(
            [50.0, 99.0, 99.9]
                .map(|percent| moment.percentile(percent).map_or("-".to_owned(), figures::duration)),
        );
        table.row(row);
    }
    let line = |percent: f64, name: &str, style: usize| Series {
        name: name.to_owned(),
        style,
        points: timeline
            .iter()
            .filter_map(|moment| Some((moment.start_s, moment.percentile(percent)?)))
            .collect(),
    };
    chart.lines(&[line(50.0, "p50", 3), line(99.0, "p99", 4)], true);
    Some(chart.figure(&format!("{id}-heat-{}", direction.name), &table))
}

/// The limits of a coarse bin, which are halfway to its neighbours on the logarithmic scale.
pub(crate) fn limits(ns: u64) -> (f64, f64) {
    let bin = coarse_bin_of(ns);
    let below = coarse_value_of(bin.saturating_sub(1)).max(1) as f64;
    let above = coarse_value_of(bin + 1) as f64;
    let ns = ns.max(1) as f64;
    ((ns * below).sqrt(), (ns * above).sqrt())
}

/// What the latencies of a direction are made of; `None` without layers.
fn layers(direction: &Shapes, id: &str) -> Option<Figure> {
    let made: Vec<Made> = direction.made_of.iter().map(MadeOf::made).collect();
    if made.is_empty() {
        return None;
    }
    let x = Axis { label: String::new(), scale: Scale::Linear { max: 1.0 }, unit: Unit::Row };
    let y = Axis {
        label: "share of the latency".into(),
        scale: Scale::Linear { max: 100.0 },
        unit: Unit::Percent,
    };
    let mut chart = Chart::new(&format!("Where the time of {}s goes", direction.name), x, y);
    let names = direction.made_of.iter().map(|made| match made.percentile {
        Some(percent) => format!("p{percent}"),
        None => "mean".to_owned(),
    });
    let names: Vec<String> = names.collect();
    let share = |made: &Made, layer: Layer| {
        100.0 * made.layers_ns[layer as usize] as f64 / made.total_ns.max(1) as f64
    };
    let parts: Vec<(&str, Vec<f64>)> = Layer::ALL
        .into_iter()
        .map(|layer| (layer.word(), made.iter().map(|made| share(made, layer)).collect()))
        .collect();
    chart.stacks(&names, &parts);
    let right = Align::Right;
    let headings = [("latency", Align::Left), ("in all", right)];
    let of_layers = Layer::ALL.map(|layer| (layer.word(), right));
    let mut table = Table::new(&[&headings[..], &of_layers[..]].concat());
    for (name, made) in names.into_iter().zip(&made) {
        let values = std::iter::once(made.total_ns).chain(made.layers_ns);
        let values = values.map(|ns| figures::duration(ns as f64));
        table.row(std::iter::once(name).chain(values).collect());
    }
    Some(chart.figure(&format!("{id}-{}-layers", direction.name), &table))
}

fn depths(subject: &Subject, id: &str) -> Option<Figure> {
    if subject.depths.iter().all(|(_, share)| *share == 0.0) {
        return None;
    }
    let names: Vec<String> = subject.depths.iter().map(|(level, _)| depth_range(level)).collect();
    let values: Vec<f64> = subject.depths.iter().map(|(_, share)| *share).collect();
    let x = Axis { label: String::new(), scale: Scale::Linear { max: 1.0 }, unit: Unit::Row };
    let y =
        Axis { label: "share of the I/Os".into(), scale: Scale::Linear { max: 100.0 }, unit: Unit::Percent };
    let mut chart = Chart::new("Depth reached: I/Os in flight when one more was issued", x, y);
    // The labels are short, so that they fit next to each other on a phone.
    let short: Vec<String> =
        names.iter().map(|name| name.replace(" to ", "–").replace(" or more", "+")).collect();
    chart.bars(&short, &values, 0);
    let mut table = Table::new(&[("in flight", Align::Right), ("share", Align::Right)]);
    for (name, value) in names.into_iter().zip(values) {
        table.row(vec![name, figures::percent(value)]);
    }
    Some(chart.figure(&format!("{id}-depths"), &table))
}
