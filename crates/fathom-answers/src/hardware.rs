//! Describes devices in words.

use fathom_results::model::DeviceReport;

/// Kernel names of devices that are not hardware, or that are not on this machine.
const VIRTUAL_NAMES: [&str; 8] = ["vd", "xvd", "loop", "zram", "ram", "nullb", "nbd", "rbd"];

/// Names by which the disks of hypervisors and clouds identify themselves.
const VIRTUAL_MODELS: [&str; 6] =
    ["qemu", "vbox", "vmware", "virtual", "persistentdisk", "elastic block store"];

/// Kind of device. Virtual disks claim to be rotational regardless of the hardware below them, so that claim is
/// ignored.
pub(crate) fn kind(device: &DeviceReport) -> &'static str {
    let model = device.model.to_lowercase();
    let is_virtual = VIRTUAL_NAMES.iter().any(|name| device.name.starts_with(name))
        || VIRTUAL_MODELS.iter().any(|name| model.contains(name));
    match (is_virtual, device.rotational) {
        (true, _) => "virtual",
        (false, true) => "rotational",
        (false, false) => "not rotational",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_disks_have_no_platters() {
        let of = |name: &str, model: &str, rotational| {
            kind(&DeviceReport {
                name: name.into(),
                model: model.into(),
                rotational,
                ..DeviceReport::default()
            })
        };
        assert_eq!(of("sda", "ST8000NM0055", true), "rotational");
        assert_eq!(of("nvme0n1", "Samsung SSD 990 PRO", false), "not rotational");
        assert_eq!((of("vda", "", true), of("sda", "QEMU HARDDISK", true)), ("virtual", "virtual"));
        assert_eq!(of("nvme1n1", "Amazon Elastic Block Store", false), "virtual");
    }
}
