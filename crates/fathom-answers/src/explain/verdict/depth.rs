//! Judges the queue depth: how high it was, whether a higher one would help, and how to find out.

use super::{BUSY, Bottleneck, BottleneckVerdict, PLENTY, device_sentence, main_direction, verdict};
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

/// A sentence such as `The queue depth was 4.00 on average, of 4 requested.`
pub(super) fn in_flight(evidence: &Evidence<'_>) -> Option<String> {
    let reached = evidence.depth_reached()?;
    let plenty = if may_be_too_small(evidence) { "" } else { ": there was enough work" };
    Some(format!(
        "The queue depth was {} on average, of {} requested{plenty}.",
        figures::three_figures(reached),
        evidence.depth_asked()
    ))
}

/// True if few I/Os were in flight, although devices process many I/Os in parallel.
pub(super) fn may_be_too_small(evidence: &Evidence<'_>) -> bool {
    evidence.depth_reached().is_none_or(|reached| reached < 0.75 * PLENTY)
}

/// True if the engine handles one I/O at a time per clone, or the file system may do so.
fn is_one_by_one(evidence: &Evidence<'_>) -> bool {
    evidence.is_synchronous() || !evidence.is_direct() || fuse(evidence).is_some()
}

/// The FUSE file system that holds the files, if it does.
fn fuse<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    let systems = &evidence.run.host.as_ref()?.file_systems;
    let is_fuse = !systems.is_empty() && systems.iter().all(|system| system.kind.starts_with("fuse"));
    is_fuse.then(|| systems[0].kind.as_str())
}

/// What to try next, and the command for it.
pub(super) fn test(evidence: &Evidence<'_>) -> String {
    let asked = (evidence.depth_asked() / evidence.clones()).max(1.0);
    match is_one_by_one(evidence) {
        true => {
            let clones = evidence.clones().max(1.0);
            let list: Vec<String> =
                [1.0, 2.0, 4.0, 8.0].iter().map(|factor| (clones * factor).to_string()).collect();
            format!("try numjobs={}: `fathom sweep JOBFILE --vary=numjobs={}`.", list[2], list.join(","))
        }
        false => {
            let depths: Vec<String> = [1.0, 4.0, 8.0, 32.0, 64.0]
                .iter()
                .filter(|depth| **depth > asked)
                .map(f64::to_string)
                .collect();
            format!(
                "try iodepth={}: `fathom sweep JOBFILE --vary=iodepth={asked},{}`.",
                if asked < PLENTY { PLENTY } else { 2.0 * asked },
                depths.join(",")
            )
        }
    }
}

pub(super) fn queue_depth(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (_, direction) = main_direction(evidence)?;
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    if asked > 2.0 || reached > 2.5 {
        return None;
    }
    let mut reasons = vec![format!(
        "The queue depth was {} on average, of {} requested: each I/O begins only when an earlier one has completed, so {} IOPS \
         follow from the latency of {}.",
        figures::three_figures(reached),
        asked,
        figures::count(direction.iops),
        figures::duration(whole_latency_ns(direction))
    )];
    if let Some((util, sentence)) = device_sentence(evidence) {
        reasons.push(match util >= BUSY {
            true => format!(
                "{sentence} It always had something to do, but may still be able to do more: devices process many I/Os \
                 in parallel."
            ),
            false => sentence,
        });
    }
    let advice = match fuse(evidence) {
        Some(kind) => format!(
            "{kind} is a file system in user space: its process decides whether an asynchronous engine has several I/Os in flight \
             there (io_uring mostly has); more clones always do."
        ),
        None if evidence.is_synchronous() && evidence.is_direct() => format!(
            "{} waits for each I/O: use an asynchronous engine (io_uring, libaio) with iodepth, or more clones, to have more in flight.",
            evidence.asked.engine
        ),
        None if evidence.is_synchronous() => format!("{} waits for each I/O: use more clones to have more in flight.", evidence.asked.engine),
        None if !evidence.is_direct() => {
            "Through the page cache, every engine waits for each I/O: use direct=1, or more clones, to have more in flight.".to_owned()
        }
        None => "This is the right test for the latency of a single I/O.".to_owned(),
    };
    reasons.push(advice);
    reasons.push(format!("To see whether the storage can do more, {}", test(evidence)));
    verdict(Bottleneck::QueueDepth, reasons)
}
