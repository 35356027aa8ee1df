//! Preconditioning passes (`sprandom`), compared with a disk that writes its flash in order.

use super::*;
use crate::plan::model::distribution::PreconditionRule;
use crate::targets::precondition::{Schedule, oldest_validity, validity};
use std::collections::HashMap;

fn rule(regions: u32, over_provisioning: f64, cache_blocks: u64) -> PreconditionRule {
    PreconditionRule { regions, over_provisioning, cache_bytes: cache_blocks * BLOCK }
}

fn pass(rule: PreconditionRule, count: u64) -> Targets {
    let plan = TargetPlan {
        each_block_once: false,
        generator: GeneratorKind::ShiftRegister,
        distribution: DistributionRule::Precondition(rule),
        ..plan(DirectionPlan::Write, true)
    };
    targets(plan, count * BLOCK)
}

fn written(rule: PreconditionRule, count: u64) -> Vec<u64> {
    let mut targets = pass(rule, count);
    std::iter::from_fn(|| targets.next()).map(|target| target.offset / BLOCK).collect()
}

/// Share of each region's writes that is not overwritten later.
fn valid_shares(order: &[u64], regions: usize) -> Vec<f64> {
    let last: HashMap<u64, usize> = order.iter().enumerate().map(|(index, &block)| (block, index)).collect();
    let bound = |region: usize| order.len() * region / regions;
    let valid = |region: usize| {
        let range = bound(region)..bound(region + 1);
        range.clone().filter(|index| last[&order[*index]] == *index).count() as f64 / range.len() as f64
    };
    (0..regions).map(valid).collect()
}

#[test]
fn the_oldest_validity_is_lamberts() {
    // The expected values are -W(-ρ exp(-ρ)) / ρ for over-provisioning of 7, 15, 28, 50 and 100 percent, by
    // iterating u = exp(-ρ (1 - u)).
    for (over_provisioning, expected) in
        [(0.07, 0.872_08), (0.15, 0.751_00), (0.28, 0.597_00), (0.5, 0.417_19), (1.0, 0.203_19)]
    {
        let u = oldest_validity(over_provisioning);
        assert!((u - expected).abs() < 1e-5, "{over_provisioning}: {u}");
        assert!((u - f64::exp(-(1.0 + over_provisioning) * (1.0 - u))).abs() < 1e-12);
    }
}

#[test]
fn regions_are_left_as_the_model_says() {
    let (count, regions) = (200_000, 50);
    for over_provisioning in [0.07, 0.15, 0.28, 0.5, 0.9] {
        let order = written(rule(regions, over_provisioning, 0), count);
        assert_eq!(order.len() as u64, (count as f64 * (1.0 + over_provisioning)).round() as u64);
        let shares = valid_shares(&order, regions as usize);
        for (index, share) in shares.iter().enumerate() {
            let expected = validity(over_provisioning, index as u64, u64::from(regions));
            // The newest region cannot lose any blocks, so the other regions lose more.
            assert!((share - expected).abs() < 0.02, "{over_provisioning}: {index}: {share}, not {expected}");
        }
        assert!(shares.is_sorted(), "{over_provisioning}: {shares:?}");
        assert_eq!(shares[regions as usize - 1], 1.0);
    }
}

#[test]
fn a_disk_that_goes_on_finds_itself_in_its_steady_state() {
    // Simulates random writes at the end of a log of flash whose oldest piece is cleaned when space is needed.
    // After a pass, the cleaner moves the same amount per write from the first piece on.
    let (count, over_provisioning) = (100_000u64, 0.15);
    let order = written(rule(100, over_provisioning, 0), count);
    let piece = order.len() / 100;
    let mut log: std::collections::VecDeque<u64> = order.into();
    let mut copies: HashMap<u64, u64> = HashMap::new();
    for block in &log {
        *copies.entry(*block).or_default() += 1;
    }
    let mut generator = crate::random::Taus88::new(7);
    for round in 0..200 {
        let mut kept = Vec::new();
        for _ in 0..piece {
            let block = log.pop_front().expect("a full log");
            let left = copies.get_mut(&block).expect("counted");
            *left -= 1;
            if *left == 0 {
                kept.push(block);
            }
        }
        let share = kept.len() as f64 / piece as f64;
        let expected = oldest_validity(over_provisioning);
        assert!(
            (share - expected).abs() < 0.06,
            "round {round}: {share} of the oldest piece, not {expected}"
        );
        let fresh = piece - kept.len();
        let writes = kept.into_iter().chain((0..fresh).map(|_| generator.below(count)));
        for block in writes.collect::<Vec<_>>() {
            *copies.entry(block).or_default() += 1;
            log.push_back(block);
        }
    }
}

#[test]
fn a_disk_of_64_tib_is_planned_without_memory_of_its_blocks() {
    let blocks = (64u64 << 40) / BLOCK;
    let schedule = Schedule::new(&rule(100, 0.15, 0), blocks, BLOCK).expect("a schedule");
    assert_eq!(schedule.regions().len(), 100);
    let sum: u64 = schedule.regions().iter().map(|share| share.new).sum();
    assert_eq!(sum, blocks);
    let mut targets = pass(rule(100, 0.15, 0), blocks);
    assert_eq!((0..1000).filter_map(|_| targets.next()).count(), 1000);
}

#[test]
fn passes_that_cannot_be_are_refused() {
    let refused = |rule: &PreconditionRule, blocks| {
        Schedule::new(rule, blocks, BLOCK).expect_err("refused").to_string()
    };
    assert!(refused(&rule(100, 0.15, 0), 99).contains("too few"));
    assert!(refused(&rule(10, 0.15, 11_000), 10_000).contains("spr_cs"));
    assert!(refused(&rule(4, 0.9, 0), 10_000).contains("spr_op"));
}

proptest! {
    #[test]
    fn every_block_is_written_and_the_share_beyond_is_overwritten(
        count in 200u64..5000,
        regions in 4u32..120,
        over_provisioning in 0.01f64..0.35,
        cache_blocks in 0u64..40,
    ) {
        let rule = rule(regions, over_provisioning, cache_blocks);
        let blocks = count.max(u64::from(regions));
        let Ok(schedule) = Schedule::new(&rule, blocks, BLOCK) else {
            // If the cache covers several regions, a few regions may be too few for a schedule.
            prop_assume!(cache_blocks == 0);
            return Err(TestCaseError::fail("no schedule without a cache"));
        };
        let order = written(rule, blocks);
        prop_assert_eq!(order.len() as u64, rule.writes(blocks));
        let mut times: HashMap<u64, Vec<usize>> = HashMap::new();
        for (index, block) in order.iter().enumerate() {
            prop_assert!(*block < blocks);
            times.entry(*block).or_default().push(index);
        }
        prop_assert_eq!(times.len() as u64, blocks);
        for writes in times.values() {
            prop_assert!(writes.len() <= 2);
            // A block that may still be in the cache is not overwritten.
            prop_assert!(writes.len() == 1 || (writes[1] - writes[0]) as u64 >= cache_blocks);
        }
        let overwritten: u64 = schedule.regions().iter().map(|share| share.again).sum();
        prop_assert_eq!(overwritten, rule.writes(blocks) - blocks);
    }
}
