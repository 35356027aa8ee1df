//! A model as a job file.

use super::arrivals::Arrivals;
use super::place::Place;
use super::{Job, Model, OnFiles};
use crate::skew::Model as Distribution;
use fathom_stats::Direction;
use std::fmt::Write;

/// Smallest rate per second that is given in whole requests.
const SMALLEST_RATE: f64 = 200.0;
/// Largest error of a rate in whole requests where other programs than fathom read it.
const COARSE: f64 = 0.02;

impl Model {
    /// The job file. `about` is its first comment, one line each; `target` the file or device of all jobs. Of a model of files,
    /// it is the directory of their files if it ends with a slash, and otherwise the beginning of their names.
    pub fn job_file(&self, about: &[String], target: &str) -> String {
        let mut text: String = about.iter().map(|line| format!("# {line}\n")).collect();
        for lack in &self.lacks {
            let _ = writeln!(text, "# Not modelled: {lack}");
        }
        let runtime = (self.seconds * 1e3).ceil().max(100.0);
        // A colon separates files.
        let target = target.replace(':', "\\:");
        let (directory, prefix) = match target.strip_suffix('/') {
            Some("") => ("directory=/\n".to_owned(), String::new()),
            Some(directory) => (format!("directory={directory}\n"), String::new()),
            None => (String::new(), format!("{target}.")),
        };
        let place = match self.on_files {
            None => format!("filename={target}\nioengine=io_uring\ndirect=1"),
            Some(_) => format!("{directory}ioengine=psync"),
        };
        let pace = if self.on_files.is_none_or(|files| files.is_open) { "open_loop=1\n" } else { "" };
        let _ = write!(text, "\n[global]\n{place}\ntime_based=1\nruntime={runtime}ms\n{pace}");
        self.jobs.iter().for_each(|job| text.push_str(&section(job, &prefix, self.on_files)));
        text
    }
}

fn section(job: &Job, prefix: &str, on_files: Option<OnFiles>) -> String {
    let mut text = format!(
        "\n# {:.1} % of the requests, {:.1} % of the bytes\n[{}]\n",
        job.share * 100.0,
        job.share_of_bytes * 100.0,
        job.name
    );
    let mut put = |name: &str, value: String| {
        let _ = writeln!(text, "{name}={value}");
    };
    if on_files.is_some() {
        put("filename", format!("{prefix}{}", if job.is_shared { "shared" } else { &job.name }));
    }
    put("rw", pattern(job));
    match job.sizes.0.as_slice() {
        [(size, _)] => put("bs", size_text(u64::from(*size))),
        sizes => {
            let part = |(size, percent): &(u32, u32)| format!("{}/{percent}", size_text(u64::from(*size)));
            put("bssplit", sizes.iter().map(part).collect::<Vec<_>>().join(":"));
        }
    }
    place(job, &mut put);
    match on_files.is_some_and(|files| !files.is_open) {
        true => closed_rate(job, &mut put),
        false => {
            rate(job, &mut put);
            arrivals(&job.arrivals, &mut put);
        }
    }
    if on_files.is_none() {
        put("iodepth", job.slots.to_string());
    }
    if let Some(every) = job.sync_every {
        put(on_files.map_or("fsync", |files| files.sync), every.to_string());
    }
    if job.is_durable {
        put("sync", "dsync".to_owned());
    }
    if job.clones > 1 {
        put("numjobs", job.clones.to_string());
        put("group_reporting", "1".to_owned());
    }
    text
}

fn pattern(job: &Job) -> String {
    let word = match job.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Trim => "trim",
    };
    match &job.place {
        Place::Streams { .. } | Place::Runs { .. } => word.to_owned(),
        _ => format!("rand{word}"),
    }
}

fn place(job: &Job, put: &mut impl FnMut(&str, String)) {
    if job.offset > 0 {
        put("offset", size_text(job.offset));
    }
    let mut drawn = |size: u64, distribution: String| {
        put("size", size_text(size));
        put("random_distribution", distribution);
    };
    match &job.place {
        Place::Streams { streams, size } | Place::Runs { streams, size, .. } => {
            // Clones divide the area, as streams do.
            let each = (*size * u64::from(*streams) / u64::from(job.clones)).next_multiple_of(4096);
            put("size", size_text(each));
            if job.clones > 1 {
                put("offset_increment", size_text(each));
            }
            if let Place::Runs { run, gap, .. } = &job.place {
                put("zonemode", "strided".to_owned());
                put("zonesize", size_text(*run));
                put("zoneskip", size_text(*gap));
            }
        }
        Place::Once { size, .. } => put("size", size_text(*size)),
        Place::Drawn { size, distribution, .. } => match *distribution {
            Distribution::Uniform => {
                put("size", size_text(*size));
                put("norandommap", "1".to_owned());
            }
            Distribution::Zipf(theta) => drawn(*size, format!("zipf:{theta:.3}")),
            Distribution::Pareto(h) => drawn(*size, format!("pareto:{h:.2}")),
            Distribution::Zones { .. } => {
                let all = job.place.zones();
                drawn(all.iter().map(|zone| zone.1).sum(), zones(&all));
            }
        },
        // One zone is all of the area.
        Place::Zones { zones, .. } if zones.len() == 1 => {
            put("size", size_text(job.place.size()));
            put("norandommap", "1".to_owned());
        }
        Place::Zones { zones: all, .. } => drawn(job.place.size(), zones(all)),
    }
    if !job.place.is_sequential() && job.place.granule() != job.sizes.smallest() {
        put("blockalign", size_text(job.place.granule()));
    }
}

fn zones(all: &[(u32, u64)]) -> String {
    let zone = |(percent, bytes): &(u32, u64)| format!("{percent}/{}", size_text(*bytes));
    format!("zoned_abs:{}", all.iter().map(zone).collect::<Vec<_>>().join(":"))
}

/// The mean rate: whole requests, or bytes where these would be too coarse.
fn rate(job: &Job, put: &mut impl FnMut(&str, String)) {
    let per_second = job.arrivals.per_second;
    if per_second >= SMALLEST_RATE {
        return put("rate_iops", per_second.round().to_string());
    }
    put("rate", (per_second * job.sizes.mean()).round().max(1.0).to_string());
}

/// The rate of a job for fio as well, in whole requests or, where these would be too coarse, in bytes. There, the gaps are even: fio
/// divides a rate in bytes by the smallest of several sizes if they are random.
fn closed_rate(job: &Job, put: &mut impl FnMut(&str, String)) {
    let per_second = job.arrivals.per_second;
    let whole = per_second.round();
    if (whole / per_second - 1.0).abs() > COARSE {
        put("rate", (per_second * job.sizes.mean()).round().max(1.0).to_string());
        return put("rate_process", "linear".to_owned());
    }
    put("rate_iops", whole.to_string());
    arrivals(&job.arrivals, put);
}

fn arrivals(arrivals: &Arrivals, put: &mut impl FnMut(&str, String)) {
    let variation = figures(arrivals.variation);
    let process = match (arrivals.steps.is_empty(), arrivals.variation) {
        (true, 0.0) => "linear".to_owned(),
        (true, 1.0) => "poisson".to_owned(),
        (true, _) => format!("gamma:{variation}"),
        (false, found) => {
            let steps: Vec<String> = arrivals.steps.iter().map(|rate| figures(*rate)).collect();
            let within = match found {
                0.0 => String::new(),
                1.0 => ":poisson".to_owned(),
                _ => format!(":gamma:{variation}"),
            };
            format!("steps:{}us:{}{within}", (arrivals.step_s * 1e6).round(), steps.join("/"))
        }
    };
    put("rate_process", process);
}

/// Three significant figures, without trailing zeros.
fn figures(value: f64) -> String {
    let places = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `64k`, `3m`: the largest unit without a remainder.
fn size_text(bytes: u64) -> String {
    let units = [(1u64 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, letter)| format!("{}{letter}", bytes / unit))
}
