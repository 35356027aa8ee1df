//! The fast path gives the same targets as the general one.

use super::*;

fn rule() -> impl Strategy<Value = LengthRule> {
    let sizes = prop::collection::vec((1u64..9, 0u32..50), 1..5);
    prop_oneof![
        (1u64..9).prop_map(|blocks| LengthRule::Fixed(blocks * 512)),
        (1u64..5, 0u64..9, any::<bool>()).prop_map(|(min, more, unaligned)| LengthRule::Range {
            min: min * 512,
            max: (min + more) * 512,
            unaligned
        }),
        sizes.prop_map(|sizes| {
            let rest = 100 - sizes[1..].iter().map(|(_, percent)| percent).sum::<u32>().min(100);
            let percents = std::iter::once(rest).chain(sizes[1..].iter().map(|&(_, percent)| percent));
            let sizes = sizes.iter().zip(percents);
            LengthRule::split(
                sizes.map(|(&(blocks, _), percent)| WeightedSize { size: blocks * 512, percent }).collect(),
            )
        }),
    ]
}

fn generator() -> impl Strategy<Value = GeneratorKind> {
    prop_oneof![
        Just(GeneratorKind::Free),
        Just(GeneratorKind::BySize),
        Just(GeneratorKind::Tausworthe),
        Just(GeneratorKind::Tausworthe64),
        Just(GeneratorKind::ShiftRegister),
    ]
}

fn directions() -> impl Strategy<Value = DirectionPlan> {
    prop_oneof![
        Just(DirectionPlan::Read),
        Just(DirectionPlan::Trim),
        (1u32..100).prop_map(DirectionPlan::Mix)
    ]
}

fn distribution() -> impl Strategy<Value = DistributionRule> {
    let share = |access_percent, size| ZoneShare { access_percent, size };
    let zones = PerDirection::all(vec![share(60, 10), share(40, 90)]);
    prop_oneof![
        2 => Just(DistributionRule::Uniform),
        1 => Just(DistributionRule::Zipf { theta: 1.1, center: None }),
        1 => Just(DistributionRule::Zoned(zones)),
    ]
}

fn files() -> impl Strategy<Value = FileRule> {
    let order = prop_oneof![
        Just(FileOrder::RoundRobin),
        Just(FileOrder::Sequential),
        Just(FileOrder::Random),
        Just(FileOrder::Zipf(1.3)),
    ];
    let most_open = prop_oneof![3 => Just(None), 1 => Just(Some(2))];
    (order, 1u64..4, most_open).prop_map(|(order, hold, most_open)| FileRule { order, hold, most_open })
}

prop_compose! {
    fn any_plan()(
        distribution in distribution(), files in files(),
        reads in rule(), writes in rule(), are_equal in any::<bool>(), generator in generator(), directions in directions(),
        once in any::<bool>(), anew in any::<bool>(), random in any::<bool>(), wraps in any::<bool>(),
    ) -> TargetPlan {
        let writes = if are_equal { reads.clone() } else { writes };
        let is_mix = matches!(directions, DirectionPlan::Mix(_));
        TargetPlan {
            alignment: PerDirection::new([reads.min(), writes.min(), reads.min()]),
            lengths: PerDirection::new([reads.clone(), writes, reads]),
            generator, each_block_once: once, distribution, wraps, files,
            begins_files_anew: anew && is_mix && generator != GeneratorKind::ShiftRegister,
            ..plan(directions, random)
        }
    }
}

/// The same targets as the general path draws them.
fn the_long_way(plan: &TargetPlan, regions: &[TargetRegion], seeds: &Seeds) -> Targets {
    let mut targets = Targets::new(plan.clone(), regions, seeds.clone());
    targets.short = Short::None;
    targets.files = regions.iter().map(|region| FileState::new(plan, region, seeds)).collect();
    targets
}

/// Counts the targets of a sequence and compares the result with the sequence's own counter.
fn is_counted(
    targets: &Targets,
    plan: &TargetPlan,
    at_first: PerDirection<u64>,
    seen: PerDirection<u64>,
) -> bool {
    let counts_bytes = plan.has_one_length() && plan.directions.only().is_some();
    let given = targets.given();
    counts_bytes
        || Direction::ALL.iter().all(|&direction| given[direction] - at_first[direction] == seen[direction])
}

proptest! {
    #[test]
    fn simple_targets_are_those_of_the_long_way(
        plan in any_plan(), sizes in prop::collection::vec(0u64..200_000, 1..4), start in 0u64..10_000, seed in any::<u64>(),
        passes in prop::collection::vec((0usize..300, any::<bool>()), 1..5),
    ) {
        let region = |(number, &size): (usize, &u64)| {
            TargetRegion { name: format!("f{number}"), start, size, file_size: start + size }
        };
        let regions: Vec<TargetRegion> = sizes.iter().enumerate().map(region).collect();
        let seeds = Seeds::new(seed, 1);
        let mut short = Targets::new(plan.clone(), &regions, seeds.clone());
        let mut long = the_long_way(&plan, &regions, &seeds);
        // Drawing ahead must not cross the point at which an order ends within a pass and continues elsewhere.
        let goes_on = !plan.random || plan.distribution != DistributionRule::Uniform;
        for (count, again) in passes {
            let (at_first, mut seen) = (short.given(), PerDirection::default());
            for _ in 0..count {
                let target = short.next();
                prop_assert_eq!(target, long.next());
                prop_assert_eq!(short.generator_state(), long.generator_state());
                if let Some(target) = target {
                    seen[target.direction] += 1;
                }
                prop_assert!(is_counted(&short, &plan, at_first, seen));
            }
            let again = again || goes_on;
            short.restart(again);
            long.restart(again);
        }
    }
}

#[test]
fn a_mix_goes_on_where_all_blocks_have_been_given() {
    let plan = TargetPlan { begins_files_anew: true, ..plan(DirectionPlan::Mix(50), true) };
    let size = 4 * plan.smallest_length();
    let region = TargetRegion { name: "f".into(), start: 0, size, file_size: size };
    let seeds = Seeds::new(1, 1);
    let regions = [region];
    let mut short = Targets::new(plan.clone(), &regions, seeds.clone());
    assert!(matches!(short.short, Short::One(_)));
    let mut long = the_long_way(&plan, &regions, &seeds);
    for _ in 0..50 {
        let target = short.next();
        assert!(target.is_some());
        assert_eq!(target, long.next());
    }
}

/// With zone rules, some I/Os become writes regardless of the mix.
#[test]
fn an_io_of_another_direction_needs_a_mix_drawn_one_by_one() {
    let split = |blocks: [u64; 2]| {
        LengthRule::split(blocks.map(|blocks| WeightedSize { size: blocks * 512, percent: 50 }).into())
    };
    let lengths = PerDirection::new([split([1, 3]), split([1, 8]), split([1, 1])]);
    let alignment = PerDirection::all(512);
    let plan = TargetPlan { lengths, alignment, ..plan(DirectionPlan::Mix(50), true) };
    let regions = [TargetRegion { name: "f".into(), start: 0, size: 1 << 20, file_size: 1 << 20 }];
    let seeds = Seeds::new(1, 1);
    let [mut short, mut long] =
        [Targets::new(plan.clone(), &regions, seeds.clone()), the_long_way(&plan, &regions, &seeds)];
    let mut ahead = short.clone();
    assert!(matches!(short.short, Short::One(_)));
    short.draw_directions_one_by_one();
    long.draw_directions_one_by_one();
    for count in 0..200 {
        let next = |targets: &mut Targets| match count % 7 {
            3 => targets.next_in_direction(Direction::Write),
            _ => targets.next(),
        };
        assert_eq!(next(&mut short), next(&mut long), "{count}");
        assert_eq!(short.generator_state(), long.generator_state(), "{count}");
    }
    ahead.next();
    let attempt = std::panic::AssertUnwindSafe(|| ahead.next_in_direction(Direction::Write));
    let broken = std::panic::catch_unwind(attempt).expect_err("I/Os of others are drawn ahead");
    assert!(broken.is::<crate::invariant::Broken>());
}
