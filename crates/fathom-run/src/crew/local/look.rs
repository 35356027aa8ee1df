//! Reads a worker's state from the memory shared with this process. The worker is not involved and need not be
//! alive.

use crate::crew::{CheckFigures, DirectionState, Figures, InFlight, SurroundingFigures, WorkerState};
use crate::region::{Region, WorkerBlock};
use crate::unit::Unit;
use fathom_stats::PerDirection;
use fathom_stats::block_errors::BlockErrorSamples;
use fathom_stats::report::{CpuReport, DirectionReport, JobError};
use fathom_stats::samples::{DirectionSamples, LatencySamples};
use fathom_sys::clock::{Clock, monotonic_ns};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum number of readings: a worker that resets its figures during a reading makes the reading invalid.
const TRIES: usize = 3;

/// The current state of a worker.
pub(super) fn state(region: &Region, index: usize) -> WorkerState {
    let waiting = region
        .arrivals(index)
        .map(|arrivals| arrivals.values().map(|direction| direction.waiting.load(Relaxed)).sum());
    WorkerState { waiting: waiting.unwrap_or(0), ..state_of_block(region.worker(index)) }
}

fn state_of_block(block: &WorkerBlock) -> WorkerState {
    let samples = &block.samples;
    WorkerState {
        stage: block.stage(),
        has_failed: block.has_failed(),
        is_broken: block.is_broken(),
        begin_ns: block.begin_ns.load(Relaxed),
        start_ns: block.start_ns.load(Relaxed),
        end_ns: block.end_ns.load(Relaxed),
        deadline_ns: block.deadline_ns.load(Relaxed),
        goal_bytes: block.goal_bytes.load(Relaxed),
        open_files: block.open_files.load(Relaxed),
        epoch: samples.epoch.load(Relaxed),
        tolerated_errors: samples.tolerated_errors.load(Relaxed),
        directions: samples.directions.each_ref().map(direction_state),
        syncs: samples.sync.count(),
        longest_sync_ns: samples.sync.max_ns(),
        checked_reads: block.verification.checked_reads.load(Relaxed),
        waiting: 0,
    }
}

fn direction_state(samples: &DirectionSamples) -> DirectionState {
    if samples.is_unused() {
        return DirectionState::default();
    }
    DirectionState {
        bytes: samples.bytes.load(Relaxed),
        ios: samples.completed.load(Relaxed),
        latencies: samples.clat.count(),
        latency_sum_ns: samples.clat.sum_ns(),
        longest_latency_ns: samples.clat.max_ns(),
    }
}

/// The units that are in flight.
pub(super) fn in_flight(units: &[Unit], clock: Clock) -> Vec<InFlight> {
    let now = clock.ticks();
    let describe = |unit: &Unit| InFlight {
        operation: unit.operation(),
        file: unit.file(),
        offset: unit.offset(),
        length: unit.length(),
        age_ns: clock.span_ns(now.saturating_sub(unit.start())),
    };
    units.iter().filter(|unit| unit.is_in_flight()).map(describe).collect()
}

/// All counters of a worker.
pub(super) fn figures(region: &Region, index: usize) -> Figures {
    let block = region.worker(index);
    for _ in 1..TRIES {
        let figures = figures_now(region, index);
        if block.samples.epoch.load(Relaxed) == figures.state.epoch {
            return figures;
        }
    }
    figures_now(region, index)
}

fn figures_now(region: &Region, index: usize) -> Figures {
    let (block, priorities) = (region.worker(index), region.priorities(index));
    let taken_ns = monotonic_ns();
    let samples = &block.samples;
    let [user_us, system_us, context_switches, major_faults, minor_faults] = all(&block.usage);
    Figures {
        taken_ns,
        state: state(region, index),
        process: block.pid.load(Relaxed),
        job_start_ms: block.job_start_ms.load(Relaxed),
        error: block.error().map(|(code, text)| JobError { code, text }),
        first_tolerated_error: samples.first_error.load(Relaxed) as i32,
        cpu: CpuReport { user_us, system_us, context_switches, major_faults, minor_faults },
        found_depth: block.found_depth.load(Relaxed),
        zone_resets: samples.zone_resets.load(Relaxed),
        depth_map: all(&samples.depth_map),
        submit_map: all(&samples.submit_map),
        complete_map: all(&samples.complete_map),
        distribution: samples.distribution(),
        directions: PerDirection::from_fn(|direction| {
            let arrivals = region.arrivals(index).and_then(|all| all[direction].snapshot(taken_ns));
            let lat = samples.lat(direction);
            let layers = region.layers().and_then(|layers| layers.stats(index, direction));
            DirectionReport { arrivals, lat, layers, ..counted(&samples.directions[direction]) }
        }),
        sync: samples.sync.snapshot(),
        priorities: priorities.iter().map(LatencySamples::snapshot).collect(),
        block_errors: region.block_errors(index).map(BlockErrorSamples::snapshot),
        checks: CheckFigures {
            bytes: block.verification.checked_bytes.load(Relaxed),
            read_back_ns: block.verification.read_back_until(taken_ns),
            classes: all(&block.verification.classes),
            from_memory_bytes: block.verification.from_memory_bytes.load(Relaxed),
            unknown_source_bytes: block.verification.unknown_source_bytes.load(Relaxed),
            takes_any_run: block.verification.takes_any_run.load(Relaxed) != 0,
            unchecked_blocks: (block.verification.is_accounted.load(Relaxed) != 0)
                .then(|| block.verification.unchecked_blocks.load(Relaxed)),
        },
        lateness: block.lateness.snapshot(),
        surroundings: SurroundingFigures {
            engine_features: block.features(),
            processor_wait_ms: block.surroundings.processor_wait_ms(),
            processors: block.surroundings.processors(),
            limits: block.surroundings.limits(),
            unwritten_bytes: block.unwritten_bytes.load(Relaxed).checked_sub(1),
        },
    }
}

fn counted(samples: &DirectionSamples) -> DirectionReport {
    if samples.is_unused() {
        return DirectionReport::default();
    }
    DirectionReport {
        io_bytes: samples.bytes.load(Relaxed),
        issued: samples.issued.load(Relaxed),
        total_ios: samples.completed.load(Relaxed),
        short_ios: samples.short.load(Relaxed),
        drop_ios: samples.dropped.load(Relaxed),
        slat: samples.slat.snapshot(),
        clat: samples.clat.snapshot(),
        ..DirectionReport::default()
    }
}

fn all<const COUNT: usize>(counters: &[AtomicU64; COUNT]) -> [u64; COUNT] {
    counters.each_ref().map(|counter| counter.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Stage;
    use crate::plan::Plan;
    use crate::unit::Operation;
    use fathom_spec::engines::plain::NULL;
    use fathom_spec::{Outcome, SystemSource, parse};
    use fathom_stats::Direction;
    use fathom_sys::Errno;
    use fathom_sys::clock::VirtualTime;

    fn region() -> Region {
        let words = ["--ioengine=null", "--iodepth=4", "--size=1m", "--name=a"].map(str::to_owned);
        let Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
            panic!("{words:?}")
        };
        let plan = Plan::new(&spec, |_| Some(NULL)).expect("a plan");
        Region::for_plan(&plan).expect("memory")
    }

    #[test]
    fn what_a_worker_counts_is_what_is_seen() {
        let region = region();
        let block = region.worker(0);
        assert_eq!(state(&region, 0), WorkerState::default());
        block.samples.reset();
        let writes = &block.samples.directions[Direction::Write];
        for ns in [100, 300] {
            writes.clat.record(ns, true);
            writes.completed.store(writes.completed.load(Relaxed) + 1, Relaxed);
            writes.bytes.store(writes.bytes.load(Relaxed) + 4096, Relaxed);
        }
        block.samples.sync.record(5000, true);
        block.verification.checked_reads.store(3, Relaxed);
        block.start_ns.store(7, Relaxed);
        block.set_stage(Stage::FinalSync);
        block.fail_in_words(Errno(libc::EIO), "file:fathom, func=test");
        let seen = state(&region, 0);
        let so_far = DirectionState {
            bytes: 8192,
            ios: 2,
            latencies: 2,
            latency_sum_ns: 400,
            longest_latency_ns: 300,
        };
        assert_eq!(
            seen.directions,
            PerDirection::new([DirectionState::default(), so_far, DirectionState::default()])
        );
        assert_eq!((seen.stage, seen.has_failed, seen.start_ns, seen.epoch), (Stage::FinalSync, true, 7, 1));
        assert_eq!((seen.ended(), seen.longest_latency_ns()), (2 + 1 + 3, 5000));
        let figures = figures(&region, 0);
        assert_eq!(figures.state, seen);
        assert_eq!(figures.directions[Direction::Write].clat, writes.clat.snapshot());
        assert_eq!(figures.sync.count, 1);
        assert_eq!(figures.error.map(|error| error.code), Some(libc::EIO));
    }

    #[test]
    fn what_is_in_flight_has_an_age() {
        let region = region();
        let clock = Clock::of_virtual_time(VirtualTime::starting_at(1_000_000));
        region.units(0)[2].aim_sync(Operation::DataSync, 5, 4096, 512, clock.ticks());
        clock.sleep(std::time::Duration::from_nanos(500));
        let waiting = in_flight(region.units(0), clock);
        let [io] = waiting[..] else { panic!("{waiting:?}") };
        assert!(io.age_ns >= 500, "{io:?}");
        let expected = InFlight { operation: Operation::DataSync, file: 5, offset: 4096, length: 512, ..io };
        assert_eq!(io, expected);
    }
}
