//! The shapes of random offsets match the requested ones. Seeds are fixed, so no test fails by chance.

use super::*;
use crate::targets::distribution::Sampler;

/// Chi-square of counts against their expectation, divided by the degrees of freedom; about 1 for a fit.
fn chi_square_per_degree(counts: &[u64], expected: &[f64]) -> f64 {
    let sum: f64 =
        counts.iter().zip(expected).map(|(&count, &wanted)| (count as f64 - wanted).powi(2) / wanted).sum();
    sum / (counts.len() - 1) as f64
}

/// Upper limit for a fit with 99 cells, which fewer than one seed in 100,000 exceeds (1 + 4.3 deviations of
/// sqrt(2/99)).
const LIMIT: f64 = 1.65;

/// Random reads of 100,000 blocks with repetition.
fn drawn(change: impl FnOnce(&mut TargetPlan), count: usize) -> Vec<u64> {
    let mut plan = TargetPlan { each_block_once: false, ..plan(DirectionPlan::Read, true) };
    change(&mut plan);
    blocks(plan, 100_000 * BLOCK, count)
}

/// Number of hits in each hundredth of the 100,000 blocks.
fn hundredths(blocks: &[u64]) -> Vec<u64> {
    let mut cells = vec![0; 100];
    blocks.iter().for_each(|&block| cells[(block / 1000) as usize] += 1);
    cells
}

#[test]
fn uniform_draws_are_uniform() {
    for generator in [GeneratorKind::Free, GeneratorKind::Tausworthe, GeneratorKind::Tausworthe64] {
        let cells = hundredths(&drawn(|plan| plan.generator = generator, 200_000));
        let chi = chi_square_per_degree(&cells, &[2_000.0; 100]);
        assert!(chi < LIMIT, "{generator:?}: {chi}");
    }
}

#[test]
fn half_a_pass_of_a_map_is_uniform() {
    // Without repeated blocks, counts vary less than by chance, so only an upper limit is meaningful.
    for generator in [GeneratorKind::Free, GeneratorKind::Tausworthe, GeneratorKind::Tausworthe64] {
        let change = |plan: &mut TargetPlan| (plan.generator, plan.each_block_once) = (generator, true);
        let chi = chi_square_per_degree(&hundredths(&drawn(change, 50_000)), &[500.0; 100]);
        assert!(chi < LIMIT, "{generator:?}: {chi}");
    }
}

fn shares(list: &[(u32, u64)]) -> PerDirection<Vec<ZoneShare>> {
    let of_one = || list.iter().map(|&(access_percent, size)| ZoneShare { access_percent, size }).collect();
    PerDirection::from_fn(|_| of_one())
}

#[test]
fn zones_get_their_shares_and_are_uniform_inside() {
    let by_percent = DistributionRule::Zoned(shares(&[(50, 5), (30, 15), (0, 30), (20, 50)]));
    let block = |percent: u64| percent * 1000 * BLOCK;
    let by_size = DistributionRule::ZonedAbsolute(shares(&[
        (50, block(5)),
        (30, block(15)),
        (0, block(30)),
        (20, block(50)),
    ]));
    for rule in [by_percent, by_size] {
        let cells = hundredths(&drawn(|plan| plan.distribution = rule.clone(), 200_000));
        assert!(cells[20..50].iter().all(|&count| count == 0), "nothing was asked for there: {cells:?}");
        let used: Vec<u64> = cells[..20].iter().chain(&cells[50..]).copied().collect();
        // The I/Os are distributed over the hundredths of the range: 50 % over 5, 30 % over 15, 20 % over 50.
        let expected: Vec<f64> = [(20_000.0, 5), (4_000.0, 15), (800.0, 50)]
            .into_iter()
            .flat_map(|(count, cells)| std::iter::repeat_n(count, cells))
            .collect();
        let chi = chi_square_per_degree(&used, &expected);
        assert!(chi < LIMIT, "{rule:?}: {chi}");
    }
}

#[test]
fn directions_have_zones_of_their_own() {
    let mut each = shares(&[(100, 10)]);
    each[Direction::Write] =
        vec![ZoneShare { access_percent: 0, size: 50 }, ZoneShare { access_percent: 100, size: 50 }];
    let plan = TargetPlan {
        distribution: DistributionRule::Zoned(each),
        each_block_once: false,
        ..plan(DirectionPlan::Mix(50), true)
    };
    let mut targets = targets(plan, 100 * BLOCK);
    for target in (0..10_000).filter_map(|_| targets.next()) {
        let block = target.offset / BLOCK;
        let expected = if target.direction == Direction::Read { 0..10 } else { 50..100 };
        assert!(expected.contains(&block), "{target:?}");
    }
}

/// Slope of the least-squares line through points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    covariance / points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

fn ranks(mut sampler: Sampler, cells: usize, count: usize) -> Vec<u64> {
    let mut hits = vec![0u64; cells];
    (0..count).for_each(|_| hits[sampler.next_rank() as usize] += 1);
    hits
}

#[test]
fn zipf_has_the_exponent_asked_for() {
    for theta in [0.5, 0.8, 1.2, 2.0] {
        let hits = ranks(Sampler::zipf(theta, Some(0.0), 10_000, 7), 10_000, 2_000_000);
        // Popularity is proportional to the rank to the power of -theta: which is a line of slope -theta on
        // logarithmic scales. Counts are summed between powers of two.
        let points: Vec<(f64, f64)> = (2..11)
            .map(|bit| {
                let (first, end) = (1usize << bit, 1usize << (bit + 1));
                let mean = hits[first - 1..end - 1].iter().sum::<u64>() as f64 / first as f64;
                ((first as f64 * 1.5).ln(), mean.max(1e-3).ln())
            })
            .filter(|point| point.1 > 2.0)
            .collect();
        let fitted = -slope(&points);
        // Gray's method is itself an approximation and slightly too steep for large theta.
        assert!((fitted - theta).abs() < 0.05 * theta.max(1.0), "theta {theta}: {fitted}");
    }
}

#[test]
fn pareto_has_the_shape_asked_for() {
    for h in [0.1, 0.2, 0.4] {
        let hits = ranks(Sampler::pareto(h, Some(0.0), 100_000, 7), 100_000, 1_000_000);
        // The defining property of this distribution: a share of h of the blocks gets a share of 1-h of the
        // I/Os.
        let favourites: u64 = hits[..(h * 100_000.0) as usize].iter().sum();
        let share = favourites as f64 / 1e6;
        assert!((share - (1.0 - h)).abs() < 0.003, "h {h}: {share}");
        // The exponent: the share of I/Os below a rank is the rank to the power of ln(1-h)/ln(h), up to a
        // factor.
        let points: Vec<(f64, f64)> = (7..16)
            .map(|bit| (1u64 << bit, hits[..1 << bit].iter().sum::<u64>()))
            .map(|(rank, below)| ((rank as f64).ln(), (below as f64).ln()))
            .collect();
        let exponent = (1.0 - h).ln() / h.ln();
        let fitted = slope(&points);
        assert!((fitted - exponent).abs() < 0.005, "h {h}: {fitted} instead of {exponent}");
    }
}

#[test]
fn skewed_offsets_are_spread_but_keep_their_popularity() {
    for rule in [
        DistributionRule::Zipf { theta: 1.1, center: None },
        DistributionRule::Pareto { h: 0.2, center: None },
    ] {
        let blocks = drawn(|plan| plan.distribution = rule.clone(), 200_000);
        let mut hits = vec![0u64; 100_000];
        blocks.iter().for_each(|&block| hits[block as usize] += 1);
        let mut by_hits: Vec<usize> = (0..hits.len()).collect();
        by_hits.sort_by_key(|&block| std::cmp::Reverse(hits[block]));
        // The favourites are spread over the whole range of blocks.
        let mut tenths = [0u32; 10];
        by_hits[..1000].iter().for_each(|&block| tenths[block / 10_000] += 1);
        assert!(tenths.iter().all(|count| (50..200).contains(count)), "{rule:?}: {tenths:?}");
    }
}

#[test]
fn percentages_of_random_offsets_are_kept_for_each_direction() {
    let percent = PerDirection::new([20, 70, 100]);
    let plan =
        TargetPlan { random_percent: percent, each_block_once: false, ..plan(DirectionPlan::Mix(50), true) };
    let mut targets = targets(plan, 1 << 40);
    let (mut behind, mut ios, mut random) = ([0u64; 2], [0u32; 2], [0u32; 2]);
    for target in (0..200_000).filter_map(|_| targets.next()) {
        let direction = target.direction as usize;
        ios[direction] += 1;
        random[direction] += u32::from(target.offset != behind[direction]);
        behind[direction] = target.offset + BLOCK;
    }
    for direction in [Direction::Read, Direction::Write] {
        let index = direction.index();
        let found = f64::from(random[index]) / f64::from(ios[index]) * 100.0;
        assert!((found - f64::from(percent[direction])).abs() < 0.6, "{direction:?}: {found} %");
    }
}
