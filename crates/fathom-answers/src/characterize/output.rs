//! A characterized load, for people and for programs.

use super::section::Section;
use super::trace::Characterized;
use super::{calls, sentence};
use crate::columns;
use crate::figures;
use crate::table::{Align, Table};
use fathom_command::Failure;
use fathom_stats::latency::LatencyStats;
use fathom_workload::arrivals::Pace;
use fathom_workload::skew::Model;
use fathom_workload::{DirectionProfile, Profile};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Version of the JSON document.
const VERSION: u32 = 1;
/// Sizes that are listed per direction.
const SIZES: usize = 3;
/// Programs that are listed.
const PROGRAMS: usize = 10;
/// Rows of the table of latencies by size, and of caches.
const CACHES: usize = 8;

/// Text for people.
pub(super) fn text(found: &Characterized, limit: Option<usize>) -> String {
    let width = limit.unwrap_or(columns::USUAL);
    let mut text = columns::hanging(&sentence::sentence(found), 0, width);
    for caveat in caveats(found) {
        text.push_str(&columns::hanging(&caveat, 2, width));
    }
    for section in sections(found) {
        text.push_str(&format!("\n{}\n", section.heading));
        if let Some(table) = &section.table {
            text.push_str(&table.text(2, limit));
        }
        let label = section.facts.iter().map(|(name, _)| columns::width(name)).max().unwrap_or(0);
        for (name, value) in &section.facts {
            let line = format!("  {}  {value}", columns::left(name, label));
            text.push_str(&columns::hanging(&line, label + 4, width));
        }
    }
    text
}

/// The profile, with the sentence and the caveats.
pub(super) fn json(found: &Characterized) -> Result<String, Failure> {
    let lost = json!({ "gaps": found.losses.gaps, "events": found.losses.events });
    crate::output::json(&Document {
        version: VERSION,
        trace: &found.name,
        kind: if found.files.is_some() { "files" } else { "devices" },
        summary: sentence::sentence(found),
        caveats: caveats(found),
        lost,
        skipped: found.complaints.count,
        calls: found.files.as_ref().map(calls::json),
        profile: &found.profile,
    })
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "fathom characterize")]
    version: u32,
    trace: &'a str,
    kind: &'a str,
    summary: String,
    caveats: Vec<String>,
    lost: Json,
    skipped: u64,
    calls: Option<Json>,
    profile: &'a Profile,
}

/// What is missing from the trace, and what follows for the figures.
pub(crate) fn caveats(found: &Characterized) -> Vec<String> {
    let mut told = Vec::new();
    let profile = &found.profile;
    if found.losses.gaps > 0 {
        told.push(format!(
            "The recorder lost {} events in {} places: counts and rates are too low, and requests whose completion is missing have no \
             latency.",
            figures::count(found.losses.events as f64),
            found.losses.gaps
        ));
    }
    if let Some(why) = &found.cut_off {
        told.push(format!("The trace is cut off {why}."));
    }
    let skipped = found.complaints.count.saturating_sub(found.losses.gaps);
    if skipped > 0 {
        let first = found.complaints.first.iter().find(|line| !line.contains("were lost while"));
        let first = first.map(|line| line.trim_start_matches("fathom: ").to_owned()).unwrap_or_default();
        told.push(format!("{skipped} lines or records are left out; the first: {first}."));
    }
    if let Some(files) = &found.files {
        told.extend(calls::caveats(files));
    }
    if profile.depth.is_none() {
        told.push("The trace has no completions: depth, latencies and think times are unknown.".to_owned());
    } else if profile.incomplete > profile.requests / 100 {
        told.push(format!("{} requests have no completion in the trace.", profile.incomplete));
    }
    told
}

pub(super) fn sections(found: &Characterized) -> Vec<Section> {
    let profile = &found.profile;
    let calls = found.files.as_ref().map(calls::section);
    let all = [requests(found), places(profile), times(found), latencies(found), programs(profile)];
    let is_filled = |section: &Section| !section.facts.is_empty() || section.table.is_some();
    all.into_iter().chain(calls).filter(is_filled).collect()
}

fn per_second(count: u64, profile: &Profile) -> String {
    if profile.seconds > 0.0 { figures::count(count as f64 / profile.seconds) } else { "-".to_owned() }
}

fn percent(share: f64) -> String {
    figures::percent(share * 100.0)
}

fn requests(found: &Characterized) -> Section {
    let profile = &found.profile;
    let word = if found.files.is_some() { "file" } else { "device" };
    let mut table = Table::new(&[
        ("", Align::Left),
        ("requests", Align::Right),
        ("share", Align::Right),
        ("per s", Align::Right),
        ("bytes", Align::Right),
        ("sizes", Align::Name),
    ]);
    for direction in &profile.directions {
        let sizes = direction.sizes.common(SIZES).into_iter();
        let sizes: Vec<String> = sizes
            .filter(|(_, share, _)| *share >= 0.005)
            .map(|(size, share, _)| format!("{} {:.0} %", figures::size(u64::from(size)), share * 100.0))
            .collect();
        table.row(vec![
            format!("{}s", direction.direction.word()),
            figures::count(direction.requests as f64),
            percent(direction.requests as f64 / profile.requests.max(1) as f64),
            per_second(direction.requests, profile),
            figures::size(direction.bytes),
            sizes.join(", "),
        ]);
    }
    let mut facts = vec![("length", figures::duration(profile.seconds * 1e9))];
    for device in profile.devices.iter().take(4) {
        let number =
            device.device.map_or_else(String::new, |device| format!("{}:{}", device.major, device.minor));
        let name = if device.name.is_empty() { number } else { device.name.clone() };
        let model = if device.model.is_empty() { String::new() } else { format!(" ({})", device.model) };
        let size = if device.size == 0 { String::new() } else { format!(", {}", figures::size(device.size)) };
        let share = percent(device.requests as f64 / profile.requests.max(1) as f64);
        facts.push((word, format!("{name}{model}{size}: {share} of the requests")));
    }
    if profile.devices.len() > 4 {
        facts.push((word, format!("{} more", profile.devices.len() - 4)));
    }
    Section { heading: "Requests", facts, table: (!profile.directions.is_empty()).then_some(table) }
}

fn places(profile: &Profile) -> Section {
    let space = &profile.space;
    let mut facts = Vec::new();
    if space.footprint > 0 {
        let about = if space.is_exact { "" } else { "about " };
        facts.push((
            "footprint",
            format!(
                "{about}{} (read {}, written {})",
                figures::size(space.footprint),
                figures::size(space.read_footprint),
                figures::size(space.written_footprint)
            ),
        ));
    }
    facts.extend(sequential(profile));
    for direction in &profile.directions {
        let Some(skew) = &direction.skew else { continue };
        let hot = skew.curve.iter().find(|(place, _)| *place >= 0.1).map_or(0.0, |(_, share)| *share);
        let model = match skew.model {
            Model::Uniform => "as even as chance allows".to_owned(),
            Model::Zipf(theta) => format!("like zipf:{theta:.2}"),
            Model::Pareto(h) => format!("like pareto:{h:.2}"),
            Model::Zones { blocks, accesses } => {
                format!("like {} of the accesses to {} of the space", percent(accesses), percent(blocks))
            }
        };
        let word = direction.direction.word();
        facts.push((
            "popularity",
            format!(
                "10 % of the blocks have {} of the {word}s, {model} (within {})",
                percent(hot),
                percent(skew.error)
            ),
        ));
    }
    if space.reused > 0.0 {
        facts.push(("reuse", reuse(profile)));
    }
    if let Some((_, share)) = space.read_after_write.iter().find(|(seconds, _)| *seconds == 1.0) {
        let reads = profile.directions.iter().any(|direction| direction.direction.word() == "read");
        let writes = space.written_footprint > 0;
        if reads && writes {
            facts.push(("read after write", format!("{} of the reads, within 1 s", percent(*share))));
        }
    }
    if space.written_footprint > 0 {
        facts.push(("overwritten", format!("{} of the writes", percent(space.overwritten))));
    }
    let aligned = profile.directions.iter().map(|direction| {
        let share = direction.sizes.aligned_share(4096);
        format!("{} of the {}s", percent(share), direction.direction.word())
    });
    let aligned: Vec<String> = aligned.collect();
    if !aligned.is_empty() {
        facts.push(("on 4 KiB", aligned.join(", ")));
    }
    Section { heading: "Places", facts, table: None }
}

fn sequential(profile: &Profile) -> Option<(&'static str, String)> {
    let share = |direction: &DirectionProfile| {
        let share = direction.streams.sequential_requests as f64 / direction.requests.max(1) as f64;
        format!("{} of the {}s", percent(share), direction.direction.word())
    };
    let shares: Vec<String> = profile.directions.iter().map(share).collect();
    let lasted: u64 = profile.directions.iter().map(|direction| direction.streams.sequential_ns).sum();
    if shares.is_empty() {
        return None;
    }
    let streams = match lasted {
        0 => String::new(),
        ns => format!(
            "; {} streams at a time, at most {}",
            figures::three_figures(ns as f64 / 1e9 / profile.seconds.max(1e-9)),
            figures::three_figures(profile.most_streams)
        ),
    };
    Some(("sequential", format!("{}{streams}", shares.join(", "))))
}

/// `42 % of the accesses; a cache of 1 GiB would serve 12 %, one of 4 GiB 40 %`.
fn reuse(profile: &Profile) -> String {
    let space = &profile.space;
    let mut told: Vec<(u64, f64)> = Vec::new();
    for &(bytes, share) in &space.reuse {
        // Only steps that change something.
        if share >= 0.01
            && told.last().is_none_or(|(_, last)| {
                share >= last + 0.15 || share >= space.reused * 0.995 && *last < space.reused * 0.95
            })
        {
            told.push((bytes, share));
        }
    }
    told.truncate(CACHES);
    let caches: Vec<String> =
        told.iter().map(|(bytes, share)| format!("{} {}", figures::size(*bytes), percent(*share))).collect();
    match caches.is_empty() {
        true => format!("{} of the accesses", percent(space.reused)),
        false => {
            format!("{} of the accesses; served by a cache of {}", percent(space.reused), caches.join(", "))
        }
    }
}

fn times(found: &Characterized) -> Section {
    let profile = &found.profile;
    let arrivals = &profile.arrivals;
    let mut facts = vec![("arrivals", format!("{} per second", per_second(profile.requests, profile)))];
    if arrivals.gaps.count > 0 {
        facts.push(("gaps", percentiles(&arrivals.gaps)));
    }
    if !arrivals.dispersion.is_empty() {
        let told: Vec<String> = arrivals
            .dispersion
            .iter()
            .map(|(window, value)| {
                format!("{} at {}", figures::three_figures(*value), figures::duration(window * 1e9))
            })
            .collect();
        facts.push((
            "burstiness",
            format!("variance by mean {} (1: random, more: bursts, 0: paced)", told.join(", ")),
        ));
    }
    if let Some(cycle) = &profile.cycle {
        facts.push((
            "period",
            format!("{} (correlation {:.2})", figures::duration(cycle.period_s * 1e9), cycle.strength),
        ));
    }
    if let Some(depth) = &profile.depth {
        facts.push((
            "depth",
            format!(
                "{} on average, at most {}, busy {} of the time",
                figures::three_figures(depth.mean),
                depth.largest,
                percent(depth.busy)
            ),
        ));
    }
    let pace = match arrivals.pace {
        Pace::Unknown => None,
        Pace::Closed => Some(format!(
            "each program keeps {} in flight: a completion lets the next request go (closed loop)",
            figures::three_figures(arrivals.kept_depth)
        )),
        Pace::Open => Some("requests do not wait for completions (open loop)".to_owned()),
        Pace::Mixed => Some("requests wait for completions in part".to_owned()),
    };
    facts.extend(pace.map(|pace| ("pace", pace)));
    if arrivals.think_time.count > 0 {
        facts.push(("think time", percentiles(&arrivals.think_time)));
    }
    facts.extend(flushes(found));
    Section { heading: "Times", facts, table: None }
}

fn percentiles(latencies: &LatencyStats) -> String {
    let values = latencies.percentiles(&[50.0, 99.0]).into_iter();
    let values: Vec<String> = values.map(|ns| figures::duration(ns as f64)).collect();
    format!("p50 {}, p99 {}, max {}", values[0], values[1], figures::duration(latencies.max_ns as f64))
}

fn flushes(characterized: &Characterized) -> Vec<(&'static str, String)> {
    let (profile, found) = (&characterized.profile, &characterized.profile.flushes);
    let mut facts = Vec::new();
    let all = found.flushes + found.flushing_writes;
    if all > 0 {
        let gaps = if found.gaps.count > 0 {
            format!("; {} apart", percentiles(&found.gaps))
        } else {
            String::new()
        };
        facts.push((flushes_label(characterized), format!("{} per second{gaps}", per_second(all, profile))));
    }
    let kinds = [
        (found.durable_writes, "durable writes"),
        (found.sync_writes, "synchronous writes"),
        (found.metadata, "metadata"),
        (found.read_ahead, "read-ahead"),
    ];
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{name} {}", percent(count as f64 / profile.requests.max(1) as f64)))
        .collect();
    if !kinds.is_empty() {
        facts.push(("of the requests", kinds.join(", ")));
    }
    facts
}

/// Programs sync files, and devices are flushed.
fn flushes_label(found: &Characterized) -> &'static str {
    if found.files.is_some() { "syncs" } else { "flushes" }
}

fn latencies(found: &Characterized) -> Section {
    let profile = &found.profile;
    let mut table = Table::new(&[
        ("", Align::Left),
        ("requests", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
    ]);
    let mut facts = Vec::new();
    let mut is_filled = false;
    for direction in &profile.directions {
        let (word, service) = (direction.direction.word(), &direction.service);
        let mut row = |name: String, latencies: &LatencyStats| {
            if latencies.count == 0 {
                return;
            }
            is_filled = true;
            let values = latencies.percentiles(&[50.0, 99.0, 99.9]).into_iter();
            let values = values.map(|ns| figures::duration(ns as f64));
            let mut cells =
                vec![name, figures::count(latencies.count as f64), figures::duration(latencies.mean_ns())];
            cells.extend(values);
            cells.push(figures::duration(latencies.max_ns as f64));
            table.row(cells);
        };
        row(format!("{word}s"), &service.total);
        row("  before the device".to_owned(), &service.queue);
        row("  in the device".to_owned(), &service.device);
        if service.by_size.len() > 1 {
            let is_common = |latencies: &LatencyStats| latencies.count * 100 >= service.total.count;
            for (end, latencies) in service.by_size.iter().filter(|(_, latencies)| is_common(latencies)) {
                let name = end.map_or_else(
                    || "  larger".to_owned(),
                    |end| format!("  up to {}", figures::size(u64::from(end))),
                );
                row(name, latencies);
            }
        }
        if service.errors > 0 {
            facts.push(("errors", format!("{} {word}s failed", service.errors)));
        }
    }
    let flushes = &profile.flushes.latency;
    if flushes.count > 0 {
        facts.push((flushes_label(found), percentiles(flushes)));
    }
    Section { heading: "Latencies", facts, table: is_filled.then_some(table) }
}

fn programs(profile: &Profile) -> Section {
    let mut table = Table::new(&[
        ("program", Align::Name),
        ("processes", Align::Right),
        ("share", Align::Right),
        ("reads", Align::Right),
        ("writes", Align::Right),
        ("read", Align::Right),
        ("written", Align::Right),
        ("syncs", Align::Right),
    ]);
    for program in profile.programs.iter().take(PROGRAMS) {
        let name = if program.name.is_empty() { "(unnamed)" } else { &program.name };
        table.row(vec![
            name.to_owned(),
            program.processes.to_string(),
            percent(program.all_requests() as f64 / profile.requests.max(1) as f64),
            figures::count(program.requests[0] as f64),
            figures::count(program.requests[1] as f64),
            figures::size(program.bytes[0]),
            figures::size(program.bytes[1]),
            figures::count(program.syncs as f64),
        ]);
    }
    let mut facts = Vec::new();
    if profile.programs.len() > PROGRAMS {
        facts.push(("more", format!("{} other programs", profile.programs.len() - PROGRAMS)));
    }
    Section { heading: "Programs", facts, table: (!profile.programs.is_empty()).then_some(table) }
}
