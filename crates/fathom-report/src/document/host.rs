//! The object of the machine and its storage.

use super::layout::Object;
use fathom_stats::host::{DeviceReport, FileSystemReport, HostReport};

pub(super) fn object(host: &HostReport) -> Object {
    let mut object = Object::default();
    object.add("name", host.name.as_str());
    object.add("kernel", host.kernel.as_str());
    object.add("processor", host.processor.as_str());
    object.add("processors", host.processors);
    object.add("memory_bytes", host.memory_bytes);
    object.add("devices", host.devices.iter().map(device).collect::<Vec<Object>>());
    object.add("file_systems", host.file_systems.iter().map(file_system).collect::<Vec<Object>>());
    object
}

fn device(device: &DeviceReport) -> Object {
    let mut object = Object::default();
    object.add("name", device.name.as_str());
    object.add("model", device.model.as_str());
    object.add("size_bytes", device.size_bytes);
    object.add("rotational", device.rotational);
    object.add("scheduler", device.scheduler.as_str());
    object.add("write_cache", device.write_cache.as_str());
    object.add("below", device.below.iter().map(String::as_str).collect::<Vec<&str>>());
    object
}

fn file_system(file_system: &FileSystemReport) -> Object {
    let mut object = Object::default();
    object.add("directory", file_system.directory.as_str());
    object.add("kind", file_system.kind.as_str());
    object.add("source", file_system.source.as_str());
    object.add("options", file_system.options.as_str());
    object
}
