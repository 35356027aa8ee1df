//! Expresses a load as job options: each clone gets its share of the rate and runs in an open loop.

use super::plan::CurvePlan;
use crate::job_text::{self, Section};
use crate::loads::series::seed_of_run;
use fathom_command::Failure;
use fathom_spec::{JobSpec, RunSpec};
use fathom_stats::{Direction, PerDirection};

/// Job options that the load replaces.
const REPLACED: [&str; 17] = [
    "open_loop",
    "rate",
    "rate_min",
    "rate_iops",
    "rate_iops_min",
    "rate_process",
    "rate_cycle",
    "rate_ignore_thinktime",
    "runtime",
    "time_based",
    "ramp_time",
    "ramp_size",
    "loops",
    "number_ios",
    "io_size",
    "startdelay",
    "randseed",
];

/// Load of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// A closed loop without a limit on the rate.
    Closed,
    /// This many I/Os per second, summed over all jobs.
    Offered(f64),
}

/// The job file of a curve at a load, for run `number` (from 0). `spec` is the parsed original job.
pub(super) fn job_file(
    plan: &CurvePlan,
    curve: usize,
    load: Load,
    number: usize,
    spec: &RunSpec,
) -> Result<String, Failure> {
    let mut sections = with_values(plan, curve);
    for section in &mut sections {
        section.options.retain(|(name, _)| !REPLACED.contains(&name.as_str()));
    }
    let clones: f64 = spec.jobs.iter().map(clones).sum();
    let own = sections.iter_mut().filter(|section| section.name != "global");
    for (section, job) in own.zip(&spec.jobs) {
        let mut put = |name: &str, value: String| section.options.push((name.to_owned(), value));
        // Each run has different arrivals, so that the runs vary as much as they would in reality.
        put("randseed", seed_of_run(plan.seed, number).to_string());
        put("runtime", format!("{}ms", plan.time_ms));
        put("time_based", "1".to_owned());
        if plan.ramp_ms > 0 {
            put("ramp_time", format!("{}ms", plan.ramp_ms));
        }
        if let Load::Offered(rate) = load {
            let rates = shares(job, rate / clones);
            if rates.values().all(|&rate| rate < 1.0) {
                return Err(Failure::new(format!(
                    "{rate} I/Os per second are less than one for each of {clones} clones; use fewer clones, or a higher rate"
                )));
            }
            let texts = rates.map(|rate| (rate.round() as u64).to_string()).into_array();
            put("open_loop", "1".to_owned());
            put("rate_process", plan.process.clone());
            put("rate_iops", texts.join(","));
        }
    }
    Ok(job_text::text(&sections))
}

/// The job with the varied values of one curve.
pub(super) fn with_values(plan: &CurvePlan, curve: usize) -> Vec<Section> {
    let mut sections = job_text::read(&plan.job);
    for (name, value) in plan.values_of(curve) {
        job_text::put(&mut sections, name, value);
    }
    sections
}

fn clones(job: &JobSpec) -> f64 {
    f64::from(job.job_description.numjobs)
}

/// The rate of a clone in each direction.
fn shares(job: &JobSpec, rate: f64) -> PerDirection<f64> {
    let rw = job.io_type.rw.rw;
    let reads = match (rw.reads(), rw.writes()) {
        (true, true) => f64::from(job.io_type.rwmixread) / 100.0,
        (true, false) => 1.0,
        (false, _) => 0.0,
    };
    PerDirection::from_fn(|direction| match direction {
        Direction::Read => rate * reads,
        // A trim and the write after it are two I/Os.
        Direction::Write if rw.writes() => rate * (1.0 - reads) * if rw.trims() { 0.5 } else { 1.0 },
        Direction::Trim if rw.trims() => rate * if rw.writes() { 0.5 } else { 1.0 },
        Direction::Write | Direction::Trim => 0.0,
    })
}
