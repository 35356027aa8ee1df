//! Mixed random I/O of depth 32 on files and on a bare device, through each of the asynchronous engines.

use crate::support::compare::{Case, expect_ios};
use crate::support::devices::{LoopDevice, Mounted};
use crate::support::{MIB, json};
use std::path::Path;

const SIZE: u64 = 8 * MIB;
const BLOCK: u64 = 4096;

fn words(engine: &str, file: &str) -> String {
    format!(
        "--name=fiotest --filename={file} --size=8M --rw=randrw --bs=4Kb --direct=1 --ioengine={engine} \
         --iodepth=32 --startdelay=1 --group_reporting --runtime=30"
    )
}

#[track_caller]
fn check(engine: &str, file: &str) {
    // Every run lays its file out again; a device is not removed.
    let remove = |_: &Path| match Path::new(file).metadata() {
        Ok(metadata) if metadata.is_file() => std::fs::remove_file(file).expect("the file can be removed"),
        _ => (),
    };
    let document = Case::new(words(engine, file)).prepare(remove).check();
    expect_ios(&document, &["read", "write"], SIZE / BLOCK, BLOCK);
    let job = json::job(&document, "fiotest");
    let reads = json::integer(job, "read/total_ios");
    // 2048 tosses of a fair coin fall outside these bounds less than once in 10^18 runs.
    assert!((SIZE / BLOCK * 4 / 10..SIZE / BLOCK * 6 / 10).contains(&reads), "{reads} reads");
    assert_eq!(json::integer(job, "latency_depth"), 32);
}

#[track_caller]
fn check_on_device(engine: &str, device: &LoopDevice) {
    check(engine, device.path().to_str().expect("the path of a device is text"));
}

#[test]
fn posixaio_on_a_file() {
    check("posixaio", "test");
}

#[test]
fn libaio_on_a_file() {
    check("libaio", "test");
}

#[test]
fn io_uring_on_a_file() {
    check("io_uring", "test");
}

#[test]
fn posixaio_on_a_device() {
    check_on_device("posixaio", &require!(LoopDevice::new(SIZE)));
}

#[test]
fn libaio_on_a_device() {
    check_on_device("libaio", &require!(LoopDevice::new(SIZE)));
}

#[test]
fn io_uring_on_a_device() {
    check_on_device("io_uring", &require!(LoopDevice::new(SIZE)));
}

#[test]
fn every_engine_on_ext4() {
    check_on_file_system("ext4");
}

#[test]
fn every_engine_on_xfs() {
    check_on_file_system("xfs");
}

fn check_on_file_system(kind: &str) {
    // XFS requires at least 300 MiB.
    let mounted = require!(Mounted::new(kind, 320 * MIB));
    for engine in ["posixaio", "libaio", "io_uring"] {
        let file = mounted.path().join(engine);
        check(engine, file.to_str().expect("the path of a mount is text"));
        assert_eq!(std::fs::metadata(&file).expect("the file was made").len(), SIZE, "{engine}");
    }
}
