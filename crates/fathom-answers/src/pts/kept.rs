//! A finished test as a result, for a history: a job per point, with the means over the rounds that count.

use super::definition::Point;
use super::findings::{Findings, PartFindings};
use super::record::RecordedTest;
use super::step::{Figures, Measured, PERCENTILES};
use fathom_command::Failure;
use fathom_results::{DirectionResult, JobResult, LatencyResult, RunResult};
use fathom_stats::verdict::{Finding, Severity, VerdictReport};
use std::path::Path;

/// The result of a test, and the reasons why it is not one by the specification.
pub(crate) fn result(recorded: &RecordedTest, path: &Path) -> Result<(RunResult, VerdictReport), Failure> {
    let findings = Findings::of(recorded);
    if !findings.is_finished {
        return Err(Failure::new(format!(
            "{}: the test is not finished; fathom pts --resume continues it",
            path.display()
        )));
    }
    let plan = findings.plan;
    let jobs = findings.parts.iter().flat_map(|part| jobs_of(&findings, part)).collect();
    let result = RunResult {
        version: plan.version.clone(),
        timestamp_ms: Some(findings.ended.saturating_mul(1000)),
        jobs,
        host: Some(plan.host.clone()),
        source: path.display().to_string(),
        ..RunResult::default()
    };
    let mut verdict = VerdictReport::default();
    for text in &findings.why_not {
        // Each reason counts; findings that are added are merged.
        verdict.findings.push(Finding {
            code: "pts".to_owned(),
            severity: Severity::Doubtful,
            text: text.clone(),
            ..Finding::default()
        });
    }
    Ok((result, verdict))
}

fn jobs_of<'f>(
    findings: &'f Findings<'_>,
    part: &'f PartFindings<'_>,
) -> impl Iterator<Item = JobResult> + 'f {
    (0..).zip(&part.part.points).map(move |(number, point)| {
        let measured: Vec<&Measured> =
            part.counted_rounds().filter_map(|round| part.rounds.get(round)?.get(number).copied()).collect();
        let of = |take: fn(&Measured) -> Option<&Figures>| {
            let figures: Vec<&Figures> = measured.iter().filter_map(|measured| take(measured)).collect();
            direction(&figures)
        };
        let is_mixed = !matches!(point.read_percent, 0 | 100);
        let plan = findings.plan;
        let lead = if part.part.name.is_empty() { String::new() } else { format!("{}: ", part.part.name) };
        JobResult {
            name: format!("{lead}{}", point.name()),
            start_ms: Some(plan.began.saturating_mul(1000)),
            options: options(findings, point),
            devices: plan.host.devices.iter().take(1).map(|device| device.name.clone()).collect(),
            read: of(|measured| measured.read.as_ref()),
            write: of(|measured| measured.write.as_ref()),
            mixed: if is_mixed { of(|measured| Some(&measured.all)) } else { None },
            ..JobResult::default()
        }
    })
}

/// What a point depends on, as options of a job where there are any.
fn options(findings: &Findings<'_>, point: &Point) -> Vec<(String, String)> {
    let plan = findings.plan;
    let pattern = if point.is_random { "randrw" } else { "rw" };
    [
        ("filename", plan.target.path.display().to_string()),
        ("rw", pattern.to_owned()),
        ("rwmixread", point.read_percent.to_string()),
        ("bs", point.block_bytes.to_string()),
        ("ioengine", plan.engine.clone()),
        ("direct", u8::from(plan.direct).to_string()),
        ("numjobs", plan.threads.to_string()),
        ("iodepth", plan.depth.to_string()),
        ("pts", plan.test.word().to_owned()),
        ("pts_scale", plan.scale.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Means over the rounds; the maximum is the largest of all. `None` without any.
fn direction(rounds: &[&Figures]) -> Option<DirectionResult> {
    if rounds.is_empty() {
        return None;
    }
    let mean = |value: &dyn Fn(&Figures) -> f64| {
        rounds.iter().map(|figures| value(figures)).sum::<f64>() / rounds.len() as f64
    };
    let percentile = |place: usize| {
        let all: Option<Vec<f64>> =
            rounds.iter().map(|figures| figures.percentiles_ns.get(place).copied()).collect();
        Some(all?.iter().sum::<f64>() / rounds.len() as f64)
    };
    let percentiles =
        (0..).zip(PERCENTILES).filter_map(|(place, percent)| Some((percent, percentile(place)? as u64)));
    let ios = rounds.iter().fold(0u64, |sum, figures| sum.saturating_add(figures.ios));
    Some(DirectionResult {
        io_bytes: rounds.iter().fold(0, |sum, figures| sum.saturating_add(figures.bytes)),
        total_ios: ios,
        bytes_per_second: mean(&|figures| figures.bytes_per_second),
        iops: mean(&|figures| figures.iops),
        clat: LatencyResult {
            mean_ns: mean(&|figures| figures.mean_ns),
            max_ns: rounds.iter().map(|figures| figures.max_ns).fold(0.0, f64::max),
            count: ios,
            percentiles: percentiles.collect(),
            ..LatencyResult::default()
        },
        ..DirectionResult::default()
    })
}
