//! Network and FUSE file systems: information that their names provide, and their traffic while jobs ran.

use serde::{Deserialize, Serialize};

/// The kernel's names of network file systems, with the protocols of their clients.
const OF_SERVERS: [(&str, &str); 41] = [
    ("9p", "9P"),
    ("afs", "AFS"),
    ("beegfs", "BeeGFS"),
    ("ceph", "Ceph"),
    ("cifs", "SMB"),
    ("coda", "Coda"),
    ("glusterfs", "GlusterFS"),
    ("gpfs", "GPFS"),
    ("lustre", "Lustre (LNet)"),
    ("ncpfs", "NCP"),
    ("nfs", "NFS"),
    ("nfs4", "NFS"),
    ("orangefs", "OrangeFS"),
    ("panfs", "PanFS"),
    ("prl_fs", "its hypervisor"),
    ("pvfs2", "PVFS"),
    ("smb3", "SMB"),
    ("smbfs", "SMB"),
    ("vboxsf", "its hypervisor"),
    ("virtiofs", "virtio"),
    ("wekafs", "Weka"),
    ("fuse.alluxio-fuse", "Alluxio"),
    ("fuse.blobfuse", "HTTP"),
    ("fuse.blobfuse2", "HTTP"),
    ("fuse.ceph-fuse", "Ceph"),
    ("fuse.cubefs", "CubeFS"),
    ("fuse.curlftpfs", "FTP"),
    ("fuse.cvmfs2", "HTTP"),
    ("fuse.gcsfuse", "HTTP"),
    ("fuse.glusterfs", "GlusterFS"),
    ("fuse.goofys", "HTTP"),
    ("fuse.httpfs", "HTTP"),
    ("fuse.juicefs", "object storage and a metadata engine"),
    ("fuse.lizardfs", "LizardFS"),
    ("fuse.moosefs", "MooseFS"),
    ("fuse.rclone", "the protocol of its remote"),
    ("fuse.s3fs", "HTTP"),
    ("fuse.seaweedfs", "SeaweedFS (HTTP)"),
    ("fuse.smbnetfs", "SMB"),
    ("fuse.sshfs", "SSH"),
    ("fuse.vmhgfs-fuse", "its hypervisor"),
];

/// Protocols of file systems that the kernel reports only as `fuse`, by the name of their source.
const PLAIN_FUSE: [(&str, &str); 2] = [("mountpoint-s3", "HTTP"), ("mfsmaster", "MooseFS")];

/// Mount options that name the transport to the server, for NFS and 9P.
const WAYS: [&str; 2] = ["proto", "trans"];

/// True for a FUSE file system, which a user-space process serves.
pub fn is_in_user_space(kind: &str) -> bool {
    kind == "fuse" || kind == "fuseblk" || kind.starts_with("fuse.")
}

/// Returns the protocol between client and server, as far as type, source and mount options show it: `SSH`,
/// `NFS 4.2 over tcp`. `None` for a file system that is not known to have a server.
pub fn transport(kind: &str, source: &str, options: &str) -> Option<String> {
    let own = OF_SERVERS.iter().find(|(name, _)| *name == kind);
    let by_source = || PLAIN_FUSE.iter().find(|(start, _)| kind == "fuse" && source.starts_with(start));
    let Some((_, name)) = own.or_else(by_source) else {
        // The source is a URL, for example with davfs2.
        let (scheme, _) = source.split_once("://").filter(|_| is_in_user_space(kind))?;
        let scheme = scheme.rsplit(['#', ' ']).next()?;
        return Some(scheme.to_uppercase());
    };
    let mut text = (*name).to_owned();
    if let Some(version) = option(options, "vers").filter(|_| !is_in_user_space(kind)) {
        text.push_str(&format!(" {version}"));
    }
    if let Some(way) = WAYS.iter().find_map(|name| option(options, name)) {
        text.push_str(&format!(" over {way}"));
    }
    Some(text)
}

/// Returns the value of a mount option.
pub fn option<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    options.split([',', ' ']).find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
}

/// Traffic of a network or FUSE file system while jobs ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MountReport {
    /// Mount point.
    pub directory: String,
    /// Number of bytes that the serving process read and wrote, including its communication with the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<MovedBytes>,
    /// Number of bytes of all programs that the network interfaces in that process's network namespace received
    /// and sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<MovedBytes>,
    /// Number of bytes that the kernel's client read from the server and wrote to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<MovedBytes>,
}

impl MountReport {
    /// True if no traffic could be counted.
    pub fn is_empty(&self) -> bool {
        self.daemon.is_none() && self.interfaces.is_none() && self.server.is_none()
    }
}

/// Numbers of incoming and outgoing bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MovedBytes {
    /// Number of bytes read or received.
    pub read_bytes: u64,
    /// Number of bytes written or sent.
    pub write_bytes: u64,
}

impl MovedBytes {
    /// Returns the bytes counted since `before`; `None` if the counters were reset.
    pub fn since(self, before: MovedBytes) -> Option<MovedBytes> {
        Some(MovedBytes {
            read_bytes: self.read_bytes.checked_sub(before.read_bytes)?,
            write_bytes: self.write_bytes.checked_sub(before.write_bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_spoken() {
        let spoken = |kind: &str, source: &str, options: &str| transport(kind, source, options);
        assert_eq!(spoken("fuse.sshfs", "me@host:/data", "rw").as_deref(), Some("SSH"));
        let options = "rw,relatime rw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp,timeo=600";
        assert_eq!(spoken("nfs4", "server:/export", options).as_deref(), Some("NFS 4.2 over tcp"));
        assert_eq!(
            spoken("nfs", "server:/export", "rw,vers=3,proto=rdma").as_deref(),
            Some("NFS 3 over rdma")
        );
        assert_eq!(spoken("cifs", "//server/share", "rw,vers=3.1.1").as_deref(), Some("SMB 3.1.1"));
        assert_eq!(spoken("9p", "host0", "rw,trans=virtio").as_deref(), Some("9P over virtio"));
        assert_eq!(spoken("fuse", "mountpoint-s3", "rw").as_deref(), Some("HTTP"));
        assert_eq!(spoken("fuse", "https://cloud/dav", "rw").as_deref(), Some("HTTPS"));
        assert_eq!(spoken("fuse.x", "curlftpfs#ftp://host/", "rw").as_deref(), Some("FTP"));
        assert_eq!(spoken("ext4", "/dev/vda1", "rw"), None);
        assert_eq!(spoken("fuse.bindfs", "/data", "rw"), None);
    }

    #[test]
    fn names_are_there_once_and_in_order() {
        let own = |fuse: bool| {
            OF_SERVERS.iter().map(|(name, _)| *name).filter(move |name| name.starts_with("fuse") == fuse)
        };
        assert!(own(true).is_sorted_by(|a, b| a < b) && own(false).is_sorted_by(|a, b| a < b));
        assert!(OF_SERVERS.iter().filter(|(name, _)| is_in_user_space(name)).count() > 10);
    }

    #[test]
    fn counters_that_began_anew_say_nothing() {
        let [before, now] = [10, 30].map(|bytes| MovedBytes { read_bytes: bytes, write_bytes: 2 * bytes });
        assert_eq!(now.since(before), Some(MovedBytes { read_bytes: 20, write_bytes: 40 }));
        assert_eq!(before.since(now), None);
    }
}
