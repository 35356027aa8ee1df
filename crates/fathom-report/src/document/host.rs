//! The object of the machine and its storage.

use super::layout::{Object, list, object};
use fathom_stats::host::{DeviceReport, FileSystemReport, HostReport};

pub(super) fn object(host: &HostReport) -> Object {
    object! {
        "name": &host.name,
        "kernel": &host.kernel,
        "processor": &host.processor,
        "processors": host.processors,
        "memory_bytes": host.memory_bytes,
        "devices": list(&host.devices, device),
        "file_systems": list(&host.file_systems, file_system),
    }
}

fn device(device: &DeviceReport) -> Object {
    object! {
        "name": &device.name,
        "model": &device.model,
        "size_bytes": device.size_bytes,
        "rotational": device.rotational,
        "scheduler": &device.scheduler,
        "write_cache": &device.write_cache,
        "below": &device.below,
    }
}

fn file_system(file_system: &FileSystemReport) -> Object {
    object! {
        "directory": &file_system.directory,
        "kind": &file_system.kind,
        "source": &file_system.source,
        "options": &file_system.options,
    }
}
