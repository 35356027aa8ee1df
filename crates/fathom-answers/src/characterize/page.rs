//! The page of a characterized load: its sentence, its figures, and what was where and when.

use super::output::{caveats, sections};
use super::section::Section;
use super::sentence;
use super::trace::Characterized;
use crate::figures;
use crate::report::chart::heat::Cell;
use crate::report::chart::scale::{Scale, Unit};
use crate::report::chart::{Axis, Chart, Figure, Series};
use crate::report::{
    Link, TABLE_ROWS, charts, latency_limits, list, percentiles, seconds_axis, sentences, shell,
};
use crate::table::{Align, Table};
use fathom_stats::Direction;
use fathom_stats::latency::LatencyStats;
use fathom_workload::places::{Map, MapCell};
use fathom_workload::{Moment, Profile};
use maud::{Markup, html};

/// Percentiles of the latency curves.
const PERCENTILES: [f64; 13] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Rows of a map's table.
const MAP_ROWS: usize = 16;

/// The page.
pub(super) fn page(found: &Characterized, title: &str) -> String {
    let profile = &found.profile;
    let parts = sections(found);
    let mut links: Vec<Link> = vec![("load".to_owned(), "Load".to_owned())];
    links.extend(parts.iter().map(|part| (id_of(part), part.heading.to_owned())));
    let caveats = caveats(found);
    let body = html! {
        section aria-labelledby="load" {
            h2 id="load" { "Load" }
            p { (sentence::sentence(found)) }
            @if !caveats.is_empty() { div.verdict { (sentences(&caveats)) } }
        }
        @for part in &parts { (section(part, profile)) }
    };
    shell(title, &links, &body)
}

fn id_of(part: &Section) -> String {
    part.heading.to_lowercase()
}

fn section(part: &Section, profile: &Profile) -> Markup {
    let id = id_of(part);
    let figures: Vec<Figure> = match part.heading {
        "Requests" => rates(profile),
        "Places" => {
            let mut all = maps(profile);
            all.extend([popularity(profile), caches(profile), working_set(profile)].into_iter().flatten());
            all
        }
        "Times" => depth(profile).into_iter().collect(),
        "Latencies" => service(profile),
        _ => Vec::new(),
    };
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (part.heading) }
            @if !part.facts.is_empty() { (list(&part.facts)) }
            @if let Some(table) = &part.table { (table.html()) }
            @if !figures.is_empty() { (charts(figures)) }
        }
    }
}

fn end_of(profile: &Profile) -> f64 {
    profile.over_time.last().map_or(1.0, |moment| moment.end_s)
}

fn time_axis(profile: &Profile) -> Axis {
    seconds_axis(std::iter::once(end_of(profile)))
}

/// A line over time; held until the end of its last step.
fn line(profile: &Profile, name: &str, style: usize, value: impl Fn(&Moment) -> f64) -> Series {
    let mut points: Vec<(f64, f64)> =
        profile.over_time.iter().map(|moment| (moment.start_s, value(moment))).collect();
    points.extend(profile.over_time.last().map(|moment| (moment.end_s, value(moment))));
    Series { name: name.to_owned(), style, points }
}

/// A chart of lines over time; nothing for a trace of one step, or without values.
fn over_time(
    profile: &Profile,
    title: &str,
    id: &str,
    label: &str,
    unit: Unit,
    lines: &[Series],
) -> Option<Figure> {
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    if profile.over_time.len() < 2 || values().all(|value| value == 0.0) {
        return None;
    }
    let y = Axis { label: label.into(), scale: Scale::linear(values()), unit };
    let mut chart = Chart::new(title, time_axis(profile), y);
    chart.lines(lines, true);
    let columns = std::iter::once(("from", Align::Right))
        .chain(lines.iter().map(|line| (line.name.as_str(), Align::Right)));
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    let step = profile.over_time.len().div_ceil(TABLE_ROWS).max(1);
    for (place, moment) in profile.over_time.iter().enumerate().step_by(step) {
        let values = lines.iter().map(|line| unit.text(line.points[place].1));
        table.row(std::iter::once(Unit::Seconds.text(moment.start_s)).chain(values).collect());
    }
    Some(chart.figure(id, &table))
}

fn rates(profile: &Profile) -> Vec<Figure> {
    let lines = |value: fn(&Moment, usize) -> u64| -> Vec<Series> {
        let directions = profile.directions.iter().map(|direction| direction.direction);
        directions
            .map(|direction| {
                let place = direction.index();
                line(profile, &format!("{}s", direction.word()), place, move |moment| {
                    value(moment, place) as f64 / (moment.end_s - moment.start_s)
                })
            })
            .collect()
    };
    let requests = lines(|moment, place| moment.requests[place]);
    let bytes = lines(|moment, place| moment.bytes[place]);
    let per_second =
        line(profile, "flushes", 0, |moment| moment.flushes as f64 / (moment.end_s - moment.start_s));
    [
        over_time(
            profile,
            "Requests per second over time",
            "rate",
            "requests per second",
            Unit::Count,
            &requests,
        ),
        over_time(profile, "Bandwidth over time", "bandwidth", "MB/s", Unit::Bandwidth, &bytes),
        over_time(
            profile,
            "Flushes per second over time",
            "flush-rate",
            "flushes per second",
            Unit::Count,
            &[per_second],
        ),
        sizes(profile),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Shares of the requests by powers of two of their size.
fn sizes(profile: &Profile) -> Option<Figure> {
    let class = |size: u32| size.max(1).next_power_of_two().trailing_zeros();
    let classes = || {
        profile.directions.iter().flat_map(|direction| direction.sizes.counts.keys().map(|&size| class(size)))
    };
    let (low, high) = (classes().min()?, classes().max()?);
    let mut shares = vec![0.0; (high - low + 1) as usize];
    for direction in &profile.directions {
        for (&size, &count) in &direction.sizes.counts {
            shares[(class(size) - low) as usize] += count as f64 / profile.requests.max(1) as f64 * 100.0;
        }
    }
    let names: Vec<String> = (low..=high).map(|class| figures::size(1 << class)).collect();
    let x = Axis { label: "up to".into(), scale: Scale::Linear { max: 1.0 }, unit: Unit::Row };
    let y = Axis {
        label: "share of the requests".into(),
        scale: Scale::Linear { max: 100.0 },
        unit: Unit::Percent,
    };
    let mut chart = Chart::new("Sizes of the requests", x, y);
    // Short, so that they fit next to each other on a phone.
    let short: Vec<String> = names.iter().map(|name| name.replace(" ", "").replace("iB", "")).collect();
    chart.bars(&short, &shares, 0);
    let mut table = Table::new(&[("up to", Align::Right), ("share", Align::Right)]);
    names.into_iter().zip(shares).for_each(|(name, share)| table.row(vec![name, figures::percent(share)]));
    Some(chart.figure("sizes", &table))
}

fn maps(profile: &Profile) -> Vec<Figure> {
    let name = |map: &Map| {
        let device = profile.devices.iter().find(|device| device.device == map.device);
        let name = device.map_or("", |device| device.name.as_str());
        match map.device {
            Some(number) if name.is_empty() => format!("{}:{}", number.major, number.minor),
            _ => name.to_owned(),
        }
    };
    let mut figures = Vec::new();
    for (number, map) in profile.maps.iter().enumerate() {
        let mut draw = |kind: &str, count: fn(&MapCell) -> u64| {
            let title = format!("{kind} by place and time, {}: darker = more", name(map));
            let id = format!("map-{number}-{}", kind.to_lowercase());
            figures.extend(heat_map(profile, map, &title, &id, count));
        };
        draw("Reads", |cell| cell.2);
        draw("Writes", |cell| cell.3);
    }
    figures
}

fn heat_map(
    profile: &Profile,
    map: &Map,
    title: &str,
    id: &str,
    count: impl Fn(&MapCell) -> u64,
) -> Option<Figure> {
    let shown: Vec<(u32, u32, u64)> =
        map.cells.iter().map(|cell| (cell.0, cell.1, count(cell))).filter(|cell| cell.2 > 0).collect();
    let rows = map.cells.iter().map(|cell| cell.1).max()? + 1;
    if shown.is_empty() {
        return None;
    }
    let row = map.row_bytes as f64 / 1e9;
    let label = match map.offset {
        0 => "offset, GB".to_owned(),
        offset => format!("GB after {} GB", figures::three_figures(offset as f64 / 1e9)),
    };
    let y = Axis { label, scale: Scale::Linear { max: row * f64::from(rows) }, unit: Unit::Gigabytes };
    let mut chart = Chart::new(title, time_axis(profile), y);
    let cells: Vec<Cell> = shown
        .iter()
        .map(|&(column, place, count)| Cell {
            x: (f64::from(column) * map.column_s, f64::from(column + 1) * map.column_s),
            y: (f64::from(place) * row, f64::from(place + 1) * row),
            count,
        })
        .collect();
    chart.heat(&cells);
    let mut table = Table::new(&[("offset", Align::Right), ("requests", Align::Right)]);
    let joined = rows.div_ceil(MAP_ROWS as u32).max(1);
    for first in (0..rows).step_by(joined as usize) {
        let sum: u64 =
            shown.iter().filter(|cell| (first..first + joined).contains(&cell.1)).map(|cell| cell.2).sum();
        let offset = map.offset.saturating_add(map.row_bytes.saturating_mul(u64::from(first)));
        table.row(vec![figures::size(offset), figures::count(sum as f64)]);
    }
    Some(chart.figure(id, &table))
}

fn popularity(profile: &Profile) -> Option<Figure> {
    let mut lines: Vec<Series> = Vec::new();
    let mut table = Table::new(&[("", Align::Left), ("blocks", Align::Right), ("accesses", Align::Right)]);
    for direction in &profile.directions {
        let Some(skew) = &direction.skew else { continue };
        let points: Vec<(f64, f64)> =
            skew.curve.iter().map(|&(blocks, accesses)| (blocks * 100.0, accesses * 100.0)).collect();
        let name = format!("{}s", direction.direction.word());
        for (blocks, accesses) in &points {
            table.row(vec![name.clone(), Unit::Percent.text(*blocks), figures::percent(*accesses)]);
        }
        lines.push(Series { name, style: direction.direction.index(), points });
    }
    let even: Vec<(f64, f64)> = lines.first()?.points.iter().map(|&(blocks, _)| (blocks, blocks)).collect();
    let scale = Scale::logarithmic(even.iter().map(|point| point.0));
    lines.push(Series { name: "all equally popular".to_owned(), style: 5, points: even });
    let x = Axis { label: "most popular blocks, percent".into(), scale, unit: Unit::Percent };
    let y = Axis {
        label: "share of the accesses".into(),
        scale: Scale::Linear { max: 100.0 },
        unit: Unit::Percent,
    };
    let mut chart = Chart::new("Popularity of blocks", x, y);
    chart.lines(&lines, false);
    Some(chart.figure("popularity", &table))
}

fn caches(profile: &Profile) -> Option<Figure> {
    let reuse = &profile.space.reuse;
    if reuse.len() < 2 {
        return None;
    }
    let points: Vec<(f64, f64)> =
        reuse.iter().map(|&(bytes, share)| (bytes as f64 / 1e9, share * 100.0)).collect();
    let scale = Scale::logarithmic(points.iter().map(|point| point.0));
    let x = Axis { label: "size of the cache, GB".into(), scale, unit: Unit::Gigabytes };
    let y =
        Axis { label: "accesses served".into(), scale: Scale::Linear { max: 100.0 }, unit: Unit::Percent };
    let mut chart = Chart::new("What a cache of the last accessed blocks would serve", x, y);
    let mut table = Table::new(&[("cache", Align::Right), ("served", Align::Right)]);
    for (bytes, share) in reuse {
        table.row(vec![figures::size(*bytes), figures::percent(share * 100.0)]);
    }
    chart.lines(&[Series { name: "accesses served".to_owned(), style: 0, points }], false);
    Some(chart.figure("caches", &table))
}

fn working_set(profile: &Profile) -> Option<Figure> {
    let lines = [
        line(profile, "in this step", 0, |moment| moment.working_set / 1e9),
        line(profile, "since the start", 1, |moment| moment.footprint / 1e9),
    ];
    over_time(
        profile,
        "Data accessed over time, each block once",
        "working-set",
        "GB",
        Unit::Gigabytes,
        &lines,
    )
}

fn depth(profile: &Profile) -> Option<Figure> {
    profile.depth.as_ref()?;
    let lines = [line(profile, "requests in flight", 0, |moment| moment.depth)];
    over_time(profile, "Requests in flight over time", "depth", "requests in flight", Unit::Count, &lines)
}

fn service(profile: &Profile) -> Vec<Figure> {
    let curve = |latencies: &LatencyStats| -> Vec<(f64, f64)> {
        let values = latencies.percentiles(&PERCENTILES);
        PERCENTILES.into_iter().zip(values).map(|(percent, ns)| (percent, (ns as f64).max(1.0))).collect()
    };
    let lines: Vec<Series> = profile
        .directions
        .iter()
        .flat_map(|direction| {
            let (word, style) = (direction.direction.word(), direction.direction.index());
            [
                (format!("{word}s"), style, &direction.service.total),
                (format!("{word}s in the device"), style + Direction::ALL.len(), &direction.service.device),
            ]
        })
        .filter(|(_, _, latencies)| latencies.count > 0)
        .map(|(name, style, latencies)| Series { name, style, points: curve(latencies) })
        .collect();
    let mut figures: Vec<Figure> =
        percentiles("Latency by percentile, from arrival to completion", &lines, "latency")
            .into_iter()
            .collect();
    let directions = profile.directions.iter().map(|direction| direction.direction);
    figures.extend(directions.filter_map(|direction| latency_over_time(profile, direction)));
    figures
}

fn latency_over_time(profile: &Profile, direction: Direction) -> Option<Figure> {
    let place = direction.index();
    let values = || profile.over_time.iter().flat_map(|moment| moment.latencies[place].keys());
    if profile.over_time.len() < 2 || values().next().is_none() {
        return None;
    }
    let y = Axis {
        label: "arrival to completion".into(),
        scale: Scale::logarithmic(values().map(|&ns| ns as f64)),
        unit: Unit::Latency,
    };
    let title = format!("Latency of {}s over time: darker = more", direction.word());
    let mut chart = Chart::new(&title, time_axis(profile), y);
    let cells = profile.over_time.iter().flat_map(|moment| {
        let x = (moment.start_s, moment.end_s);
        moment.latencies[place].iter().map(move |(&ns, &count)| Cell { x, y: latency_limits(ns), count })
    });
    chart.heat(&cells.collect::<Vec<_>>());
    let mut table =
        Table::new(&[("from", Align::Right), ("requests", Align::Right), ("slowest", Align::Right)]);
    let step = profile.over_time.len().div_ceil(TABLE_ROWS).max(1);
    for moment in profile.over_time.iter().step_by(step) {
        let latencies = &moment.latencies[place];
        let slowest = latencies.keys().next_back().map_or("-".to_owned(), |&ns| figures::duration(ns as f64));
        let count = latencies.values().sum::<u64>() as f64;
        table.row(vec![Unit::Seconds.text(moment.start_s), figures::count(count), slowest]);
    }
    Some(chart.figure(&format!("latency-{}", direction.word()), &table))
}
