//! The kernel's counters of the devices below the files, counted from the start of the run.

use super::{Family, Labels, Numbers, Unit, parts, with};
use fathom_stats::report::{DiskReport, RunReport};

/// Size in bytes of a sector in the kernel's counters, regardless of the device's sector size.
const SECTOR: f64 = 512.0;
const DIRECTIONS: [&str; 2] = ["read", "write"];

pub(super) fn families(report: &RunReport) -> Vec<Family> {
    let mut devices: Vec<(Labels, &DiskReport)> = Vec::new();
    for (labels, part) in parts(report) {
        part.disks.iter().for_each(|disk| add(&labels, disk, &mut devices));
    }
    let mut ios = Numbers::counter("fathom.device.ios", Unit::Things, "I/Os that the device has completed");
    let mut bytes = Numbers::counter("fathom.device.io", Unit::Bytes, "Bytes that the device has moved");
    let mut merges = Numbers::counter("fathom.device.merges", Unit::Things, "Requests merged into others");
    let mut time = Numbers::counter("fathom.device.io_time", Unit::Seconds, "Time that I/Os took, added up");
    let mut queued = Numbers::counter(
        "fathom.device.queue_time",
        Unit::Seconds,
        "Time that I/Os were in the queue, added up",
    );
    let mut busy = Numbers::gauge(
        "fathom.device.utilization",
        Unit::Ratio,
        "Share of the run in which the device was busy",
    );
    for (labels, device) in devices {
        for (index, direction) in DIRECTIONS.into_iter().enumerate() {
            let labels = with(&labels, "direction", direction);
            ios.add(labels.clone(), device.ios[index] as f64);
            bytes.add(labels.clone(), device.sectors[index] as f64 * SECTOR);
            merges.add(labels.clone(), device.merges[index] as f64);
            time.add(labels, device.ticks_ms[index] as f64 / 1e3);
        }
        queued.add(labels.clone(), device.in_queue_ms as f64 / 1e3);
        busy.add(labels, device.util_percent / 100.0);
    }
    vec![ios.into(), bytes.into(), merges.into(), time.into(), queued.into(), busy.into()]
}

/// A device and its components, without duplicates.
fn add<'a>(host: &Labels, device: &'a DiskReport, devices: &mut Vec<(Labels, &'a DiskReport)>) {
    let labels = with(host, "device", &*device.name);
    if !devices.iter().any(|(own, _)| *own == labels) {
        devices.push((labels, device));
    }
    device.members.iter().for_each(|member| add(host, member, devices));
}
