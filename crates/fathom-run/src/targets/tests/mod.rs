//! Sequences of targets: fio's exact orders, coverage, and bounds.

use super::*;
use crate::plan::model::distribution::ZoneShare;
use crate::plan::model::lengths::{LengthRule, WeightedSize};
use crate::plan::model::targets::{FileOrder, FileRule};
use proptest::prelude::*;

mod distributions;
mod order;
mod precondition;
mod simple;
mod strided;

const BLOCK: u64 = 4096;

fn plan(directions: DirectionPlan, random: bool) -> TargetPlan {
    TargetPlan {
        directions,
        random,
        random_percent: PerDirection::all(100),
        postfix: None,
        repeat_offset: false,
        lengths: PerDirection::from_fn(|_| LengthRule::Fixed(BLOCK)),
        length_by_pattern: false,
        writes_drawn_as_reads: false,
        wraps: false,
        begins_files_anew: false,
        alignment: PerDirection::all(BLOCK),
        each_block_once: true,
        generator: GeneratorKind::Tausworthe,
        distribution: DistributionRule::Uniform,
        files: FileRule { order: FileOrder::RoundRobin, hold: 1, most_open: None },
        stride: None,
        follows_zones: false,
    }
}

fn targets(plan: TargetPlan, size: u64) -> Targets {
    Targets::new(
        plan,
        &[TargetRegion { name: "f".into(), start: 0, size, file_size: size }],
        Seeds::new(0x89, 1),
    )
}

fn blocks(plan: TargetPlan, size: u64, count: usize) -> Vec<u64> {
    let mut targets = targets(plan, size);
    (0..count).filter_map(|_| targets.next()).map(|t| t.offset / BLOCK).collect()
}

const MIB: u64 = 1 << 20;

#[test]
fn golden_random_orders() {
    let random = || plan(DirectionPlan::Read, true);
    let of_1m = [250, 221, 168, 132, 154, 251, 3, 57, 83, 214, 172, 144, 243, 97, 4, 191];
    assert_eq!(blocks(random(), MIB, 16), of_1m);
    assert_eq!(blocks(random(), 65536, 99), [15, 13, 10, 8, 9, 0, 1, 3, 5, 14, 11, 12, 2, 6, 4, 7]);
    let without_map = TargetPlan { each_block_once: false, ..random() };
    let repeats = [250, 221, 168, 132, 154, 250, 3, 57, 83, 214, 172, 144, 243, 97, 3, 191];
    assert_eq!(blocks(without_map, MIB, 16), repeats);
    let wide = TargetPlan { generator: GeneratorKind::Tausworthe64, ..random() };
    let of_wide = [92, 39, 189, 136, 218, 108, 254, 228, 114, 213, 41, 20, 46, 8, 239, 50];
    assert_eq!(blocks(wide, MIB, 16), of_wide);
}

#[test]
fn golden_orders_with_postfix() {
    let four_each = TargetPlan { postfix: Some(4), ..plan(DirectionPlan::Read, true) };
    let expected = [250, 251, 252, 253, 221, 222, 223, 224, 168, 169, 170, 171, 132, 133, 134, 135];
    assert_eq!(blocks(four_each, MIB, 16), expected);
    let holes = TargetPlan { postfix: Some(8192), ..plan(DirectionPlan::Read, false) };
    assert_eq!(blocks(holes, 131072, 13), [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 3]);
    let holes = TargetPlan { postfix: Some(4096), ..plan(DirectionPlan::Write, false) };
    assert_eq!(blocks(holes, 65536, 9), [0, 2, 4, 6, 8, 10, 12, 14, 0]);
    // A block that ends exactly at the end of the region, or no longer fits, ends the pass.
    let holes = TargetPlan { postfix: Some(8192), ..plan(DirectionPlan::Write, false) };
    assert_eq!(blocks(holes.clone(), 65536, 99), [0, 3, 6, 9, 12, 15]);
    assert_eq!(blocks(holes, 61440, 8), [0, 3, 6, 9, 12, 0, 3, 6]);
    let wide = LengthRule::Fixed(8192);
    let holes = TargetPlan {
        postfix: Some(4096),
        lengths: PerDirection::from_fn(|_| wide.clone()),
        ..plan(DirectionPlan::Read, false)
    };
    assert_eq!(blocks(holes, 126_976, 99), [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    // In a part of a file, a hole leads back to twice the offset, but only from far enough away.
    let holes = TargetPlan { postfix: Some(8192), ..plan(DirectionPlan::Write, false) };
    let part = TargetRegion { name: "f".into(), start: 4096, size: 57_344, file_size: 61_440 };
    let mut targets = Targets::new(holes.clone(), std::slice::from_ref(&part), Seeds::new(0x89, 1));
    let pass: Vec<u64> = std::iter::from_fn(|| targets.next()).map(|t| t.offset / BLOCK).collect();
    assert_eq!(pass, [1, 4, 7, 10, 13, 2, 5, 8, 11, 14]);
    let longer = TargetRegion { file_size: 65_536, ..part };
    let mut targets = Targets::new(holes, &[longer], Seeds::new(0x89, 1));
    assert_eq!(std::iter::from_fn(|| targets.next()).count(), 5);
    let backwards = TargetPlan { postfix: Some(-8192), ..plan(DirectionPlan::Read, false) };
    assert_eq!(blocks(backwards, 65536, 5), [0, 14, 13, 12, 11]);
}

#[test]
fn golden_mix() {
    let mut targets = targets(plan(DirectionPlan::Mix(50), false), MIB);
    let order: String = (0..16)
        .filter_map(|_| targets.next())
        .map(|t| format!("{}{} ", &t.direction.word()[..1], t.offset / BLOCK))
        .collect();
    assert_eq!(order.trim(), "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r8 r9");
}

#[test]
fn golden_variable_lengths() {
    let order = |rule: LengthRule| {
        let plan = TargetPlan {
            lengths: PerDirection::from_fn(|_| rule.clone()),
            ..plan(DirectionPlan::Read, true)
        };
        let mut targets = targets(plan, 4 * MIB);
        let list: Vec<(u64, u64)> = (0..8)
            .filter_map(|_| targets.next())
            .map(|t| (t.offset / BLOCK, u64::from(t.length) / BLOCK))
            .collect();
        list
    };
    let range = order(LengthRule::Range { min: BLOCK, max: 16 * BLOCK, unaligned: false });
    assert_eq!(range, [(1000, 3), (886, 11), (672, 13), (528, 6), (617, 15), (1003, 2), (14, 16), (231, 3)]);
    let split = [(BLOCK, 50), (2 * BLOCK, 30), (4 * BLOCK, 20)];
    let split =
        order(LengthRule::split(Vec::from(split.map(|(size, percent)| WeightedSize { size, percent }))));
    assert_eq!(split, [(1000, 4), (886, 1), (672, 1), (528, 2), (617, 1), (1004, 4), (14, 1), (231, 4)]);
}

#[test]
fn golden_partly_random_and_sequence() {
    let half = TargetPlan { random_percent: PerDirection::all(50), ..plan(DirectionPlan::Read, true) };
    let expected = [250, 251, 252, 221, 222, 168, 169, 132, 154, 251, 3, 4, 5, 57, 58, 59];
    assert_eq!(blocks(half, MIB, 16), expected);
    let listed = |stride| TargetPlan {
        distribution: DistributionRule::Sequence { blocks: vec![2, 0, 1], stride },
        each_block_once: false,
        ..plan(DirectionPlan::Read, true)
    };
    assert_eq!(blocks(listed(false), MIB, 6), [2, 0, 1, 2, 0, 1]);
    assert_eq!(blocks(listed(true), MIB, 9), [2, 0, 1, 5, 3, 4, 8, 6, 7]);
    // The position in the list advances with every I/O, including sequential ones.
    let partly = TargetPlan { random_percent: PerDirection::all(50), ..listed(false) };
    assert_eq!(blocks(partly, 48 << 10, 12), [2, 3, 4, 2, 3, 1, 2, 0, 1, 2, 0, 1]);
    let shares = vec![
        ZoneShare { access_percent: 60, size: 100 << 10 },
        ZoneShare { access_percent: 40, size: 200 << 10 },
    ];
    let zoned = TargetPlan {
        distribution: DistributionRule::ZonedAbsolute(PerDirection::from_fn(|_| shares.clone())),
        each_block_once: false,
        ..plan(DirectionPlan::Read, true)
    };
    assert_eq!(blocks(zoned, MIB, 16), [24, 21, 16, 50, 55, 24, 25, 5, 41, 66, 58, 14, 23, 9, 25, 18]);
}

#[test]
fn fine_alignment_spreads_offsets() {
    let fine = TargetPlan {
        alignment: PerDirection::all(512),
        each_block_once: false,
        ..plan(DirectionPlan::Read, true)
    };
    let mut targets = targets(fine, MIB);
    let places: Vec<f64> = (0..3).filter_map(|_| targets.next()).map(|t| t.offset as f64 / 4096.0).collect();
    assert_eq!(places, [249.25, 220.875, 167.5]);
}

#[test]
fn a_trim_is_followed_by_its_write() {
    let mut targets = targets(plan(DirectionPlan::TrimThenWrite, true), MIB);
    for _ in 0..100 {
        let (trim, write) = (targets.next().expect("a trim"), targets.next().expect("a write"));
        assert_eq!((trim.direction, write.direction), (Direction::Trim, Direction::Write));
        assert_eq!((trim.offset, trim.length), (write.offset, write.length));
    }
}

/// Orders of fio's `time_based` jobs.
#[test]
fn golden_orders_without_an_end() {
    let endless = TargetPlan { wraps: true, begins_files_anew: true, ..plan(DirectionPlan::Read, true) };
    let four_each = TargetPlan { postfix: Some(4), ..endless.clone() };
    let expected = [
        15, 0, 1, 2, 13, 14, 15, 0, 10, 11, 12, 13, 8, 9, 10, 11, 9, 10, 11, 12, 0, 1, 2, 3, 1, 2, 3, 4, 3,
        4, 5, 6, 5, 6, 7, 8, 14, 15, 0, 1, 11, 12, 13, 14,
    ];
    assert_eq!(blocks(four_each, 65536, 44), expected);
    let half = TargetPlan { random_percent: PerDirection::all(50), ..endless.clone() };
    let expected = [
        15, 0, 1, 13, 14, 10, 11, 8, 9, 0, 1, 2, 3, 3, 4, 5, 5, 14, 15, 0, 11, 12, 13, 2, 3, 4, 6, 4, 5, 6,
        7, 8, 9, 10, 7, 7, 12, 13, 9, 2, 8, 5, 6, 7,
    ];
    assert_eq!(blocks(half, 65536, 44), expected);
    let region =
        |name: &str| TargetRegion { name: name.into(), start: 0, size: 4 * BLOCK, file_size: 4 * BLOCK };
    let mut of_two = Targets::new(endless, &[region("f"), region("g")], Seeds::new(0x89, 1));
    let given: Vec<(u32, u64)> =
        std::iter::from_fn(|| of_two.next()).take(24).map(|t| (t.file, t.offset / BLOCK)).collect();
    let expected = [
        [(0, 3), (1, 3), (0, 2), (1, 2), (0, 0), (1, 0), (0, 1), (1, 1)],
        [(0, 3), (1, 2), (0, 0), (1, 1), (0, 1), (1, 3), (0, 2), (1, 0)],
        [(0, 2), (1, 1), (0, 1), (1, 2), (0, 3), (1, 0), (0, 0), (1, 3)],
    ];
    assert_eq!(given, expected.concat());
}

#[test]
fn an_odd_tail_is_left_out() {
    assert_eq!(blocks(plan(DirectionPlan::Read, false), 20000, 99), [0, 1, 2, 3]);
}

#[test]
fn restart_repeats_or_continues() {
    for generator in [GeneratorKind::Free, GeneratorKind::Tausworthe] {
        let mut targets = targets(TargetPlan { generator, ..plan(DirectionPlan::Read, true) }, 65536);
        let pass = |targets: &mut Targets| -> Vec<u64> {
            std::iter::from_fn(|| targets.next()).map(|t| t.offset).collect()
        };
        let first = pass(&mut targets);
        targets.restart(true);
        assert_eq!(pass(&mut targets), first);
        targets.restart(false);
        let other = pass(&mut targets);
        assert_ne!(other, first);
        assert_eq!(other.len(), 16);
    }
}

#[test]
fn asking_again_behind_the_end_does_not_change_the_next_pass() {
    let order = |asked: usize| -> Vec<(Direction, u64)> {
        let plan = TargetPlan { each_block_once: true, ..plan(DirectionPlan::Mix(50), true) };
        let mut targets = targets(plan, 16 * BLOCK);
        while targets.next().is_some() {}
        (0..asked).for_each(|_| assert!(targets.next().is_none()));
        targets.restart(true);
        std::iter::from_fn(|| targets.next()).map(|target| (target.direction, target.offset)).collect()
    };
    assert_eq!(order(0), order(5));
}

/// A run loop that waits for completions asks for another target after the last one, which must not yield a
/// write without its trim.
#[test]
fn asking_again_behind_the_end_gives_no_write_without_a_trim() {
    let plan = plan(DirectionPlan::TrimThenWrite, false);
    let mut targets = targets(plan, 3 * BLOCK + BLOCK / 2);
    let mut count = 0;
    while targets.next().is_some() {
        count += 1;
    }
    assert_eq!(count, 6);
    assert!((0..5).all(|_| targets.next().is_none()));
}

#[test]
fn directions_may_have_alignments_of_their_own() {
    let plan = TargetPlan {
        alignment: PerDirection::new([4096, 65536, 4096]),
        lengths: PerDirection::new([
            LengthRule::Fixed(4096),
            LengthRule::Fixed(65536),
            LengthRule::Fixed(4096),
        ]),
        each_block_once: false,
        ..plan(DirectionPlan::Mix(50), true)
    };
    let mut targets = targets(plan, MIB);
    for _ in 0..1000 {
        let target = targets.next().expect("goes on for ever");
        let alignment = [4096, 65536][target.direction as usize];
        assert_eq!((target.offset % alignment, u64::from(target.length)), (0, alignment));
        assert!(target.offset + alignment <= MIB);
    }
}

proptest! {
    #[test]
    fn a_random_pass_covers_every_block_once(
        sizes in prop::collection::vec(1u64..200, 1..4),
        generator in prop_oneof![Just(GeneratorKind::Free), Just(GeneratorKind::BySize), Just(GeneratorKind::Tausworthe), Just(GeneratorKind::Tausworthe64), Just(GeneratorKind::ShiftRegister)],
        order in prop_oneof![Just(FileOrder::RoundRobin), Just(FileOrder::Sequential), Just(FileOrder::Random)],
        seed in any::<u64>(), mixed in any::<bool>(),
    ) {
        let directions = if mixed { DirectionPlan::Mix(30) } else { DirectionPlan::Write };
        let plan = TargetPlan { generator, files: FileRule { order, hold: 1, most_open: None }, ..plan(directions, true) };
        let region = |(i, &blocks): (usize, &u64)| {
            let size = blocks * BLOCK + 100;
            TargetRegion { name: format!("file{i}"), start: 8192, size, file_size: 8192 + size }
        };
        let regions: Vec<TargetRegion> = sizes.iter().enumerate().map(region).collect();
        let mut targets = Targets::new(plan, &regions, Seeds::new(seed, 3));
        let mut seen: Vec<Vec<bool>> = sizes.iter().map(|&blocks| vec![false; blocks as usize]).collect();
        while let Some(target) = targets.next() {
            let block = (target.offset - 8192) / BLOCK;
            prop_assert!(!std::mem::replace(&mut seen[target.file as usize][block as usize], true));
        }
        prop_assert!(seen.iter().flatten().all(|&s| s));
    }

    #[test]
    fn targets_stay_inside_their_region(
        min in 1u64..5000, span in 0u64..20_000, size in 1u64..100_000, start in 0u64..10_000,
        random in any::<bool>(), once in any::<bool>(), percent in 0u32..=100, seed in any::<u64>(),
        behind in 0u64..30_000, postfix in prop::option::of(-10_000i64..10_000),
    ) {
        let rule = LengthRule::Range { min, max: min + span, unaligned: false };
        let plan = TargetPlan {
            lengths: PerDirection::from_fn(|_| rule.clone()), alignment: PerDirection::all(min), each_block_once: once,
            random_percent: PerDirection::all(percent), postfix, ..plan(DirectionPlan::Read, random)
        };
        let region = TargetRegion { name: "f".into(), start, size, file_size: start + size + behind };
        let mut targets = Targets::new(plan, &[region], Seeds::new(seed, 1));
        for _ in 0..300 {
            let Some(target) = targets.next() else { break };
            prop_assert!(target.offset >= start && target.offset + u64::from(target.length) <= start + size);
            prop_assert!(target.length > 0);
        }
    }
}
