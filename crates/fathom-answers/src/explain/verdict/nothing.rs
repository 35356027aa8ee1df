//! Verdicts that rule out the device: engines without storage, files in memory, the page cache.

use super::{Bottleneck, BottleneckVerdict, main_direction, verdict};
use crate::evidence::processors::ProcessorWait;
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

/// Names of file systems in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// Prefixes of the names of devices that are in memory or have no storage.
const MEMORY_DEVICES: [&str; 4] = ["zram", "ram", "brd", "nullb"];

/// Engines such as null, which do not perform an I/O at all.
pub(super) fn no_storage(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let engine = evidence.asked.definition.filter(|engine| !engine.has_storage())?;
    let (user, system) = evidence.processor();
    let what = match engine.has_peers {
        true => "stores no data: what limits it is the network, the other side, or the CPU",
        false => "moves no data",
    };
    let mut reasons = vec![format!(
        "The engine {} {what}. Each clone used {} of a CPU (usr={}, sys={}).",
        engine.name,
        figures::percent(user + system),
        figures::percent(user),
        figures::percent(system)
    )];
    // The job's own limits also apply without storage, so they are checked first.
    let own = [super::own::rate_limit, super::own::think_time].into_iter().filter_map(|rule| rule(evidence));
    reasons.extend(own.flat_map(|found| found.reasons));
    verdict(Bottleneck::NoStorage, with_disturbances(evidence, reasons))
}

/// Files on a file system or a device in memory.
pub(super) fn memory(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let host = evidence.run.host.as_ref()?;
    let is_in_memory = |kind: &str| IN_MEMORY.contains(&kind);
    let has_systems =
        !host.file_systems.is_empty() && host.file_systems.iter().all(|system| is_in_memory(&system.kind));
    let found = if has_systems && host.devices.is_empty() {
        format!("The files were on {} at {}.", host.file_systems[0].kind, host.file_systems[0].directory)
    } else if !host.devices.is_empty() && host.devices.iter().all(|device| is_memory_device(&device.name)) {
        format!("The device {} is backed by memory.", host.devices[0].name)
    } else {
        return None;
    };
    let (user, system) = evidence.processor();
    let used = format!(
        "Each clone used {} of a CPU: memory is as fast as the CPU can copy.",
        figures::percent(user + system)
    );
    verdict(Bottleneck::Memory, with_disturbances(evidence, vec![found, used]))
}

/// True for the names of devices in memory.
pub(crate) fn is_memory_device(name: &str) -> bool {
    let is_numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    MEMORY_DEVICES.into_iter().any(is_numbered)
}

/// Adds sentences about other disturbances of the job.
fn with_disturbances(evidence: &Evidence<'_>, mut reasons: Vec<String>) -> Vec<String> {
    if let Some(throttled) = evidence.throttled() {
        reasons.push(format!("In addition, {}.", throttled.told()));
    }
    if let Some(wait) = evidence.processor_wait().filter(ProcessorWait::is_worth_telling) {
        reasons.push(format!("In addition, each clone {}.", wait.told()));
        if !wait.is_others_doing() && evidence.clones() > f64::from(wait.processors) {
            reasons.push("There are more clones than CPUs: fewer clones would do as much.".to_owned());
        }
    }
    reasons
}

/// I/O that the page cache served.
pub(super) fn cache(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
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
                with_disturbances(
                    evidence,
                    vec![format!(
                        "The job did not use direct I/O: its {name} moved {}, the device only {}. {}",
                        figures::size(share.job_bytes),
                        figures::size(share.device_bytes),
                        advice(evidence, direction)
                    )],
                ),
            );
        }
    }
    if let Some(found) = written_behind(evidence) {
        return Some(found);
    }
    // If bytes are counted, they have been compared already, and a low utilization proves nothing, because a
    // fast device is hardly busy.
    let is_counted = [0, 1].into_iter().any(|direction| evidence.device_share(direction).is_some());
    let idle = !is_counted && !evidence.shares_counters() && evidence.disks().all(|disk| disk.util < 20.0);
    if !idle || evidence.disks().next().is_none() {
        return None;
    }
    let found =
        "The job did not use direct I/O, and no device was busy for more than 20 % of the time.".to_owned();
    verdict(Bottleneck::Cache, with_disturbances(evidence, vec![found]))
}

/// Advice on how to measure the device instead, without options that the job already has.
fn advice(evidence: &Evidence<'_>, direction: usize) -> String {
    let is_synced =
        ["end_fsync", "fsync_on_close"].iter().any(|option| evidence.run.is_set(evidence.job, option));
    let more = match direction {
        1 if is_synced => {
            "; the final sync includes the time to write the data, which is little here because most of it was overwritten in memory"
        }
        1 => ", and end_fsync=1 includes the time to write buffered data",
        _ => ", and a file larger than memory leaves less to the cache",
    };
    format!("direct=1 measures the device{more}.")
}

/// Buffered writes in a result without byte counters: an I/O that completes much faster than the device can
/// handle it did not wait for the device.
fn written_behind(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let (index, direction) = main_direction(evidence)?;
    let latency = whole_latency_ns(direction);
    let device_ns = evidence.device_ns(index.min(1))?;
    if evidence.device_share(index.min(1)).is_some() || device_ns < 2.0 * latency {
        return None;
    }
    verdict(
        Bottleneck::Cache,
        with_disturbances(
            evidence,
            vec![format!(
                "The job did not use direct I/O, and its I/Os took {} on average, but those of the device {} (ticks over \
             ios): they did not wait for the device. direct=1 measures the device.",
                figures::duration(latency),
                figures::duration(device_ns)
            )],
        ),
    )
}
