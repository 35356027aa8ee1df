//! Many clones with a combined report: four deep queues with a time limit, ten and a hundred writers without.

use crate::support::compare::{Case, expect_ios};
use crate::support::program::Launch;
use crate::support::{KIB, MIB, json};

#[track_caller]
fn check_deep_queues(name: &str, workload: &str, direction: &str) {
    let document = Case::new(format!(
        "--name={name} --ioengine=io_uring --rw={workload} --bs=4k --direct=1 --size=4M --numjobs=4 \
         --iodepth=64 --group_reporting --runtime=2 --time_based"
    ))
    .check();
    let job = json::job(&document, name);
    let ios = json::integer(job, &format!("{direction}/total_ios"));
    assert!(ios >= 4 * 64, "{ios} I/Os do not fill four queues once");
    assert_eq!(json::integer(job, &format!("{direction}/io_bytes")), ios * 4096);
    assert_eq!(json::integer(job, &format!("{direction}/clat_ns/N")), ios);
    // Longer only on a busy machine; the group has the longest time of its clones.
    let runtime = json::integer(job, &format!("{direction}/runtime"));
    assert!(runtime >= 2000, "{runtime} ms");
    let all = json::integer(job, "job_runtime");
    assert!((8000..=4 * runtime).contains(&all), "{all} ms in all clones, {runtime} in one");
    // Half-second samples of four clones.
    assert!(json::integer(job, &format!("{direction}/bw_samples")) >= 8, "{job}");
    // Each queue is filled before the first wait. The number of I/Os that complete together afterwards depends
    // on the storage.
    let levels = job["iodepth_level"].as_object().expect("shares");
    let shares = levels.values().map(|share| share.as_f64().expect("a share"));
    // The smallest displayed share of a depth is 0.1.
    assert!((99.9..101.0).contains(&shares.sum::<f64>()), "{levels:?}");
    assert!(levels[">=64"].as_f64() > Some(0.0), "{levels:?}");
}

/// If completions are reaped one at a time, every I/O except the first 63 is the 64th in flight, regardless of
/// the storage.
#[test]
fn a_queue_from_which_one_io_at_a_time_is_taken_stays_full() {
    for engine in ["io_uring", "libaio"] {
        let document = Case::new(format!(
            "--name=full --ioengine={engine} --rw=randread --bs=4k --direct=1 --size=4M --iodepth=64 \
             --iodepth_batch_complete_max=1"
        ))
        .check();
        let levels = &json::job(&document, "full")["iodepth_level"];
        assert!(levels[">=64"].as_f64() > Some(93.0), "{engine}: {levels}");
    }
}

#[test]
fn four_clones_read_64_deep() {
    check_deep_queues("random_read_test", "randread", "read");
}

#[test]
fn four_clones_write_64_deep() {
    check_deep_queues("random_write_test", "randwrite", "write");
}

#[test]
fn ten_clones_write() {
    let document = Case::new(
        "--name=formyblog --bs=4K --numjobs=10 --size=1M --rw=randwrite --directory=. --ioengine=libaio \
         --group_reporting --iodepth=16 --direct=1",
    )
    .check();
    expect_ios(&document, &["write"], 10 * MIB / 4096, 4096);
    assert_eq!(document["jobs"].as_array().map(Vec::len), Some(1), "ten clones are one entry");
}

#[test]
fn a_hundred_clones_read_and_write() {
    let document = Case::new(
        "--name=formyblog2 --bs=4K --numjobs=100 --size=256K --rw=readwrite --directory=. --ioengine=libaio \
         --group_reporting --iodepth=256 --direct=1",
    )
    .check();
    expect_ios(&document, &["read", "write"], 100 * 256 * KIB / 4096, 4096);
    assert_eq!(document["jobs"].as_array().map(Vec::len), Some(1), "a hundred clones are one entry");
}

#[test]
fn jobs_without_statistics_are_in_no_total() {
    let directory = crate::support::scratch();
    let words = "--ioengine=null --rw=read --name=seen --size=64k --name=unseen --size=1M --ioengine=null --rw=read --stats=0";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    assert!(finished.stdout.contains("\nseen: (groupid=0"), "{}", finished.stdout);
    assert!(!finished.stdout.contains("\nunseen: (groupid=0"), "{}", finished.stdout);
    let total = finished.stdout.lines().find(|line| line.starts_with("   READ: ")).expect("a total");
    assert!(total.contains("io=64.0KiB (65.5kB)"), "{total}");
}
