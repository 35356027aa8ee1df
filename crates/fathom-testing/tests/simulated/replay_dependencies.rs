//! Replayed block traces with `replay_dependencies`: whatever the device does, an I/O waits for all that its
//! process had completed before, and then for the think time.

use crate::drawn::awkward_device;
use fathom_run::unit::Operation;
use fathom_testing::run::{BEGIN_NS, run};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const BLOCK: u64 = 4096;
/// Virtual time that may pass between the issue of an I/O, as the loop sees it, and its arrival at the device.
const BEFORE_QUEUEING_NS: u64 = 100;

/// A program: the most I/Os that it keeps in flight, and the kind, think time and service time of each I/O, in us.
#[derive(Clone, Debug)]
struct Program {
    depth: usize,
    ios: Vec<(&'static str, u64, u64)>,
}

/// A recorded request; its number is its place.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    process: usize,
    letters: &'static str,
    arrival_us: u64,
    end_us: u64,
}

fn program() -> impl Strategy<Value = Program> {
    let letters = prop::sample::select(vec!["R", "R", "R", "WS", "WS", "FWS"]);
    let ios = prop::collection::vec((letters, 0u64..300, 1u64..500), 1..20);
    (1usize..5, ios).prop_map(|(depth, ios)| Program { depth, ios })
}

/// Runs the programs on a machine that serves all requests in parallel.
fn recorded(programs: &[Program]) -> Vec<Recorded> {
    let mut all = Vec::new();
    for (process, program) in programs.iter().enumerate() {
        let (mut in_flight, mut now) = (BTreeSet::new(), 0);
        for (number, &(letters, think_us, service_us)) in program.ios.iter().enumerate() {
            if in_flight.len() == program.depth
                && let Some((end, _)) = in_flight.pop_first()
            {
                now = now.max(end);
            }
            now += think_us;
            in_flight.retain(|(end, _)| *end > now);
            in_flight.insert((now + service_us, number));
            all.push(Recorded { process, letters, arrival_us: now, end_us: now + service_us });
        }
    }
    all.sort_by_key(|request| request.arrival_us);
    all
}

/// The trace as blkparse prints it. What completes at the time of an arrival completes before it.
fn text(all: &[Recorded]) -> String {
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (number, request) in all.iter().enumerate() {
        events.extend([(request.arrival_us, true, number), (request.end_us, false, number)]);
    }
    events.sort_unstable();
    let mut text = String::new();
    for (time_us, is_arrival, number) in events {
        let (action, process) = if is_arrival { ('Q', all[number].process + 100) } else { ('C', 0) };
        let (seconds, us, sector) = (time_us / 1_000_000, time_us % 1_000_000, number * 8);
        let letters = all[number].letters;
        writeln!(text, "8,0 0 1 {seconds}.{us:06}000 {process} {action} {letters} {sector} + 8 [x]")
            .expect("a string takes everything");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn dependencies_think_times_and_depths_are_kept(
        programs in prop::collection::vec(program(), 1..5),
        device in awkward_device(),
        depth in 1u32..12,
    ) {
        let all = recorded(&programs);
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        std::fs::write(&log, text(&all)).expect("a log");
        let words = format!("--read_iolog={} --replay_redirect=data --replay_dependencies=1 --iodepth={depth}", log.display());
        let run = run(&words, device);
        prop_assert!(!run.hung);
        prop_assert_eq!(run.block().error(), None, "{:?}", run.messages);
        let (mut made, mut syncs) = (BTreeMap::new(), 0);
        for io in run.record.ios() {
            match io.operation {
                Operation::Sync => syncs += 1,
                _ => prop_assert!(made.insert((io.offset / BLOCK) as usize, io).is_none(), "issued twice"),
            }
        }
        prop_assert_eq!(made.len(), all.len(), "{:?}", run.messages);
        prop_assert_eq!(syncs, all.iter().filter(|request| request.letters == "FWS").count());
        for (number, request) in all.iter().enumerate() {
            let own: Vec<usize> = (0..number).filter(|other| all[*other].process == request.process).collect();
            let begin = made[&number].queued_ns;
            let had_ended = |other: &&usize| all[**other].end_us <= request.arrival_us;
            let depth = own.iter().filter(|other| made[*other].ended_ns > begin).count();
            prop_assert!(depth <= own.iter().filter(|other| !had_ended(other)).count(), "request {number}");
            let previous = own.last().map(|other| (all[*other].arrival_us, made[other].queued_ns));
            let last = own.iter().filter(had_ended).max_by_key(|other| all[**other].end_us);
            let after = match (last, previous) {
                (Some(last), Some((arrival_us, _))) if all[*last].end_us > arrival_us => {
                    let ends = own.iter().filter(had_ended).map(|other| made[other].ended_ns);
                    ends.max().unwrap_or(0) + (request.arrival_us - all[*last].end_us) * 1000
                }
                (Some(_), Some((arrival_us, queued_ns))) => {
                    queued_ns - BEFORE_QUEUEING_NS + (request.arrival_us - arrival_us) * 1000
                }
                _ => BEGIN_NS + (request.arrival_us - all[0].arrival_us) * 1000,
            };
            prop_assert!(begin >= after, "request {number} begins {} ns early", after - begin);
            if request.letters == "FWS" {
                prop_assert!(own.iter().all(|other| made[other].ended_ns <= begin), "the flush {number} waits");
            }
        }
    }
}
