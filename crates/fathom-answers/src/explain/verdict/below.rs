//! Finds bottlenecks below the job: syncs, the device, or a layer that cannot be separated from it.

use super::{
    BUSY, Bottleneck, BottleneckVerdict, DEPTH_REACHED, PROCESSOR_FULL, depth, device_sentence,
    main_direction, verdict,
};
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

pub(super) fn syncs(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (syncs, mean_ns) = (evidence.job.syncs() as f64, evidence.job.sync_latency().mean_ns);
    let waited_ms = syncs * mean_ns / 1e6;
    let share = 100.0 * waited_ms / (evidence.job.runtime_ms.max(1) as f64);
    if share < 50.0 {
        return synchronous_writes(evidence);
    }
    verdict(
        Bottleneck::Syncs,
        vec![format!(
            "{} syncs took {} each on average: {} of the run time.",
            figures::count(syncs),
            figures::duration(mean_ns),
            figures::percent(share.min(100.0))
        )],
    )
}

/// Writes that complete only when their data is durable, one after the other.
fn synchronous_writes(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let how = evidence.asked.write_sync?;
    let (index, direction) = main_direction(evidence)?;
    let reached = evidence.depth_reached()?;
    if index != 1
        || evidence.depth_asked() > 2.0 * evidence.clones()
        || reached < DEPTH_REACHED * evidence.depth_asked()
    {
        return None;
    }
    let mut reasons = vec![format!(
        "With sync={how}, each of {} writes completes only when its data is on the device: {} on average, with {} in flight.",
        figures::count(direction.total_ios as f64),
        figures::duration(whole_latency_ns(direction)),
        figures::three_figures(reached)
    )];
    reasons.extend(device_sentence(evidence).map(|(_, sentence)| sentence));
    reasons.push("More clones, or several writes per fsync, share the wait.".to_owned());
    verdict(Bottleneck::Syncs, reasons)
}

pub(super) fn device(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (util, sentence) = device_sentence(evidence)?;
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let device_ns = evidence.device_ns(index.min(1));
    let share = device_ns.map(|ns| ns / latency.max(1.0));
    // I/Os that spend most of their time in the device are as conclusive as a device that is never idle.
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
                "An I/O spent {own} in the device and its queue (ticks over ios), but the job's own I/Os took only {of_job}: \
                 others used the device as well, with slower I/Os."
            ),
            (true, false) => format!(
                "The page cache took the job's I/Os, {of_job} each, and passed them on in larger requests, {own} each (ticks \
                 over ios)."
            ),
        });
    }
    let may_do_more = evidence.is_direct() && depth::may_be_too_small(evidence);
    reasons.extend(depth::in_flight(evidence));
    let (user, system) = evidence.processor();
    reasons.push(format!("The CPU had time left: each clone used {}.", figures::percent(user + system)));
    if may_do_more {
        reasons.push(format!(
            "A busy device always has something to do, but may still be able to do more: {}",
            depth::test(evidence)
        ));
    }
    verdict(if may_do_more { Bottleneck::DeviceAtThisDepth } else { Bottleneck::Device }, reasons)
}

/// Why the kernel's device counters provide no evidence here.
pub(super) fn no_device(evidence: &Evidence<'_>) -> Option<String> {
    if evidence.shares_counters() && !evidence.is_on_server() {
        return Some(
            "The kernel's device counters (disk_util) cover all jobs, and these may have run one after the other: run a job alone \
             to separate the device from the layers above it."
                .to_owned(),
        );
    }
    if evidence.is_on_server() {
        return None;
    }
    let none = "The result has no block device counters (disk_util), so the device cannot be separated from the layers above it.";
    evidence.disks().next().is_none().then(|| none.to_owned())
}

/// The storage as a whole, if neither the job nor the CPU was the bottleneck and the device is unknown.
pub(super) fn storage(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let reached = evidence.depth_reached()?;
    let asked = evidence.depth_asked();
    let (user, system) = evidence.processor();
    let is_real = evidence.has_storage();
    if reached < 0.75 * asked || user + system > PROCESSOR_FULL - 20.0 || !is_real || !evidence.is_direct() {
        return None;
    }
    let mut reasons: Vec<String> = depth::in_flight(evidence).into_iter().collect();
    reasons.push(format!("The CPU had time left: each clone used {}.", figures::percent(user + system)));
    if depth::may_be_too_small(evidence) {
        reasons.push(depth::test(evidence));
    }
    if evidence.is_on_server() {
        reasons.extend(evidence.share_of_first_byte());
        reasons.push(
            "The server's processing and the network cannot be separated from here: look at the server's own \
            figures, and at the round-trip time (ping)."
                .to_owned(),
        );
        return verdict(Bottleneck::Server, reasons);
    }
    reasons.extend(no_device(evidence));
    verdict(Bottleneck::Storage, reasons)
}
