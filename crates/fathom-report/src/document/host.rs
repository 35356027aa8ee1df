//! The object of the machine and its storage.

use super::layout::{Object, list, object};
use fathom_stats::host::{DaemonReport, DeviceReport, FileSystemReport, HostReport, LoopFileReport};
use fathom_stats::mounts::{MountReport, MovedBytes};

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
        "loop_files": (!device.loop_files.is_empty()).then(|| list(&device.loop_files, loop_file)),
    }
}

fn loop_file(loop_file: &LoopFileReport) -> Object {
    object! {
        "device": &loop_file.device,
        "file": &loop_file.file,
        "kind": &loop_file.kind,
    }
}

fn file_system(file_system: &FileSystemReport) -> Object {
    object! {
        "directory": &file_system.directory,
        "kind": &file_system.kind,
        "source": &file_system.source,
        "options": &file_system.options,
        "transport": file_system.transport.as_ref(),
        "daemon": file_system.daemon.as_ref().map(daemon),
    }
}

fn daemon(daemon: &DaemonReport) -> Object {
    object! {
        "process": daemon.process,
        "name": &daemon.name,
        "options": &daemon.options,
    }
}

/// What went through a mounted file system.
pub(super) fn mount(mount: &MountReport) -> Object {
    object! {
        "directory": &mount.directory,
        "daemon": mount.daemon.as_ref().map(moved),
        "interfaces": mount.interfaces.as_ref().map(moved),
        "server": mount.server.as_ref().map(moved),
    }
}

fn moved(bytes: &MovedBytes) -> Object {
    object! {
        "read_bytes": bytes.read_bytes,
        "write_bytes": bytes.write_bytes,
    }
}
