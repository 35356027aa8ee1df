//! File systems as one more dimension of a sweep: which ones, what they are made on and how, where the files of the jobs go.
//!
//! Every run gets a file system of its own, made just before it: what earlier runs left behind, in files or in free space, would
//! otherwise be part of the result.

pub(super) mod device;
pub(super) mod kinds;
pub(super) mod make;
pub(super) mod place;

use super::variation::Variation;
use device::{Backing, FoundDevice};
use fathom_command::Failure;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of the dimension.
pub(super) const DIMENSION: &str = "fs";
/// The value that stands for the device itself.
pub(super) const NONE: &str = "none";

/// What the command line says about file systems, `--fs` apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GivenVolume {
    /// Where they are made.
    pub(super) device: Option<PathBuf>,
    /// The same again, from somebody who means it.
    pub(super) destroy: Option<PathBuf>,
    /// Size of a file that is not there yet.
    pub(super) device_size: Option<u64>,
    /// More arguments for the program that makes a file system.
    pub(super) mkfs_options: Vec<OfKind>,
    /// Options of mounts.
    pub(super) mount_options: Vec<OfKind>,
}

/// Options for one kind of file system.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfKind {
    kind: String,
    options: String,
}

impl OfKind {
    /// From `FS:OPTIONS`.
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

/// From the list of `--fs`.
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

/// What the file systems of a sweep are made on, and how; part of its plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Volume {
    /// The device or file, links resolved.
    pub(super) device: PathBuf,
    /// Which of them it is.
    pub(super) backing: Backing,
    /// The file behind a device that is a loop device itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) behind: String,
    /// What the disk calls itself, if it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) serial: String,
    /// Its size.
    pub(super) bytes: u64,
    /// In the order of `--fs`, without `none`.
    pub(super) makers: Vec<Maker>,
}

/// How a kind of file system is made and mounted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Maker {
    /// The kind, as the kernel calls it.
    pub(super) kind: String,
    /// The program and its arguments but for the device.
    pub(super) command: Vec<String>,
    /// What the program says of its version.
    pub(super) version: String,
    /// Options of the mount; empty for the kernel's own.
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
    /// Looks at the device and at what has to be made on it. Nothing is changed.
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

    /// False for a device that is one.
    pub(super) fn is_loop(&self) -> bool {
        self.backing != Backing::Device || !self.behind.is_empty()
    }

    /// What follows the heading of the file systems, where they are not on a device of their own.
    pub(crate) fn mark(&self) -> &'static str {
        if self.is_loop() { " (loop)" } else { "" }
    }

    /// What lies below the file systems: `/dev/sdb1`, or `loop device on /images/a`.
    pub(crate) fn told(&self) -> String {
        let path = self.device.display();
        match self.backing {
            Backing::Device if self.behind.is_empty() => path.to_string(),
            Backing::Device => format!("{path}, a loop device on {}", self.behind),
            Backing::File | Backing::Made => format!("loop device on {path}"),
        }
    }

    /// Sentences on how the file systems were made.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "Volume: {} ({}); each run has a file system of its own, made just before it.",
            self.told(),
            crate::figures::size(self.bytes)
        )];
        lines.extend(self.makers.iter().map(|maker| format!("{}.", maker.told())));
        lines
    }

    /// How it is made, for the comparison of two plans. Versions of programs may change while a sweep goes on.
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
