//! File systems as another dimension of a sweep: their kinds, the device and options they are made with, and
//! the location of the jobs' files. Every run gets a new file system, made just before it, because the remains
//! of earlier runs, in files or in free space, would otherwise affect the result.

pub(super) mod device;
pub(super) mod kinds;
pub(super) mod make;
pub(super) mod place;

use super::variation::Variation;
use device::{Backing, FoundDevice};
use fathom_command::Failure;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the dimension.
pub(super) const DIMENSION: &str = "fs";
/// The value that stands for the device itself.
pub(super) const NONE: &str = "none";

/// Options about file systems, apart from `--fs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GivenVolume {
    /// The target.
    pub(super) device: Option<PathBuf>,
    /// The confirmation, in which the user names the same target again.
    pub(super) destroy: Option<PathBuf>,
    /// Size of a file to be created.
    pub(super) device_size: Option<u64>,
    /// Additional arguments for mkfs.
    pub(super) mkfs_options: Vec<OfKind>,
    /// Mount options.
    pub(super) mount_options: Vec<OfKind>,
}

/// Options for one kind of file system.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfKind {
    kind: String,
    options: String,
}

impl OfKind {
    /// Parses `FS:OPTIONS`.
    pub(super) fn parse(option: &str, text: &str) -> Result<OfKind, Failure> {
        let (kind, options) = text.split_once(':').ok_or_else(|| {
            Failure::new(format!("{option}: `{text}` is not FS:OPTIONS, as in {option}=xfs:noatime"))
        })?;
        kinds::of(kind.trim()).ok_or_else(|| unknown(option, kind))?;
        Ok(OfKind { kind: kind.trim().to_owned(), options: options.trim().to_owned() })
    }
}

fn unknown(option: &str, kind: &str) -> Failure {
    let known: Vec<&str> = kinds::ALL.iter().map(|kind| kind.name).collect();
    Failure::new(format!(
        "{option}: sweep does not make file systems of the kind `{kind}`; it makes {}",
        known.join(", ")
    ))
}

/// Parses the list of `--fs`.
pub(super) fn variation(list: &str) -> Result<Variation, Failure> {
    let values: Vec<String> = list.split(',').map(|value| value.trim().to_owned()).collect();
    for (at, value) in values.iter().enumerate() {
        if value != NONE && kinds::of(value).is_none() {
            return Err(Failure::new(format!("{}, and none is the device itself", unknown("--fs", value))));
        }
        if values[..at].contains(value) {
            return Err(Failure::new(format!("--fs: {value} appears twice")));
        }
    }
    Ok(Variation { name: DIMENSION.to_owned(), values })
}

/// The target on which the sweep's file systems are made, and how they are made; part of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Volume {
    /// The device or file, without symbolic links.
    pub(super) device: PathBuf,
    /// Kind of the target.
    pub(super) backing: Backing,
    /// The backing file, if the device is a loop device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) behind: String,
    /// Serial number of the device's disk, if known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) serial: String,
    /// Its size.
    pub(super) bytes: u64,
    /// The makers in the order of `--fs`, without `none`.
    pub(super) makers: Vec<Maker>,
}

/// How a type of file system is made and mounted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Maker {
    /// The kernel's name for the file system type.
    pub(super) kind: String,
    /// The program and its arguments, without the device.
    pub(super) command: Vec<String>,
    /// The version output of the program.
    pub(super) version: String,
    /// Mount options; empty for the kernel's defaults.
    pub(super) mount_options: String,
}

impl Maker {
    fn told(&self) -> String {
        let mounted = match self.mount_options.as_str() {
            "" => String::new(),
            options => format!(", mounted with {options}"),
        };
        let program = self.command.first().map(Path::new).and_then(Path::file_name);
        let program = program.unwrap_or_default().to_string_lossy();
        let arguments = self.command.get(1..).unwrap_or_default().join(" ");
        format!("{}: {program} {arguments} ({}){mounted}", self.kind, self.version)
    }
}

impl Volume {
    /// Examines the target and the programs, without changing anything.
    pub(super) fn plan(
        given: &GivenVolume,
        kinds: &[String],
        runner: &dyn crate::Runner,
    ) -> Result<Volume, Failure> {
        let FoundDevice { path: device, backing, bytes, behind, serial } = device::examine(given, runner)?;
        let is_file = backing != Backing::Device;
        let makers = kinds.iter().filter(|kind| *kind != NONE).map(|kind| kinds::maker(kind, given, is_file));
        let makers = makers.collect::<Result<Vec<Maker>, Failure>>()?;
        for option in given.mkfs_options.iter().chain(&given.mount_options) {
            if !kinds.contains(&option.kind) {
                return Err(Failure::new(format!(
                    "options are given for {}, which --fs does not name",
                    option.kind
                )));
            }
        }
        for maker in &makers {
            kinds::check_size(&maker.kind, &device, bytes)?;
        }
        Ok(Volume { device, backing, behind, serial, bytes, makers })
    }

    pub(super) fn maker(&self, kind: &str) -> Option<&Maker> {
        self.makers.iter().find(|maker| maker.kind == kind)
    }

    /// True for a loop device, whether it exists or will be attached.
    pub(super) fn is_loop(&self) -> bool {
        self.backing != Backing::Device || !self.behind.is_empty()
    }

    /// Suffix of the heading for file systems that are on a loop device.
    pub(crate) fn mark(&self) -> &'static str {
        if self.is_loop() { " (loop)" } else { "" }
    }

    /// Description of the target: `/dev/sdb1`, or `loop device on /images/a`.
    pub(crate) fn told(&self) -> String {
        let path = self.device.display();
        match self.backing {
            Backing::Device if self.behind.is_empty() => path.to_string(),
            Backing::Device => format!("{path}, a loop device on {}", self.behind),
            Backing::File | Backing::Made => format!("loop device on {path}"),
        }
    }

    /// Sentences that describe how the file systems were made.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "Volume: {} ({}); each run has a new file system, made just before it.",
            self.told(),
            crate::figures::size(self.bytes)
        )];
        lines.extend(self.makers.iter().map(|maker| format!("{}.", maker.told())));
        lines
    }

    /// How the file systems are made, for comparing two plans. Versions of programs are left out, because they
    /// may change during a sweep.
    pub(super) fn outline(&self) -> String {
        let makers = self.makers.iter().map(|maker| {
            let arguments = maker.command.get(1..).unwrap_or_default().join(" ");
            format!("{} ({arguments}; {})", maker.kind, maker.mount_options)
        });
        let makers: Vec<String> = makers.collect();
        let serial =
            if self.serial.is_empty() { String::new() } else { format!(" (serial {})", self.serial) };
        format!("{}{serial} of {} bytes with {}", self.told(), self.bytes, makers.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_each_kind_once() {
        let values = |list: &str| variation(list).map(|found| found.values).ok();
        assert_eq!(values("ext4, none"), Some(vec!["ext4".into(), "none".into()]));
        for wrong in ["", "ext4,ext4", "ntfs", "ext4,"] {
            assert_eq!(values(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn options_belong_to_a_kind() {
        let found = OfKind::parse("--mount-options", "xfs:noatime,logbufs=8").expect("reads");
        assert_eq!((found.kind.as_str(), found.options.as_str()), ("xfs", "noatime,logbufs=8"));
        for wrong in ["noatime", "none:noatime", "ntfs:x"] {
            assert!(OfKind::parse("--mount-options", wrong).is_err(), "{wrong}");
        }
    }
}
