//! Various jobs, whose reports are compared with those of an installed fio: the same lines, the same keys.

use crate::support::compare::{Case, expect_ios};
use crate::support::program::{self, Launch};
use crate::support::{KIB, MIB, file_of, scratch};

/// A job without a device, with 256 I/Os by default.
fn null(words: &str) -> serde_json::Value {
    Case::new(format!("--ioengine=null --size=1M --bs=4k {words}")).check()
}

#[test]
fn directions() {
    expect_ios(&null("--name=a --rw=write"), &["write"], 256, 4096);
    expect_ios(&null("--name=a --rw=randwrite"), &["write"], 256, 4096);
    expect_ios(&null("--name=a --rw=readwrite"), &["read", "write"], 256, 4096);
    expect_ios(&null("--name=a --rw=randrw --rwmixread=80"), &["read", "write"], 256, 4096);
}

#[test]
fn block_sizes() {
    expect_ios(&null("--name=a --rw=read --bs=16k"), &["read"], 64, 16 * KIB);
    null("--name=a --rw=randrw --bs=4k,8k");
    null("--name=a --rw=randread --bsrange=4k-16k");
    null("--name=a --rw=randread --bssplit=4k/50:8k/50");
}

#[test]
fn clones_and_groups() {
    expect_ios(&null("--name=a --rw=read --numjobs=3"), &["read"], 768, 4096);
    expect_ios(&null("--name=a --rw=read --numjobs=3 --group_reporting"), &["read"], 768, 4096);
    null("--name=a --rw=read --name=b --rw=write --stonewall --name=c --rw=randrw --new_group");
    null("--name=a --rw=read --thread=1 --name=b --rw=write");
    null("--name=a --rw=read --thread=1 --numjobs=2");
}

#[test]
fn percentiles() {
    null("--name=a --rw=read --percentile_list=50:99:99.9");
    null("--name=a --rw=randrw --iodepth=4 --lat_percentiles=1 --slat_percentiles=1");
    null("--name=a --rw=read --clat_percentiles=0");
}

#[test]
fn units_and_figures() {
    null("--name=a --rw=read --kb_base=1000");
    null("--name=a --rw=read --unit_base=1");
    null("--name=a --rw=read --significant_figures=6");
}

#[test]
fn latencies_left_out() {
    null("--name=a --rw=read --disable_lat=1");
    null("--name=a --rw=read --iodepth=4 --disable_slat=1");
    null("--name=a --rw=read --disable_clat=1");
    null("--name=a --rw=read --gtod_reduce=1");
}

#[test]
fn what_a_job_is_called() {
    null("--name=a --rw=read --description=words");
    null("--description=words --name=a --rw=read --name=b --rw=write");
}

#[test]
fn tolerated_errors() {
    null("--name=a --rw=read --continue_on_error=all");
    Case::new("--name=full --filename=/dev/full --rw=read --bs=4k --size=64k --continue_on_error=all")
        .check();
}

#[test]
fn directions_as_one() {
    built!("--name=a --ioengine=null --size=4k --unified_rw_reporting=mixed");
    null("--name=a --rw=randrw --unified_rw_reporting=mixed");
}

#[test]
fn deep_queues() {
    expect_ios(&null("--name=a --rw=randread --iodepth=16"), &["read"], 256, 4096);
    null("--name=a --rw=randread --iodepth=16 --iodepth_batch=8 --iodepth_batch_complete_min=4");
}

#[test]
fn syncs() {
    let words = "--name=a --filename=data --rw=write --bs=4k --size=256k";
    for more in ["--fsync=4", "--fdatasync=8", "--end_fsync=1"] {
        Case::new(format!("{words} {more}")).check();
    }
    Case::new(format!("{words} --ioengine=libaio --iodepth=4 --fsync=8")).check();
}

#[test]
fn several_files() {
    let document = Case::new("--name=a --rw=randread --bs=4k --size=256k --nrfiles=4").check();
    expect_ios(&document, &["read"], 64, 4096);
    let document = Case::new("--name=a --filename=x:y --rw=write --bs=4k --size=256k").check();
    expect_ios(&document, &["write"], 64, 4096);
}

#[test]
fn existing_files() {
    let case = Case::new("--name=a --filename=data --rw=randread --bs=4k");
    let document = case.prepare(|directory| drop(file_of(directory, "data", MIB))).check();
    expect_ios(&document, &["read"], 256, 4096);
}

#[test]
fn every_synchronous_engine() {
    for engine in ["sync", "psync", "pvsync", "pvsync2", "mmap"] {
        let words = format!("--name=a --filename=data --rw=randrw --bs=4k --size=256k --ioengine={engine}");
        expect_ios(&Case::new(words).check(), &["read", "write"], 64, 4096);
    }
}

#[test]
fn limits() {
    expect_ios(&null("--name=a --rw=read --number_ios=10"), &["read"], 10, 4096);
    expect_ios(&null("--name=a --rw=read --loops=2"), &["read"], 512, 4096);
    expect_ios(&null("--name=a --rw=read --io_size=2M"), &["read"], 512, 4096);
    null("--name=a --rw=read --thinktime=100");
}

/// Programs that store the document of each run rely on its size.
#[test]
fn a_long_run_has_a_document_of_about_the_size_of_fio() {
    fathom_only!();
    let reference = require!(program::reference());
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=1g --rw=randrw --rate_iops=100 --time_based --runtime=30 --output-format=json";
    let [ours, theirs] = [&program::path(), &reference]
        .map(|program| Launch::of(program, directory.path()).words(words).start())
        .map(|running| running.finish().expect_clean().stdout.len());
    assert!(ours <= 2 * theirs, "{ours} bytes, and fio has {theirs}");
}
