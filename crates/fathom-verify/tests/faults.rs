//! Injects faults of every kind at random positions of random blocks. Each fault must be detected and
//! classified correctly, and unmodified data must never raise an alarm.

use fathom_verify::check::{Mismatch, Problem, Reading, check};
use fathom_verify::content::Pattern;
use fathom_verify::header::HeaderFormat;
use fathom_verify::method::Method;
use fathom_verify::rule::Rule;
use fathom_verify::stamp::{Write, stamp};
use fathom_verify::verdict::{History, NoHistory, Suspect, TornRest, Verdict, classify};
use proptest::prelude::*;

const SECTOR: usize = 512;

/// Returns the methods that cover every byte of a block.
fn strong_methods() -> Vec<Method> {
    Method::ALL.iter().copied().filter(|method| method.checksum_room() >= 4).collect()
}

fn formats() -> impl Strategy<Value = HeaderFormat> {
    prop::sample::select(vec![HeaderFormat::Current, HeaderFormat::First])
}

/// Returns a rule, and the length of a write that fits it.
fn rules(methods: Vec<Method>) -> impl Strategy<Value = (Rule, usize)> {
    let sizes = prop::sample::select(vec![1024usize, 2048, 4096, 8192]);
    let intervals = prop::sample::select(vec![None, Some(512), Some(1024)]);
    let patterns = prop::option::weighted(0.2, prop::collection::vec(any::<u8>(), 1..20));
    (prop::sample::select(methods), formats(), sizes, intervals, any::<bool>(), patterns).prop_map(
        |(method, format, length, interval, offsets_header, pattern)| {
            let headless = !method.has_header();
            let pattern = match pattern {
                None if headless || method == Method::PatternHeader => Some(vec![0x5a, 0xa5, 0x01]),
                pattern => pattern,
            };
            let rule = Rule {
                method,
                format,
                interval,
                header_offset: if offsets_header { 200 } else { 0 },
                pattern: pattern.map(|bytes| Pattern { bytes, offset_places: Vec::new() }.extended_to(64)),
                pattern_interval: 0,
                checks_seed: true,
                checks_number: true,
            };
            (rule, length)
        },
    )
}

/// Returns rules of methods that detect every flipped bit, with random content.
fn strong_rules() -> impl Strategy<Value = (Rule, usize)> {
    rules(strong_methods()).prop_map(|(rule, length)| (Rule { pattern: None, ..rule }, length))
}

fn writes() -> impl Strategy<Value = Write> {
    (any::<u64>(), 0u64..1 << 40, 1u64..1 << 15, 1u16..100, any::<u32>()).prop_map(
        |(seed, block, number, thread, time)| Write {
            seed: seed | 1,
            offset: block * 8192,
            number,
            thread,
            time: (time, time % 1_000_000_000),
        },
    )
}

fn stamped(rule: &Rule, length: usize, write: &Write) -> Vec<u8> {
    let mut block = vec![0; length];
    stamp(rule, &mut block, write);
    block
}

fn found(rule: &Rule, block: &mut [u8], write: &Write) -> Vec<Mismatch> {
    let before = block.to_vec();
    let reading = Reading::new(write.offset, Some(write), block.len());
    let mismatches = check(rule, block, &reading, false);
    assert_eq!(block, before, "checking changes nothing");
    mismatches
}

/// Returns the verdict on the only or first mismatch.
fn verdict(rule: &Rule, block: &mut [u8], write: &Write, history: &dyn History) -> Verdict {
    let mismatches = found(rule, block, write);
    let first = mismatches.first().expect("the fault is found");
    let length = block.len();
    let suspect = Suspect {
        bytes: &block[first.at..first.at + first.length],
        offset: first.offset,
        expected: Some((write, length)),
        thread: write.thread,
    };
    classify(rule, &suspect, history)
}

/// The file's only earlier write.
struct Earlier(Write, usize);

impl History for Earlier {
    fn earlier(&self, _offset: u64, number: u64) -> Option<(Write, usize)> {
        (self.0.number < number).then_some((self.0, self.1))
    }

    fn other_file(&self, _number: u64, _seed: u64) -> Option<String> {
        None
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn clean_data_raises_no_alarm((rule, length) in rules(Method::ALL.to_vec()), write in writes()) {
        let mut block = stamped(&rule, length, &write);
        prop_assert_eq!(found(&rule, &mut block, &write), vec![]);
        // If the write is unknown, the block is checked only against its own header.
        let reading = Reading::new(write.offset, None, length);
        prop_assert_eq!(check(&rule, &mut block, &reading, false), vec![]);
    }

    #[test]
    fn ends_without_room_for_a_header_are_covered_too(
        (rule, length) in strong_rules(),
        write in writes(),
        end in 1usize..48,
        place in any::<prop::sample::Index>(),
    ) {
        let mut block = stamped(&Rule { interval: Some(512), ..rule.clone() }, length + end, &write);
        let rule = Rule { interval: Some(512), ..rule };
        prop_assert_eq!(found(&rule, &mut block, &write), vec![]);
        block[length + place.index(end)] ^= 1;
        // At an end of one or two bytes, a flip may leave only zeros, and zeros count as never written.
        prop_assume!(block[length..].iter().any(|&byte| byte != 0));
        prop_assert_eq!(found(&rule, &mut block, &write).len(), 1);
        let verdict = verdict(&rule, &mut block, &write, &NoHistory);
        prop_assert!(matches!(verdict, Verdict::BitFlips { .. }), "{verdict:?}");
    }

    #[test]
    fn flipped_bits_are_found_and_placed(
        (rule, length) in strong_rules(),
        write in writes(),
        places in prop::collection::btree_set(0usize..1 << 13, 1..4),
    ) {
        let mut block = stamped(&rule, length, &write);
        let interval = rule.interval_of(length);
        // Several flips are kept out of the header, because its checksum can locate only one.
        let first = if places.len() == 1 { 0 } else { 400 * 8 };
        let bits: Vec<usize> = places.into_iter().map(|place| first + place % (interval * 8 - first)).collect();
        let sum_of_header_place = |bit: usize| {
            // Two bytes of the current header are unused, and so are the bytes of the field that no checksum
            // fills.
            let at = bit / 8;
            let room = rule.header_room(rule.format);
            let used = rule.format.length() + match rule.method {
                Method::Sha256 => 32,
                Method::Sha512 => 64,
                method => method.checksum_room(),
            };
            let base = rule.header_offset as usize;
            (base + used..base + room).contains(&at)
        };
        prop_assume!(!bits.iter().any(|&bit| sum_of_header_place(bit)));
        for bit in &bits {
            block[bit / 8] ^= 1 << (bit % 8);
        }
        let flipped: std::collections::BTreeSet<usize> =
            bits.iter().copied().filter(|bit| bits.iter().filter(|other| *other == bit).count() % 2 == 1).collect();
        prop_assume!(!flipped.is_empty());
        let verdict = verdict(&rule, &mut block, &write, &NoHistory);
        let Verdict::BitFlips { bits: told } = verdict else { panic!("{verdict:?}") };
        prop_assert_eq!(told.len(), flipped.len());
        prop_assert_eq!(told.iter().map(|&bit| bit as usize).collect::<std::collections::BTreeSet<_>>(), flipped);
    }

    #[test]
    fn zeros_were_never_written((rule, length) in strong_rules(), write in writes()) {
        let mut block = vec![0; length];
        prop_assert_eq!(verdict(&rule, &mut block, &write, &NoHistory), Verdict::NeverWritten);
    }

    #[test]
    fn stale_blocks_are_called_stale(
        (rule, length) in strong_rules(),
        write in writes(),
        other_seed in any::<u64>(),
        back in 1u64..100,
    ) {
        prop_assume!(other_seed != write.seed && write.number > back);
        let old = Write { seed: other_seed, number: write.number - back, ..write };
        let mut block = stamped(&rule, length, &old);
        let expected = Verdict::Stale { found_number: rule.format.number(old.number), of_another_run: false };
        prop_assert_eq!(verdict(&rule, &mut block, &write, &Earlier(old, length)), expected.clone());
        prop_assert_eq!(verdict(&rule, &mut block, &write, &NoHistory), expected);
    }

    #[test]
    fn blocks_of_other_places_are_misdirected(
        (rule, length) in strong_rules(),
        write in writes(),
        other_seed in any::<u64>(),
        away in 1u64..1000,
    ) {
        prop_assume!(other_seed != write.seed);
        let other = Write { seed: other_seed, number: write.number + away, offset: write.offset + away * 8192, ..write };
        let mut block = stamped(&rule, length, &other);
        let Verdict::Misdirected { belongs_at, .. } = verdict(&rule, &mut block, &write, &NoHistory) else {
            panic!("not misdirected")
        };
        prop_assert_eq!(belongs_at, other.offset);
    }

    #[test]
    fn blocks_of_other_clones_are_of_another_file(
        (rule, length) in strong_rules(),
        write in writes(),
        other_seed in any::<u64>(),
    ) {
        prop_assume!(other_seed != write.seed);
        let other = Write { seed: other_seed, thread: write.thread + 1, ..write };
        let mut block = stamped(&rule, length, &other);
        let verdict = verdict(&rule, &mut block, &write, &NoHistory);
        prop_assert!(matches!(verdict, Verdict::WrongFile { .. }), "{verdict:?}");
    }

    #[test]
    fn torn_writes_are_found(
        (rule, length) in strong_rules(),
        write in writes(),
        other_seed in any::<u64>(),
        cut in 1usize..15,
        zeros in any::<bool>(),
        old_first in any::<bool>(),
    ) {
        let rule = Rule { interval: None, ..rule };
        let sectors = length / SECTOR;
        let cut = 1 + cut % (sectors - 1);
        prop_assume!(other_seed != write.seed);
        let old = Write { seed: other_seed, number: write.number - 1, ..write };
        let old_bytes = if zeros { vec![0; length] } else { stamped(&rule, length, &old) };
        let mut block = stamped(&rule, length, &write);
        let torn = if old_first { 0..cut * SECTOR } else { cut * SECTOR..length };
        block[torn.clone()].copy_from_slice(&old_bytes[torn.clone()]);
        let verdict = verdict(&rule, &mut block, &write, &Earlier(old, length));
        let new_sectors = ((length - torn.len()) / SECTOR) as u32;
        let rest = if zeros { TornRest::Zeros } else { TornRest::EarlierWrite };
        prop_assert_eq!(verdict, Verdict::Torn { new_sectors, sectors: sectors as u32, rest });
    }

    #[test]
    fn zeroed_headers_are_damage((rule, length) in strong_rules(), write in writes()) {
        let rule = Rule { interval: None, header_offset: 0, ..rule };
        let mut block = stamped(&rule, length, &write);
        block[..48].fill(0);
        let verdict = verdict(&rule, &mut block, &write, &NoHistory);
        prop_assert!(matches!(verdict, Verdict::Damaged { zeroed: true, first: 0, last: 40..=47, .. }), "{verdict:?}");
    }

    #[test]
    fn any_change_of_a_pattern_is_found(
        (rule, length) in rules(vec![Method::Pattern, Method::PatternHeader]),
        write in writes(),
        place in any::<prop::sample::Index>(),
        change in 1u8..,
    ) {
        let mut block = stamped(&rule, length, &write);
        let at = place.index(length);
        // Two bytes of a header are unused, so changes of them are not detected.
        let in_interval = at % rule.interval_of(length);
        let header = rule.header_offset as usize;
        prop_assume!(!rule.method.has_header() || !(header + 42..header + 44).contains(&in_interval) || rule.format == HeaderFormat::First);
        block[at] ^= change;
        prop_assert_eq!(found(&rule, &mut block, &write).len(), 1);
    }

    #[test]
    fn nothing_panics_on_any_bytes(
        (rule, _) in rules(Method::ALL.to_vec()),
        write in writes(),
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        has_magic in any::<bool>(),
    ) {
        let mut block = bytes;
        if has_magic && block.len() > 4 {
            block[..4].copy_from_slice(&[0xca, 0xac, 0x81, rule.method as u8]);
        }
        for mismatch in found(&rule, &mut block, &write) {
            mismatch.lines(&rule, "file", (write.offset, block.len()));
            let suspect = Suspect {
                bytes: &block[mismatch.at..mismatch.at + mismatch.length],
                offset: mismatch.offset,
                expected: Some((&write, block.len())),
                thread: write.thread,
            };
            classify(&rule, &suspect, &NoHistory).sentence();
            classify(&rule, &Suspect { expected: None, ..suspect }, &NoHistory).sentence();
        }
    }
}

fn rule(method: Method) -> Rule {
    Rule {
        method,
        format: HeaderFormat::Current,
        interval: None,
        header_offset: 0,
        pattern: None,
        pattern_interval: 0,
        checks_seed: false,
        checks_number: false,
    }
}

const SOME: Write = Write { seed: 77, offset: 8192, number: 3, thread: 1, time: (5, 6) };

/// Returns the verdict on a block of unknown origin.
fn by_itself(rule: &Rule, block: &mut [u8]) -> Option<Verdict> {
    let reading = Reading::new(SOME.offset, None, block.len());
    let mismatches = check(rule, block, &reading, false);
    let suspect = Suspect { bytes: block, offset: SOME.offset, expected: None, thread: 0 };
    (!mismatches.is_empty()).then(|| classify(rule, &suspect, &NoHistory))
}

/// Blocks of earlier versions of fathom contain a digest and zeros in place of the checksum.
#[test]
fn mere_digests_are_right_too() {
    for (method, digest) in [(Method::Sha256, 32), (Method::Sha512, 64)] {
        let rule = rule(method);
        let room = rule.header_room(HeaderFormat::Current);
        let mut block = stamped(&rule, 4096, &SOME);
        let sum = fathom_verify::checksum::checksum(method, &block[room..]);
        assert_eq!(sum.bytes().len(), digest);
        block[48..room].fill(0);
        block[48..48 + digest].copy_from_slice(sum.bytes());
        assert_eq!(by_itself(&rule, &mut block), None, "{method:?}");
        block[3000] ^= 4;
        let flipped = Verdict::BitFlips { bits: vec![3000 * 8 + 2] };
        assert_eq!(by_itself(&rule, &mut block), Some(flipped), "{method:?}");
    }
}

/// Checks that the seed of a damaged header is not used to judge the data.
#[test]
fn a_broken_header_judges_no_data() {
    let rule = rule(Method::Crc32c);
    let spoiled = |places: &[(usize, u8)]| {
        let mut block = stamped(&rule, 4096, &SOME);
        for &(at, mask) in places {
            block[at] ^= mask;
        }
        by_itself(&rule, &mut block)
    };
    let damaged = |first, last, bytes| Some(Verdict::Damaged { first, last, bytes, zeroed: false });
    assert_eq!(spoiled(&[(8, 0x10)]), Some(Verdict::BitFlips { bits: vec![68] }));
    assert_eq!(spoiled(&[(8, 0xff)]), Some(Verdict::BitFlips { bits: (64..72).collect() }));
    // If only the header is damaged, the verdict is as specific as the remaining fields allow.
    assert_eq!(spoiled(&[(45, 0xff), (46, 0xff)]), Some(Verdict::BitFlips { bits: (360..376).collect() }));
    assert_eq!(spoiled(&[(8, 0xff), (9, 0xff)]), Some(Verdict::Unrecognised));
    assert_eq!(spoiled(&[(8, 0xff), (9, 0xff), (3000, 1)]), Some(Verdict::Unrecognised));
    let mut block = stamped(&rule, 4096, &SOME);
    block[1000..1100].iter_mut().for_each(|byte| *byte ^= 0x55);
    assert_eq!(by_itself(&rule, &mut block), damaged(1000, 1099, 100));
}

/// Checks the end of a write that is too short for a header, which may resemble a header of the shorter first
/// layout.
#[test]
fn ends_that_look_like_a_shorter_header_raise_no_alarm() {
    for (method, end) in [(Method::Xxhash, 44), (Method::Crc32c, 47), (Method::Md5, 58)] {
        let rule = Rule { interval: Some(512), checks_seed: true, checks_number: true, ..rule(method) };
        for seed in 0..3000u64 {
            let write = Write {
                seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                offset: 0,
                number: 1,
                thread: 1,
                time: (0, 0),
            };
            let mut block = stamped(&rule, 1024 + end, &write);
            assert_eq!(found(&rule, &mut block, &write), [], "{method:?}, seed {}", write.seed);
        }
    }
}

/// Returns all divisions into intervals with all header positions.
fn layouts() -> Vec<Rule> {
    let mut rules = Vec::new();
    for method in Method::ALL.iter().copied().filter(|method| *method != Method::Null) {
        for format in [HeaderFormat::Current, HeaderFormat::First] {
            for (interval, header_offset) in [(None, 0), (Some(512), 0), (None, 300), (Some(512), 200)] {
                let needs = matches!(method, Method::Pattern | Method::PatternHeader);
                let pattern = Pattern { bytes: vec![0x5a, 0xa5, 0x01], offset_places: Vec::new() };
                let pattern = needs.then(|| pattern.extended_to(64));
                rules.push(Rule { format, interval, header_offset, pattern, ..rule(method) });
            }
        }
    }
    rules
}

/// Checks that `meta` covers its header, and that every other method covers every byte of a block, including
/// its own fields.
#[test]
fn every_byte_of_every_layout_is_covered() {
    for rule in layouts() {
        for length in [512usize, 1536, 4096] {
            let interval = rule.interval_of(length);
            let room = rule.header_room(rule.format);
            let mut block = stamped(&rule, length, &SOME);
            let is_covered = |at: usize| {
                let (at, header) = (at % interval, rule.header_offset as usize);
                let header = if header >= room && header + room <= interval { header } else { 0 };
                rule.method != Method::Meta || (header..header + room).contains(&at)
            };
            for at in (0..length).filter(|at| is_covered(*at)) {
                let bit = 1 << (at % 8);
                block[at] ^= bit;
                let known = found(&rule, &mut block, &SOME);
                assert!(!known.is_empty(), "{rule:?}, {length} bytes: byte {at} of a known write");
                // The SHA-2 field of fio 3.33 depends little on the data. The seed determines the data, but
                // only if the start of the write is known.
                let is_sha2 = matches!(rule.method, Method::Sha256 | Method::Sha512);
                let is_weak = is_sha2 && rule.format == HeaderFormat::First && rule.interval.is_some();
                let unknown = check(&rule, &mut block, &Reading::new(SOME.offset, None, length), false);
                assert!(
                    is_weak || !unknown.is_empty(),
                    "{rule:?}, {length} bytes: byte {at} of an unknown write"
                );
                block[at] ^= bit;
            }
            assert_eq!(found(&rule, &mut block, &SOME), [], "{rule:?}");
        }
    }
}

/// Checks that a lost write is detected if it leaves the block of an earlier run, which differs only in its
/// time.
#[test]
fn the_time_of_a_write_tells_runs_apart() {
    let ns = |(seconds, rest): (u32, u32)| u64::from(seconds) * 1_000_000_000 + u64::from(rest);
    for rule in layouts().into_iter().filter(|rule| rule.method.has_header()) {
        let mut block = stamped(&rule, 4096, &SOME);
        let of = |block: &mut [u8], issued| {
            let reading = Reading { issued: Some(issued), ..Reading::new(SOME.offset, Some(&SOME), 4096) };
            check(&rule, block, &reading, false)
        };
        let own = ns(SOME.time);
        for right in [(own, own), (own - 1, own + 1), (0, u64::MAX)] {
            assert_eq!(of(&mut block, right), [], "{rule:?}");
        }
        for wrong in [(own + 1, own + 1), (0, own - 1), (own + 1, u64::MAX)] {
            let found = of(&mut block, wrong);
            let times =
                found.iter().filter(|own| matches!(own.problem, Problem::Time { number: 3, .. })).count();
            assert_eq!((times, found.len()), (4096 / rule.interval_of(4096), times), "{rule:?}");
            let line = &found[0].lines(&rule, "f", (SOME.offset, 4096))[0];
            assert!(line.starts_with("verify: bad header time 5.000000006, wanted "), "{line}");
        }
    }
}

/// Checks that content from another seed is rejected if the seed is known, even if the write is not.
#[test]
fn a_seed_that_is_known_is_checked() {
    let rule = Rule { checks_seed: true, ..rule(Method::Crc32c) };
    let mut block = stamped(&rule, 4096, &SOME);
    let mut of =
        |seed| check(&rule, &mut block, &Reading { seed, ..Reading::new(SOME.offset, None, 4096) }, false);
    assert_eq!((of(None), of(Some(77))), (vec![], vec![]));
    assert!(matches!(of(Some(78))[0].problem, Problem::Seed { found: 77, wanted: 78 }));
}
