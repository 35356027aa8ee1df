//! Tests whether the order of a permutation is random, following Knuth, "The Art of Computer Programming",
//! volume 2, 3.3, for many keys and from 2^6 to 2^40 blocks. Keys are fixed, so the outcome never varies.

use super::super::permutation::Permutation;

/// Number of blocks drawn from larger permutations.
const SAMPLE: u64 = 1 << 14;
/// Results of one test over many keys; they follow a standard normal distribution if the order is random.
#[derive(Debug, Default)]
struct Deviates(Vec<f64>);

impl Deviates {
    /// Checks the average and the largest deviation from 0.
    #[track_caller]
    fn check(&self, what: &str, blocks: u64) {
        let number = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / number;
        let spread = (self.0.iter().map(|z| z * z).sum::<f64>() / number).sqrt();
        let far = self.0.iter().filter(|z| z.abs() > 2.576).count() as f64 / number;
        let worst = self.0.iter().fold(0f64, |worst, z| worst.max(z.abs()));
        let told = format!(
            "{what}, {blocks} blocks: mean {mean:.2}, spread {spread:.2}, {far:.3} are far, worst {worst:.1}"
        );
        // By chance, one deviate in a hundred exceeds 2.576, and about one in a million exceeds 5.
        assert!(mean.abs() < 0.35 && spread < 1.2 && far < 0.03 && worst < 5.5, "{told}");
    }
}

/// The test of Wald and Wolfowitz: runs above and below the median.
fn runs(order: &[u64], blocks: u64) -> f64 {
    let middle = blocks / 2;
    let above = order.iter().filter(|&&block| block >= middle).count() as f64;
    let number = order.len() as f64;
    let below = number - above;
    let runs = 1 + order.windows(2).filter(|pair| (pair[0] >= middle) != (pair[1] >= middle)).count();
    let expected = 2.0 * above * below / number + 1.0;
    let variance = (expected - 1.0) * (expected - 2.0) / (number - 1.0);
    (runs as f64 - expected) / variance.sqrt()
}

/// Correlation of blocks at a distance of `lag` steps.
fn serial(order: &[u64], lag: usize) -> f64 {
    let number = order.len() as f64;
    let mean = order.iter().map(|&block| block as f64).sum::<f64>() / number;
    let deviation = |index: usize| order[index] as f64 - mean;
    let variance: f64 = (0..order.len()).map(|index| deviation(index).powi(2)).sum();
    let pairs = order.len() - lag;
    let sum: f64 = (0..pairs).map(|index| deviation(index) * deviation(index + lag)).sum();
    // Without replacement the expectation is slightly below 0.
    let expected = -(pairs as f64) / (number * (number - 1.0));
    (sum / variance - expected) * number.sqrt()
}

/// Tests whether the part of the region that holds one block predicts the part with the next block: a
/// chi-square test of independence, transformed to a normal deviate (Wilson and Hilferty).
fn pairs(order: &[u64], blocks: u64) -> f64 {
    let parts = if order.len() < 1024 { 4usize } else { 8 };
    let part = |block: u64| (u128::from(block) * parts as u128 / u128::from(blocks)) as usize;
    let mut cells = vec![0f64; parts * parts];
    order.windows(2).for_each(|pair| cells[part(pair[0]) * parts + part(pair[1])] += 1.0);
    let rows: Vec<f64> = cells.chunks(parts).map(|row| row.iter().sum()).collect();
    let columns: Vec<f64> = (0..parts).map(|column| cells.iter().skip(column).step_by(parts).sum()).collect();
    let chi: f64 = (0..cells.len())
        .map(|cell| {
            let expected = rows[cell / parts] * columns[cell % parts] / (order.len() - 1) as f64;
            (cells[cell] - expected).powi(2) / expected
        })
        .sum();
    let freedom = ((parts - 1) * (parts - 1)) as f64;
    let part = 2.0 / (9.0 * freedom);
    ((chi / freedom).cbrt() - (1.0 - part)) / part.sqrt()
}

/// Frequency of the most common distance between consecutive blocks.
fn commonest_step(order: &[u64], blocks: u64) -> usize {
    let step = |pair: &[u64]| (u128::from(pair[1]) + u128::from(blocks - pair[0])) % u128::from(blocks);
    let mut steps: Vec<u128> = order.windows(2).map(step).collect();
    steps.sort_unstable();
    steps.chunk_by(|a, b| a == b).map(<[u128]>::len).max().unwrap_or(0)
}

fn order(blocks: u64, key: u64) -> Vec<u64> {
    let mut order = vec![0; blocks.min(SAMPLE) as usize];
    assert_eq!(Permutation::new(blocks, key).fill(&mut order), order.len());
    order
}

#[test]
fn no_key_gives_an_order_that_can_be_told_from_chance() {
    for blocks in
        [64, 65, 100, 256, 1000, 1024, 4096, 1 << 16, 3 << 17, 1 << 24, 1 << 32, (1 << 32) + 1, 1 << 40]
    {
        let keys = if blocks <= 4096 { 400 } else { 60 };
        let [mut by_runs, mut by_lags, mut by_pairs] = [(); 3].map(|()| Deviates::default());
        let mut most = 0;
        for key in 0..keys {
            let order = order(blocks, key * 7919 + 31);
            by_runs.0.push(runs(&order, blocks));
            by_lags.0.extend((1..=16).map(|lag| serial(&order, lag)));
            by_pairs.0.push(pairs(&order, blocks));
            most = most.max(commonest_step(&order, blocks));
        }
        by_runs.check("runs", blocks);
        by_lags.check("lags 1 to 16", blocks);
        by_pairs.check("pairs", blocks);
        // None of an equal number of shuffled lists has a more frequent distance than this.
        assert!(most <= 11, "{blocks} blocks: a distance between neighbours occurs {most} times");
    }
}

#[test]
fn the_whole_region_is_drawn_from() {
    // Chi-square over 64 cells of the first blocks out of 2^28: 63 degrees of freedom, 0.1 % limit 103.4.
    for key in 1..20u64 {
        let mut cells = [0u32; 64];
        order(1 << 28, key).iter().for_each(|block| cells[(block >> 22) as usize] += 1);
        let expected = SAMPLE as f64 / 64.0;
        let chi: f64 = cells.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        assert!(chi < 110.0, "key {key}: {chi}");
    }
}

/// The tests detect orders that are not random: sequential blocks, and steps of one size.
#[test]
fn an_order_that_is_not_random_is_told() {
    let one_by_one: Vec<u64> = (0..1024).collect();
    let by_steps: Vec<u64> = (0..1024).map(|index| index * 389 % 1024).collect();
    for order in [&one_by_one, &by_steps] {
        assert!(commonest_step(order, 1024) > 600);
        assert!(pairs(order, 1024) > 10.0);
        assert!((1..=16).any(|lag| serial(order, lag).abs() > 10.0));
    }
    assert!(runs(&one_by_one, 1024) < -20.0);
}
