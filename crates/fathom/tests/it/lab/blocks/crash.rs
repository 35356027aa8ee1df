//! Power cuts: dm-log-writes keeps every write and flush of a device, and each flush is replayed.

use super::super::{device, tool, tool_with};
use super::faults::NullBlk;
use crate::support::program::Launch;
use crate::support::scratch;
use std::collections::BTreeSet;
use std::path::Path;

/// `WRITE_LOG_MAGIC` of the target, and the flags of its entries.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const DISCARD: u64 = 4;
/// Writes and flushes of a job, in order.
enum Event {
    Write { offset: u64, data: Vec<u8> },
    Flush,
}

/// Events in the target's log.
fn events_of(log: &Path) -> Vec<Event> {
    let bytes = std::fs::read(log).expect("the log can be read");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    assert_eq!(number(0), MAGIC, "no log of dm-log-writes");
    let sector = u32::from_le_bytes(bytes[24..28].try_into().expect("4 bytes")) as usize;
    let mut at = sector;
    let mut events = Vec::new();
    for _ in 0..number(16) {
        let [start, sectors, flags] = [0, 8, 16].map(|field| number(at + field));
        at += sector;
        if flags & FLUSH != 0 {
            events.push(Event::Flush);
        }
        if flags & DISCARD == 0 && sectors > 0 {
            let length = sectors as usize * sector;
            events
                .push(Event::Write { offset: start * sector as u64, data: bytes[at..at + length].to_vec() });
            at += length;
        }
    }
    events
}

/// Syncs that overlap: their number, and when the last of them ended, ns. Which flush in the log belongs to
/// which sync is unknown, but all their flushes come after those of the previous group and before those of the
/// next.
struct Syncs {
    count: usize,
    ended: u64,
}

/// The syncs of a ledger, in order.
fn syncs_of(ledger: &Path) -> Vec<Syncs> {
    let shown =
        Launch::fathom(Path::new("/")).words("ledger show").argument(ledger).run().expect_clean().stdout;
    let mut groups = Vec::new();
    let mut waiting = BTreeSet::new();
    let mut count = 0;
    for line in shown.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "issued", number, kind, ..] if kind.ends_with("sync") => {
                waiting.insert(number);
                count += 1;
            }
            [time, "ended", number] if waiting.remove(number) && waiting.is_empty() => {
                groups.push(Syncs { count, ended: time.parse().expect("a time") });
                count = 0;
            }
            _ => {}
        }
    }
    groups
}

/// Result of the check on a device with these events: its exit status, and the wrong blocks.
fn broken_in(size: u64, events: &[&Event], place: (&str, &Path), until: u64) -> (i32, Vec<u64>) {
    let directory = scratch();
    let image = directory.path().join("image");
    let mut content = vec![0; size as usize];
    for event in events {
        if let Event::Write { offset, data } = event {
            content[*offset as usize..*offset as usize + data.len()].copy_from_slice(data);
        }
    }
    std::fs::write(&image, content).expect("written");
    let (device, ledger) = place;
    let words = format!(
        "ledger check --format=json --until={until} --file={device}={} {}",
        image.display(),
        ledger.display()
    );
    let finished = Launch::fathom(directory.path()).words(&words).run();
    let document = crate::support::json::document(&finished.stdout);
    let broken = document["outcome"]["broken"].as_array().cloned().unwrap_or_default();
    let offsets = broken.iter().map(|block| block["offset"].as_u64().expect("an offset")).collect();
    (finished.code(), offsets)
}

#[test]
fn every_flush_of_a_device_keeps_its_promises() {
    fathom_only!();
    const SIZE: u64 = 1 << 20;
    let log = require!(device("dm_log"));
    // Only a device with a cache gets flushes.
    let attributes = [("memory_backed", "1"), ("size", "64"), ("cache_size", "64")];
    let disk = require!(NullBlk::new("fathom_cached", &attributes));
    let table = format!("0 {} log-writes {} {log}", SIZE / 512, disk.path());
    // Only one dm-log-writes target may write to the log, so the lab's own target is removed first.
    tool("dmsetup", &format!("remove {}", require!(device("dm_log_writes"))));
    let target = "/dev/mapper/fathom_recorded";
    // The ledger is in memory: not on the device under test.
    let ledgers = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let jobs = [
        "--ioengine=psync --fsync=8",
        "--ioengine=io_uring --iodepth=4 --fsync=16",
        "--ioengine=libaio --iodepth=8 --fdatasync=16",
    ];
    for (number, words) in jobs.into_iter().enumerate() {
        // Each job has its own log.
        tool_with("dmsetup", &["create", "fathom_recorded", "--table", &table]);
        let ledger = ledgers.path().join(format!("ledger{number}"));
        let job = format!(
            "--name=job --bs=4k --rw=randwrite --size={SIZE} --direct=1 --verify=crc32c --do_verify=0 {words}"
        );
        Launch::fathom(ledgers.path())
            .words(&job)
            .argument(format!("--filename={target}"))
            .argument(format!("--verify_ledger={}", ledger.display()))
            .run()
            .expect_clean();
        tool("dmsetup", "remove fathom_recorded");
        let (events, syncs) = (events_of(Path::new(&log)), syncs_of(&ledger));
        let flushes: Vec<usize> =
            (0..events.len()).filter(|&index| matches!(events[index], Event::Flush)).collect();
        // libaio tries a sync at set-up, before all writes, to see whether the kernel supports it.
        let tried = usize::from(words.contains("libaio"));
        let total: usize = syncs.iter().map(|group| group.count).sum();
        assert!(total >= 15, "{words}: {total} syncs");
        assert_eq!(flushes.len(), total + tried, "{words}");
        let (mut last, mut found) = (tried, 0);
        for Syncs { count, ended } in syncs {
            last += count;
            let kept: Vec<&Event> = events[..=flushes[last - 1]].iter().collect();
            let outcome = broken_in(SIZE, &kept, (target, &ledger), ended);
            assert_eq!(outcome, (0, Vec::new()), "{words}: a cut at {ended}");
            // If the disk had lost one write from before the flush, exactly that write must be reported. The
            // last writes are exempt: they may have been in flight when the sync began, or been issued after
            // it, so the sync promises nothing about them. There are at most as many as the depth, plus those
            // up to the next sync.
            let on_their_way = if words.contains("iodepth") { 8 + 16 * count } else { 0 };
            let mut writes =
                (0..kept.len()).rev().filter(|index| matches!(kept[*index], Event::Write { .. }));
            let Some(lost) = writes.nth(on_their_way) else { continue };
            let Event::Write { offset, .. } = kept[lost] else { continue };
            found += 1;
            let without: Vec<&Event> = kept
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != lost)
                .map(|(_, event)| *event)
                .collect();
            let outcome = broken_in(SIZE, &without, (target, &ledger), ended);
            assert_eq!(outcome, (1, vec![*offset]), "{words}: a cut at {ended}");
        }
        assert!(found > 5, "{words}: only {found} cuts had a write to lose");
    }
}
