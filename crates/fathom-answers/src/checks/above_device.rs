//! `above-device`: a layer between the job and the device delayed the I/Os.

use super::{Found, Severity};
use crate::evidence::processors::ProcessorWait;
use crate::evidence::{Evidence, whole_latency_ns};
use crate::figures;

/// Utilization, in percent, below which a device was mostly idle.
const HARDLY_BUSY: f64 = 40.0;
/// Share of an I/O's time below which the device was not where the time was spent. Waits shorter than the
/// second value, in ns, are normal overhead.
const DEVICE_TIME: f64 = 0.25;
const LEAST_WAIT_NS: f64 = 200_000.0;
/// Share of the queue depth above which a job counts as waiting for I/O.
const WAITED_FOR_IO: f64 = 0.5;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    // Known causes have their own checks, so they are not reported again.
    let is_told = evidence.io_limited().is_some() || evidence.throttled().is_some();
    // I/Os that a cache served did not reach the device, so its counters say nothing about them.
    if is_told || !evidence.is_on_this_machine() || !evidence.is_direct() {
        return Vec::new();
    }
    match starved_kernel(evidence) {
        Some(found) => vec![found],
        None => [0, 1].into_iter().filter_map(|direction| held_back(evidence, direction)).collect(),
    }
}

/// Finds a job that waited for I/O while the device was idle, because the kernel threads between them did not
/// get a processor.
fn starved_kernel(evidence: &Evidence<'_>) -> Option<Found> {
    // A job that pauses, or waits for its syncs, leaves the device idle by itself, so only jobs with I/Os in
    // flight count.
    evidence.depth_reached().filter(|reached| *reached >= WAITED_FOR_IO * evidence.depth_asked())?;
    let device = evidence.busiest_device().filter(|device| device.util < HARDLY_BUSY)?;
    let wait = evidence.processor_wait().filter(ProcessorWait::is_machine_full)?;
    let text = format!(
        "{} was busy for only {} of the time, though the job waited for it, while {}: the kernel threads that submit and complete I/O waited for a CPU",
        device.name,
        figures::percent(device.util),
        wait.told_of_others()
    );
    let found = Found::new(Severity::Doubtful, text, "run it on an idle machine");
    let figures = [("device_busy_percent", device.util), ("processors_of_others", wait.others)];
    Some(found.with(&figures).weighing(wait.others))
}

fn held_back(evidence: &Evidence<'_>, direction: usize) -> Option<Found> {
    let latency = whole_latency_ns(evidence.job.directions()[direction]?);
    let device = evidence.device_ns_at_most(direction)?;
    if device >= DEVICE_TIME * latency || latency - device <= LEAST_WAIT_NS {
        return None;
    }
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "each I/O took {}, of which at most {} in the device: something above the device delayed it (a \
            limit that is not visible here, the file system, or the machine)",
            figures::duration(latency),
            figures::duration(device)
        ),
        "",
    );
    let figures = [("latency_ns", latency), ("device_ns", device)];
    Some(found.in_direction(direction).with(&figures).weighing(latency / device.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    /// A result with reads of 2 ms each, of which the device accounts for `device_ticks`.
    fn after(device_ticks: u32, busy_ms: u32) -> Vec<(Severity, String)> {
        with(r#""direct":"1","rw":"randread""#, device_ticks, busy_ms)
    }

    fn with(options: &str, device_ticks: u32, busy_ms: u32) -> Vec<(Severity, String)> {
        at(500, options, device_ticks, busy_ms)
    }

    fn at(iops: u32, options: &str, device_ticks: u32, busy_ms: u32) -> Vec<(Severity, String)> {
        let more = format!(
            r#""disk_util":[{{"name":"sda","read_ios":1000,"read_sectors":8000,"read_ticks":{device_ticks},"util":1.0}}],
            "fathom host":{{"processors":2}},"fathom jobs":[{{"jobname":"a","processor_wait_ms":0,
            "processors":{{"user_ms":{busy_ms},"busy_ms":{busy_ms},"stolen_ms":0,"total_ms":4000}}}}]"#
        );
        let job = format!(
            r#""job_runtime":2000,"read":{{"total_ios":1000,"io_bytes":4096000,"iops":{iops},"runtime":2000,
            "lat_ns":{{"mean":2000000}}}}"#
        );
        of_job(find, &run(options, &job, &more))
    }

    #[test]
    fn what_holds_back_above_the_device_is_told() {
        is_told(&after(16, 40), Severity::Doubtful, "2.00 ms, of which at most 16.0 µs in the device");
        is_told(&after(16, 3900), Severity::Doubtful, "1.95 of 2 CPUs busy: the kernel threads that submit");
        assert_eq!(after(1900, 40), []);
        let paused = at(100, r#""direct":"1","rw":"randread","thinktime":"8000""#, 1900, 3900);
        assert_eq!(paused, [], "the job had nothing for the device to do");
        assert_eq!(with("", 16, 3900), [], "a cache answered");
    }
}
