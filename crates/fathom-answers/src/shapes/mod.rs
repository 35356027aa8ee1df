//! Shapes of a result that can be drawn: percentile curves, distributions, the timeline, depths. Pages and
//! terminals draw the same shapes.

mod distribution;
mod timeline;

use distribution::ASKED_FOR;
pub(crate) use distribution::{Bin, curve};
pub(crate) use timeline::Moment;

use crate::evidence::{Evidence, arrivals, layers};
use fathom_results::DirectionResult;
use fathom_results::model::{JobResult, MadeOf, TimelineJobResult};
use fathom_results::{LatencyResult, RunResult};
use fathom_stats::latency::at_most;
use fathom_stats::{Direction, Histogram};

/// A job, a group, or all jobs of a run together.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) name: String,
    /// Index of the job in the result; `None` for all jobs together.
    pub(crate) job: Option<usize>,
    /// Directions with I/O.
    pub(crate) directions: Vec<Shapes>,
    /// Shares of I/Os issued at each queue depth, in percent, by the lower bound of the depth; empty if several
    /// jobs are merged.
    pub(crate) depths: Vec<(String, f64)>,
}

/// One direction of a subject.
#[derive(Clone, Debug)]
pub(crate) struct Shapes {
    /// `read`, `write`, `trim`, or `mixed`.
    pub(crate) name: &'static str,
    /// Index of the direction: 0 for reads, 1 for writes, 2 for trims.
    pub(crate) direction: usize,
    pub(crate) bytes_per_second: f64,
    pub(crate) iops: f64,
    pub(crate) mean_ns: f64,
    pub(crate) max_ns: f64,
    /// Known percentiles: percent and ns, ascending.
    pub(crate) curve: Vec<(f64, f64)>,
    /// The usual percentiles, as far as their values are known.
    known: Vec<(f64, f64)>,
    /// Known percentiles of response times; empty in a closed loop.
    pub(crate) response: Vec<(f64, f64)>,
    /// Sentences about the arrivals of an open loop, and about layers if they were recorded.
    pub(crate) remarks: Vec<String>,
    /// Latencies and the layers that they are made of; empty without layers.
    pub(crate) made_of: Vec<MadeOf>,
    /// The distribution of latencies; empty without a histogram.
    pub(crate) distribution: Vec<Bin>,
    /// Points in order of time; empty without a timeline.
    pub(crate) timeline: Vec<Moment>,
}

impl Shapes {
    /// The latency at a percentile in ns; `None` if unknown.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let found = self.known.iter().find(|(at, _)| (at - percent).abs() < 1e-6);
        found.map(|&(_, ns)| ns)
    }
}

/// The jobs of a run individually, and all of them together if several ran concurrently. Jobs that ran one
/// after the other are not added up, because such sums are meaningless.
pub(crate) fn subjects(run: &RunResult) -> Vec<Subject> {
    let all = Evidence::all(run);
    let mut subjects: Vec<Subject> =
        all.iter().enumerate().map(|(job, evidence)| of_job(evidence, job)).collect();
    let ran_together =
        run.quick.is_none() && run.stages.len() <= 1 && !all.iter().any(Evidence::shares_counters);
    if run.jobs.len() > 1 && ran_together {
        subjects.insert(0, all_jobs(run));
    }
    subjects
}

/// The range of depths that a level in a report stands for, such as `16 to 31` for the level `16`. An unknown
/// level is returned unchanged.
pub(crate) fn depth_range(level: &str) -> String {
    if level == ">=64" {
        return "64 or more".to_owned();
    }
    match level.parse::<u32>() {
        Ok(low) if low > 1 && low.is_power_of_two() => format!("{low} to {}", low - 1 + low),
        _ => level.to_owned(),
    }
}

fn of_job(evidence: &Evidence<'_>, place_of_job: usize) -> Subject {
    let job = evidence.job;
    let directions = job.active().into_iter().map(|(name, figures)| {
        let latency = figures.latency();
        let direction = Direction::from_word(name).unwrap_or(Direction::Read).index();
        let timeline = evidence.timeline().map(|entry| timeline::of(std::slice::from_ref(entry), direction));
        let timeline = timeline.unwrap_or_default();
        Shapes {
            name,
            direction,
            bytes_per_second: figures.bytes_per_second,
            iops: figures.iops,
            mean_ns: latency.mean_ns,
            max_ns: latency.max_ns,
            curve: curve_of(latency),
            known: known(|percent| latency.percentile(percent)),
            response: figures.response.as_ref().map(curve_of).unwrap_or_default(),
            remarks: remarks(name, figures),
            made_of: figures.layers.as_ref().map(|layers| layers.made_of.clone()).unwrap_or_default(),
            distribution: distribution_of(latency, job, &timeline),
            timeline: timeline::without_part_ends(timeline, figures.runtime_ms),
        }
    });
    Subject {
        name: job.name.clone(),
        job: Some(place_of_job),
        directions: directions.collect(),
        depths: job.iodepth_level.clone(),
    }
}

fn remarks(name: &str, figures: &DirectionResult) -> Vec<String> {
    let many = format!("{name}s");
    let arrivals = arrivals::told(&many, figures);
    arrivals.into_iter().chain(layers::told(&many, figures)).collect()
}

fn known(percentile: impl Fn(f64) -> Option<f64>) -> Vec<(f64, f64)> {
    ASKED_FOR.iter().filter_map(|&percent| Some((percent, percentile(percent)?))).collect()
}

fn curve_of(latency: &LatencyResult) -> Vec<(f64, f64)> {
    match latency.histogram() {
        Some(histogram) => curve(&histogram, latency.max_ns),
        None => latency.printed().collect(),
    }
}

/// The distribution of latencies: from the histogram if the result has one, otherwise from the timeline,
/// otherwise from the shares that every report has, which cover all directions together.
fn distribution_of(latency: &LatencyResult, job: &JobResult, timeline: &[Moment]) -> Vec<Bin> {
    if let Some(histogram) = latency.histogram() {
        return distribution::of_histogram(&histogram);
    }
    let from_timeline = distribution::of_timeline(timeline);
    if !from_timeline.is_empty() {
        return from_timeline;
    }
    match job.active().len() {
        1 => distribution::of_shares(job),
        _ => Vec::new(),
    }
}

/// All jobs merged into one: amounts are added over the duration of the whole run, histograms bin by bin.
/// Percentiles require the histograms of all jobs, because percentiles cannot be added.
fn all_jobs(run: &RunResult) -> Subject {
    let directions =
        Direction::ALL.into_iter().filter_map(|direction| merged(run, direction.index())).collect();
    Subject { name: "All jobs".to_owned(), job: None, directions, depths: Vec::new() }
}

fn merged(run: &RunResult, direction: usize) -> Option<Shapes> {
    let parts: Vec<_> = run.jobs.iter().filter_map(|job| job.directions()[direction]).collect();
    if parts.is_empty() {
        return None;
    }
    let mut histogram = Some(Histogram::default());
    for part in &parts {
        match (part.latency().histogram(), &mut histogram) {
            (Some(theirs), Some(own)) => own.merge(&theirs),
            _ => histogram = None,
        }
    }
    let ios: u64 = parts.iter().map(|part| part.total_ios).sum();
    let bytes: u64 = parts.iter().map(|part| part.io_bytes).sum();
    let weighted = |value: &dyn Fn(&fathom_results::DirectionResult) -> f64| {
        parts.iter().map(|part| value(part) * part.total_ios as f64).sum::<f64>() / ios.max(1) as f64
    };
    let entries: Vec<TimelineJobResult> =
        run.timeline.as_ref().map(|timeline| timeline.jobs.clone()).unwrap_or_default();
    let seconds = seconds_of(run, direction);
    let timeline = timeline::of(&entries, direction);
    let distribution = match &histogram {
        Some(histogram) => distribution::of_histogram(histogram),
        None => distribution::of_timeline(&timeline),
    };
    let max_ns = parts.iter().map(|part| part.latency().max_ns).fold(0.0, f64::max);
    Some(Shapes {
        name: Direction::ALL[direction].word(),
        direction,
        bytes_per_second: bytes as f64 / seconds,
        iops: ios as f64 / seconds,
        mean_ns: weighted(&|part| part.latency().mean_ns),
        max_ns,
        curve: histogram.as_ref().map(|histogram| curve(histogram, max_ns)).unwrap_or_default(),
        known: known(|percent| {
            let found = histogram.as_ref()?.percentiles(&[percent]);
            Some(at_most(*found.first()?, max_ns as u64) as f64)
        }),
        response: Vec::new(),
        remarks: Vec::new(),
        made_of: Vec::new(),
        distribution,
        timeline,
    })
}

/// Total time in which jobs used a direction. Groups run one after the other, the jobs of a group concurrently.
fn seconds_of(run: &RunResult, direction: usize) -> f64 {
    let mut by_group = std::collections::BTreeMap::<u64, u64>::new();
    for job in &run.jobs {
        if let Some(part) = job.directions()[direction] {
            let longest = by_group.entry(job.group_id).or_default();
            *longest = (*longest).max(part.runtime_ms);
        }
    }
    (by_group.values().sum::<u64>() as f64 / 1000.0).max(0.001)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"fio version":"fio-3.42","jobs":[
        {"jobname":"a","groupid":0,"read":{"total_ios":100,"io_bytes":409600,"runtime":1000,"iops":100,"bw_bytes":409600,
          "clat_ns":{"mean":1000,"max":2000,"bins":{"1000":100}}},"iodepth_level":{"1":100.0}},
        {"jobname":"b","groupid":0,"read":{"total_ios":300,"io_bytes":1228800,"runtime":3000,"iops":100,"bw_bytes":409600,
          "clat_ns":{"mean":3000,"max":9000,"bins":{"3000":300}}}}]}"#;

    #[test]
    fn jobs_are_merged_exactly() {
        let run = fathom_results::parse(TEXT, "text").expect("reads");
        let found = subjects(&run);
        let names: Vec<&str> = found.iter().map(|subject| subject.name.as_str()).collect();
        assert_eq!(names, ["All jobs", "a", "b"]);
        let all = &found[0].directions[0];
        assert_eq!((all.mean_ns, all.max_ns), (2500.0, 9000.0));
        // The jobs did 400 I/Os in the three seconds of the longer job.
        assert_eq!(all.iops.round(), 133.0);
        assert_eq!((all_of(&found, 0), all_of(&found, 2)), (None, Some(1)));
        let shares: f64 = all.distribution.iter().map(|bin| bin.percent).sum();
        assert!((shares - 100.0).abs() < 1e-9, "{shares}");
        // A quarter of all I/Os took 1 µs.
        let p50 = all.percentile(50.0).expect("known");
        assert!((2950.0..3050.0).contains(&p50), "{p50}");
        assert_eq!(found[1].depths, [("1".to_owned(), 100.0)]);
    }

    fn all_of(found: &[Subject], place: usize) -> Option<usize> {
        found[place].job
    }

    #[test]
    fn what_ran_one_after_the_other_is_not_added_up() {
        let first =
            |text: &str| subjects(&fathom_results::parse(text, "text").expect("reads"))[0].name.clone();
        assert_eq!(first(TEXT), "All jobs");
        let stages = TEXT.replace(r#""jobname":"b","groupid":0"#, r#""jobname":"b","groupid":1"#);
        assert_eq!(first(&stages), "a");
        let told = stages.replace("\"fio version\"", r#""fathom stages":[{"groups":[0,1]}],"fio version""#);
        assert_eq!(first(&told), "All jobs");
        let quick = TEXT.replace("\"fio version\"", r#""fathom quick":{},"fio version""#);
        assert_eq!(first(&quick), "a");
    }

    #[test]
    fn depths_are_ranges() {
        for (level, range) in [
            ("1", "1"),
            ("16", "16 to 31"),
            (">=64", "64 or more"),
            ("0", "0"),
            ("4294967295", "4294967295"),
            ("2147483648", "2147483648 to 4294967295"),
            ("-1", "-1"),
            ("deep", "deep"),
        ] {
            assert_eq!(depth_range(level), range);
        }
    }

    #[test]
    fn percentiles_are_not_made_up() {
        let text = TEXT.replace(r#","bins":{"3000":300}"#, r#","percentile":{"50.000000":3000}"#);
        let run = fathom_results::parse(&text, "text").expect("reads");
        let found = subjects(&run);
        assert!(found[0].directions[0].curve.is_empty());
        assert_eq!(found[2].directions[0].curve, [(50.0, 3000.0)]);
    }
}
