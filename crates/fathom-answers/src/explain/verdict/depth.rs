//! How many I/Os were in flight, whether more could bring more, and how to find out.

use super::below::device_sentence;
use super::{BUSY, Bottleneck, PLENTY, Verdict, main_direction, verdict};
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

/// `4.00 were in flight on average of 4 asked for.`
pub(super) fn in_flight(evidence: &Evidence<'_>) -> Option<String> {
    let reached = evidence.depth_reached()?;
    let plenty = if may_be_too_small(evidence) { "" } else { ": there was no lack of work" };
    Some(format!(
        "{} were in flight on average of {} asked for{plenty}.",
        figures::three_figures(reached),
        evidence.depth_asked()
    ))
}

/// Devices work on many I/Os at once, and this job had not many.
pub(super) fn may_be_too_small(evidence: &Evidence<'_>) -> bool {
    evidence.depth_reached().is_none_or(|reached| reached < 0.75 * PLENTY)
}

/// The engine, or what the files lie on, takes one I/O after the other from each clone.
fn is_one_by_one(evidence: &Evidence<'_>) -> bool {
    evidence.is_synchronous() || !evidence.is_direct() || fuse(evidence).is_some()
}

/// The file system in user space that the files lie on.
fn fuse<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    let systems = &evidence.run.host.as_ref()?.file_systems;
    let is_fuse = !systems.is_empty() && systems.iter().all(|system| system.kind.starts_with("fuse"));
    is_fuse.then(|| systems[0].kind.as_str())
}

/// What to try, and the command for it.
pub(super) fn test(evidence: &Evidence<'_>) -> String {
    let asked = (evidence.depth_asked() / evidence.clones()).max(1.0);
    match is_one_by_one(evidence) {
        true => {
            let clones = evidence.clones().max(1.0);
            let list: Vec<String> =
                [1.0, 2.0, 4.0, 8.0].iter().map(|factor| (clones * factor).to_string()).collect();
            format!(
                "try numjobs={}: `fathom sweep JOBFILE --vary=numjobs={}` shows it.",
                list[2],
                list.join(",")
            )
        }
        false => {
            let depths: Vec<String> = [1.0, 4.0, 8.0, 32.0, 64.0]
                .iter()
                .filter(|depth| **depth > asked)
                .map(f64::to_string)
                .collect();
            format!(
                "try iodepth={}: `fathom sweep JOBFILE --vary=iodepth={asked},{}` shows it.",
                if asked < PLENTY { PLENTY } else { 2.0 * asked },
                depths.join(",")
            )
        }
    }
}

pub(super) fn queue_depth(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (_, direction) = main_direction(evidence)?;
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    if asked > 2.0 || reached > 2.5 {
        return None;
    }
    let mut reasons = vec![format!(
        "{} in flight on average of {} asked for: each I/O begins when one before it has ended, so {} IOPS are no more than one \
         over the latency of {}.",
        figures::three_figures(reached),
        asked,
        figures::count(direction.iops),
        figures::duration(whole_latency_ns(direction))
    )];
    if let Some((util, sentence)) = device_sentence(evidence) {
        reasons.push(match util >= BUSY {
            true => format!(
                "{sentence} That says that there was always something to do, not that it could do no more: devices work on \
                 many I/Os at once."
            ),
            false => sentence,
        });
    }
    let advice = match fuse(evidence) {
        Some(kind) => format!(
            "{kind} is a file system in user space, which takes one I/O after the other from each clone: an asynchronous engine \
             brings nothing there, but more clones may."
        ),
        None if evidence.is_synchronous() && evidence.is_direct() => format!(
            "{} waits for each I/O: an asynchronous engine (io_uring, libaio) with iodepth, or more clones, put more in flight.",
            evidence.engine()
        ),
        None if evidence.is_synchronous() => format!("{} waits for each I/O: more clones put more in flight.", evidence.engine()),
        None if !evidence.is_direct() => {
            "Through the page cache each I/O is waited for, whatever the engine: direct=1, or more clones, put more in flight.".to_owned()
        }
        None => "For the latency of a single I/O this is the right test.".to_owned(),
    };
    reasons.push(advice);
    reasons.push(format!("Whether the storage can do more: {}", test(evidence)));
    verdict(Bottleneck::QueueDepth, reasons)
}
