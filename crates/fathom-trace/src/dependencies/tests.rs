use super::*;
use crate::blktrace::code;
use crate::entry::Action;
use crate::error::TraceError;
use crate::names::Device;
use crate::reader::Reader;
use crate::rules::Skip;
use crate::scan::scan;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const QUEUE: u32 = code::QUEUE | code::READ;
const END: u32 = code::COMPLETE | code::READ;

fn rules() -> Rules {
    Rules { keeps_dependencies: true, ..Rules::default() }
}

/// Returns a trace of events: code, time in us, process, block.
fn trace(events: &[(u32, u64, u32, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for &(code, time_us, pid, block) in events {
        let bytes = if code & code::FLUSH == code::FLUSH && block == 0 { 0 } else { 4096 };
        let (device, sector) = (Device { major: 8, minor: 0 }, block * 8);
        let event = Event { time_ns: time_us * 1000, sector, bytes, pid, device, ..Event::of_code(code) };
        event.encode(0, b"", &mut out);
    }
    out
}

fn all(bytes: &[u8], rules: Rules) -> Vec<Dependent> {
    let mut reader = Reader::new(bytes, rules).expect("a trace");
    std::iter::from_fn(|| reader.next_dependent().expect("readable")).collect()
}

/// Group, start, and awaited requests of each entry.
fn links(bytes: &[u8], rules: Rules) -> Vec<(u32, Start, Vec<u64>)> {
    all(bytes, rules).into_iter().map(|found| (found.group, found.start, found.awaits.into_vec())).collect()
}

#[test]
fn an_io_depends_on_what_its_process_had_completed() {
    let bytes = trace(&[
        (QUEUE, 0, 7, 1),
        (QUEUE, 10, 9, 2),
        (QUEUE, 15, 9, 3),
        (END, 20, 0, 1),
        (QUEUE, 25, 7, 4),
        (QUEUE, 30, 9, 5),
        (END, 40, 0, 3),
        (END, 45, 0, 2),
        (QUEUE, 60, 9, 6),
        (QUEUE, 61, 9, 7),
        (END, 70, 0, 5),
    ]);
    let wanted = [
        (0, Start::Recorded, vec![]),
        (1, Start::Recorded, vec![]),
        (1, Start::Recorded, vec![]),
        (0, Start::AfterEnds(5_000), vec![0]),
        (1, Start::Recorded, vec![]),
        (1, Start::AfterEnds(15_000), vec![2, 1]),
        (1, Start::AfterPrevious(1_000), vec![]),
    ];
    assert_eq!(links(&bytes, rules()), wanted);
    let found = all(&bytes, rules());
    let depths: Vec<u32> = found.iter().map(|found| found.depth).collect();
    assert_eq!(depths, [1, 1, 2, 1, 3, 2, 3]);
    let fast = links(&bytes, Rules { speed_percent: 200, ..rules() });
    assert_eq!(fast[5].1, Start::AfterEnds(7_500));
    let at_once = links(&bytes, Rules { keeps_time: false, ..rules() });
    assert_eq!(at_once[5], (1, Start::AfterEnds(0), vec![2, 1]));
    let (sum, _) = scan(Reader::new(&*bytes, rules()).expect("a trace")).expect("readable");
    assert_eq!(sum.completions, Completions { known: 4, missing: 3 });
}

#[test]
fn a_flush_and_its_write_are_one_request() {
    let write = code::QUEUE | code::WRITE;
    let events = [
        (QUEUE, 0, 7, 1),
        (END, 5, 7, 1),
        (write | code::FLUSH, 10, 7, 2),
        (code::COMPLETE | code::WRITE, 20, 0, 2),
        (QUEUE, 30, 7, 3),
    ];
    let bytes = trace(&events);
    let found = all(&bytes, rules());
    let parts: Vec<_> =
        found.iter().map(|found| (found.entry.action, found.request, found.start, found.depth)).collect();
    let wanted = [
        (Action::Read, Some(0), Start::Recorded, 1),
        (Action::Sync, None, Start::AfterEnds(5_000), 1),
        (Action::Write, Some(1), Start::AfterPrevious(0), 1),
        (Action::Read, Some(2), Start::AfterEnds(10_000), 1),
    ];
    assert_eq!(parts, wanted);
    let no_sync = all(&bytes, Rules { skip: Skip { sync: true, ..Skip::default() }, ..rules() });
    assert_eq!((no_sync.len(), no_sync[1].request, no_sync[1].start), (3, Some(1), Start::AfterEnds(5_000)));
    let no_write = all(&bytes, Rules { skip: Skip { write: true, ..Skip::default() }, ..rules() });
    assert_eq!((no_write[1].entry.action, no_write[1].request), (Action::Sync, Some(1)));
}

#[test]
fn what_is_left_out_is_not_waited_for() {
    let events = [
        (QUEUE, 0, 7, 1),
        (END, 5, 7, 1),
        (code::QUEUE | code::WRITE, 10, 7, 2),
        (code::COMPLETE | code::WRITE, 20, 0, 2),
        (QUEUE, 30, 7, 3),
        (QUEUE, 40, 7, 4),
    ];
    let found = links(&trace(&events), Rules { skip: Skip { write: true, ..Skip::default() }, ..rules() });
    let wanted = [
        (0, Start::Recorded, vec![]),
        (0, Start::AfterEnds(25_000), vec![0]),
        (0, Start::AfterPrevious(10_000), vec![]),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn logs_without_completions_have_no_dependencies() {
    let log = "fio version 3 iolog\n0 a read 0 512\n".as_bytes();
    let refused = Reader::new(log, rules()).map(|_| ());
    assert!(matches!(refused, Err(TraceError::Broken(_))), "{refused:?}");
    let volumes = "419,R,4096,8192,1577808144360767\n".as_bytes();
    let (sum, _) = scan(Reader::new(volumes, rules()).expect("a trace")).expect("readable");
    assert_eq!(sum.completions, Completions { known: 0, missing: 1 });
    let mut plain = Reader::new(volumes, Rules::default()).expect("a trace");
    assert_eq!(plain.next_dependent().expect("readable"), None);
}

/// A program of a simulated machine: its depth, and how long its thoughts and I/Os take.
#[derive(Clone, Debug)]
struct Program {
    depth: usize,
    times_us: Vec<(u64, u64)>,
}

fn program() -> impl Strategy<Value = Program> {
    let times = prop::collection::vec((0u64..20, 1u64..50), 1..40);
    (1usize..6, times).prop_map(|(depth, times_us)| Program { depth, times_us })
}

/// Runs the programs: each issues its next I/O once fewer than its depth are in flight and it has thought. Returns
/// the events in the order of time.
fn run(programs: &[Program]) -> Vec<(u32, u64, u32, u64)> {
    let (mut events, mut block) = (Vec::new(), 0);
    for (pid, program) in programs.iter().enumerate() {
        let (mut in_flight, mut now) = (BTreeMap::new(), 0);
        for &(think, service) in &program.times_us {
            if in_flight.len() == program.depth
                && let Some(((end, _), ())) = in_flight.pop_first()
            {
                now = now.max(end);
            }
            now += think;
            in_flight.retain(|(end, _), ()| *end > now);
            block += 1;
            in_flight.insert((now + service, block), ());
            events.push((QUEUE, now, pid as u32, block));
            events.push((END, now + service, 99, block));
        }
    }
    // What completes at the time of an arrival completes before it.
    events.sort_by_key(|&(code, time, _, block)| (time, code == QUEUE, block));
    events
}

proptest! {
    #[test]
    fn dependencies_are_exactly_what_had_completed(programs in prop::collection::vec(program(), 1..5)) {
        let events = run(&programs);
        let (mut blocks, mut in_flight) = (Vec::new(), BTreeMap::<u32, BTreeSet<u64>>::new());
        let mut ended = BTreeMap::<u32, BTreeSet<u64>>::new();
        let mut found = all(&trace(&events), rules()).into_iter();
        let mut awaited = BTreeMap::<u32, BTreeSet<u64>>::new();
        for (code, _, pid, block) in events {
            if code == QUEUE {
                let next = found.next().expect("an entry for each arrival");
                prop_assert_eq!(next.request, Some(blocks.len() as u64));
                blocks.push((block, pid));
                let own = awaited.entry(pid).or_default();
                for request in next.awaits {
                    prop_assert!(own.insert(blocks[request as usize].0), "waits twice");
                }
                prop_assert_eq!(&*own, ended.entry(pid).or_default());
                let own = in_flight.entry(pid).or_default();
                own.insert(block);
                prop_assert_eq!(own.len(), next.depth as usize);
                prop_assert!(own.len() <= programs[pid as usize].depth);
            } else {
                let (_, pid) = blocks.iter().find(|(other, _)| *other == block).expect("it arrived");
                in_flight.entry(*pid).or_default().remove(&block);
                ended.entry(*pid).or_default().insert(block);
            }
        }
        prop_assert!(found.next().is_none());
    }
}
