//! Persistent memory: `libpmem` on a file system with DAX, `dev-dax` on a device.

use super::{device, expect_sizes_of_fio, run, tool};
use crate::support::{FILLING, MIB, file_of, scratch};

/// Write modes: through the cache and non-temporal, drained at the end and after each write.
const WAYS: [&str; 4] = ["", "--direct=1", "--sync=1", "--direct=1 --sync=1"];

/// A file system with DAX, unmounted on drop.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new() -> Result<Mount, String> {
        let device = device("pmem")?;
        let directory = scratch();
        // DAX requires page-sized blocks.
        tool("mkfs.ext4", &format!("-q -F -b 4096 {device}"));
        tool("mount", &format!("-o dax {device} {}", directory.path().display()));
        Ok(Mount(directory))
    }

    fn file(&self) -> String {
        self.0.path().join("file").display().to_string()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        tool("umount", &self.0.path().display().to_string());
    }
}

#[test]
fn files_are_written_read_and_verified() {
    let mount = require!(Mount::new());
    for way in WAYS {
        for more in [
            "--rw=write --bs=64k",
            "--rw=randwrite --bs=500",
            "--rw=randrw --bs=4k --thread --numjobs=2 --offset_increment=1m",
            "--rw=write --bs=4k --fsync=8",
        ] {
            run(&mount.file(), &format!("--ioengine=libpmem --size=1m --verify=crc32c {way} {more}"))
                .expect_clean();
        }
    }
    // The data is visible to all processes.
    run(&mount.file(), "--ioengine=libpmem --rw=write --bs=4k --size=1m --buffer_pattern=0x5a")
        .expect_clean();
    let content = std::fs::read(mount.file()).expect("a file");
    assert!(content[..MIB as usize].iter().all(|byte| *byte == FILLING));
}

#[test]
fn a_device_is_written_read_and_verified() {
    let device = require!(device("dax"));
    for way in ["", "--sync=1"] {
        for more in [
            "--rw=write --bs=64k",
            "--rw=randwrite --bs=500",
            "--rw=randrw --bs=4k --thread --numjobs=2 --offset_increment=1m",
            "--rw=write --bs=4k --offset=12k --fsync=8",
        ] {
            run(&device, &format!("--ioengine=dev-dax --size=1m --verify=crc32c {way} {more}"))
                .expect_clean();
        }
    }
    run(&device, "--ioengine=dev-dax --rw=write --bs=4k --size=1m --buffer_pattern=0x77").expect_clean();
    // The next job finds it.
    run(&device, "--ioengine=dev-dax --rw=read --bs=4k --size=1m --verify=pattern --verify_pattern=0x77")
        .expect_clean();
}

#[test]
fn the_size_is_that_of_the_device() {
    let device = require!(device("dax"));
    let sizes = ["", "--size=100g", "--size=2m --offset=2m"];
    require!(expect_sizes_of_fio(&device, "--ioengine=dev-dax --bs=1m", &sizes));
}

#[test]
fn only_persistent_memory_is_a_target() {
    let (block, dax) = (require!(device("pmem")), require!(device("dax")));
    let directory = scratch();
    let file = file_of(directory.path(), "f", MIB).display().to_string();
    for (engine, target, said) in [
        ("libpmem", file.as_str(), "does not point to persistent memory"),
        ("libpmem", block.as_str(), "is a block device"),
        ("dev-dax", file.as_str(), "is not a DAX device"),
        ("dev-dax", "/dev/null", "is not a DAX device"),
        ("dev-dax", "/dev/dax7.7", "is not a DAX device"),
    ] {
        let finished = run(target, &format!("--ioengine={engine} --rw=write --bs=4k --size=64k"));
        assert_eq!(finished.code(), 1, "{engine} {target}");
        assert!(finished.stderr.contains(said), "{engine} {target}: {}{}", finished.stdout, finished.stderr);
    }
    assert!(std::fs::read(&file).expect("a file").iter().all(|byte| *byte == FILLING));
    let trimmed = run(&dax, "--ioengine=dev-dax --rw=trim --bs=4k --size=64k");
    assert!(trimmed.stdout.contains("err=22"), "{}", trimmed.stdout);
}

#[test]
fn the_example_of_fio_for_devices_runs() {
    require!(super::example("dev-dax", &require!(device("dax")), "4m")).expect_clean();
}
