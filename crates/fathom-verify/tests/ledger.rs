//! Ledgers against a model of a disk: a cache that writes enter at any time and leave in any order, syncs,
//! synchronous writes, and a power cut at any point. An honest disk must never raise an alarm, regardless of
//! which part of the ledger remains, and a disk that has lost promised data must always raise one.

use fathom_verify::content::Pattern;
use fathom_verify::header::HeaderFormat;
use fathom_verify::ledger::record::{Issued, Record, Start, SyncKind};
use fathom_verify::ledger::{Account, AccountError, After, FileToCheck, Outcome, check};
use fathom_verify::method::Method;
use fathom_verify::rule::Rule;
use fathom_verify::stamp::{Write, split_time, stamp};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SECTOR: usize = 512;
const BLOCK: usize = 2048;
const BLOCKS: usize = 6;
/// Byte that fills the file before the job.
const BEFORE: u8 = 0x77;
/// Byte left by a failed write.
const GARBAGE: u8 = 0x33;

/// A step of the test; its numbers select among the events possible at that point.
#[derive(Clone, Copy, Debug)]
enum Step {
    Issue { writer: usize, block: usize, blocks: usize, discards: bool },
    End { choice: usize, is_well: bool, arrives_late: bool },
    BeginSync { writer: usize, kind: SyncKind },
    EndSync { choice: usize, is_well: bool },
}

fn steps(may_fail: bool) -> impl Strategy<Value = Vec<Step>> {
    let well = move || prop::bool::weighted(if may_fail { 0.9 } else { 1.0 });
    let kinds =
        vec![SyncKind::Sync, SyncKind::Sync, SyncKind::DataSync, SyncKind::FileSystem, SyncKind::Range];
    let step = prop_oneof![
        6 => (0usize..2, 0..BLOCKS, 1usize..3, prop::bool::weighted(if may_fail { 0.1 } else { 0.0 })).prop_map(
            |(writer, block, blocks, discards)| Step::Issue { writer, block, blocks, discards }
        ),
        6 => (any::<usize>(), well(), any::<bool>())
            .prop_map(|(choice, is_well, arrives_late)| Step::End { choice, is_well, arrives_late }),
        2 => (0usize..2, prop::sample::select(kinds)).prop_map(|(writer, kind)| Step::BeginSync { writer, kind }),
        2 => (any::<usize>(), well()).prop_map(|(choice, is_well)| Step::EndSync { choice, is_well }),
    ];
    prop::collection::vec(step, 1..60)
}

fn rules() -> impl Strategy<Value = Rule> {
    let methods = vec![Method::Crc32c, Method::Md5, Method::Sha512, Method::Xxhash, Method::Sha3_512];
    let formats = vec![HeaderFormat::Current, HeaderFormat::First];
    let places = vec![0u32, 200, 520, 500];
    (
        prop::sample::select(methods),
        prop::sample::select(formats),
        prop::sample::select(places),
        any::<bool>(),
    )
        .prop_map(|(method, format, header_offset, halves)| Rule {
            method,
            format,
            interval: Some(if halves { 1024 } else { BLOCK as u32 }),
            // Small offsets would overlap the header, so they are replaced by 0.
            header_offset: if header_offset >= 176 { header_offset } else { 0 },
            pattern: None,
            pattern_interval: 0,
            checks_seed: true,
            checks_number: true,
        })
}

/// A write from the point of view of the disk.
#[derive(Clone, Debug)]
struct Version {
    writer: usize,
    id: u64,
    range: std::ops::Range<usize>,
    bytes: Vec<u8>,
    issued: u64,
    ended: Option<u64>,
    /// Time of its arrival in the cache; later versions of a sector supersede earlier ones.
    arrived: Option<u64>,
    discards: bool,
    is_garbage: bool,
    durable: bool,
}

struct Sync {
    writer: usize,
    id: u64,
    kind: SyncKind,
    covers: Vec<usize>,
}

/// The disk and the writers.
struct Model {
    rule: Rule,
    durable_at_once: bool,
    versions: Vec<Version>,
    syncs: Vec<Sync>,
    ledgers: [Vec<u8>; 2],
    next_id: u64,
    now: u64,
}

impl Model {
    fn new(rule: &Rule, durable_at_once: bool) -> Model {
        let mut ledgers = [Vec::new(), Vec::new()];
        for (writer, ledger) in ledgers.iter_mut().enumerate() {
            let start = Start {
                job: "model".to_owned(),
                clone: writer as u16 + 1,
                files: vec!["data".to_owned()],
                rule: rule.clone(),
                durable_at_once,
                boot_id: "boot".to_owned(),
                time_ns: 1_000_000_000,
                time_of_day_ms: 0,
            };
            Record::Start(Box::new(start)).encode(ledger);
        }
        let (versions, syncs) = (Vec::new(), Vec::new());
        Model {
            rule: rule.clone(),
            durable_at_once,
            versions,
            syncs,
            ledgers,
            next_id: 0,
            now: 1_000_000_000,
        }
    }

    fn tick(&mut self) -> u64 {
        self.now += 10;
        self.now
    }

    fn take(&mut self, step: Step) {
        let now = self.tick();
        match step {
            Step::Issue { writer, block, blocks, discards } => {
                self.issue(writer, block, blocks, discards, now)
            }
            Step::End { choice, is_well, arrives_late } => self.end(choice, is_well, arrives_late, now),
            Step::BeginSync { writer, kind } => {
                let id = self.next_id;
                self.next_id += 1;
                let ended = (0..self.versions.len()).filter(|&index| self.versions[index].ended.is_some());
                let covers = if kind.makes_durable() { ended.collect() } else { Vec::new() };
                self.syncs.push(Sync { writer, id, kind, covers });
                Record::SyncBegun { id, kind, file: 0, time_ns: now }.encode(&mut self.ledgers[writer]);
            }
            Step::EndSync { choice, is_well } => self.end_sync(choice, is_well, now),
        }
    }

    fn issue(&mut self, writer: usize, block: usize, blocks: usize, discards: bool, now: u64) {
        let range = block * BLOCK..((block + blocks).min(BLOCKS)) * BLOCK;
        let id = self.next_id;
        self.next_id += 1;
        // The seed is odd, because seeds of buffers are never zero.
        let seed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut bytes = vec![0; range.len()];
        if !discards {
            let thread = writer as u16 + 1;
            let write = Write { seed, offset: range.start as u64, number: id, thread, time: split_time(now) };
            stamp(&self.rule, &mut bytes, &write);
        }
        let issued = Issued {
            id,
            number: id,
            seed,
            file: 0,
            offset: range.start as u64,
            length: range.len() as u64,
            time_ns: now,
            discards,
        };
        Record::Issued(issued).encode(&mut self.ledgers[writer]);
        self.versions.push(Version {
            writer,
            id,
            range,
            bytes,
            issued: now,
            ended: None,
            arrived: None,
            discards,
            is_garbage: false,
            durable: false,
        });
    }

    fn end(&mut self, choice: usize, is_well: bool, arrives_late: bool, now: u64) {
        let open: Vec<usize> =
            (0..self.versions.len()).filter(|&index| self.versions[index].ended.is_none()).collect();
        let Some(&index) = open.get(choice % open.len().max(1)) else { return };
        let durable_at_once = self.durable_at_once;
        let version = &mut self.versions[index];
        version.ended = Some(now);
        version.arrived.get_or_insert(if arrives_late { now } else { version.issued });
        version.is_garbage = !is_well;
        version.durable = is_well && durable_at_once;
        Record::Ended { id: version.id, time_ns: now, is_well }.encode(&mut self.ledgers[version.writer]);
    }

    fn end_sync(&mut self, choice: usize, is_well: bool, now: u64) {
        if self.syncs.is_empty() {
            return;
        }
        let sync = self.syncs.remove(choice % self.syncs.len());
        Record::Ended { id: sync.id, time_ns: now, is_well }.encode(&mut self.ledgers[sync.writer]);
        if is_well {
            sync.covers.iter().for_each(|&index| self.versions[index].durable = true);
        } else if sync.kind.makes_durable() {
            self.versions
                .iter_mut()
                .filter(|version| !version.durable)
                .for_each(|version| version.is_garbage = true);
        }
    }

    /// Returns the disk after a power cut at this point; `choices` selects among the versions that each sector
    /// may hold.
    fn after_power_cut(&self, choices: &[usize]) -> Vec<u8> {
        self.disk(choices, |version| version.durable)
    }

    /// Returns the data that is read if the writers were killed at this point.
    fn after_kill(&self, choices: &[usize]) -> Vec<u8> {
        self.disk(choices, |version| version.ended.is_some() && !version.is_garbage)
    }

    /// Merges two disks: each sector comes from one disk up to some word and from the other after it, because
    /// copies in memory were in progress.
    fn torn([first, second]: [Vec<u8>; 2], choices: &[usize]) -> Vec<u8> {
        let mut torn = first;
        for (index, (sector, other)) in torn.chunks_mut(SECTOR).zip(second.chunks(SECTOR)).enumerate() {
            let at = choices[index % choices.len()] / 3 % (SECTOR / 8 + 1) * 8;
            sector[at..].copy_from_slice(&other[at..]);
        }
        torn
    }

    fn disk(&self, choices: &[usize], is_kept: impl Fn(&Version) -> bool) -> Vec<u8> {
        let mut disk = vec![BEFORE; BLOCKS * BLOCK];
        for (index, sector) in disk.chunks_mut(SECTOR).enumerate() {
            let at = index * SECTOR;
            let mut history: Vec<&Version> =
                self.versions.iter().filter(|version| version.range.contains(&at)).collect();
            history.sort_by_key(|version| version.arrived.unwrap_or(u64::MAX));
            let floor = history.iter().rposition(|version| is_kept(version));
            let possible = history.len() + usize::from(floor.is_none()) - floor.unwrap_or(0);
            let choice = choices[index % choices.len()] % possible;
            let chosen = match floor {
                Some(floor) => history[floor + choice],
                None if choice == 0 => continue,
                None => history[choice - 1],
            };
            let from = at - chosen.range.start;
            match chosen.is_garbage || chosen.discards {
                true => sector.fill(GARBAGE),
                false => sector.copy_from_slice(&chosen.bytes[from..from + SECTOR]),
            }
        }
        disk
    }

    /// Puts data into a sector that a durable write has superseded; returns false if there is no such sector.
    fn lose_something(&self, disk: &mut [u8], choice: usize) -> bool {
        let mut lies: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        for index in 0..BLOCKS * BLOCK / SECTOR {
            let at = index * SECTOR;
            let here = || self.versions.iter().filter(|version| version.range.contains(&at));
            let Some(last) = here().filter(|version| version.durable).map(|version| version.issued).max()
            else {
                continue;
            };
            let older = here().filter(|version| version.ended.is_some_and(|ended| ended < last));
            let mut bytes: Vec<Vec<u8>> =
                older.map(|version| version.bytes[at - version.range.start..][..SECTOR].to_vec()).collect();
            bytes.extend([vec![BEFORE; SECTOR], vec![0; SECTOR]]);
            lies.insert(at, bytes);
        }
        let Some((at, bytes)) = lies.iter().nth(choice % lies.len().max(1)) else { return false };
        disk[*at..at + SECTOR].copy_from_slice(&bytes[choice / 7 % bytes.len()]);
        true
    }
}

fn judged(ledgers: &[Vec<u8>; 2], disk: &[u8], after: After, until: Option<u64>) -> Outcome {
    let accounts = ledgers.each_ref().map(|bytes| Account::read(bytes).expect("a ledger"));
    let files = [FileToCheck { name: "data".to_owned(), members: vec![(0, 0), (1, 0)] }];
    check(&accounts, &files, after, until, |_, offset, buffer| {
        let rest = &disk[(offset as usize).min(disk.len())..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    })
    .expect("an outcome")
}

/// Runs all steps; the crash follows the first `crash` of them. Returns the model at the time of the crash and
/// the ledgers of the whole run.
fn run(rule: &Rule, durable_at_once: bool, steps: &[Step], crash: usize) -> (Model, [Vec<u8>; 2]) {
    let mut model = Model::new(rule, durable_at_once);
    steps[..crash].iter().for_each(|step| model.take(*step));
    let mut whole = Model::new(rule, durable_at_once);
    steps.iter().for_each(|step| whole.take(*step));
    (model, whole.ledgers)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_honest_disk_keeps_its_promises(
        rule in rules(),
        durable_at_once in prop::bool::weighted(0.3),
        steps in steps(true),
        crash in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<usize>(), 24),
        others in prop::collection::vec(any::<usize>(), 24),
    ) {
        let crash = crash.index(steps.len() + 1);
        let (model, whole) = run(&rule, durable_at_once, &steps, crash);
        let of_both = [&choices, &others];
        let cut = of_both.map(|choices| model.after_power_cut(choices));
        let killed = of_both.map(|choices| model.after_kill(choices));
        for (after, disk) in [
            (After::PowerCut, cut[0].clone()),
            (After::PowerCut, Model::torn(cut, &choices)),
            (After::Kill, killed[0].clone()),
            (After::Kill, Model::torn(killed, &choices)),
        ] {
            let outcome = judged(&model.ledgers, &disk, after, None);
            prop_assert_eq!(outcome.broken_count, 0, "{:?}: {:#?}", after, outcome.broken);
            let outcome = judged(&whole, &disk, after, Some(model.now));
            prop_assert_eq!(outcome.broken_count, 0, "{:?} until {}: {:#?}", after, model.now, outcome.broken);
        }
    }

    /// Failed writes and trims are omitted, because without their record the ledger does not show that any
    /// content is allowed.
    #[test]
    fn an_honest_disk_keeps_its_promises_when_the_ledger_lost_its_end(
        rule in rules(),
        durable_at_once in prop::bool::weighted(0.3),
        steps in steps(false),
        choices in prop::collection::vec(any::<usize>(), 24),
        cuts in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let (model, whole) = run(&rule, durable_at_once, &steps, steps.len());
        let mut start = Vec::new();
        Record::Start(Box::new(Account::read(&whole[0]).expect("a ledger").start)).encode(&mut start);
        let cut = |bytes: &Vec<u8>, cut: prop::sample::Index| {
            bytes[..start.len() + cut.index(bytes.len() - start.len() + 1)].to_vec()
        };
        let ledgers = [cut(&whole[0], cuts.0), cut(&whole[1], cuts.1)];
        let disk = model.after_power_cut(&choices);
        let outcome = judged(&ledgers, &disk, After::PowerCut, None);
        prop_assert_eq!(outcome.broken_count, 0, "{:#?}", outcome.broken);
    }

    #[test]
    fn a_lying_disk_is_found(
        rule in rules(),
        durable_at_once in prop::bool::weighted(0.3),
        steps in steps(false),
        crash in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<usize>(), 24),
        loss in any::<usize>(),
    ) {
        let crash = crash.index(steps.len() + 1);
        let (model, whole) = run(&rule, durable_at_once, &steps, crash);
        let mut disk = model.after_power_cut(&choices);
        if !model.lose_something(&mut disk, loss) {
            return Ok(());
        }
        for (ledgers, until) in [(&model.ledgers, None), (&whole, Some(model.now))] {
            let outcome = judged(ledgers, &disk, After::PowerCut, until);
            prop_assert!(outcome.broken_count > 0, "until {:?}", until);
        }
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<usize>()) {
        let mut ledger = Model::new(&plain_rule(), false).ledgers[0].clone();
        ledger.extend(bytes);
        let _ = Account::read(&ledger[..cut % (ledger.len() + 1)]);
    }
}

/// Checks a ledger with correct checksums but an invalid rule or offset.
#[test]
fn ledgers_that_no_job_could_write_are_refused() {
    let whole = Model::new(&plain_rule(), false).ledgers[0].clone();
    let start = Account::read(&whole).expect("a ledger").start;
    let pattern = |bytes: &[u8], places: &[usize]| {
        Some(Pattern { bytes: bytes.to_vec(), offset_places: places.to_vec() })
    };
    for rule in [
        Rule { pattern: pattern(&[], &[]), ..plain_rule() },
        Rule { pattern: pattern(&[1], &[1]), ..plain_rule() },
    ] {
        let mut bytes = Vec::new();
        Record::Start(Box::new(Start { rule, ..start.clone() })).encode(&mut bytes);
        assert_eq!(Account::read(&bytes).err(), Some(AccountError::ImpossibleRule));
    }
    for (offset, length) in [(u64::MAX, 2), (u64::MAX - 4096, 4096), (i64::MAX as u64, 1)] {
        let mut bytes = whole.clone();
        let (id, number, seed, file, time_ns, discards) = (1, 7, 1, 0, 1, false);
        let issued = Issued { id, number, seed, file, offset, length, time_ns, discards };
        Record::Issued(issued).encode(&mut bytes);
        assert_eq!(Account::read(&bytes).err(), Some(AccountError::ImpossibleOffset { number: 7 }));
    }
}

fn plain_rule() -> Rule {
    Rule {
        method: Method::Crc32c,
        format: HeaderFormat::Current,
        interval: Some(BLOCK as u32),
        header_offset: 0,
        pattern: None,
        pattern_interval: 0,
        checks_seed: true,
        checks_number: true,
    }
}

/// Returns a block that was written three times; the second write is durable.
fn three_writes() -> Model {
    let mut model = Model::new(&plain_rule(), false);
    let write = Step::Issue { writer: 0, block: 1, blocks: 1, discards: false };
    let end = Step::End { choice: 0, is_well: true, arrives_late: true };
    let sync = Step::BeginSync { writer: 0, kind: SyncKind::Sync };
    let steps = [write, end, write, end, sync, Step::EndSync { choice: 0, is_well: true }, write];
    steps.into_iter().for_each(|step| model.take(step));
    model
}

#[test]
fn a_broken_promise_names_the_write_the_sync_and_what_is_there() {
    let model = three_writes();
    let mut disk = vec![0; BLOCKS * BLOCK];
    let put = |disk: &mut Vec<u8>, version: usize| {
        disk[BLOCK..2 * BLOCK].copy_from_slice(&model.versions[version].bytes);
    };
    for allowed in [1, 2] {
        put(&mut disk, allowed);
        let outcome = judged(&model.ledgers, &disk, After::PowerCut, None);
        assert_eq!((outcome.broken_count, outcome.places_checked, outcome.places_mixed), (0, 1, 0));
    }
    disk[BLOCK..BLOCK + SECTOR].copy_from_slice(&model.versions[1].bytes[..SECTOR]);
    let outcome = judged(&model.ledgers, &disk, After::PowerCut, None);
    assert_eq!((outcome.broken_count, outcome.places_mixed), (0, 1));

    put(&mut disk, 0);
    let outcome = judged(&model.ledgers, &disk, After::PowerCut, None);
    let broken = serde_json::to_value(&outcome.broken).expect("JSON");
    assert_eq!(broken[0]["class"], "stale");
    assert_eq!((&broken[0]["offset"], &broken[0]["length"]), (&BLOCK.into(), &BLOCK.into()));
    assert_eq!((&broken[0]["promised"]["number"], &broken[0]["promised"]["by"]), (&1.into(), &"sync".into()));
    assert_eq!((&broken[0]["promised"]["id"], &broken[0]["promised"]["kind"]), (&2.into(), &"sync".into()));
    assert_eq!(broken[0]["found"]["number"], 0);
    // If only the process was killed, acknowledged data must not be lost, which includes the second write.
    assert_eq!(judged(&model.ledgers, &disk, After::Kill, None).broken_count, 1);

    disk[BLOCK..2 * BLOCK].fill(0);
    let outcome = judged(&model.ledgers, &disk, After::PowerCut, None);
    assert_eq!(outcome.broken[0].class, "never_written");
    let outcome = judged(&model.ledgers, &disk[..BLOCK + 100], After::PowerCut, None);
    assert_eq!(outcome.broken[0].class, "short");
}

/// Checks that damage to promised data is not mistaken for newer data, even if the end of the ledger was lost.
#[test]
fn every_flipped_bit_of_a_promised_block_is_found() {
    let model = three_writes();
    let whole = model.ledgers[0].clone();
    let cut = whole[..whole.len() - 3].to_vec();
    for (ledger, version) in [(&whole, 1), (&whole, 2), (&cut, 1)] {
        let ledgers = [ledger.clone(), model.ledgers[1].clone()];
        let mut disk = vec![0; BLOCKS * BLOCK];
        disk[BLOCK..2 * BLOCK].copy_from_slice(&model.versions[version].bytes);
        for at in 0..BLOCK {
            disk[BLOCK + at] ^= 4;
            let outcome = judged(&ledgers, &disk, After::PowerCut, None);
            assert_eq!(outcome.broken_count, 1, "byte {at} of version {version}");
            disk[BLOCK + at] ^= 4;
        }
    }
}

#[test]
fn ledgers_of_different_boots_are_not_mixed() {
    let mut accounts = three_writes().ledgers.map(|bytes| Account::read(&bytes).expect("a ledger"));
    accounts[1].start.boot_id = "another".to_owned();
    let files = [FileToCheck { name: "data".to_owned(), members: vec![(0, 0), (1, 0)] }];
    let outcome = check(&accounts, &files, After::PowerCut, None, |_, _, _| Ok(0));
    assert!(
        matches!(outcome, Err(fathom_verify::ledger::CheckError::Boots { ledgers: (0, 1), .. })),
        "{outcome:?}"
    );
}

/// Returns large acknowledged writes, one after another at the same place; the last record of the ledger is
/// truncated.
fn large_writes(length: usize, interval: u32, count: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
    let rule = Rule { interval: (interval > 0).then_some(interval), ..plain_rule() };
    let mut ledger = Vec::new();
    Record::Start(Box::new(Start {
        job: "large".to_owned(),
        clone: 1,
        files: vec!["data".to_owned()],
        rule: rule.clone(),
        durable_at_once: true,
        boot_id: "boot".to_owned(),
        time_ns: 1_000_000_000,
        time_of_day_ms: 0,
    }))
    .encode(&mut ledger);
    let mut contents = Vec::new();
    for number in 0..count {
        let (seed, time_ns) = (number * 2 + 77, 1_000_000_100 + number * 100);
        let issued = Issued {
            id: number,
            number,
            seed,
            file: 0,
            offset: 0,
            length: length as u64,
            time_ns,
            discards: false,
        };
        Record::Issued(issued).encode(&mut ledger);
        Record::Ended { id: number, time_ns: time_ns + 50, is_well: true }.encode(&mut ledger);
        let mut bytes = vec![0; length];
        let write = Write { seed, offset: 0, number, thread: 1, time: split_time(time_ns) };
        stamp(&rule, &mut bytes, &write);
        contents.push(bytes);
    }
    (ledger, contents)
}

/// Checks that the cost is linear in the damage, not quadratic, with blocks of 8 MiB in which some or all bytes
/// of every sector are wrong.
#[test]
fn damage_of_large_blocks_is_found_with_linear_work() {
    const LENGTH: usize = 8 << 20;
    for interval in [0, 4096, 512] {
        let (ledger, contents) = large_writes(LENGTH, interval, 3);
        let accounts = [Account::read(&ledger).expect("a ledger")];
        let files = [FileToCheck { name: "data".to_owned(), members: vec![(0, 0)] }];
        let newest = contents.last().expect("a write");
        let mut nibbled = newest.clone();
        nibbled.iter_mut().skip(300).step_by(SECTOR).for_each(|byte| *byte ^= 0x55);
        let blocks = if interval == 0 { 1 } else { (LENGTH as u64) / u64::from(interval) };
        for (disk, broken) in
            [(vec![0; LENGTH], blocks), (nibbled, blocks), (contents[0].clone(), blocks), (newest.clone(), 0)]
        {
            let mut read = 0;
            let outcome = check(&accounts, &files, After::PowerCut, None, |_, offset, buffer| {
                let rest = &disk[(offset as usize).min(disk.len())..];
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                read += count;
                Ok(count)
            })
            .expect("an outcome");
            assert_eq!(outcome.broken_count, broken, "interval {interval}");
            assert!(read <= 4 * LENGTH, "interval {interval}: {read} bytes were read");
        }
    }
}
