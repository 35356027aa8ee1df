use super::*;
use fathom_stats::Direction;
use fathom_trace::blktrace::{Event, TraceAction};
use proptest::prelude::*;

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const DISCARD: u32 = 1 << 29;
const NOTE: u32 = 1 << 26;
const QUEUE: u32 = 1;
const BACK_MERGE: u32 = 2;
const FRONT_MERGE: u32 = 3;
const COMPLETE: u32 = 8;

/// A record in the requested byte order.
fn record(
    big_endian: bool,
    time_us: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut record = Vec::new();
    let mut push = |bytes: &[u8]| match big_endian {
        true => record.extend(bytes.iter().rev()),
        false => record.extend(bytes),
    };
    push(&0x6561_7407u32.to_le_bytes());
    push(&0u32.to_le_bytes());
    push(&(time_us * 1000).to_le_bytes());
    push(&sector.to_le_bytes());
    for number in [bytes, action, pid, (8 << 20) | 16, 0] {
        push(&number.to_le_bytes());
    }
    push(&0u16.to_le_bytes());
    push(&(payload.len() as u16).to_le_bytes());
    record.extend(payload);
    record
}

fn events_of(bytes: &[u8]) -> (Vec<Event>, Option<String>) {
    let mut trace = fathom_trace::blktrace::Trace::open(bytes).expect("a trace");
    let mut events = Vec::new();
    loop {
        match trace.next() {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return (events, None),
            Err(broken) => return (events, Some(broken.to_string())),
        }
    }
}

fn processes_of(records: &[Vec<u8>]) -> Vec<Process> {
    let mut tracker = Tracker::default();
    events_of(&records.concat()).0.iter().for_each(|event| tracker.add(event));
    tracker.into_processes()
}

#[test]
fn both_byte_orders_say_the_same() {
    let trace = |big| {
        [
            record(big, 0, 0, 0, NOTE, 7, b"name\0"),
            record(big, 5, 80, 4096, QUEUE | READ, 7, &[]),
            record(big, 9, 80, 4096, COMPLETE | WRITE | DISCARD | 1 << 8, 0, b"cgroup.."),
        ]
        .concat()
    };
    let (events, end) = events_of(&trace(false));
    assert_eq!((events_of(&trace(true)), end), ((events.clone(), None), None));
    let kinds: Vec<_> = events.iter().map(|event| (event.action, event.direction)).collect();
    assert_eq!(kinds[1..], [(TraceAction::Queue, Direction::Read), (TraceAction::Complete, Direction::Trim)]);
    assert_eq!(events[1].device, Device { major: 8, minor: 16 });
    assert_eq!((events[1].time_ns, events[1].sector, events[1].bytes), (5000, 80, 4096));
}

#[test]
fn what_is_no_trace_is_refused_and_what_breaks_off_is_used() {
    for (bytes, wanted) in [(&b"short"[..], "short read"), (&[7u8; 60][..], "corrupt")] {
        let error = fathom_trace::blktrace::Trace::open(bytes).err().expect("no trace").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let mut bytes = record(false, 1, 0, 4096, QUEUE | READ, 1, &[]);
    bytes.extend([0; 20]);
    let (events, end) = events_of(&bytes);
    assert_eq!(events.len(), 1);
    assert!(end.expect("cut off").contains("cut off after 20 bytes"));
}

#[test]
fn requests_are_followed_to_their_completion() {
    let processes = processes_of(&[
        record(false, 0, 0, 4096, QUEUE | READ, 1, &[]),
        record(false, 1, 8, 4096, QUEUE | READ, 1, &[]),
        record(false, 2, 100, 8192, QUEUE | WRITE, 1, &[]),
        record(false, 3, 8, 4096, COMPLETE | READ, 0, &[]),
        record(false, 4, 0, 4096, COMPLETE | READ, 0, &[]),
        record(false, 5, 200, 4096, QUEUE | READ, 1, &[]),
        record(false, 6, 100, 8192, COMPLETE | WRITE, 0, &[]),
    ]);
    let [process] = &processes[..] else { panic!("one process: {processes:?}") };
    let [reads, writes, trims] = &process.requests;
    assert_eq!((reads.ios, reads.sequential, reads.bytes), (3, 2, 8192));
    assert_eq!((writes.ios, writes.sequential, writes.bytes, trims.ios), (1, 1, 8192, 0));
    assert_eq!((process.depth, process.run_time_us()), (3, 5));
}

#[test]
fn merged_requests_complete_together() {
    let merge = |action, first: u64, second: u64| {
        processes_of(&[
            record(false, 0, first, 4096, QUEUE | READ, 1, &[]),
            record(false, 1, second, 4096, QUEUE | READ, 1, &[]),
            record(false, 2, second, 4096, action | READ, 1, &[]),
            record(false, 3, first.min(second), 8192, COMPLETE | READ, 0, &[]),
            record(false, 4, 500, 4096, QUEUE | READ, 1, &[]),
        ])
    };
    for processes in [merge(BACK_MERGE, 8, 16), merge(FRONT_MERGE, 16, 8)] {
        let reads = &processes[0].requests[0];
        assert_eq!((reads.ios, reads.merges, reads.bytes), (3, 1, 8192));
        assert_eq!(processes[0].depth, 2);
    }
}

#[test]
fn processes_that_are_alike_become_clones() {
    let mut records = Vec::new();
    for pid in [1, 2, 3] {
        for number in 0..10u64 {
            let sector = number * if pid == 3 { 80 } else { 8 };
            records.push(record(false, number * 200_000, sector, 4096, QUEUE | WRITE, pid, &[]));
            records.push(record(false, number * 200_000 + 50, sector, 4096, COMPLETE | WRITE, 0, &[]));
        }
    }
    let processes = process::collapse(processes_of(&records), 1, 5.0);
    assert_eq!(
        processes.iter().map(|process| process.pids.clone()).collect::<Vec<_>>(),
        [vec![1, 2], vec![3]]
    );
    let described: Vec<Described> = processes
        .into_iter()
        .map(|process| Described { process, files: vec!["/dev/x".to_owned()], delay_us: 1_500_000 })
        .collect();
    let options =
        Options { with_rate: true, extra: vec!["group_reporting".to_owned()], ..Options::default() };
    let text = text::job_file(&described, &options);
    assert_eq!(
        text.split_once("\n\n").expect("two sections").0,
        "[pid1,pid2]\nnumjobs=2\ndirect=1\nioengine=sync\nrw=randwrite\npercentage_random=0,0,0\nfilename=/dev/x\n\
         startdelay=1s\nruntime=2s\nbssplit=4096/\nrate=,22k,\ngroup_reporting"
    );
    assert!(text.contains("[pid3]\nnumjobs=1\n") && text.contains("percentage_random=0,90,0\n"), "{text}");
}

proptest! {
    #[test]
    fn no_bytes_break_it(
        events in proptest::collection::vec((0u64..100, 0u64..64, 0u32..9000, 0u32..12, 0u32..4, 0u32..3), 0..200),
        rest in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes: Vec<u8> = record(false, 0, 0, 0, NOTE, 0, &[]);
        for (time, sector, size, action, category, pid) in events {
            let category = [READ, WRITE, DISCARD | WRITE, NOTE][category as usize];
            bytes.extend(record(false, time, sector, size, action | category, pid, &[]));
        }
        bytes.extend(rest);
        let mut tracker = Tracker::default();
        events_of(&bytes).0.iter().for_each(|event| tracker.add(event));
        for process in tracker.into_processes() {
            prop_assert!(process.ios() > 0 && process.depth > 0 && process.end_ns >= process.start_ns);
        }
    }
}
