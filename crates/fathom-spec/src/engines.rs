//! The engines by name: which exist, which are built, and their properties for the option
//! rules.

use crate::definition::{Choice, OptionDef};
use crate::options::private;

/// One I/O engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineDef {
    /// Name, as in `ioengine=`.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether it works in this version.
    pub built: bool,
    /// Completes each I/O before the next begins.
    pub synchronous: bool,
    /// Can write blocks that are never torn.
    pub atomic_writes: bool,
    /// Can trim several ranges with one command.
    pub many_ranges: bool,
    /// Works without files on disk.
    pub without_files: bool,
    /// Can sync whole file systems.
    pub syncfs: bool,
    /// Moves no data: its jobs are background load for others.
    pub without_data: bool,
    /// Can pass data placement hints to a device.
    pub places_data: bool,
}

impl EngineDef {
    const fn new(name: &'static str, summary: &'static str) -> Self {
        EngineDef {
            name,
            summary,
            built: false,
            synchronous: false,
            atomic_writes: false,
            many_ranges: false,
            without_files: false,
            syncfs: false,
            without_data: false,
            places_data: false,
        }
    }

    const fn built(self) -> Self {
        EngineDef { built: true, ..self }
    }

    const fn synchronous(self) -> Self {
        EngineDef { synchronous: true, ..self }
    }

    const fn atomic_writes(self) -> Self {
        EngineDef { atomic_writes: true, ..self }
    }

    const fn many_ranges(self) -> Self {
        EngineDef { many_ranges: true, ..self }
    }

    const fn without_files(self) -> Self {
        EngineDef { without_files: true, ..self }
    }

    const fn without_data(self) -> Self {
        EngineDef { without_data: true, ..self }
    }

    const fn places_data(self) -> Self {
        EngineDef { places_data: true, ..self }
    }

    const fn syncfs(self) -> Self {
        EngineDef { syncfs: true, ..self }
    }

    /// The options that only this engine understands.
    pub fn options(&self) -> &'static [OptionDef] {
        private::of_engine(self.name)
    }
}

/// Every engine that job files may name.
pub const ALL: &[EngineDef] = &[
    EngineDef::new("sync", "lseek(2), then read(2) or write(2)").built().synchronous().syncfs(),
    EngineDef::new("psync", "pread(2) and pwrite(2); the default").built().synchronous().syncfs(),
    EngineDef::new("vsync", "readv(2) and writev(2) over adjacent blocks").built().synchronous().syncfs(),
    EngineDef::new("pvsync", "preadv(2) and pwritev(2)").built().synchronous().syncfs(),
    EngineDef::new("pvsync2", "preadv2(2) and pwritev2(2) with flags")
        .built()
        .synchronous()
        .atomic_writes()
        .syncfs(),
    EngineDef::new("mmap", "memory copies to and from a mapping of the file").built().synchronous(),
    EngineDef::new("libaio", "Linux native asynchronous I/O (io_submit)").built().atomic_writes().syncfs(),
    EngineDef::new("io_uring", "Linux io_uring: asynchronous I/O through shared rings")
        .built()
        .atomic_writes(),
    EngineDef::new("posixaio", "POSIX asynchronous I/O").built().syncfs(),
    EngineDef::new("null", "no I/O at all; completes at once").built().without_files(),
    EngineDef::new("io_uring_cmd", "NVMe and SCSI pass-through over io_uring")
        .many_ranges()
        .syncfs()
        .places_data(),
    EngineDef::new("splice", "splice(2) and vmsplice(2) through a pipe").synchronous(),
    EngineDef::new("sg", "SCSI generic").synchronous(),
    EngineDef::new("net", "sockets").synchronous().without_files(),
    EngineDef::new("netsplice", "sockets with splice(2)").synchronous().without_files(),
    EngineDef::new("cpuio", "burns CPU time").built().synchronous().without_files().without_data(),
    EngineDef::new("exec", "runs a program").synchronous().without_files(),
    EngineDef::new("page_fault", "touches anonymous memory").synchronous().without_files(),
    EngineDef::new("falloc", "fallocate calls").synchronous().syncfs(),
    EngineDef::new("ftruncate", "sets the file size").synchronous(),
    EngineDef::new("e4defrag", "moves ext4 extents").synchronous(),
    EngineDef::new("mtd", "flash memory character devices").synchronous(),
    EngineDef::new("filecreate", "creates files").synchronous(),
    EngineDef::new("filestat", "stats files").synchronous(),
    EngineDef::new("filedelete", "deletes files").synchronous(),
    EngineDef::new("dircreate", "creates directories").synchronous(),
    EngineDef::new("dirstat", "stats directories").synchronous(),
    EngineDef::new("dirdelete", "deletes directories").synchronous(),
    EngineDef::new("libpmem", "persistent memory through PMDK").synchronous(),
    EngineDef::new("dev-dax", "device DAX through PMDK").synchronous(),
    EngineDef::new("rbd", "Ceph block devices"),
    EngineDef::new("rados", "Ceph objects"),
    EngineDef::new("gfapi", "Gluster").synchronous(),
    EngineDef::new("gfapi_async", "Gluster, asynchronous"),
    EngineDef::new("libhdfs", "Hadoop file system").synchronous(),
    EngineDef::new("http", "objects over HTTP: WebDAV, S3, Swift").synchronous(),
    EngineDef::new("nbd", "network block device"),
    EngineDef::new("nfs", "NFS through libnfs"),
    EngineDef::new("dfs", "DAOS file system"),
    EngineDef::new("libiscsi", "iSCSI through libiscsi"),
    EngineDef::new("libblkio", "block devices through libblkio"),
    EngineDef::new("xnvme", "NVMe through xNVMe").places_data(),
    EngineDef::new("ime_psync", "Infinite Memory Engine").synchronous(),
    EngineDef::new("ime_psyncv", "Infinite Memory Engine, vectored").synchronous(),
    EngineDef::new("ime_aio", "Infinite Memory Engine, asynchronous"),
    EngineDef::new("libcufile", "GPUDirect storage").synchronous(),
    EngineDef::new("libhipfile", "ROCm storage").synchronous(),
    EngineDef::new("libzbc", "zoned devices through libzbc").synchronous(),
    EngineDef::new("rdma", "RDMA between hosts"),
    EngineDef::new("solarisaio", "Solaris native asynchronous I/O"),
    EngineDef::new("windowsaio", "Windows native asynchronous I/O"),
    EngineDef::new("external", "an engine in a shared object"),
];

/// The names as values of `ioengine`.
pub const CHOICES: &[Choice] = &{
    let mut choices = [Choice { name: "", help: "" }; ALL.len()];
    let mut index = 0;
    while index < ALL.len() {
        choices[index] = Choice { name: ALL[index].name, help: ALL[index].summary };
        index += 1;
    }
    choices
};

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    ALL.iter().find(|engine| engine.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, engine) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.name != engine.name), "{}", engine.name);
        }
    }

    #[test]
    fn private_options_name_an_engine_that_exists() {
        for engine in ALL {
            for option in engine.options() {
                assert!(find(option.engine).is_some(), "{}", option.name);
            }
        }
    }

    #[test]
    fn the_built_engines_are_these() {
        let built: Vec<&str> = ALL.iter().filter(|engine| engine.built).map(|engine| engine.name).collect();
        assert_eq!(
            built,
            [
                "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "libaio", "io_uring", "posixaio",
                "null", "cpuio"
            ]
        );
    }
}
