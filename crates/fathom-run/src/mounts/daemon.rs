//! The daemon of a user-space file system, found by the connection to the kernel that it holds. Reads only
//! `/proc`, and never blocks for long on a process that hangs.

use super::Mount;
use fathom_stats::host::DaemonReport;
use fathom_stats::mounts::MovedBytes;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

/// Options of all known file systems that concern caches and request sizes. Other parts of a command line are
/// never shown, because they may hold secrets.
const TOLD: [&str; 40] = [
    "async-read",
    "attr-timeout",
    "attr_timeout",
    "auto_cache",
    "buffer-size",
    "cache",
    "cache-dir",
    "cache-size",
    "cache_timeout",
    "dir_cache",
    "direct-io",
    "direct-io-mode",
    "direct_io",
    "dir-cache-time",
    "file-cache-max-size-mb",
    "free-space-ratio",
    "kernel-writeback-cache",
    "kernel_cache",
    "max_background",
    "max_conns",
    "max_dirty_data",
    "max_read",
    "max_readahead",
    "max_write",
    "multipart_size",
    "no_readahead",
    "noauto_cache",
    "parallel_count",
    "prefetch",
    "sshfs_sync",
    "sync_read",
    "use_cache",
    "vfs-cache-max-size",
    "vfs-cache-mode",
    "vfs-read-ahead",
    "vfs-read-chunk-size",
    "vfs-write-back",
    "writeback",
    "writeback_cache",
    "writeback-cache",
];

/// Timeout for reading the command line of a process that may hang.
const READ_LIMIT: Duration = Duration::from_secs(1);

/// The process of a file system and the connection that it holds.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    process: u32,
    /// The connection's descriptor in `/proc`.
    descriptor: PathBuf,
    /// The link target of this descriptor.
    link: PathBuf,
}

impl Daemon {
    /// The daemon of this mount; `None` if it is not visible, for example because it belongs to another user.
    pub(crate) fn of(mount: &Mount) -> Option<Daemon> {
        let connection = mount.device.split_once(':')?.1;
        let program = mount.report.kind.strip_prefix("fuse.").unwrap_or_default();
        let mut processes: Vec<(bool, u32)> = fs::read_dir("/proc")
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .map(|process| {
                (name_of(process).is_none_or(|name| program.is_empty() || !name.contains(program)), process)
            })
            .collect();
        // Processes named like the file system are examined first, which usually avoids reading the others.
        processes.sort_unstable();
        let directory = &mount.report.directory;
        processes.into_iter().find_map(|(_, process)| Daemon::if_serves(process, connection, directory))
    }

    /// The daemon, if this process holds the connection with this number. Kernels before 6.17 do not report the
    /// number; on these, the daemon is the process whose command line names the directory.
    fn if_serves(process: u32, connection: &str, directory: &str) -> Option<Daemon> {
        let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        descriptors.flatten().find_map(|entry| {
            // Links in `/proc` are read but not followed, because following one might touch a hung file system.
            let link = fs::read_link(entry.path()).ok().filter(|link| link.ends_with("fuse"))?;
            let found = Daemon { process, descriptor: entry.path(), link };
            let serves = match found.connection() {
                Some(number) => number == connection,
                None => found.words().iter().any(|word| word.trim_end_matches('/') == directory),
            };
            serves.then_some(found)
        })
    }

    /// The number of the connection, if the kernel reports it.
    fn connection(&self) -> Option<String> {
        let number = self.descriptor.file_name()?;
        let text = fs::read_to_string(format!("/proc/{}/fdinfo/{}", self.process, number.to_str()?)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("fuse_connection:"))?;
        Some(line.trim().to_owned())
    }

    /// True if the process still exists and is the same one.
    fn is_there(&self) -> bool {
        fs::read_link(&self.descriptor).is_ok_and(|link| link == self.link)
    }

    /// Description of the daemon for the report.
    pub(crate) fn report(&self) -> Option<DaemonReport> {
        let name = name_of(self.process)?;
        Some(DaemonReport { process: self.process, name, options: options_in(&self.words()) })
    }

    /// The arguments of its command line; none if they cannot be read within [`READ_LIMIT`].
    fn words(&self) -> Vec<String> {
        let path = format!("/proc/{}/cmdline", self.process);
        // A thread in uninterruptible sleep may hold the mmap lock that protects the command line, although
        // most such threads only wait for a disk. A separate thread therefore reads the command line; if the
        // read hangs, the thread stays until this process exits.
        let line = if waits_uninterruptibly(self.process) {
            let (sender, receiver) = mpsc::channel();
            let reader = thread::Builder::new().spawn(move || sender.send(fs::read(path)));
            reader.ok().and_then(|_| receiver.recv_timeout(READ_LIMIT).ok()?.ok())
        } else {
            fs::read(path).ok()
        };
        let line = line.unwrap_or_default();
        line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// Bytes moved by the process's system calls; `None` if the kernel does not show them.
    pub(crate) fn moved(&self) -> Option<MovedBytes> {
        let text = fs::read_to_string(format!("/proc/{}/io", self.process)).ok()?;
        let value = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.trim_start_matches(':').trim().parse().ok())
        };
        let moved = MovedBytes { read_bytes: value("rchar")?, write_bytes: value("wchar")? };
        self.is_there().then_some(moved)
    }

    /// Bytes moved by the network interfaces in the process's network namespace.
    pub(crate) fn interfaces(&self) -> Option<MovedBytes> {
        let moved = all_interfaces(&fs::read_to_string(format!("/proc/{}/net/dev", self.process)).ok()?)?;
        self.is_there().then_some(moved)
    }
}

fn name_of(process: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{process}/comm")).ok()?.trim_end().to_owned())
}

fn waits_uninterruptibly(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task")) else {
        return true;
    };
    threads.flatten().any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('D'))
    })
}

/// Total over all interfaces in a file in the format of `/proc/net/dev`.
fn all_interfaces(text: &str) -> Option<MovedBytes> {
    let mut sum = MovedBytes::default();
    for line in text.lines().skip(2) {
        let fields: Vec<&str> = line.split_once(':')?.1.split_whitespace().collect();
        sum.read_bytes += fields.first()?.parse::<u64>().ok()?;
        sum.write_bytes += fields.get(8)?.parse::<u64>().ok()?;
    }
    Some(sum)
}

/// The options in [`TOLD`] that a command line contains, in any of the forms `--name=value`, `--name value`,
/// `-o name=value,name`.
fn options_in(words: &[String]) -> String {
    let mut found: Vec<String> = Vec::new();
    let is_told = |name: &str| TOLD.contains(&name);
    for (place, word) in words.iter().enumerate().skip(1) {
        if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) if is_told(name) => found.push(format!("{name}={value}")),
                None if is_told(long) => {
                    found.push(match words.get(place + 1).filter(|value| is_value(value)) {
                        Some(value) => format!("{long}={value}"),
                        None => long.to_owned(),
                    })
                }
                _ => {}
            }
            continue;
        }
        let after_o = words[place - 1] == "-o";
        let list = if after_o { Some(word.as_str()) } else { word.strip_prefix("-o") };
        let options = list.unwrap_or_default().split(',');
        found.extend(
            options.filter(|option| is_told(option.split('=').next().unwrap_or_default())).map(str::to_owned),
        );
    }
    super::secrets::without_secrets(&found.join(" "))
}

/// The argument after an option, if it can be the option's value: it must be neither another option nor a path
/// or a remote.
fn is_value(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-') && !word.contains(['/', ':', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        options_in(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn only_what_is_about_caches_is_repeated() {
        assert_eq!(
            told(
                "rclone mount dav: /mnt --vfs-cache-mode full --s3-secret-access-key x --vfs-write-back=1s --direct-io"
            ),
            "vfs-cache-mode=full vfs-write-back=1s direct-io"
        );
        assert_eq!(
            told("sshfs -f -p 22 -o IdentityFile=/k,direct_io,password=x me@h:/d /mnt -odir_cache=no"),
            "direct_io dir_cache=no"
        );
        assert_eq!(told("s3fs bucket /mnt -o url=http://u:p@h -o use_cache=/tmp/c"), "use_cache=/tmp/c");
        assert_eq!(told("x --direct-io remote:path --cache /mnt"), "direct-io cache");
        assert_eq!(
            (told("x"), told("x -o"), told("x --cache-size")),
            (String::new(), String::new(), "cache-size".to_owned())
        );
    }

    #[test]
    fn interfaces_are_added_up() {
        let text = "Inter-|   Receive   |  Transmit\n face |bytes    packets\n    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  \
                    eth0:  20 1 0 0 0 0 0 0     7 1 0 0 0 0 0 0\n";
        assert_eq!(all_interfaces(text), Some(MovedBytes { read_bytes: 120, write_bytes: 107 }));
        assert_eq!(all_interfaces("a\nb\n  lo: x"), None);
    }

    #[test]
    fn options_that_are_told_are_no_secrets() {
        for name in TOLD {
            let option = format!("{name}=1");
            assert_eq!(super::super::secrets::without_secrets(&option), option);
        }
    }
}
