use super::*;
use crate::blktrace::TraceAction;
use crate::events::{Events, LeftOut};
use proptest::prelude::*;
use std::io::Cursor;

fn call(time_ns: u64, operation: Operation, file: u32, end: CallEnd) -> Call {
    Call { time_ns, tid: 7, operation, is_ring: false, file, offset: Some(4096), length: 512, end }
}

fn encoded(items: &[Item]) -> Vec<u8> {
    let (mut encoder, mut bytes) = (Encoder::default(), MAGIC.to_vec());
    items.iter().for_each(|item| encoder.put(item, &mut bytes));
    bytes
}

/// The items of a recording, and why it ended early.
fn read(bytes: &[u8]) -> (Vec<Item>, Option<CutOff>) {
    let mut trace = FileTrace::open(bytes).expect("a recording");
    let mut items = Vec::new();
    loop {
        match trace.next() {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return (items, None),
            Err(error) => return (items, Some(error)),
        }
    }
}

fn a_recording() -> Vec<Item> {
    vec![
        Item::Begin(Box::new(Begin { version: VERSION, names: true, ..Begin::default() })),
        Item::File(FileEntry { id: 1, kind: FileKind::Regular, size: 1 << 40, name: b"/a b\n".to_vec() }),
        Item::File(FileEntry { id: 2, kind: FileKind::Pseudo, size: 0, name: b"/proc/stat".to_vec() }),
        Item::Task(TaskEntry { tid: 8, pid: 7, name: b"cp".to_vec() }),
        Item::Call(call(1000, Operation::Read, 1, CallEnd::Known(50, 512))),
        Item::Call(call(1010, Operation::Sync, 1, CallEnd::Later(3))),
        Item::Call(call(1020, Operation::Write, 1, CallEnd::Known(5, -28))),
        Item::Done(Done { serial: 3, time_ns: 5_000_000_000, result: 0 }),
        Item::Lost(Lost { cpu: 1, events: Some(3), after_ns: 1, before_ns: 2 }),
        Item::Call(Call {
            offset: None,
            is_ring: true,
            ..call(6_000_000_000, Operation::Read, 0, CallEnd::Known(1, 9))
        }),
        Item::End(End { calls: 4, ..End::default() }),
    ]
}

#[test]
fn records_come_back() {
    let (items, error) = read(&encoded(&a_recording()));
    assert_eq!(items, a_recording());
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn kinds_that_are_not_known_are_skipped() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(*b"\x03Zab");
    bytes.extend(&encoded(&a_recording())[MAGIC.len()..]);
    assert_eq!(read(&bytes).0, a_recording());
}

#[test]
fn requests_and_their_ends_are_in_order_of_time() {
    let bytes = encoded(&a_recording());
    let mut events = Events::open(&bytes[..]).expect("a recording");
    let mut found = Vec::new();
    while let Some(event) = events.next().expect("whole") {
        if event.action != TraceAction::Note {
            found.push((event.time_ns, event.action, event.flushes, event.bytes, event.error));
        }
    }
    use TraceAction::{Complete, Queue};
    assert_eq!(
        found,
        [
            (1000, Queue, false, 512, 0),
            (1010, Queue, true, 0, 0),
            (1020, Queue, false, 512, 0),
            (1025, Complete, false, 512, 28),
            (1050, Complete, false, 512, 0),
            (5_000_000_000, Complete, true, 0, 0),
        ]
    );
    let sums = events.files().expect("of files");
    assert_eq!((sums.unplaced, sums.files, events.lost().events), (1, 1, 3));
}

/// A recording with calls on a file of /proc, on an ordinary one, and on one that older recorders did not mark.
fn with_pseudo_files() -> Vec<u8> {
    let file = |id, kind| Item::File(FileEntry { id, kind, ..FileEntry::default() });
    let mut items = vec![
        file(1, FileKind::Pseudo),
        file(2, FileKind::Regular),
        file(3, FileKind::Unknown),
        file(70_000, FileKind::Pseudo),
    ];
    let calls = [(1, 3), (2, 5), (3, 7), (70_000, 11)];
    items.extend(calls.into_iter().flat_map(|(id, count)| {
        (0..count).map(move |_| Item::Call(call(1000, Operation::Read, id, CallEnd::Known(5, 512))))
    }));
    items.push(Item::Call(call(1000, Operation::Open, 1, CallEnd::Known(5, 3))));
    items.push(Item::End(End::default()));
    encoded(&items)
}

fn queued(events: &mut Events<&[u8]>) -> usize {
    let mut count = 0;
    while let Some(event) = events.next().expect("whole") {
        count += usize::from(event.action == TraceAction::Queue);
    }
    count
}

#[test]
fn calls_on_pseudo_files_are_no_load() {
    let bytes = with_pseudo_files();
    let mut events = Events::open(&bytes[..]).expect("a recording");
    assert_eq!(queued(&mut events), 5 + 7, "what is not marked counts");
    let sums = events.files().expect("of files");
    assert_eq!(sums.pseudo, LeftOut { files: 2, calls: 3 + 11 + 1 });
    assert_eq!((sums.files, sums.unwanted), (2, LeftOut::default()));
    assert_eq!(sums.calls.get(&Operation::Open), None, "nor are their opens counted");
}

#[test]
fn files_that_are_not_wanted_are_left_out() {
    let bytes = with_pseudo_files();
    let mut events = Events::open(&bytes[..]).expect("a recording");
    events.keep_files(Box::new(|file| file.kind == FileKind::Regular));
    assert_eq!(queued(&mut events), 5);
    let sums = events.files().expect("of files");
    assert_eq!((sums.unwanted, sums.pseudo.files), (LeftOut { files: 1, calls: 7 }, 2));
}

/// Readers that do not know a kind of file take it for one that could not be looked up.
#[test]
fn kinds_of_files_that_are_not_known_count_as_unknown() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(*b"\x04F\x01\x63\x00");
    let expected = FileEntry { id: 1, ..FileEntry::default() };
    assert_eq!(read(&bytes).0, [Item::File(expected)]);
}

#[test]
fn other_files_are_refused() {
    assert!(FileTrace::open(&b"fathom files 2\nx"[..]).is_err());
    assert!(FileTrace::open(&b"fathom"[..]).is_err());
    let bytes = encoded(&a_recording());
    let error = crate::reader::Reader::new(&bytes[..], crate::Rules::default());
    assert!(error.err().expect("refused").to_string().contains("trace-to-job"));
}

proptest! {
    #[test]
    fn numbers_come_back(number in any::<u64>(), signed in any::<i64>()) {
        let mut bytes = Vec::new();
        put_number(number, &mut bytes);
        put_signed(signed, &mut bytes);
        let mut rest = &bytes[..];
        prop_assert_eq!((take_number(&mut rest), take_signed(&mut rest)), (Some(number), Some(signed)));
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn what_is_cut_off_is_read_up_to_its_last_record(cut in 0usize..400) {
        let whole = encoded(&a_recording());
        let length = whole.len().saturating_sub(cut).max(MAGIC.len());
        let (items, error) = read(&whole[..length]);
        prop_assert_eq!(&items[..], &a_recording()[..items.len()]);
        prop_assert_eq!(error.is_none(), length == whole.len());
    }

    #[test]
    fn frames_are_read_up_to_the_last_that_is_complete(cut in 1usize..60) {
        let pieces = [a_recording(), vec![]];
        let mut encoder = Encoder::default();
        let mut file = Vec::new();
        for (number, item) in pieces.concat().iter().enumerate() {
            let mut bytes = if number == 0 { MAGIC.to_vec() } else { Vec::new() };
            encoder.put(item, &mut bytes);
            file.extend(zstd::stream::encode_all(&bytes[..], 1).expect("in memory"));
        }
        file.truncate(file.len() - cut);
        let mut trace = FileTrace::open(crate::plain(Cursor::new(file)).expect("zstd")).expect("a recording");
        let mut items = Vec::new();
        while let Ok(Some(item)) = trace.next() {
            items.push(item);
        }
        prop_assert!(items.len() >= 4, "{}", items.len());
        prop_assert_eq!(&items[..], &a_recording()[..items.len()]);
    }

    #[test]
    fn damaged_bytes_are_read_or_refused(place in 0usize..400, byte in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut whole = encoded(&a_recording());
        let place = MAGIC.len() + place % (whole.len() - MAGIC.len());
        whole[place] = byte;
        let all = [MAGIC, &bytes].concat();
        for bytes in [whole, all] {
            read(&bytes);
            let mut events = Events::open(&bytes[..]).expect("a recording");
            let mut last = 0;
            while let Ok(Some(event)) = events.next() {
                if event.action != TraceAction::Note {
                    prop_assert!(event.time_ns >= last);
                    last = event.time_ns;
                }
            }
        }
    }
}
