//! Start times of I/Os.

use fathom_testing::behaviour::{Behaviour, Service};
use fathom_testing::run::{Simulated, run};

const MS: u64 = 1_000_000;

fn starts(run: &Simulated) -> Vec<u64> {
    let mut starts: Vec<u64> = run.record.served.iter().map(|io| io.queued_ns).collect();
    starts.sort_unstable();
    starts
}

fn gaps(run: &Simulated) -> Vec<u64> {
    starts(run).windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn what_is_due_starts_though_nothing_has_ended() {
    // 100 per second, 200 ms each, eight at a time: the queue is full after eight, and until then each starts
    // when it is due.
    let device = Behaviour { service: Service::Fixed(200 * MS), ..Behaviour::default() };
    let run = run("--rw=randread --bs=4k --size=128k --iodepth=8 --rate_iops=100", device);
    let gaps = gaps(&run);
    assert_eq!(gaps.len(), 31);
    for gap in &gaps[..7] {
        assert!(gap.abs_diff(10 * MS) < MS / 10, "{gaps:?}");
    }
}

#[test]
fn a_look_at_the_time_keeps_nothing_from_starting() {
    // The loop reads the clock every 10 ms, at some rates during the submission of an I/O.
    for rate in 80..140 {
        let service = Service::Fixed(5_000 * MS);
        let device = Behaviour { service, submission_ns: 400_000, ..Behaviour::default() };
        let words = format!("--rw=randread --bs=4k --size=200k --iodepth=64 --rate_iops={rate}");
        let gaps = gaps(&run(&words, device));
        assert!(gaps.iter().all(|gap| gap.abs_diff(1000 * MS / rate) < MS), "{rate}: {gaps:?}");
    }
}

#[test]
fn a_rate_below_the_devices_is_kept() {
    let device = Behaviour { service: Service::Exponential(MS), channels: 0, ..Behaviour::default() };
    let run = run("--rw=randread --bs=4k --size=4m --iodepth=32 --rate_iops=500", device);
    let gaps = gaps(&run);
    assert!(gaps.iter().all(|gap| gap.abs_diff(2 * MS) < MS / 10), "{gaps:?}");
}

#[test]
fn think_times_lie_between_batches() {
    let device = Behaviour { service: Service::Fixed(MS), ..Behaviour::default() };
    let run = run("--rw=read --bs=4k --size=40k --iodepth=1 --thinktime=30ms --thinktime_blocks=5", device);
    let gaps: Vec<u64> = gaps(&run).iter().map(|gap| (gap + MS / 2) / MS).collect();
    assert_eq!(gaps, [1, 1, 1, 1, 31, 1, 1, 1, 1]);
}

#[test]
fn time_ends_a_run_when_it_should() {
    let device = Behaviour { service: Service::Uniform(50_000..150_000), ..Behaviour::default() };
    for words in ["--iodepth=1", "--iodepth=16"] {
        let run = run(
            &format!("--rw=randread --bs=4k --size=1m --time_based --runtime=60s {words}"),
            device.clone(),
        );
        let span = run.span_ns();
        assert!((60_000 * MS..60_001 * MS).contains(&span), "{span}");
    }
}
