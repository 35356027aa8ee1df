//! What held a job back below it: caches, syncs, the device, and what lies between.

use super::{
    BUSY, Bottleneck, DEPTH_REACHED, LEAST_WAIT_NS, PROCESSOR_FULL, Verdict, main_direction, verdict,
};
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

pub(super) fn cache(evidence: &Evidence<'_>) -> Option<Verdict> {
    if evidence.is_direct() {
        return None;
    }
    for (direction, name) in ["reads", "writes"].into_iter().enumerate() {
        if evidence.job.directions()[direction].is_none() {
            continue;
        }
        let share = evidence.device_share(direction);
        if let Some(share) = share.filter(|share| share.ratio() < 0.5) {
            return verdict(
                Bottleneck::Cache,
                vec![format!(
                    "The job did not ask for direct I/O, and its {name} moved {}, the device only {}. direct=1 measures the \
                     device; for writes, end_fsync=1 counts the time until the data is there.",
                    figures::size(share.job_bytes),
                    figures::size(share.device_bytes)
                )],
            );
        }
    }
    if let Some(found) = written_behind(evidence) {
        return Some(found);
    }
    // Where bytes are counted, they have been compared, and a fast device is hardly busy.
    let is_counted = [0, 1].into_iter().any(|direction| evidence.device_share(direction).is_some());
    let idle = !is_counted && !evidence.shares_counters() && evidence.disks().all(|disk| disk.util < 20.0);
    (idle && evidence.disks().next().is_some()).then(|| Verdict {
        bottleneck: Bottleneck::Cache,
        reasons: vec![
            "The job did not ask for direct I/O, and no device was busy for more than 20 % of the time."
                .to_owned(),
        ],
    })
}

/// Without bytes of the device: an I/O that ends long before the device could do one did not wait for it.
fn written_behind(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let device_ns = evidence.device_ns(index.min(1))?;
    if evidence.device_share(index.min(1)).is_some() || device_ns < 2.0 * latency {
        return None;
    }
    verdict(
        Bottleneck::Cache,
        vec![format!(
            "The job did not ask for direct I/O, and its I/Os took {} on average where those of the device took {} (ticks over \
             ios): they did not wait for it. direct=1 measures the device.",
            figures::duration(latency),
            figures::duration(device_ns)
        )],
    )
}

pub(super) fn syncs(evidence: &Evidence<'_>) -> Option<Verdict> {
    let sync = &evidence.job.sync;
    let waited_ms = sync.count() as f64 * sync.latency.mean_ns / 1e6;
    let share = 100.0 * waited_ms / (evidence.job.runtime_ms.max(1) as f64);
    if share < 50.0 {
        return synchronous_writes(evidence);
    }
    verdict(
        Bottleneck::Syncs,
        vec![format!(
            "{} syncs took {} each on average: {} of the run time.",
            figures::count(sync.count() as f64),
            figures::duration(sync.latency.mean_ns),
            figures::percent(share.min(100.0))
        )],
    )
}

/// Writes that end when their data is safe, one after the other.
fn synchronous_writes(evidence: &Evidence<'_>) -> Option<Verdict> {
    let how = evidence
        .run
        .option(evidence.job, "sync")
        .map(str::trim)
        .filter(|how| !matches!(*how, "0" | "none"))?;
    let (index, direction) = main_direction(evidence)?;
    let reached = evidence.depth_reached()?;
    if index != 1
        || evidence.depth_asked() > 2.0 * evidence.clones()
        || reached < DEPTH_REACHED * evidence.depth_asked()
    {
        return None;
    }
    let mut reasons = vec![format!(
        "sync={how} lets each of {} writes end only when its data is on the device: {} on average, with {} in flight.",
        figures::count(direction.total_ios as f64),
        figures::duration(whole_latency_ns(direction)),
        figures::three_figures(reached)
    )];
    reasons.extend(device_sentence(evidence).map(|(_, sentence)| sentence));
    reasons.push("More clones, or several writes before one fsync, share the wait.".to_owned());
    verdict(Bottleneck::Syncs, reasons)
}

/// Few I/Os in flight, which is no reason for what took its time before the device had them.
pub(super) fn held_above(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let most = evidence.device_ns_at_most(index.min(1))?;
    match evidence.is_direct() && most < 0.25 * latency && latency - most > LEAST_WAIT_NS {
        true => above_the_device(evidence),
        false => None,
    }
}

/// What the kernel says of the busiest device.
fn device_sentence(evidence: &Evidence<'_>) -> Option<(f64, String)> {
    let device = evidence.busiest_device()?;
    let sentence =
        format!("{} was busy for {} of the time (util).", device.name, figures::percent(device.util));
    Some((device.util, sentence))
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
    reasons.push(match evidence.is_synchronous() {
        true => format!("{} waits for each I/O; an asynchronous engine with iodepth, or more numjobs, puts more in flight.", evidence.engine()),
        false => "A larger iodepth or more numjobs shows what the device can do; for the latency of a single I/O this is the right test.".to_owned(),
    });
    verdict(Bottleneck::QueueDepth, reasons)
}

pub(super) fn device(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (util, sentence) = device_sentence(evidence)?;
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let device_ns = evidence.device_ns(index.min(1));
    let share = device_ns.map(|ns| ns / latency.max(1.0));
    // Most of an I/O's time in the device weighs as much as a device that was never idle.
    let is_busy = util >= BUSY && share.is_none_or(|share| share >= 0.5);
    let has_most_of_the_time = util >= BUSY / 2.0 && share.is_some_and(|share| share >= 0.6);
    if !is_busy && !has_most_of_the_time {
        return None;
    }
    let mut reasons = vec![sentence];
    if let Some(ns) = device_ns {
        let (own, of_job) = (figures::duration(ns), figures::duration(latency));
        reasons.push(match (ns > 1.2 * latency, evidence.is_direct()) {
            (false, _) if ns > latency => {
                format!("An I/O spent {own} in the device and its queue (ticks over ios), all of the {of_job} that the job saw.")
            }
            (false, _) => {
                format!("An I/O spent {own} in the device and its queue (ticks over ios), of the {of_job} that the job saw.")
            }
            (true, true) => format!(
                "An I/O spent {own} in the device and its queue (ticks over ios), but those of the job took only {of_job}: \
                 others used the device, too."
            ),
            (true, false) => format!(
                "The page cache took the job's I/Os, {of_job} each, and handed them on in larger requests, {own} each (ticks \
                 over ios)."
            ),
        });
    }
    if let Some(reached) = evidence.depth_reached() {
        reasons.push(format!(
            "{} were in flight on average of {} asked for: there was no lack of work.",
            figures::three_figures(reached),
            evidence.depth_asked()
        ));
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("The processor had time left: {} used per clone.", figures::percent(user + system)));
    verdict(Bottleneck::Device, reasons)
}

pub(super) fn above_the_device(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (util, sentence) = device_sentence(evidence)?;
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let mut reasons = vec![sentence];
    let told = evidence.device_ns(index.min(1));
    let device_ns = told.or_else(|| evidence.device_ns_at_most(index.min(1)));
    if let Some(ns) = device_ns.filter(|ns| *ns < 0.5 * latency) {
        reasons.push(format!(
            "An I/O spent {}{} in the device and its queue, but {} on the whole: it waited above the device (a limit of its control \
             group such as io.max, locks and journal of a file system, a full request queue, or the scheduler of processes).",
            if told.is_some() { "" } else { "at most " },
            figures::duration(ns),
            figures::duration(latency)
        ));
    } else if util >= BUSY {
        return None;
    }
    if let Some(reached) = evidence.depth_reached() {
        let asked = evidence.depth_asked();
        reasons.push(format!(
            "{} were in flight on average of {asked} asked for.",
            figures::three_figures(reached)
        ));
        if reached < 0.75 * asked {
            reasons.push("The depth asked for was not reached: the job could not hand over I/O fast enough, or ended early.".to_owned());
        }
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("The processor had time left: {} used per clone.", figures::percent(user + system)));
    verdict(Bottleneck::AboveTheDevice, reasons)
}

/// Why the kernel's counters of devices do not help.
pub(super) fn no_device(evidence: &Evidence<'_>) -> Option<String> {
    if evidence.shares_counters() {
        return Some(
            "The kernel's counters of devices (disk_util) cover all jobs, and these may have run one after the other: run a job alone \
             to tell the device from what lies above it."
                .to_owned(),
        );
    }
    let none = "There are no counters of a block device in it (disk_util), so the device cannot be told from what lies above it.";
    evidence.disks().next().is_none().then(|| none.to_owned())
}

/// Neither the job nor the processor held it back, and no device is known.
pub(super) fn storage(evidence: &Evidence<'_>) -> Option<Verdict> {
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    let (user, system) = evidence.processor();
    let is_real = !fathom_spec::engines::find(evidence.engine()).is_some_and(|engine| engine.without_files);
    if reached < 0.75 * asked || user + system > PROCESSOR_FULL - 20.0 || !is_real || !evidence.is_direct() {
        return None;
    }
    let mut reasons = vec![
        format!(
            "{} were in flight on average of {asked} asked for: there was no lack of work.",
            figures::three_figures(reached)
        ),
        format!("The processor had time left: {} used per clone.", figures::percent(user + system)),
    ];
    reasons.extend(no_device(evidence));
    verdict(Bottleneck::Storage, reasons)
}
