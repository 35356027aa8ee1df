//! Figures of jobs. Clones and jobs of the same name form one series.

use super::{Family, Labels, Metric, MetricKind, Numbers, Unit, Values, parts, with};
use fathom_stats::LatencyStats;
use fathom_stats::live::RunState;
use fathom_stats::report::{DirectionReport, JobReport, RunReport, VerificationReport};

pub(super) fn families(report: &RunReport) -> Vec<Family> {
    let jobs: Vec<(Labels, JobReport)> =
        parts(report).into_iter().flat_map(|(labels, part)| jobs_of(&labels, part)).collect();
    let checked: Vec<(Labels, &VerificationReport)> = parts(report)
        .into_iter()
        .flat_map(|(labels, part)| {
            part.verification.iter().map(move |found| (with(&labels, "job_name", &*found.job), found))
        })
        .collect();
    let mut families = transfers(&jobs);
    families.extend(latencies(&jobs));
    families.extend(moments(&jobs));
    families.extend(resources(&jobs));
    families.extend(verification(&checked));
    families
}

/// The jobs of a report, added up by name, with the labels of their series.
fn jobs_of(labels: &Labels, report: &RunReport) -> Vec<(Labels, JobReport)> {
    let mut jobs: Vec<(Labels, JobReport)> = Vec::new();
    for job in &report.jobs {
        match jobs.iter_mut().find(|(_, own)| own.name == job.name) {
            Some((_, own)) => own.merge(job),
            None => jobs.push((with(labels, "job_name", &*job.name), job.clone())),
        }
    }
    jobs
}

/// The figures of every job in every direction that it uses.
fn directions<'a>(
    jobs: &'a [(Labels, JobReport)],
) -> impl Iterator<Item = (Labels, &'a DirectionReport)> + 'a {
    jobs.iter().flat_map(|(labels, job)| {
        let used = job.directions.iter().filter(|(_, direction)| !direction.is_empty());
        used.map(|(direction, report)| (with(labels, "direction", direction.word()), report))
    })
}

fn transfers(jobs: &[(Labels, JobReport)]) -> Vec<Family> {
    type Figure = fn(&DirectionReport) -> f64;
    let figures: [(Numbers, Figure); 6] = [
        (Numbers::counter("fathom.job.io", Unit::Bytes, "Bytes of completed I/Os"), |direction| {
            direction.io_bytes as f64
        }),
        (Numbers::counter("fathom.job.ios", Unit::Things, "Completed I/Os"), |direction| {
            direction.total_ios as f64
        }),
        (Numbers::counter("fathom.job.issued_ios", Unit::Things, "Issued I/Os"), |direction| {
            direction.issued as f64
        }),
        (
            Numbers::counter(
                "fathom.job.short_ios",
                Unit::Things,
                "I/Os that moved fewer bytes than requested",
            ),
            |direction| direction.short_ios as f64,
        ),
        (Numbers::counter("fathom.job.dropped_ios", Unit::Things, "Dropped I/Os"), |direction| {
            direction.drop_ios as f64
        }),
        (
            Numbers::gauge("fathom.job.runtime", Unit::Seconds, "Time over which the figures were counted"),
            |direction| direction.runtime_ms as f64 / 1e3,
        ),
    ];
    let filled = figures.map(|(mut numbers, figure)| {
        directions(jobs).for_each(|(labels, direction)| numbers.add(labels, figure(direction)));
        numbers.into()
    });
    filled.into()
}

fn latencies(jobs: &[(Labels, JobReport)]) -> Vec<Family> {
    let mut of_ios = Vec::new();
    for (labels, direction) in directions(jobs) {
        let response = direction.arrivals.as_ref().map(|arrivals| &arrivals.response);
        let kinds = [
            ("submission", Some(&direction.slat)),
            ("completion", Some(&direction.clat)),
            ("total", Some(&direction.lat)),
            ("response", response),
        ];
        // Without bins there is only a mean, which is not exported. Most jobs keep bins of one kind only.
        let kept = kinds.into_iter().filter_map(|(kind, stats)| Some((kind, stats?)));
        let kept = kept.filter(|(_, stats)| stats.histogram.count() > 0);
        of_ios.extend(kept.map(|(kind, stats)| (with(&labels, "latency", kind), stats.clone())));
    }
    let of_syncs: Vec<(Labels, LatencyStats)> = jobs
        .iter()
        .filter(|(_, job)| job.sync.histogram.count() > 0)
        .map(|(labels, job)| (labels.clone(), job.sync.clone()))
        .collect();
    let family = |name, meaning, series| Family {
        metric: Metric { name, unit: Unit::Seconds, meaning },
        values: Values::Latencies(series),
    };
    vec![
        family("fathom.job.latency", "Latency of I/Os", of_ios),
        family("fathom.job.sync_latency", "Latency of syncs", of_syncs),
    ]
}

/// Live state of the jobs; empty once the run is over.
fn moments(jobs: &[(Labels, JobReport)]) -> Vec<Family> {
    let mut in_flight = Numbers::gauge("fathom.job.queue_depth", Unit::Things, "I/Os in flight");
    let mut asked = Numbers::gauge(
        "fathom.job.queue_depth_limit",
        Unit::Things,
        "Most I/Os that the job may have in flight",
    );
    let mut stuck = Numbers::gauge(
        "fathom.job.stuck_ios",
        Unit::Things,
        "I/Os in flight for too long without any progress",
    );
    let mut oldest = Numbers::gauge("fathom.job.oldest_io", Unit::Seconds, "Age of the oldest I/O in flight");
    let mut waiting = Numbers::gauge(
        "fathom.job.waiting_ios",
        Unit::Things,
        "I/Os of an open loop that are due and not started",
    );
    let mut clones = Numbers::gauge("fathom.job.clones", Unit::Things, "Clones of the job by state");
    let mut errors = Numbers {
        kind: MetricKind::Counter,
        ..Numbers::gauge("fathom.job.errors", Unit::Things, "Errors of I/Os and of clones")
    };
    for (labels, job) in jobs {
        let Some(moment) = &job.moment else {
            errors.add(labels.clone(), final_errors(job));
            continue;
        };
        in_flight.add(labels.clone(), moment.in_flight as f64);
        asked.add(labels.clone(), moment.asked_depth as f64);
        stuck.add(labels.clone(), moment.stuck as f64);
        oldest.add(labels.clone(), moment.oldest_ns as f64 / 1e9);
        errors.add(labels.clone(), moment.errors as f64);
        if let Some(due) = moment.waiting {
            waiting.add(labels.clone(), due as f64);
        }
        for state in STATES {
            let count = moment.states.iter().filter(|&&of_clone| word_of(of_clone) == state).count();
            clones.add(with(labels, "state", state), count as f64);
        }
    }
    vec![
        in_flight.into(),
        asked.into(),
        stuck.into(),
        oldest.into(),
        waiting.into(),
        clones.into(),
        errors.into(),
    ]
}

/// States of a clone.
const STATES: [&str; 6] = ["waiting", "setting_up", "ramping", "running", "done", "failed"];

fn word_of(state: RunState) -> &'static str {
    match state {
        RunState::NotStarted => "waiting",
        RunState::Created | RunState::Initialising | RunState::PreReading => "setting_up",
        RunState::Ramping => "ramping",
        RunState::Reading { .. }
        | RunState::Writing { .. }
        | RunState::Mixed { .. }
        | RunState::Trimming { .. }
        | RunState::Verifying
        | RunState::FinalSync
        | RunState::Finishing => "running",
        RunState::Exited | RunState::Reaped => "done",
        RunState::Failed | RunState::Killed => "failed",
    }
}

/// The errors of a finished job.
fn final_errors(job: &JobReport) -> f64 {
    let tolerated = job.tolerated_errors.as_ref().map_or(0, |errors| errors.total);
    // An error that ended the job counts too, unless there were tolerated errors, whose first is the same
    // error.
    let own = u64::from(job.error.is_some() && tolerated == 0);
    (tolerated + own) as f64
}

fn resources(jobs: &[(Labels, JobReport)]) -> Vec<Family> {
    let mut cpu =
        Numbers::counter("fathom.job.cpu_time", Unit::Seconds, "Processor time of clones that have ended");
    let mut zones = Numbers::counter("fathom.job.zone_resets", Unit::Things, "Zones that were reset");
    for (labels, job) in jobs {
        cpu.add(with(labels, "mode", "user"), job.cpu.user_us as f64 / 1e6);
        cpu.add(with(labels, "mode", "system"), job.cpu.system_us as f64 / 1e6);
        if let Some(resets) = job.zone_resets {
            zones.add(labels.clone(), resets as f64);
        }
    }
    vec![cpu.into(), zones.into()]
}

fn verification(found: &[(Labels, &VerificationReport)]) -> Vec<Family> {
    let mut reads =
        Numbers::counter("fathom.job.checked_reads", Unit::Things, "Reads whose data was checked");
    let mut wrong = Numbers::counter("fathom.job.wrong_blocks", Unit::Things, "Blocks whose data was wrong");
    for (labels, found) in found {
        reads.add(labels.clone(), found.checked_reads as f64);
        wrong.add(labels.clone(), found.wrong_blocks() as f64);
    }
    vec![reads.into(), wrong.into()]
}
