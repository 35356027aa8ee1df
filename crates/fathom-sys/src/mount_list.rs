//! The kernel's list of mounts. Source: proc_pid_mountinfo(5).

use std::borrow::Cow;
use std::fs;
use std::path::Path;

/// A line of the list. Its texts have the kernel's escapes; see [`plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountLine<'a> {
    /// Device number, such as `8:1`; major number 0 without a block device, and for file systems over several devices.
    pub device: &'a str,
    /// Directory within the file system that is mounted.
    pub root: &'a str,
    /// Directory on which it is mounted.
    pub directory: &'a str,
    /// Options of the mount.
    pub options: &'a str,
    /// Type of the file system.
    pub kind: &'a str,
    /// Source of the mount, such as a device.
    pub source: &'a str,
    /// Options of the file system; may be empty.
    pub file_system_options: &'a str,
}

impl<'a> MountLine<'a> {
    /// Parses a line.
    pub fn parse(line: &'a str) -> Option<MountLine<'a>> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let mut place = || place.next();
        let (device, root, directory, options) = (place()?, place()?, place()?, place()?);
        let mut kind = kind.split(' ');
        let (kind, source, file_system_options) =
            (kind.next()?, kind.next()?, kind.next().unwrap_or_default());
        Some(MountLine { device, root, directory, options, kind, source, file_system_options })
    }
}

/// Returns the list of this process's mounts, in the order in which they were made; empty if it cannot be read.
pub fn text() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

/// Returns the mount that holds a path, given the mounts with their directories: the one with the longest
/// prefix of the path, or the last of several on the same directory.
pub fn holder<M>(
    mounts: impl IntoIterator<Item = M>,
    path: &Path,
    directory: impl Fn(&M) -> Cow<'_, str>,
) -> Option<M> {
    let length = |mount: &M| directory(mount).len();
    let holds = |mount: &M| path.starts_with(&*directory(mount));
    mounts.into_iter().filter(holds).max_by_key(length)
}

/// Decodes the kernel's octal escapes (`\040`, `\011`, `\012`, `\134`) in a field of its tables.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    Cow::Owned(codes.iter().fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_fields_and_paths_their_mount() {
        let text = "21 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
                    30 21 0:25 /sub /data\\040new rw,noatime - btrfs /dev/vdb rw,ssd\n\
                    31 21 0:26 / /tmp rw - tmpfs tmpfs rw\n";
        let lines: Vec<MountLine<'_>> = text.lines().filter_map(MountLine::parse).collect();
        let btrfs = lines[1];
        assert_eq!((btrfs.device, btrfs.root, btrfs.options), ("0:25", "/sub", "rw,noatime"));
        assert_eq!((btrfs.kind, btrfs.source, btrfs.file_system_options), ("btrfs", "/dev/vdb", "rw,ssd"));
        let of =
            |path: &str| holder(&lines, Path::new(path), |line| plain(line.directory)).expect("a mount").kind;
        assert_eq!(
            [of("/etc"), of("/data new/x"), of("/tmp/y"), of("/tmpx")],
            ["ext4", "btrfs", "tmpfs", "ext4"]
        );
        assert_eq!(MountLine::parse("21 1 254:0 / / rw"), None);
    }
}
