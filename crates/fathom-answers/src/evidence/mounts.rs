//! Traffic of the network or user-space file system that holds the files: whether the page cache, the client's
//! cache or the network served the I/O, and how to measure without the caches.

use super::Evidence;
use crate::figures;
use fathom_results::model::{FileSystemReport, HostReport, MountReport};
use fathom_stats::Direction;
use fathom_stats::mounts::is_in_user_space;

/// Share of the jobs' bytes below which a layer was not involved in most of the I/O.
const TOOK_PART: f64 = 0.5;
/// Factor over the jobs' bytes above which the client moved more than requested.
const MUCH_MORE: f64 = 2.0;

/// The network or user-space file system that holds a run's files, if there is only one file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mount<'a> {
    pub(crate) system: &'a FileSystemReport,
    /// Traffic of the file system while the job, or other jobs of its stage, ran.
    traffic: Option<&'a MountReport>,
}

/// Bytes in one direction: the total of all jobs, and upper bounds of the bytes that reached the layers below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// The direction: reads (0) or writes (1).
    direction: usize,
    pub(crate) job_bytes: u64,
    /// Bytes between the kernel and the client, or between the kernel and the server if the kernel is the client.
    pub(crate) client_bytes: Option<u64>,
    /// Bytes that went through the network. They may exceed the jobs' bytes, because other programs use the
    /// network as well.
    pub(crate) network_bytes: Option<u64>,
}

impl<'a> Evidence<'a> {
    /// The file system of the files, if it is a network or user-space file system.
    pub(crate) fn mount(&self) -> Option<Mount<'a>> {
        let host = self.run.host.as_ref().filter(|_| self.is_on_this_machine())?;
        let mount = Mount::of_host(host).or_else(|| self.mount_of_stage(&host.file_systems))?;
        let traffic = match self.stage() {
            Some(stage) => stage.mounts.first(),
            None if self.shares_counters() => None,
            None => self.run.mounts.first(),
        };
        Some(Mount { traffic, ..mount })
    }

    /// The file system that the job's stage used, if it used only one.
    fn mount_of_stage(&self, systems: &'a [FileSystemReport]) -> Option<Mount<'a>> {
        let stage = self.stage().filter(|stage| stage.disk_util.is_empty())?;
        let [used] = stage.mounts.as_slice() else { return None };
        Mount::of(systems.iter().find(|system| system.directory == used.directory)?)
    }

    /// Traffic of a mount in one direction; `None` if the jobs moved no data in that direction.
    pub(crate) fn passage(&self, mount: &Mount<'_>, direction: usize) -> Option<Passage> {
        let bytes = self.neighbours().map(|job| job.io_bytes(Direction::ALL[direction]));
        mount.passage(bytes.sum(), direction)
    }
}

impl<'a> Mount<'a> {
    fn of(system: &'a FileSystemReport) -> Option<Mount<'a>> {
        matters(system).then_some(Mount { system, traffic: None })
    }

    /// The file system of a host, if it has only one.
    fn of_host(host: &'a HostReport) -> Option<Mount<'a>> {
        let [system] = host.file_systems.as_slice() else { return None };
        Mount::of(system).filter(|_| host.devices.is_empty())
    }

    /// The file system of a whole run, if it has only one.
    pub(crate) fn of_run(run: &'a fathom_results::RunResult) -> Option<Mount<'a>> {
        let mount = Mount::of_host(run.host.as_ref()?)?;
        Some(Mount { traffic: run.mounts.first(), ..mount })
    }

    /// Traffic in one direction, given the bytes that the jobs moved.
    pub(crate) fn passage(&self, job_bytes: u64, direction: usize) -> Option<Passage> {
        let traffic = self.traffic?;
        // A daemon answers reads by writing to the kernel, and receives written data by reading from it.
        let counted = traffic.daemon.filter(|_| COUNTED.contains(&self.system.kind.as_str()));
        let client = counted.map(|moved| [moved.write_bytes, moved.read_bytes][direction]);
        let own = |moved: fathom_stats::mounts::MovedBytes| [moved.read_bytes, moved.write_bytes][direction];
        let server = traffic.server.map(own);
        let interfaces = traffic.interfaces.filter(|_| self.is_of_server()).map(own);
        (job_bytes > 0).then_some(Passage {
            direction,
            job_bytes,
            client_bytes: client.or(server),
            network_bytes: interfaces.or(server),
        })
    }

    /// True if the client may serve I/O from its own cache.
    pub(crate) fn may_keep_data(&self) -> bool {
        self.is_in_user_space() && !KEEP_NOTHING.contains(&self.system.kind.as_str())
    }

    pub(crate) fn is_of_server(&self) -> bool {
        self.system.transport.is_some()
    }

    pub(crate) fn is_in_user_space(&self) -> bool {
        is_in_user_space(&self.system.kind)
    }

    /// Name of the client: the program, or the kernel's name of the file system.
    pub(crate) fn client(&self) -> &'a str {
        match &self.system.daemon {
            Some(daemon) => &daemon.name,
            None => self.system.kind.strip_prefix("fuse.").unwrap_or(&self.system.kind),
        }
    }

    /// What the client caches, and how to mount it without caches.
    pub(crate) fn caches(&self) -> &'static str {
        let known = CLIENTS.iter().find(|(kind, _)| *kind == self.system.kind);
        known.map_or(
            "It is unknown what this client caches: before the run, mount it again without caches, and use \
            a file that is larger than they are.",
            |(_, text)| text,
        )
    }
}

/// True for a network file system or one in user space.
pub(crate) fn matters(system: &FileSystemReport) -> bool {
    system.transport.is_some() || is_in_user_space(&system.kind)
}

/// A description such as `fuse.sshfs (me@host:/data at /mnt, over SSH, served by sshfs, process 1234)`.
pub(crate) fn told(system: &FileSystemReport) -> String {
    let mut text = format!("{} ({} at {}", system.kind, system.source, system.directory);
    if let Some(transport) = &system.transport {
        text.push_str(&format!(", over {transport}"));
    }
    if let Some(daemon) = &system.daemon {
        text.push_str(&format!(", served by {}, process {}", daemon.name, daemon.process));
        if !daemon.options.is_empty() {
            text.push_str(&format!(", with {}", daemon.options));
        }
    }
    text + ")"
}

impl Passage {
    /// True if most of the I/O did not even reach the client.
    pub(crate) fn stayed_in_page_cache(&self) -> bool {
        self.client_bytes.is_some_and(|bytes| (bytes as f64) < TOOK_PART * self.job_bytes as f64)
    }

    /// True if most of the I/O did not reach the network.
    pub(crate) fn stayed_on_machine(&self) -> bool {
        self.network_bytes.is_some_and(|bytes| (bytes as f64) < TOOK_PART * self.job_bytes as f64)
    }

    /// True if part of the I/O did not reach the network.
    pub(crate) fn stayed_partly(&self, share: f64) -> bool {
        self.network_bytes.is_some_and(|bytes| (bytes as f64) < share * self.job_bytes as f64)
    }

    /// A phrase such as `reads moved 64 MiB`.
    pub(crate) fn of_jobs(&self) -> String {
        format!("{} moved {}", ["reads", "writes"][self.direction], figures::size(self.job_bytes))
    }

    /// A phrase such as `the network interfaces received 1 MiB`.
    pub(crate) fn of_network(&self) -> Option<String> {
        let verb = ["received", "sent"][self.direction];
        Some(format!("the network interfaces {verb} {}", figures::size(self.network_bytes?)))
    }

    /// A sentence about the traffic of the network, if it was involved.
    pub(crate) fn network_sentence(&self) -> Option<String> {
        let network = self.of_network().filter(|_| !self.stayed_on_machine())?;
        let share = self.network_bytes? as f64 / self.job_bytes as f64;
        let why = match share >= MUCH_MORE {
            true => ": the client fetched more than the job asked for, or others used the network",
            false => ", including other traffic",
        };
        Some(format!("The job's {}; {network}{why}.", self.of_jobs()))
    }
}

/// File systems whose daemons use system calls that the kernel counts. Other daemons may use splice, which the
/// kernel does not count.
const COUNTED: [&str; 4] = ["fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"];
/// Clients that do not cache data. If such a client received less than was read, the data was compressed.
const KEEP_NOTHING: [&str; 1] = ["fuse.sshfs"];

/// What clients cache, indexed by the kernel's name of the file system.
const CLIENTS: [(&str, &str); 15] = [
    (
        "9p",
        "The cache of 9P is that of the mount option cache: mount with cache=none. The host's memory answers as well.",
    ),
    (
        "ceph",
        "The kernel's client of Ceph caches data only in the page cache, which direct=1 bypasses; the servers' memory still answers.",
    ),
    (
        "cifs",
        "The client of SMB keeps data in the page cache alone: use direct=1, or mount with cache=none; the server's memory still answers.",
    ),
    (
        "fuse.gcsfuse",
        "gcsfuse keeps whole objects if it has a file cache: mount without --file-cache-max-size-mb, or with 0.",
    ),
    (
        "fuse.glusterfs",
        "GlusterFS caches in its client (io-cache, quick-read, read-ahead, write-behind): `gluster volume set VOLUME performance.io-cache \
         off`, the same for the others, and mount with direct-io-mode=enable; network.remote-dio=off and performance.strict-o-direct=on pass \
         direct I/O on to the bricks.",
    ),
    (
        "fuse.juicefs",
        "JuiceFS keeps blocks on this machine's disk and in its memory: mount with --cache-size=0, and without --writeback.",
    ),
    (
        "fuse.rclone",
        "With --vfs-cache-mode=full, and with writes or minimal for files that were written, rclone keeps files on a disk of this machine and \
         answers from there: mount with --vfs-cache-mode=off, or anew with an empty --cache-dir.",
    ),
    (
        "fuse.s3fs",
        "s3fs keeps what it has read of an open file in a temporary file, and with use_cache also after that; it uploads writes when the file \
         is closed or synced: mount anew without use_cache, and read each block once.",
    ),
    (
        "fuse.sshfs",
        "sshfs does not cache data (dir_cache is about names), but it does not wait for the server's answer \
        to a write: end_fsync=1 includes that, or mount with -o sshfs_sync. Mounted with -o direct_io, it \
        avoids the page cache as well.",
    ),
    ("nfs", NFS),
    ("nfs4", NFS),
    (
        "lustre",
        "The client of Lustre caches data in the page cache, which direct=1 bypasses: `lctl set_param \
        ldlm.namespaces.*.lru_size=clear` empties it; the servers' memory still answers.",
    ),
    (
        "smb3",
        "The client of SMB keeps data in the page cache alone: use direct=1, or mount with cache=none; the server's memory still answers.",
    ),
    (
        "virtiofs",
        "virtiofs reads through the page cache of the host: start virtiofsd with --cache=never, and drop the host's caches.",
    ),
    (
        "fuse.ceph-fuse",
        "ceph-fuse caches data in its memory: set client_oc=false before mounting; the servers' memory still answers.",
    ),
];

const NFS: &str = "The client of NFS caches data only in the page cache, which direct=1 bypasses; the \
                   server's memory still answers: drop its caches, or read a file larger than its memory.";

#[cfg(test)]
mod tests {
    use super::*;

    fn passage_of(
        kind: &str,
        transport: &str,
        counters: &str,
        direction: usize,
    ) -> Option<(Option<u64>, Option<u64>)> {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":1,"io_bytes":1000}},"write":{{"total_ios":1,"io_bytes":500}}}}],
            "fathom host":{{"file_systems":[{{"directory":"/m","kind":"{kind}","source":"s:/d"{transport}}}]}},
            "fathom mounts":[{{"directory":"/m",{counters}}}]}}"#
        );
        let run = fathom_results::parse(&text, "text").expect("reads");
        let evidence = Evidence::of(&run, 0);
        let passage = evidence.passage(&evidence.mount()?, direction)?;
        Some((passage.client_bytes, passage.network_bytes))
    }

    #[test]
    fn each_layer_has_its_counter() {
        let fuse =
            r#""daemon":{"read_bytes":1,"write_bytes":2},"interfaces":{"read_bytes":3,"write_bytes":4}"#;
        let ssh = r#","transport":"SSH""#;
        assert_eq!(passage_of("fuse.sshfs", ssh, fuse, 0), Some((Some(2), Some(3))));
        assert_eq!(passage_of("fuse.sshfs", ssh, fuse, 1), Some((Some(1), Some(4))));
        // For this file system, it is unknown whether the network is involved and what the kernel counts for
        // the daemon.
        assert_eq!(passage_of("fuse.other", "", fuse, 0), Some((None, None)));
        let nfs = r#""server":{"read_bytes":5,"write_bytes":6}"#;
        assert_eq!(passage_of("nfs4", r#","transport":"NFS 4.2""#, nfs, 1), Some((Some(6), Some(6))));
        assert_eq!(passage_of("ext4", "", fuse, 0), None);
    }

    #[test]
    fn stages_have_their_own_mounts() {
        let text = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"a","groupid":0,"read":{"total_ios":1,"io_bytes":9}},
            {"jobname":"b","groupid":1,"read":{"total_ios":1,"io_bytes":9}}],
            "fathom host":{"file_systems":[{"directory":"/l","kind":"ext4"},{"directory":"/m","kind":"fuse.sshfs","transport":"SSH"}]},
            "fathom stages":[{"groups":[0],"mounts":[{"directory":"/m","interfaces":{"read_bytes":7}}]},
            {"groups":[1],"disk_util":[{"name":"sda"}]}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let bytes = |index: usize| {
            let evidence = Evidence::of(&run, index);
            evidence.passage(&evidence.mount()?, 0)?.network_bytes
        };
        assert_eq!((bytes(0), bytes(1)), (Some(7), None));
        assert!(Evidence::of(&run, 1).mount().is_none() && Mount::of_run(&run).is_none());
        // A device that was tested directly has no file system.
        let device = text
            .replace(r#"{"directory":"/l","kind":"ext4"},"#, "")
            .replace("\"fathom host\":{", r#""fathom host":{"devices":[{"name":"sda"}],"#);
        let run = fathom_results::parse(&device, "text").expect("reads");
        assert!(Evidence::of(&run, 0).mount().is_some() && Evidence::of(&run, 1).mount().is_none());
    }

    #[test]
    fn half_of_the_bytes_decide() {
        let passage = |client_bytes, network_bytes| Passage {
            direction: 0,
            job_bytes: 100,
            client_bytes,
            network_bytes,
        };
        assert!(
            passage(Some(49), None).stayed_in_page_cache() && !passage(Some(50), None).stayed_in_page_cache()
        );
        assert!(passage(None, Some(49)).stayed_on_machine() && !passage(Some(0), None).stayed_on_machine());
        assert!(
            passage(None, Some(250)).network_sentence().is_some_and(|text| text.contains("fetched more"))
        );
    }
}
