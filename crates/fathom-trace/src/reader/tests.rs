use super::*;
use crate::rules::Skip;
use crate::scan::scan;
use proptest::prelude::*;

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTE: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const QUEUE: u32 = 1;

fn entries(bytes: &[u8], rules: &Rules) -> (Vec<Entry>, Complaints) {
    let mut reader = Reader::new(bytes, rules.clone()).expect("a log");
    let mut all = Vec::new();
    while let Some(entry) = reader.next().expect("readable") {
        all.push(entry);
    }
    (all, reader.complaints)
}

fn dues(text: &str, rules: &Rules) -> Vec<Option<u64>> {
    entries(text.as_bytes(), rules).0.iter().map(|entry| entry.due_ns).collect()
}

/// Returns a record in the requested byte order.
fn record(big_endian: bool, time_ns: u64, sector: u64, bytes: u32, action: u32, payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    let mut push = |bytes: &[u8]| match big_endian {
        true => record.extend(bytes.iter().rev()),
        false => record.extend(bytes),
    };
    push(&0x6561_7407u32.to_le_bytes());
    push(&0u32.to_le_bytes());
    push(&time_ns.to_le_bytes());
    push(&sector.to_le_bytes());
    for number in [bytes, action, 7, (8 << 20) | 16, 0] {
        push(&number.to_le_bytes());
    }
    push(&0u16.to_le_bytes());
    push(&(payload.len() as u16).to_le_bytes());
    record.extend(payload);
    record
}

#[test]
fn times_count_from_the_first_io_and_never_go_back() {
    let text = "fio version 3 iolog\n5 a add\n10 a open\n100 a read 0 512\n400 a read 0 512\n300 a write 0 512\n\
                fio version 3 iolog\n7 a read 0 512\n8 a sync 0 0\n";
    let rules = Rules::default();
    assert_eq!(dues(text, &rules), [0, 300_000, 300_000, 300_000, 301_000].map(Some));
    assert_eq!(dues(text, &Rules { speed_percent: 200, ..rules.clone() })[1], Some(150_000));
    assert_eq!(dues(text, &Rules { keeps_time: false, ..rules })[..2], [None, None]);
}

#[test]
fn a_wait_holds_back_what_follows() {
    let text = "fio version 2 iolog\na add\na read 0 512\na wait 300 0\na read 512 512\na read 0 512\na wait 400 0\na wait 500 0\na sync 0 0\n";
    let due = dues(text, &Rules::default());
    assert_eq!(due, [None, Some(300_000_000), None, Some(500_000_000)]);
}

#[test]
fn rules_move_and_drop() {
    let text =
        "fio version 3 iolog\n0 a read 9000 512\n0 b write 20000 512\n0 a datasync 0 0\n0 b trim 4096 512\n";
    let rules = Rules {
        offset_divisor: 2,
        alignment: 4096,
        skip: Skip { sync: true, trim: true, ..Skip::default() },
        redirect: Some("/c".to_owned()),
        ..Rules::default()
    };
    let (all, complaints) = entries(text.as_bytes(), &rules);
    let told: Vec<_> = all.iter().map(|entry| (entry.action, entry.file, entry.offset)).collect();
    assert_eq!(told, [(Action::Read, 0, 4096), (Action::Write, 0, 8192)]);
    assert_eq!(complaints, Complaints::default());
    let (sum, _) = scan(Reader::new(text.as_bytes(), Rules::default()).expect("a log")).expect("readable");
    assert_eq!((sum.entries(), sum.bytes(), sum.syncs), (4, 1536, 1));
    let ends: Vec<u64> = sum.files.iter().map(|file| file.end).collect();
    assert_eq!(ends, [9512, 20512]);
}

#[test]
fn trims_may_be_longer_than_data() {
    let text = "fio version 2 iolog\na trim 0 3221225472\na trim 512 3800000000000\na read 0 3221225472\n";
    let (all, complaints) = entries(text.as_bytes(), &Rules::default());
    assert_eq!((all[0].offset, all[0].length), (0, 3 << 30));
    let mut next = 512;
    for part in &all[1..] {
        assert_eq!((part.action, part.offset), (Action::Trim, next));
        next += u64::from(part.length);
    }
    assert_eq!(next, 512 + 3_800_000_000_000);
    assert_eq!(complaints.count, 2);
    assert!(complaints.first[1].contains("line 4 is skipped: it is longer than 2 GiB"));
}

#[test]
fn lengths_of_traces_are_aligned_as_well() {
    let rules = Rules { alignment: 4096, ..Rules::default() };
    assert_eq!([512, 4096, 5120].map(|length| rules.length_in_trace(length)), [4096, 4096, 8192]);
    assert_eq!(rules.length_in_trace(u32::MAX - 511), u32::MAX - 4095);
    assert_eq!(Rules::default().length_in_trace(1000), 1000);
}

#[test]
fn broken_lines_are_left_out_with_their_numbers() {
    let text = "fio version 3 iolog\nfoo\n1 a frob 0 1\n2 a wait 10 0\n3 a read 0\n4 a read 0 512";
    let (all, complaints) = entries(text.as_bytes(), &Rules::default());
    assert_eq!((all.len(), complaints.count), (1, 4));
    let told = complaints.first.join("\n");
    for wanted in [
        "bad iolog3: foo",
        "line 2 is",
        "fio: bad iolog file action: frob",
        "line 3 is",
        "line 4 is",
        "line 5 is",
    ] {
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
}

#[test]
fn what_is_no_log_is_refused() {
    let refused = |bytes: &[u8]| Reader::new(bytes, Rules::default()).err().expect("no log").to_string();
    assert!(refused(b"").contains("empty"));
    assert!(refused(b"fio version 1 iolog\n").contains("version 1"));
    assert!(refused(&0x6561_7407u32.to_le_bytes()).contains("short read"));
    let long = [b"fio version 2 iolog\n".to_vec(), vec![b'x'; 20_000]].concat();
    let mut reader = Reader::new(&long[..], Rules::default()).expect("a log");
    assert!(reader.next().expect_err("too long").to_string().contains("line 2"));
}

#[test]
fn traces_of_both_byte_orders() {
    for big in [false, true] {
        let trace = [
            record(big, 1000, 0, 0, NOTE, b"name\0"),
            record(big, 5000, 8, 4096, QUEUE | READ, b""),
            record(big, 5500, 8, 4096, 2 | READ, b""),
            record(big, 6000, 16, 512, QUEUE | WRITE | FLUSH, b"pay"),
            record(big, 7000, 0, 0, QUEUE | FLUSH, b""),
            record(big, 8000, 100, 65536, QUEUE | DISCARD | WRITE, b""),
            vec![0; 20],
        ]
        .concat();
        let (all, complaints) = entries(&trace, &Rules::default());
        let told: Vec<_> =
            all.iter().map(|entry| (entry.due_ns, entry.action, entry.offset, entry.length)).collect();
        assert_eq!(
            told,
            [
                (Some(0), Action::Read, 4096, 4096),
                (Some(1000), Action::Sync, 0, 0),
                (Some(1000), Action::Write, 8192, 512),
                (Some(2000), Action::Sync, 0, 0),
                (Some(3000), Action::Trim, 51200, 65536)
            ]
        );
        assert!(
            complaints.first[0].contains("after 6 records: the last record is cut off after 20 bytes"),
            "{complaints:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..600), kind in 0usize..4) {
        let magic = 0x6561_7407u32.to_le_bytes();
        let starts: [&[u8]; 4] = [b"", b"fio version 2 iolog\n", b"fio version 3 iolog\n", &magic];
        let all = [starts[kind], &bytes].concat();
        if let Ok(reader) = Reader::new(&all[..], Rules::default())
            && let Ok((sum, complaints)) = scan(reader)
        {
            prop_assert!(complaints.first.len() as u64 <= complaints.count);
            prop_assert!(sum.entries() as usize <= all.len());
        }
    }

    #[test]
    fn lines_of_words_are_entries_or_complaints(lines in prop::collection::vec("[0-9a ]{0,6}( (a|b|read|write|sync|wait|open|0|7|512)){0,5}", 0..30)) {
        let text = format!("fio version 3 iolog\n{}", lines.join("\n"));
        let names = lines.iter().filter(|line| line.contains("open")).count() as u64;
        let blank = lines.iter().filter(|line| line.trim().is_empty()).count() as u64;
        let (all, complaints) = entries(text.as_bytes(), &Rules::default());
        let sum = all.len() as u64 + complaints.count;
        prop_assert!(sum <= lines.len() as u64 - blank && sum + names + blank >= lines.len() as u64);
    }
}
