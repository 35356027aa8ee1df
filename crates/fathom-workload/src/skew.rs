//! How unequal the popularity of blocks is: its curve, and the distribution of fathom's jobs that comes closest to it.
//!
//! A model is compared as a trace of as many accesses would show it: blocks that are equally popular are still accessed
//! unequally often by chance, and some not at all.

use crate::space::{BLOCK, Popularity};
use serde::{Deserialize, Serialize};

/// Shares of the accessed blocks at which the curve is given.
const PLACES: [f64; 13] = [0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0];
/// Number of classes of ranks, in a geometric progression.
const CLASSES: usize = 240;
/// Mean number of accesses above which chance is ignored.
const CERTAIN: f64 = 60.0;
/// Maximum number of summed terms of the Zipf normalizer, as in the jobs.
const MOST_TERMS: f64 = 1e7;
/// A uniform distribution is preferred unless another is closer by this much.
const PREFERENCE: f64 = 0.02;

/// A distribution of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Every block is as popular as any other.
    Uniform,
    /// `random_distribution=zipf:THETA`.
    Zipf(f64),
    /// `random_distribution=pareto:H`: the share H of the blocks has the share 1 - H of the accesses.
    Pareto(f64),
    /// `random_distribution=zoned:...`: a share of the blocks with a share of the accesses, and the rest.
    Zones {
        /// Share of the blocks that are hot.
        blocks: f64,
        /// Their share of the accesses.
        accesses: f64,
    },
}

/// Popularity of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skew {
    /// (share of the accessed blocks, share of the accesses), the most popular first.
    pub curve: Vec<(f64, f64)>,
    /// The distribution that comes closest.
    pub model: Model,
    /// Its largest distance from the curve, as a share of the accesses.
    pub error: f64,
    /// The same for a uniform distribution.
    pub uniform_error: f64,
    /// Bytes that the model spans, accessed or not.
    pub span: u64,
}

/// The skew of sampled blocks, of which `unit` are accessed together; `None` without blocks that were accessed again, which say nothing about popularity.
pub fn skew(popularity: &Popularity, unit: f64) -> Option<Skew> {
    if !popularity.is_reused() {
        return None;
    }
    let seen = Seen::of(popularity, unit);
    let fits = candidates(&seen).into_iter().map(|model| (model, seen.fit(model)));
    let uniform = seen.fit(Model::Uniform);
    let (model, (error, span)) = fits
        .min_by(|a, b| a.1.0.total_cmp(&b.1.0))
        .filter(|best| best.1.0 + PREFERENCE < uniform.0)
        .unwrap_or((Model::Uniform, uniform));
    Some(Skew {
        curve: PLACES.iter().map(|&place| (place, at(&seen.curve, place))).collect(),
        model,
        error,
        uniform_error: uniform.0,
        span: (span * BLOCK as f64) as u64,
    })
}

/// The distribution of each kind that comes closest, and the blocks that it spans; none without blocks that were accessed again.
pub fn fits(popularity: &Popularity, unit: f64) -> Vec<(Model, f64)> {
    if !popularity.is_reused() {
        return Vec::new();
    }
    let seen = Seen::of(popularity, unit);
    let all = candidates(&seen).into_iter().chain([Model::Uniform]);
    all.map(|model| (model, seen.span(model))).collect()
}

/// The largest distance between the curves of two popularities, as a share of the accesses.
pub fn distance(one: &Popularity, other: &Popularity) -> f64 {
    Seen::of(one, 1.0).distance(&Seen::of(other, 1.0).curve)
}

/// A curve of popularity: ascending shares of blocks and of accesses.
type Curve = Vec<(f64, f64)>;

/// The value of a curve between its points.
fn at(curve: &Curve, place: f64) -> f64 {
    let next = curve.partition_point(|point| point.0 < place);
    let high = curve.get(next).copied().unwrap_or((1.0, 1.0));
    let low = next.checked_sub(1).map_or((0.0, 0.0), |low| curve[low]);
    match high.0 > low.0 {
        true => low.1 + (high.1 - low.1) * (place - low.0) / (high.0 - low.0),
        false => high.1,
    }
}

/// The curve of (accesses per block, number of blocks).
fn curve(mut classes: Vec<(f64, f64)>) -> Curve {
    classes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let blocks: f64 = classes.iter().map(|class| class.1).sum();
    let accesses: f64 = classes.iter().map(|class| class.0 * class.1).sum();
    let mut sums = (0.0, 0.0);
    let add = |(count, number): (f64, f64)| {
        sums = (sums.0 + number, sums.1 + count * number);
        (sums.0 / blocks, sums.1 / accesses)
    };
    classes.into_iter().map(add).collect()
}

/// The skew that a trace shows.
struct Seen {
    curve: Curve,
    /// Accesses per block, and number of such blocks, the most popular first.
    classes: Vec<(f64, f64)>,
    /// Accessed blocks.
    blocks: f64,
    /// Accesses.
    accesses: f64,
    /// Blocks that are accessed together, as requests of one size do: a rank of a distribution is that many.
    unit: f64,
}

impl Seen {
    fn of(popularity: &Popularity, unit: f64) -> Seen {
        let weight = popularity.weight;
        let accesses = popularity.accesses as f64;
        let mut classes: Vec<(f64, f64)> = Vec::new();
        for &count in &popularity.counts {
            match classes.last_mut() {
                Some(last) if last.0 == count as f64 => last.1 += weight,
                _ => classes.push((count as f64, weight)),
            }
        }
        let blocks = popularity.counts.len() as f64 * weight;
        // All accesses are counted. Those that the sample lacks went to few blocks, which it missed; if it has too many, it
        // has one of these blocks, which does not stand for others.
        let sampled: f64 = classes.iter().map(|class| class.0 * class.1).sum();
        if sampled < accesses && weight > 1.0 {
            classes.insert(0, (accesses - sampled, 1.0));
        } else if let Some(first) = classes.first_mut() {
            first.1 = (first.1 - (sampled - accesses) / first.0).max(1.0);
        }
        Seen { curve: curve(classes.clone()), classes, blocks, accesses, unit }
    }

    /// The largest distance of a model from the curve, and the blocks that it spans.
    fn fit(&self, model: Model) -> (f64, f64) {
        let span = self.span(model);
        let mut seen = Vec::new();
        self.classes(model, span).for_each(|(mean, blocks)| add_by_chance(mean, blocks, &mut seen));
        (self.distance(&curve(seen)), span)
    }

    /// The largest distance of a curve from the one seen.
    fn distance(&self, expected: &Curve) -> f64 {
        let places = self.curve.iter().chain(expected).map(|point| point.0);
        places.map(|place| (at(&self.curve, place) - at(expected, place)).abs()).fold(0.0, f64::max)
    }

    /// The classes of a model that spans this many blocks.
    fn classes(&self, model: Model, span: f64) -> impl Iterator<Item = (f64, f64)> + use<> {
        let unit = self.unit;
        let classes = model.classes((span / unit).max(1.0), self.accesses / unit).into_iter();
        classes.map(move |(mean, ranks)| (mean, ranks * unit))
    }

    /// The blocks of which as many as were accessed would be accessed.
    fn span(&self, model: Model) -> f64 {
        let accessed = |span: f64| -> f64 {
            let classes = self.classes(model, span);
            classes.map(|(mean, blocks)| blocks * -(-mean).exp_m1()).sum()
        };
        let (mut low, mut high) = (self.blocks, self.blocks * 1000.0);
        if accessed(high) < self.blocks {
            return high;
        }
        for _ in 0..40 {
            let middle = (low * high).sqrt();
            match accessed(middle) < self.blocks {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }
}

/// Blocks by how often chance accesses them at this mean; those that it leaves out are not seen.
fn add_by_chance(mean: f64, blocks: f64, seen: &mut Vec<(f64, f64)>) {
    if mean > CERTAIN {
        seen.push((mean, blocks));
        return;
    }
    let last = (mean + 9.0 * mean.sqrt() + 9.0) as u32;
    let mut probability = (-mean).exp();
    for count in 1..=last {
        probability *= mean / f64::from(count);
        seen.push((f64::from(count), blocks * probability));
    }
}

/// Zones that together have the popularity of a trace's blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Zones {
    /// Percent of the accesses, and number of blocks that are equally popular; the most popular first.
    pub hot: Vec<(u32, f64)>,
    /// Number of blocks that have the other accesses, one each.
    pub once: f64,
    /// The largest distance from the curve of the trace, as a share of the accesses.
    pub error: f64,
}

/// Percent of the accesses at which zones end at first; those that chance alone explains are joined.
const ZONE_ENDS: [u32; 12] = [5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100];

/// Zones for these blocks, of which `unit` are accessed together. A zone with fewer accesses per block than `once` is one whose
/// blocks come once.
pub fn zones(popularity: &Popularity, unit: f64, once: f64) -> Option<Zones> {
    if !popularity.is_reused() {
        return None;
    }
    let seen = Seen::of(popularity, unit);
    let all: Vec<Zone> = seen.zones();
    let candidates = [0.0, 1.0, 2.0, 4.0].into_iter().flat_map(|tolerance| {
        let joined = join(&all, tolerance);
        [0.0, once].map(|once| seen.with_sizes(&joined, once))
    });
    candidates.min_by(|a, b| a.error.total_cmp(&b.error))
}

/// Blocks next to each other in the order of popularity.
#[derive(Clone, Copy, Debug)]
struct Zone {
    percent: u32,
    accesses: f64,
    blocks: f64,
}

impl Zone {
    fn mean(&self) -> f64 {
        self.accesses / self.blocks.max(f64::MIN_POSITIVE)
    }
}

/// Joins zones whose means differ by no more than this many standard deviations of chance.
fn join(zones: &[Zone], tolerance: f64) -> Vec<Zone> {
    let mut joined: Vec<Zone> = Vec::new();
    for zone in zones {
        match joined.last_mut() {
            Some(last) if last.mean() <= zone.mean() + tolerance * zone.mean().sqrt() => {
                last.percent += zone.percent;
                last.accesses += zone.accesses;
                last.blocks += zone.blocks;
            }
            _ => joined.push(*zone),
        }
    }
    joined
}

impl Seen {
    /// The accessed blocks, divided where zones end.
    fn zones(&self) -> Vec<Zone> {
        let mut zones = Vec::new();
        let mut classes = self.classes.iter().copied();
        let mut class = classes.next();
        let mut before = 0;
        for end in ZONE_ENDS {
            let wanted = self.accesses * f64::from(end - before) / 100.0;
            let mut zone = Zone { percent: end - before, accesses: 0.0, blocks: 0.0 };
            before = end;
            while let Some((count, number)) = class {
                let taken = number.min((wanted - zone.accesses) / count);
                zone.accesses += taken * count;
                zone.blocks += taken;
                class = if taken < number { Some((count, number - taken)) } else { classes.next() };
                if zone.accesses >= wanted * (1.0 - 1e-9) {
                    break;
                }
            }
            if zone.blocks > 0.0 {
                zones.push(zone);
            }
        }
        zones
    }

    /// Sizes of zones of which chance accesses as many blocks as were accessed.
    fn with_sizes(&self, zones: &[Zone], once: f64) -> Zones {
        let mut found = Zones { hot: Vec::new(), once: 0.0, error: 0.0 };
        let mut seen = Vec::new();
        for (number, zone) in zones.iter().enumerate() {
            let is_last = number + 1 == zones.len();
            if is_last && zone.mean() < once {
                found.once = zone.accesses;
                seen.push((1.0, zone.accesses));
                continue;
            }
            let mean = mean_of_all(zone.mean());
            let blocks = zone.accesses / mean;
            found.hot.push((zone.percent, blocks));
            add_by_chance(mean, blocks, &mut seen);
        }
        found.error = self.distance(&curve(seen));
        found
    }
}

/// The mean of all blocks of a zone, from the mean of those that chance accesses.
fn mean_of_all(of_accessed: f64) -> f64 {
    let (mut low, mut high) = (1e-3, of_accessed.max(1e-3));
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        match middle / -(-middle).exp_m1() < of_accessed {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

impl Model {
    /// Mean accesses per block, and the number of such blocks.
    fn classes(self, blocks: f64, accesses: f64) -> Vec<(f64, f64)> {
        match self {
            Model::Uniform => vec![(accesses / blocks, blocks)],
            Model::Zones { blocks: share, accesses: hot } => {
                let (first, rest) = ((blocks * share).max(1.0), (blocks * (1.0 - share)).max(1.0));
                vec![(accesses * hot / first, first), (accesses * (1.0 - hot) / rest, rest)]
            }
            Model::Zipf(theta) => by_rank(blocks, accesses, zipf_shares(theta, blocks)),
            Model::Pareto(h) => {
                // The share x of the blocks has the share x^power of the accesses.
                let power = (1.0 - h).ln() / h.ln();
                by_rank(blocks, accesses, |ranks| (ranks / blocks).powf(power))
            }
        }
    }
}

/// Classes of ranks: the first ranks one by one, then in steps of a constant ratio. `share` gives the share of the accesses of that
/// many ranks, the most popular first.
fn by_rank(blocks: f64, accesses: f64, share: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let ratio = blocks.max(2.0).powf(1.0 / CLASSES as f64);
    let whole = share(blocks).max(f64::MIN_POSITIVE);
    let mut classes = Vec::with_capacity(CLASSES);
    let mut ranks = 0.0;
    while ranks < blocks {
        let next = (ranks * ratio).floor().max(ranks + 1.0).min(blocks);
        let accesses = (share(next) - share(ranks)).max(0.0) / whole * accesses;
        classes.push((accesses / (next - ranks), next - ranks));
        ranks = next;
    }
    classes
}

/// Shares of the most popular ranks as fathom's and fio's jobs draw them: the first two exactly, the others on a curve that is close
/// to a Zipf distribution. Source: Gray and others, "Quickly generating billion-record synthetic databases", 1994.
fn zipf_shares(theta: f64, blocks: f64) -> impl Fn(f64) -> f64 {
    let sum = sum_of_powers(blocks.min(MOST_TERMS), theta);
    let second = 1.0 + 0.5f64.powf(theta);
    let exponent = 1.0 - theta;
    let eta = (1.0 - (2.0 / blocks).powf(exponent)) / (1.0 - second / sum);
    move |ranks: f64| match ranks {
        ranks if ranks <= 1.0 => ranks / sum,
        ranks if ranks <= 2.0 => (1.0 + (ranks - 1.0) * (second - 1.0)) / sum,
        ranks => (((ranks / blocks).powf(exponent) + eta - 1.0) / eta).clamp(second / sum, 1.0),
    }
}

/// The sum of `rank^-theta` over the ranks from 1 on: the first ones exactly, the others by the formula of Euler and Maclaurin.
fn sum_of_powers(ranks: f64, theta: f64) -> f64 {
    const EXACT: f64 = 64.0;
    let last = ranks.floor().min(EXACT);
    let exact: f64 = (1..=last as u32).map(|rank| f64::from(rank).powf(-theta)).sum();
    if ranks <= EXACT {
        return exact;
    }
    let power = |rank: f64| rank.powf(-theta);
    let integral = match (1.0 - theta).abs() < 1e-9 {
        true => (ranks / last).ln(),
        false => (ranks.powf(1.0 - theta) - last.powf(1.0 - theta)) / (1.0 - theta),
    };
    let slope = |rank: f64| -theta * rank.powf(-theta - 1.0);
    exact + integral + (power(ranks) - power(last)) / 2.0 + (slope(ranks) - slope(last)) / 12.0
}

fn candidates(seen: &Seen) -> Vec<Model> {
    let best =
        |models: Vec<Model>| models.into_iter().min_by(|a, b| seen.fit(*a).0.total_cmp(&seen.fit(*b).0));
    // An exponent of 1 cannot be drawn.
    let zipf = best((1..=16).map(|step| Model::Zipf(f64::from(step) * 0.125 + 0.001)).collect());
    let finer = |model: Option<Model>, step: f64| match model {
        Some(Model::Zipf(near)) => {
            best((-12..=12).map(|number| Model::Zipf((near + f64::from(number) * step).max(0.011))).collect())
        }
        other => other,
    };
    let zipf = finer(finer(zipf, 0.01), 0.001);
    let pareto = best((1..=49).map(|step| Model::Pareto(f64::from(step) * 0.01)).collect());
    // Where the curve is farthest from the diagonal, the hot zone ends; chance moves that place, so others are tried around it.
    let farthest = seen.curve.iter().copied().max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let zones = farthest.and_then(|(blocks, accesses)| {
        let around = [0.7, 0.85, 1.0, 1.15, 1.3].map(|factor| blocks * factor);
        let around = around.into_iter().filter(|share| (0.0001..0.95).contains(share));
        let hot = |share: f64| {
            [0.9, 0.95, 1.0, 1.05].map(|factor| Model::Zones {
                blocks: share,
                accesses: (accesses.max(at(&seen.curve, share)) * factor).min(0.999),
            })
        };
        best(around.flat_map(hot).collect())
    });
    [zipf, pareto, zones].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_random::Sampler;

    /// Counts of blocks that are drawn with these weights.
    fn drawn(weights: &[f64], accesses: usize) -> Popularity {
        let mut sums = Vec::new();
        let mut sum = 0.0;
        for weight in weights {
            sum += weight;
            sums.push(sum);
        }
        let (mut state, mut counts) = (1u64, vec![0u64; weights.len()]);
        for _ in 0..accesses {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let drawn = (state >> 11) as f64 / (1u64 << 53) as f64 * sum;
            counts[sums.partition_point(|end| *end <= drawn).min(weights.len() - 1)] += 1;
        }
        popularity(counts)
    }

    fn popularity(mut counts: Vec<u64>) -> Popularity {
        counts.retain(|count| *count > 0);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let accesses = counts.iter().sum();
        Popularity { counts, weight: 1.0, accesses }
    }

    fn counted(blocks: impl Iterator<Item = u64>) -> Popularity {
        let mut counts = std::collections::HashMap::<u64, u64>::new();
        blocks.for_each(|block| *counts.entry(block).or_default() += 1);
        popularity(counts.into_values().collect())
    }

    #[test]
    fn the_sum_of_powers_is_that_of_the_ranks() {
        for (ranks, theta) in [(10u32, 0.5), (1000, 0.5), (100_000, 1.0), (100_000, 1.2)] {
            let exact: f64 = (1..=ranks).map(|rank| f64::from(rank).powf(-theta)).sum();
            let found = sum_of_powers(f64::from(ranks), theta);
            assert!((found / exact - 1.0).abs() < 1e-6, "{ranks} {theta}: {found} {exact}");
        }
    }

    #[test]
    fn the_distribution_that_made_the_accesses_is_found() {
        let uniform = skew(&drawn(&[1.0; 20_000], 60_000), 1.0).expect("reuse");
        assert_eq!(uniform.model, Model::Uniform, "{uniform:?}");
        assert!((uniform.span as f64 / (20_000.0 * BLOCK as f64) - 1.0).abs() < 0.05, "{uniform:?}");
        for theta in [0.6, 0.9, 1.2] {
            let mut sampler = Sampler::zipf(theta, None, 20_000, 7);
            let found = skew(&counted((0..100_000).map(|_| sampler.next_rank())), 1.0).expect("reuse");
            let Model::Zipf(near) = found.model else { panic!("{theta}: {found:?}") };
            assert!((near - theta).abs() < 0.06 && found.error < 0.03, "{theta}: {found:?}");
        }
        let weights: Vec<f64> = (0..20_000).map(|block| if block < 2000 { 9.0 } else { 0.111 }).collect();
        let found = skew(&drawn(&weights, 200_000), 1.0).expect("reuse");
        let Model::Zones { blocks, accesses } = found.model else { panic!("{found:?}") };
        assert!((blocks - 0.1).abs() < 0.03 && (accesses - 0.9).abs() < 0.04, "{found:?}");
        let mut sampler = Sampler::pareto(0.2, None, 20_000, 7);
        let found = skew(&counted((0..100_000).map(|_| sampler.next_rank())), 1.0).expect("reuse");
        assert!(found.error < 0.03, "{found:?}");
        assert!((at(&found.curve, 0.2) - 0.8).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn blocks_that_were_accessed_once_say_nothing() {
        let once = Popularity { counts: vec![1; 1000], weight: 1.0, accesses: 1000 };
        assert_eq!(skew(&once, 1.0), None);
        assert_eq!(skew(&Popularity::default(), 1.0), None);
    }

    #[test]
    fn the_few_hot_blocks_that_a_sample_lacks_are_known_from_the_sum() {
        let sample = Popularity { counts: vec![1; 1000], weight: 10.0, accesses: 40_000 };
        let seen = Seen::of(&sample, 1.0);
        assert!((at(&seen.curve, 0.001) - 0.75).abs() < 0.01, "{:?}", seen.curve);
    }
}
