//! How a job limited itself: by its own limits, pauses, CPU usage, or too few I/Os in flight.

use super::{Bottleneck, BottleneckVerdict, DEPTH_REACHED, PROCESSOR_FULL, main_direction, verdict};
use crate::evidence::own_limits as limits;
use crate::evidence::processors::ProcessorWait;
use crate::evidence::{Evidence, arrivals};
use crate::figures;
use fathom_results::model::ArrivalsResult;

/// An open loop with a load that the storage sustained.
pub(super) fn offered_load(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let all = arrivals_of(evidence);
    let kept_up =
        |(arrivals, response_ns): &(&ArrivalsResult, f64)| arrivals::was_kept_up_with(arrivals, *response_ns);
    if all.is_empty() || !all.iter().all(kept_up) {
        return None;
    }
    let reasons = all.iter().map(|(arrivals, _)| {
        format!(
            "{} I/Os per second were due, and {} of {} waited at the end.",
            figures::count(arrivals.offered_iops),
            figures::count(arrivals.waiting as f64),
            figures::count(arrivals.due as f64)
        )
    });
    verdict(Bottleneck::OfferedLoad, reasons.collect())
}

/// The arrivals of an open loop with their mean response times in ns, by direction.
fn arrivals_of<'a>(evidence: &Evidence<'a>) -> Vec<(&'a ArrivalsResult, f64)> {
    let active = evidence.job.active().into_iter();
    let arrivals = active.filter_map(|(_, direction)| {
        let response_ns = direction.response.as_ref().map_or(0.0, |response| response.mean_ns);
        Some((direction.arrivals.as_ref()?, response_ns))
    });
    arrivals.collect()
}

pub(super) fn rate_limit(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    // The rate of an open loop is the offered load, not a limit.
    if !arrivals_of(evidence).is_empty() {
        return None;
    }
    let met = limits::rates(evidence).into_iter().find(|limit| limit.was_met())?;
    let shown = |value: f64| match met.option {
        "rate" => figures::bandwidth(value),
        _ => format!("{} IOPS", figures::count(value)),
    };
    let reason =
        format!("{} allows {}, and the job reached {}.", met.option, shown(met.allowed), shown(met.reached));
    verdict(Bottleneck::RateLimit, vec![reason])
}

pub(super) fn think_time(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (user, _) = evidence.processor();
    let found = match limits::pauses(evidence).filter(|pauses| pauses.share >= 50.0) {
        Some(pauses) => {
            format!("{}: about {} of the run time.", pauses.rule, figures::percent(pauses.share.min(100.0)))
        }
        None => {
            // The duration of a cycle is not known, but busy-waiting shows as processor time.
            let spinning =
                limits::spinning(evidence).filter(|spinning| spinning.share >= 20.0 && user >= 40.0)?;
            format!("{}, and the program used {} of a CPU (usr).", spinning.rule, figures::percent(user))
        }
    };
    verdict(Bottleneck::ThinkTime, vec![found])
}

/// A job that `latency_target` slowed down: it reduces the queue depth until its target is met.
pub(super) fn latency_target(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let target = evidence
        .run
        .option(evidence.job, "latency_target")
        .filter(|_| evidence.job.latency_target > Some(0))?;
    let (asked, reached) = (evidence.depth_asked(), evidence.depth_reached()?);
    let found = evidence.job.latency_depth?;
    if found as f64 * evidence.clones() >= asked {
        return None;
    }
    verdict(
        Bottleneck::LatencyTarget,
        vec![format!(
            "latency_target={target} was met at a queue depth of {found} (latency_depth) of {asked} requested; the average \
             was {}, including the search.",
            figures::three_figures(reached)
        )],
    )
}

/// Work that the job does on its data, according to its options.
struct DataWork {
    /// True if the job checks the data that it reads, or generates data for a later check; otherwise it
    /// generates the content of its writes.
    is_verification: bool,
    options: Vec<String>,
}

fn data_work(evidence: &Evidence<'_>) -> Option<DataWork> {
    let making = ["buffer_compress_percentage", "dedupe_percentage", "refill_buffers", "buffer_entropy"];
    let is_asked =
        |name: &&str| evidence.job.directions()[1].is_some() && evidence.run.is_set(evidence.job, name);
    let with_value = |name: &str| match evidence.run.option(evidence.job, name).map(str::trim) {
        None | Some("" | "1") => name.to_owned(),
        Some(value) => format!("{name}={value}"),
    };
    let verify = evidence.asked.verification.map(|how| format!("verify={how}"));
    let is_verification = verify.is_some();
    let options: Vec<String> =
        verify.into_iter().chain(making.into_iter().filter(is_asked).map(with_value)).collect();
    (!options.is_empty()).then_some(DataWork { is_verification, options })
}

/// Work on the data that took a whole processor, or most of the time in which no I/O was in flight.
pub(super) fn work_on_data(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let work = data_work(evidence)?;
    let (user, system) = evidence.processor();
    let asked = evidence.depth_asked();
    let reached = evidence.depth_reached().unwrap_or(asked);
    // If other programs used the CPU as well, the share of processor time understates the duration of the work.
    let leaves_gaps = reached < DEPTH_REACHED * asked && user >= 30.0;
    if user <= system || !(leaves_gaps || user + system >= PROCESSOR_FULL) {
        return None;
    }
    let deed = match work.is_verification {
        true => "generates and checks a checksum or pattern for every block",
        false => "generates the content of every write",
    };
    let per_io = evidence.ns_per_io(user);
    verdict(
        if work.is_verification { Bottleneck::Verification } else { Bottleneck::MakingData },
        vec![
            format!(
                "{} {deed}: the program used {} of a CPU per clone (usr; sys={}), {} per I/O.",
                work.options.join(", "),
                figures::percent(user),
                figures::percent(system),
                figures::duration(per_io)
            ),
            format!(
                "The queue depth was {} on average, of {asked} requested. More clones spread the work over more CPUs.",
                figures::three_figures(reached)
            ),
        ],
    )
}

pub(super) fn processor(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (user, system) = evidence.processor();
    // Clones take turns if there are more of them than processors.
    let wait = evidence.processor_wait().filter(ProcessorWait::is_worth_telling);
    if user + system + wait.map_or(0.0, |wait| wait.share) < PROCESSOR_FULL {
        return None;
    }
    let mut reasons = vec![format!(
        "Each clone used {} of a CPU (usr={}, sys={}).",
        figures::percent(user + system),
        figures::percent(user),
        figures::percent(system)
    )];
    reasons.extend(wait.map(|wait| format!("Each {}.", wait.told())));
    let take_turns = wait.is_some_and(|wait| !wait.is_others_doing());
    reasons.push(match system > user {
        _ if take_turns => "There are more clones than CPUs: fewer clones would do as much.".to_owned(),
        true if !evidence.is_direct() => {
            "Most of it was kernel time for copies between the job and the page cache; direct=1 measures the device."
                .to_owned()
        }
        true => "Most of it was kernel time per I/O: try a larger block size, io_uring, or more clones on other \
                 CPUs."
            .to_owned(),
        false => "Most of it was fathom's own work per I/O (usr); more clones spread it over more CPUs."
            .to_owned(),
    });
    verdict(Bottleneck::Processor, reasons)
}

pub(super) fn submission(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (_, direction) = main_direction(evidence)?;
    let (slat, clat) = (direction.slat.mean_ns, direction.clat.mean_ns);
    // With one I/O in flight, it does not matter which of the two calls waits.
    let is_one_by_one = evidence.is_synchronous() || evidence.depth_asked() <= evidence.clones();
    // Processor time spent in submission is not waiting.
    let (user, system) = evidence.processor();
    let waits = slat > clat && slat >= 2.0 * evidence.ns_per_io(user + system);
    if is_one_by_one || !waits || slat < 1000.0 {
        return None;
    }
    let mut reasons = vec![format!(
        "Submission latency (slat) was {} on average, completion latency (clat) {}: the call that should only submit the I/O waits.",
        figures::duration(slat),
        figures::duration(clat)
    )];
    if !evidence.is_direct() {
        reasons.push(format!("{} is asynchronous only with direct=1.", evidence.asked.engine));
    }
    verdict(Bottleneck::Submission, reasons)
}

/// Time that the job spent elsewhere while few I/Os were in flight: it was busy, or other programs had the CPU.
pub(super) fn own_side(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    if reached >= DEPTH_REACHED * asked {
        return None;
    }
    let (user, system) = evidence.processor();
    verdict(
        Bottleneck::OwnSide,
        vec![
            format!(
                "The queue depth was {} on average, of {asked} requested: between its I/Os the job did something else.",
                figures::three_figures(reached)
            ),
            format!(
                "It used {} of a CPU per clone (usr={}, sys={}); possible causes are a busy machine, syncs, or opening and closing \
                 files.",
                figures::percent(user + system),
                figures::percent(user),
                figures::percent(system)
            ),
        ],
    )
}
