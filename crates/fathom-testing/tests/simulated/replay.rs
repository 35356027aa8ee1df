//! Replayed logs: every entry exactly once, none before its time, with syncs as barriers.

use crate::drawn::awkward_device;
use fathom_run::unit::Operation;
use fathom_testing::run::{BEGIN_NS, run};
use proptest::prelude::*;
use std::fmt::Write;

const BLOCK: u64 = 512;

/// An entry: its operation, block, number of blocks, and ms after the previous entry.
#[derive(Clone, Debug)]
struct Entry {
    word: &'static str,
    block: u64,
    blocks: u64,
    pause_ms: u64,
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let word = prop::sample::select(vec!["read", "write", "write", "read", "sync"]);
    let entry = (word, 0u64..100, 1u64..17, prop_oneof![3 => Just(0u64), 1 => 1u64..20])
        .prop_map(|(word, block, blocks, pause_ms)| Entry { word, block, blocks, pause_ms });
    // A log needs more than syncs.
    let first = Entry { word: "write", block: 99, blocks: 1, pause_ms: 0 };
    prop::collection::vec(entry, 1..60).prop_map(move |rest| [vec![first.clone()], rest].concat())
}

/// A version 3 log, with times in µs from its start.
fn text(entries: &[Entry]) -> String {
    let (mut text, mut at) = ("fio version 3 iolog\n0 data add\n0 data open\n".to_owned(), 0);
    for Entry { word, block, blocks, pause_ms } in entries {
        at += pause_ms * 1000;
        let place = match *word {
            "sync" => " 0 0".to_owned(),
            _ => format!(" {} {}", block * BLOCK, blocks * BLOCK),
        };
        writeln!(text, "{at} data {word}{place}").expect("a string takes everything");
    }
    text + &format!("{at} data close\n")
}

fn is_sync(entry: &Entry) -> bool {
    entry.word == "sync"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn entries_are_done_once_and_syncs_keep_them_apart(
        entries in entries(),
        device in awkward_device(),
        depth in 1u32..9,
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        std::fs::write(&log, text(&entries)).expect("a log");
        let run = run(&format!("--read_iolog={} --iodepth={depth}", log.display()), device);
        prop_assert!(!run.hung);
        prop_assert_eq!(run.block().error(), None, "{:?}", run.messages);
        let begun = run.record.ios();
        let expected: Vec<(u32, u64, u64)> = entries.iter().map(|entry| match entry.word {
            "sync" => (Operation::Sync as u32, 0, 0),
            "read" => (Operation::Read as u32, entry.block * BLOCK, entry.blocks * BLOCK),
            _ => (Operation::Write as u32, entry.block * BLOCK, entry.blocks * BLOCK),
        }).collect();
        let found: Vec<(u32, u64, u64)> =
            begun.iter().map(|io| (io.operation as u32, io.offset, u64::from(io.length))).collect();
        prop_assert_eq!(&found, &expected);
        let mut due = BEGIN_NS;
        for (index, (entry, io)) in entries.iter().zip(&begun).enumerate() {
            due += entry.pause_ms * 1_000_000;
            prop_assert!(io.queued_ns >= due, "entry {} began {} ns early", index, due - io.queued_ns);
            if is_sync(entry) {
                prop_assert!(begun[..index].iter().all(|other| other.ended_ns <= io.queued_ns), "entry {}", index);
                prop_assert!(begun[index + 1..].iter().all(|other| other.queued_ns >= io.ended_ns), "entry {}", index);
            }
        }
    }
}
