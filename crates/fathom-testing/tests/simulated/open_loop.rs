//! Open loops against analytical results: the effect of a stalling device on I/Os that keep arriving, and the
//! formulas of single-server queues.

use fathom_stats::Direction;
use fathom_stats::arrivals::ArrivalsReport;
use fathom_testing::behaviour::{Behaviour, Service};
use fathom_testing::run::{BEGIN_NS, Simulated, run};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn arrivals(run: &Simulated) -> ArrivalsReport {
    run.arrivals().and_then(|all| all[Direction::Read].snapshot(0)).expect("an open loop")
}

fn percentile(arrivals: &ArrivalsReport, percent: f64) -> f64 {
    arrivals.response.histogram.percentiles(&[percent])[0] as f64
}

/// Within 1 %.
#[track_caller]
fn assert_close(what: &str, found: f64, truth: f64) {
    assert!((found - truth).abs() <= 0.01 * truth, "{what}: {found} instead of {truth}");
}

/// Nothing completes for one second in every five.
fn stalling() -> Behaviour {
    let begin = |number: u64| BEGIN_NS + number * 5 * SECOND + 2 * SECOND;
    Behaviour {
        stalls: (0..12).map(|number| begin(number)..begin(number) + SECOND).collect(),
        ..Behaviour::default()
    }
}

const A_MINUTE: &str = "--rw=randread --bs=4k --size=100m --time_based --runtime=60s --rate_iops=1000";

#[test]
fn stalls_have_the_response_times_that_arithmetic_gives() {
    for depth in [1, 16, 4000] {
        let run = run(&format!("{A_MINUTE} --open_loop=1 --iodepth={depth}"), stalling());
        let arrivals = arrivals(&run);
        assert_eq!((arrivals.due(), arrivals.waiting), (60_000, 0), "depth {depth}");
        // A fifth of the I/Os arrive during the stall, evenly over a second; with one slot, catching up takes
        // another ninth of a second.
        let (waits, longest) = if depth == 1 { (1000.0 + 1000.0 / 9.0, 1000.0) } else { (1000.0, 1000.0) };
        for percent in [50.0, 75.0] {
            assert_close("usual", percentile(&arrivals, percent), 0.1 * MS as f64);
        }
        for percent in [90.0, 95.0, 99.0, 99.9] {
            // Number of I/Os in five seconds that take longer.
            let slower = 5000.0 * (100.0 - percent) / 100.0;
            let truth = longest * (1.0 - slower / waits);
            assert_close(
                &format!("depth {depth}, {percent} %"),
                percentile(&arrivals, percent),
                truth * MS as f64,
            );
        }
        if depth == 16 {
            // Sixteen are in flight, and the others wait.
            assert_close("backlog", arrivals.mean_backlog(), 984.0 * 984.0 / 2.0 / 5000.0);
            assert!(arrivals.highest_backlog.abs_diff(1000 - 16) <= 1, "{}", arrivals.highest_backlog);
        }
    }
}

#[test]
fn a_closed_loop_does_not_see_the_stalls() {
    let run = run(&format!("{A_MINUTE} --iodepth=1"), stalling());
    assert!(run.arrivals().is_none());
    let latencies = run.samples().directions[Direction::Read].clat.snapshot();
    let p99_9 = latencies.histogram.percentiles(&[99.9])[0];
    // The correct value is 995 ms: twelve I/Os waited for those that never completed.
    assert!(p99_9 < MS, "{p99_9}");
}

/// Random arrivals at a server with a utilization of one half and a mean service time of 1 ms.
fn one_server(service: Service, depth: u32, count: u64) -> ArrivalsReport {
    let device = Behaviour { service, channels: 1, ..Behaviour::default() };
    let words = format!(
        "--rw=randread --bs=4k --size=4g --norandommap --rate_iops=500 --rate_process=poisson --open_loop=1 \
         --number_ios={count} --iodepth={depth}"
    );
    arrivals(&run(&words, device))
}

#[test]
fn the_response_times_of_a_queue_with_exponential_service_are_those_of_the_formula() {
    let arrivals = one_server(Service::Exponential(MS), 8, 200_000);
    // M/M/1: exponential with mean 1 / (1000 - 500).
    assert_close("mean", arrivals.response.mean_ns(), 2.0 * MS as f64);
    for percent in [50.0, 90.0, 99.0] {
        let share = 100.0 * (1.0 - (-percentile(&arrivals, percent) / (2.0 * MS as f64)).exp());
        assert_close(&format!("{percent} %"), share, percent);
    }
}

#[test]
fn the_response_times_of_a_queue_with_fixed_service_are_those_of_the_formula() {
    let arrivals = one_server(Service::Fixed(MS), 1, 200_000);
    assert_close("mean", arrivals.response.mean_ns(), 1.5 * MS as f64);
    for percent in [60.0, 90.0, 99.0] {
        let waiting = percentile(&arrivals, percent) / MS as f64 - 1.0;
        assert_close(&format!("{percent} %"), 100.0 * waits_up_to(waiting, 0.5), percent);
    }
    // Little's law: the mean number waiting equals the arrivals during the mean wait.
    assert_close("backlog", arrivals.mean_backlog(), 0.5 * 0.5);
}

/// M/D/1: the share of arrivals that wait at most this many service times.
fn waits_up_to(time: f64, load: f64) -> f64 {
    let term = |k: u32| {
        let over = load * (f64::from(k) - time);
        over.powi(k as i32) / (1..=k).map(f64::from).product::<f64>() * (-over).exp()
    };
    (1.0 - load) * (0..=time as u32).map(term).sum::<f64>()
}

#[test]
fn what_waits_at_the_end_counts_with_its_time_so_far() {
    // 2000 arrivals per second with a service rate of 1000: half of them are waiting after ten seconds.
    let device = Behaviour { service: Service::Fixed(MS), channels: 1, ..Behaviour::default() };
    let words = "--rw=randread --bs=4k --size=100m --time_based --runtime=10s --rate_iops=2000 --open_loop=1 --iodepth=4";
    let arrivals = arrivals(&run(words, device));
    assert_close("due", arrivals.due() as f64, 20_000.0);
    assert_close("waiting", arrivals.waiting as f64, 10_000.0);
    assert_eq!(arrivals.response.count, arrivals.due());
    // The waits of started arrivals are uniform from 0 to 5 s, as are those of the arrivals that never started.
    assert_close("median", percentile(&arrivals, 50.0), 2.5 * SECOND as f64);
    assert_close("backlog", arrivals.mean_backlog(), 5_000.0);
}

#[test]
fn a_job_with_an_end_leaves_nothing_waiting() {
    let device = Behaviour { service: Service::Fixed(10 * MS), channels: 1, ..Behaviour::default() };
    for amount in ["--size=400k", "--size=4m --number_ios=100"] {
        let run = run(
            &format!("--rw=read --bs=4k {amount} --rate_iops=1m --open_loop=1 --iodepth=3"),
            device.clone(),
        );
        let arrivals = arrivals(&run);
        assert_eq!((arrivals.due(), arrivals.waiting, arrivals.response.count), (100, 0, 100), "{amount}");
        assert_eq!(arrivals.highest_backlog, 97, "{amount}");
    }
}

#[test]
fn a_ramp_leaves_its_backlog_and_none_of_its_counts() {
    let device = Behaviour { service: Service::Fixed(MS), channels: 1, ..Behaviour::default() };
    let words = "--rw=randread --bs=4k --size=100m --time_based --ramp_time=2s --runtime=2s --rate_iops=2000 --open_loop=1";
    let arrivals = arrivals(&run(words, device));
    // 2000 are waiting at the end of the ramp, 4000 at the end of the run.
    assert_close("waiting", arrivals.waiting as f64, 4000.0);
    assert_close("backlog", arrivals.mean_backlog(), 3000.0);
    assert_close("started", arrivals.start_delay.count as f64, 2000.0);
    assert_close("longest", arrivals.response.max_ns as f64, 2.0 * SECOND as f64);
}

#[test]
fn faults_and_refusals_move_no_due_time() {
    let device = Behaviour {
        service: Service::Uniform(50_000..9 * MS),
        short_permille: 100,
        refused_permille: 100,
        failing_permille: 20,
        ends_rare_ones_at_once: true,
        ..Behaviour::default()
    };
    let words = "--rw=randrw --bs=4k --size=40m --rate_iops=3000,1000 --rate_process=gamma:2 --open_loop=1 --iodepth=32 \
                 --fsync=20 --continue_on_error=all --serialize_overlap=1 --number_ios=8000";
    let run = run(words, device);
    let all = run.arrivals().expect("an open loop");
    let counts = [Direction::Read, Direction::Write].map(|direction| {
        let arrivals = all[direction].snapshot(0).expect("both");
        assert_eq!(arrivals.waiting, 0);
        let served = run.samples().directions[direction].lat.count();
        assert_eq!((arrivals.start_delay.count, arrivals.response.count), (served, served));
        served
    });
    assert!((7_700..7_950).contains(&(counts[0] + counts[1])), "a few of 8000 fail: {counts:?}");
    assert!(
        (2.7..3.3).contains(&(counts[0] as f64 / counts[1] as f64)),
        "three reads for a write: {counts:?}"
    );
}
