//! `zonemode=strided`. The sequential orders are those of fio.

use super::*;
use crate::plan::model::targets::StrideRule;

fn zones(work: u64, length: u64, skip: u64) -> Option<StrideRule> {
    Some(StrideRule { work: work * 1024, length: length * 1024, skip: skip * 1024 })
}

fn sequential(stride: Option<StrideRule>, count: usize) -> Vec<u64> {
    blocks(TargetPlan { stride, ..plan(DirectionPlan::Read, false) }, 256 << 10, count)
}

#[test]
fn golden_sequential_zones() {
    let order = [0, 1, 2, 3, 12, 13, 14, 15, 24, 25, 26, 27, 36, 37, 38, 39];
    assert_eq!(sequential(zones(16, 16, 32), 16), order);
    // The zones are longer than the bytes to move, the end of the file shortens the last one, and then the
    // first zone follows again.
    let order = [0, 1, 2, 3, 20, 21, 22, 23, 40, 41, 42, 43, 60, 61, 62, 63, 0, 1];
    assert_eq!(sequential(zones(16, 64, 16), 18), order);
    // The zones are shorter than the bytes to move.
    let order = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 8, 9];
    assert_eq!(sequential(zones(64, 16, 16), 18), order);
    // The zones are larger than the file.
    assert_eq!(sequential(zones(512, 512, 16), 66)[62..], [62, 63, 0, 1]);
}

#[test]
fn golden_directions_in_zones() {
    let order = |directions| -> String {
        let mut targets =
            targets(TargetPlan { stride: zones(16, 16, 16), ..plan(directions, false) }, 256 << 10);
        let words = (0..16).filter_map(|_| targets.next());
        words.map(|t| format!("{}{} ", &t.direction.word()[..1], t.offset / BLOCK)).collect()
    };
    let mixed = "r0 r1 r2 w0 r8 r9 w8 w9 w16 r16 w17 r17 w24 r24 r25 r26 ";
    assert_eq!(order(DirectionPlan::Mix(50)), mixed);
    let trims = "t0 w0 t1 w1 t8 w8 t9 w9 t16 w16 t17 w17 t24 w24 t25 w25 ";
    assert_eq!(order(DirectionPlan::TrimThenWrite), trims);
}

#[test]
fn a_pass_again_begins_with_the_first_zone() {
    for generator in [GeneratorKind::Free, GeneratorKind::Tausworthe, GeneratorKind::ShiftRegister] {
        let plan = TargetPlan { generator, stride: zones(16, 24, 16), ..plan(DirectionPlan::Read, true) };
        let mut targets = targets(plan, 100 << 10);
        let draw = |targets: &mut Targets| -> Vec<u64> {
            (0..21).filter_map(|_| targets.next()).map(|t| t.offset).collect()
        };
        let first = draw(&mut targets);
        targets.restart(true);
        assert_eq!(draw(&mut targets), first, "{generator:?}");
    }
}

#[test]
fn each_file_has_zones_of_its_own() {
    let plan = TargetPlan { stride: zones(8, 8, 8), ..plan(DirectionPlan::Read, false) };
    let regions = [0, 1].map(|start| TargetRegion {
        name: "f".into(),
        start: start * MIB,
        size: 64 << 10,
        file_size: 2 * MIB,
    });
    let mut targets = Targets::new(plan, &regions, Seeds::new(0x89, 1));
    let order: Vec<(u32, u64)> =
        (0..12).filter_map(|_| targets.next()).map(|t| (t.file, t.offset % MIB / BLOCK)).collect();
    for file in [0, 1] {
        let of_file: Vec<u64> = order.iter().filter(|(f, _)| *f == file).map(|(_, block)| *block).collect();
        assert_eq!(of_file, [0, 1, 4, 5, 8, 9]);
    }
}

proptest! {
    #[test]
    fn random_targets_stay_in_their_zone_and_cover_it_evenly(
        zone_blocks in 1u64..20, skip_blocks in 0u64..20, work_blocks in 1u64..40, more in 1u64..60,
        generator in prop_oneof![Just(GeneratorKind::Free), Just(GeneratorKind::Tausworthe), Just(GeneratorKind::ShiftRegister)],
        seed in any::<u64>(),
    ) {
        let region_blocks = zone_blocks + more;
        let distance = zone_blocks + skip_blocks;
        let stride = zones(work_blocks * 4, zone_blocks * 4, skip_blocks * 4);
        let plan = TargetPlan { generator, stride, ..plan(DirectionPlan::Write, true) };
        let size = region_blocks * BLOCK + 100;
        let region = TargetRegion { name: "f".into(), start: 8192, size, file_size: 8192 + size };
        let mut targets = Targets::new(plan, &[region], Seeds::new(seed, 1));
        let mut zone = 0;
        for _ in 0..20 {
            let length = zone_blocks.min(region_blocks - zone);
            let mut hits = vec![0u64; length as usize];
            for _ in 0..work_blocks {
                let target = targets.next().expect("zones have no end");
                let block = (target.offset - 8192) / BLOCK;
                prop_assert!((zone..zone + length).contains(&block), "{} not in {}+{}", block, zone, length);
                hits[(block - zone) as usize] += 1;
            }
            // Every block of a zone is covered once before any is repeated.
            let times = work_blocks / length;
            prop_assert!(hits.iter().all(|&h| h == times || h == times + 1), "{:?}", hits);
            zone = if zone + distance < region_blocks { zone + distance } else { 0 };
        }
    }
}
