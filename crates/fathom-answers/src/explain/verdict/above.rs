//! Finds bottlenecks between a job and its device: control group limits, busy CPUs, other I/O on the device,
//! the file system and the block layer.

use super::{
    BUSY, Bottleneck, BottleneckVerdict, LEAST_WAIT_NS, MOST_OF_IT, OTHERS_SHARE, WAITED_FOR_OTHERS, depth,
    device_sentence, main_direction, verdict,
};
use crate::evidence::processors::ProcessorWait;
use crate::evidence::{Evidence, layers, whole_latency_ns};
use crate::figures;
use fathom_stats::layers::Layer;

/// Minimum percentage of the run time spent waiting for CPUs for the wait to be a reason for an idle device.
const WAITED_A_LITTLE: f64 = 15.0;
/// Utilization, in percent, below which other I/O did not hinder the job.
const HARDLY_BUSY: f64 = 40.0;

/// An I/O limit that the job visibly reached.
pub(super) fn io_limit(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let found = evidence.io_limited()?;
    let mut reasons = vec![format!("{}.", in_upper_case(&found.told()))];
    reasons.extend(device_sentence(evidence).map(|(_, sentence)| sentence));
    reasons.push("Run it in a group without this limit to see what the device can do.".to_owned());
    verdict(Bottleneck::IoLimit, reasons)
}

/// A CPU limit that visibly throttled the job.
pub(super) fn quota(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let found = evidence.throttled()?;
    let mut reasons = vec![format!("{}.", in_upper_case(&found.told()))];
    if let Some(wait) = evidence.processor_wait().filter(ProcessorWait::is_worth_telling) {
        reasons.push(format!("Each clone {}.", wait.told()));
    }
    reasons.push("Run it in a group without this limit to see what the storage can do.".to_owned());
    verdict(Bottleneck::Quota, reasons)
}

fn in_upper_case(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub(super) fn busy_machine(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let wait = evidence.processor_wait().filter(ProcessorWait::is_others_doing)?;
    if wait.share < WAITED_FOR_OTHERS {
        return None;
    }
    let reasons = vec![
        format!("Each clone {}.", wait.told()),
        "Run the same job on an idle machine to see what the storage can do.".to_owned(),
    ];
    verdict(Bottleneck::BusyMachine, reasons)
}

/// Steal time that is so high that latencies say little about the storage. It is checked in addition to
/// waiting, because a job whose CPU time is stolen while it runs does not count as waiting.
pub(super) fn stolen_machine(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let wait = evidence.processor_wait().filter(ProcessorWait::is_mostly_stolen)?;
    let device = device_sentence(evidence);
    if device.as_ref().is_some_and(|(util, _)| *util >= BUSY) {
        return None;
    }
    let mut reasons = vec![format!("The {} (stolen_ms).", wait.told_of_stolen())];
    reasons.extend(device.map(|(_, sentence)| sentence));
    reasons.push(
        "Run the same job when the host is idle, or on dedicated hardware, to see what the storage can do."
            .to_owned(),
    );
    verdict(Bottleneck::BusyMachine, reasons)
}

/// Kernel threads between the job and the device that got no CPU (loop devices, encryption, io_uring, file
/// systems). Their waits are not part of the job's own wait.
pub(super) fn starved_kernel(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let wait = evidence.processor_wait().filter(ProcessorWait::is_machine_full)?;
    let (util, sentence) = device_sentence(evidence)?;
    // If the device was idle, I/Os waited elsewhere; the job's own wait for CPUs shows whether they waited for
    // those.
    let waited = wait.is_worth_telling() && wait.share >= WAITED_A_LITTLE;
    if util >= HARDLY_BUSY && (util >= BUSY || !waited) {
        return None;
    }
    let mut reasons = vec![format!("{}, with hardly an idle moment.", in_upper_case(&wait.told_of_others()))];
    if wait.is_worth_telling() {
        reasons.push(format!("Each clone {}.", wait.told()));
    }
    reasons.push(format!(
        "{sentence} Kernel threads that pass I/O on (loop devices, encryption, file systems) also waited for a CPU."
    ));
    reasons.push("Run the same job on an idle machine to see what the storage can do.".to_owned());
    verdict(Bottleneck::BusyMachine, reasons)
}

/// Other I/O that kept the device busy.
pub(super) fn other_io(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let others = evidence.other_io().filter(|others| others.time_share >= OTHERS_SHARE)?;
    let (util, sentence) = device_sentence(evidence).filter(|(util, _)| *util >= HARDLY_BUSY)?;
    let mut reasons = vec![sentence, format!("It did {}.", others.told())];
    reasons.push("Run the same job on a device that is otherwise unused to see what it can do; iotop or pidstat -d shows who uses it.".to_owned());
    if depth::may_be_too_small(evidence) {
        reasons.extend(depth::in_flight(evidence));
        reasons.push(format!(
            "To see whether the queue depth would be the limit then, {}",
            depth::test(evidence)
        ));
    } else if util >= BUSY {
        reasons.extend(depth::in_flight(evidence));
    }
    verdict(Bottleneck::OtherIo, reasons)
}

/// A sentence about limits that were not reached.
fn limits_seen(evidence: &Evidence<'_>) -> &'static str {
    match evidence.choices().is_some_and(|choices| choices.processors.is_some()) {
        true => "No visible control group limit was reached (io.max, cpu.max).",
        false => "A control group limit (io.max) is also possible; results of fathom would show it.",
    }
}

/// A layer that held I/Os back above the device: few I/Os in flight do not explain the time before the device
/// received them.
pub(super) fn held_above(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let most = evidence.device_ns_at_most(index.min(1))?;
    match evidence.is_direct() && most < 0.25 * latency && latency - most > LEAST_WAIT_NS {
        true => above_the_device(evidence),
        false => None,
    }
}

/// Recorded layers show that most of the time was spent elsewhere than in the device.
pub(super) fn by_layers(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (_, direction) = main_direction(evidence)?;
    let layers = direction.layers.as_ref()?;
    let made = layers.mean()?;
    let (layer, share) = made.largest();
    let is_served = 2 * layers.without_request > layers.total.count;
    if layer == Layer::Device || share < MOST_OF_IT || is_served || (made.total_ns as f64) < LEAST_WAIT_NS {
        return None;
    }
    verdict(Bottleneck::AboveTheDevice, layers::told("I/Os", direction))
}

pub(super) fn above_the_device(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (util, sentence) = device_sentence(evidence)?;
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let mut reasons = vec![sentence];
    let told = evidence.device_ns(index.min(1));
    let device_ns = told.or_else(|| evidence.device_ns_at_most(index.min(1)));
    if let Some(ns) = device_ns.filter(|ns| *ns < 0.5 * latency) {
        reasons.push(format!(
            "An I/O spent {}{} in the device and its queue, but {} in total: it waited above the device (locks and journal of \
             a file system, a full request queue, a limit that is not visible here, or the process scheduler). {}",
            if told.is_some() { "" } else { "at most " },
            figures::duration(ns),
            figures::duration(latency),
            limits_seen(evidence)
        ));
    } else if util >= BUSY {
        return None;
    }
    if let Some(reached) = evidence.depth_reached() {
        let asked = evidence.depth_asked();
        reasons.extend(depth::in_flight(evidence));
        if reached < 0.75 * asked {
            reasons.push("The requested queue depth was not reached: the job could not submit I/O fast enough, or ended early.".to_owned());
        }
    }
    let (user, system) = evidence.processor();
    reasons.push(format!("The CPU had time left: each clone used {}.", figures::percent(user + system)));
    verdict(Bottleneck::AboveTheDevice, reasons)
}
