//! A model as a job file.

use super::arrivals::Arrivals;
use super::place::Place;
use super::{Job, Model};
use crate::skew::Model as Distribution;
use fathom_stats::Direction;
use std::fmt::Write;

/// Smallest rate per second that is given in whole requests.
const SMALLEST_RATE: f64 = 200.0;

impl Model {
    /// The job file. `about` is its first comment, one line each; `target` the file or device of all jobs.
    pub fn job_file(&self, about: &[String], target: &str) -> String {
        let mut text: String = about.iter().map(|line| format!("# {line}\n")).collect();
        for lack in &self.lacks {
            let _ = writeln!(text, "# Not modelled: {lack}");
        }
        let runtime = (self.seconds * 1e3).ceil().max(100.0);
        // A colon separates files.
        let target = target.replace(':', "\\:");
        let _ = write!(
            text,
            "\n[global]\nfilename={target}\nioengine=io_uring\ndirect=1\ntime_based=1\nruntime={runtime}ms\nopen_loop=1\n"
        );
        self.jobs.iter().for_each(|job| text.push_str(&section(job)));
        text
    }
}

fn section(job: &Job) -> String {
    let mut text = format!(
        "\n# {:.1} % of the requests, {:.1} % of the bytes\n[{}]\n",
        job.share * 100.0,
        job.share_of_bytes * 100.0,
        job.name
    );
    let mut put = |name: &str, value: String| {
        let _ = writeln!(text, "{name}={value}");
    };
    put("rw", pattern(job));
    match job.sizes.0.as_slice() {
        [(size, _)] => put("bs", size_text(u64::from(*size))),
        sizes => {
            let part = |(size, percent): &(u32, u32)| format!("{}/{percent}", size_text(u64::from(*size)));
            put("bssplit", sizes.iter().map(part).collect::<Vec<_>>().join(":"));
        }
    }
    place(job, &mut put);
    rate(job, &mut put);
    arrivals(&job.arrivals, &mut put);
    put("iodepth", job.slots.to_string());
    if let Some(every) = job.sync_every {
        put("fsync", every.to_string());
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
