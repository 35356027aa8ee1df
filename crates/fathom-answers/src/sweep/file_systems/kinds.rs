//! The kinds of file systems that a sweep makes.

use super::{GivenVolume, Maker, OfKind};
use crate::figures;
use fathom_command::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// A kind of file system.
pub(super) struct FileSystemKind {
    /// The kernel's name for the kind; the program that makes it is `mkfs.NAME`.
    pub(super) name: &'static str,
    /// The Debian package with that program.
    package: &'static str,
    /// Arguments for that program: print nothing, ignore the device's old content (fathom has checked it), skip
    /// the discard (fathom does that itself), and do all work immediately that would otherwise continue in the
    /// background during the first run.
    arguments: &'static [&'static str],
    /// Mount options for a backing file, which disable discards: these would punch holes into the file that the
    /// next run would have to fill.
    on_file: &'static str,
    /// Minimum size in bytes that the program accepts.
    least_bytes: u64,
}

/// All kinds of file systems.
pub(super) const ALL: [FileSystemKind; 3] = [
    FileSystemKind {
        name: "ext4",
        package: "e2fsprogs",
        arguments: &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
        on_file: "",
        least_bytes: 8 * MIB,
    },
    FileSystemKind {
        name: "xfs",
        package: "xfsprogs",
        arguments: &["-q", "-f", "-K"],
        on_file: "",
        least_bytes: 300 * MIB,
    },
    FileSystemKind {
        name: "btrfs",
        package: "btrfs-progs",
        arguments: &["-q", "-f", "-K"],
        on_file: "nodiscard",
        least_bytes: 109 * MIB,
    },
];

/// Mount options that a sweep cannot use.
const REFUSED: [&str; 3] = ["ro", "remount", "bind"];

/// The kind of this name.
pub(super) fn of(name: &str) -> Option<&'static FileSystemKind> {
    ALL.iter().find(|kind| kind.name == name)
}

/// How to make a file system of this kind; fails if this machine cannot.
pub(super) fn maker(name: &str, given: &GivenVolume, is_file: bool) -> Result<Maker, Failure> {
    let kind = of(name).ok_or_else(|| super::unknown("--fs", name))?;
    let program = format!("mkfs.{name}");
    let path = find(&program).ok_or_else(|| {
        Failure::new(format!(
            "--fs={name}: there is no program {program} on this machine; on Debian it is in the package {package}: apt install \
             {package}",
            package = kind.package
        ))
    })?;
    if !is_known_to_kernel(name) {
        return Err(Failure::new(format!(
            "--fs={name}: this kernel cannot mount {name}: it is not in /proc/filesystems, and there is no module for it"
        )));
    }
    let mut command = vec![path.to_string_lossy().into_owned()];
    command.extend(kind.arguments.iter().map(|argument| (*argument).to_owned()));
    let own = |list: &[OfKind]| -> Vec<String> {
        list.iter().filter(|option| option.kind == name).map(|option| option.options.clone()).collect()
    };
    for options in own(&given.mkfs_options) {
        command.extend(options.split_whitespace().map(str::to_owned));
    }
    let usual = if is_file { kind.on_file } else { "" };
    let mut options = own(&given.mount_options);
    if !usual.is_empty() {
        // The default options come first, so that the user's options take precedence.
        options.insert(0, usual.to_owned());
    }
    let mount_options = options.join(",");
    if let Some(wrong) = mount_options.split(',').find(|option| REFUSED.contains(&option.trim())) {
        return Err(Failure::new(format!("--mount-options={name}: a sweep cannot use the option {wrong}")));
    }
    Ok(Maker { kind: name.to_owned(), command, version: version(&path), mount_options })
}

/// Refuses a device that is too small. The program itself would report this only when its turn comes, possibly
/// after hours of other runs.
pub(super) fn check_size(name: &str, device: &Path, bytes: u64) -> Result<(), Failure> {
    match of(name).filter(|kind| bytes < kind.least_bytes) {
        Some(kind) => Err(Failure::new(format!(
            "{}: it has {}, and {name} needs {} MiB at least",
            device.display(),
            figures::size(bytes),
            kind.least_bytes / MIB
        ))),
        None => Ok(()),
    }
}

/// Finds a program. The directories of these programs may not be in the path of users other than root.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|place| place.join(program)).find(|path| path.is_file())
}

fn is_known_to_kernel(name: &str) -> bool {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let is_there =
        text("/proc/filesystems").lines().any(|line| line.split_whitespace().next_back() == Some(name));
    let release = text("/proc/sys/kernel/osrelease");
    let modules = text(&format!("/lib/modules/{}/modules.dep", release.trim()));
    is_there || modules.contains(&format!("/{name}.ko"))
}

/// The first line that the program prints as its version.
fn version(program: &Path) -> String {
    let Ok(output) = Command::new(program).arg("-V").output() else { return "unknown version".to_owned() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    fathom_results::single_line(line.unwrap_or("unknown version"))
}
