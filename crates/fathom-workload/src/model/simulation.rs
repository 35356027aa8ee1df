//! Where requests of a job would go, drawn as its run draws them: to choose between places before anything runs.

use super::place::Place;
use super::sizes::BlockSizes;
use crate::skew::{Model as Distribution, distance};
use crate::space::{BLOCK, Counter, Popularity};
use crate::streams::StreamFinder;
use fathom_random::{Generator, Sampler};
use fathom_stats::Direction;
use fathom_trace::Device;
use fathom_trace::requests::Request;
use std::collections::HashSet;

/// Maximum numbers of simulated requests, and of blocks that they access.
const MOST_REQUESTS: u64 = 1 << 20;
const MOST_BLOCKS: u64 = 1 << 23;
/// Draws of a block that is left before the next one is taken.
const TRIES: u32 = 32;
/// Weights of an error of the footprint, and of requests that are sequential by chance, relative to an error of the popularity.
const OF_FOOTPRINT: f64 = 0.5;
const OF_SEQUENTIAL: f64 = 1.0;
/// A place that needs less room is preferred unless another is better by this much.
const PREFERENCE: f64 = 0.01;

/// Places with the share of the requests that each has.
pub(super) type Shared = Vec<(&'static str, f64, Place)>;

/// The candidate whose requests are most like those of a part.
pub(super) fn best(
    candidates: Vec<Shared>,
    sizes: &BlockSizes,
    requests: u64,
    wanted: &Popularity,
) -> Shared {
    let scored = candidates.into_iter().map(|places| {
        let score = score(&places, sizes, requests, wanted);
        let room: u64 = places.iter().map(|place| place.2.size()).sum();
        (score, room, places)
    });
    let better = |best: (f64, u64, Shared), other: (f64, u64, Shared)| {
        let is_better = match other.1 < best.1 {
            true => other.0 < best.0 + PREFERENCE,
            false => other.0 + PREFERENCE < best.0,
        };
        if is_better { other } else { best }
    };
    scored.reduce(better).map_or_else(Vec::new, |found| found.2)
}

fn score(places: &Shared, sizes: &BlockSizes, requests: u64, wanted: &Popularity) -> f64 {
    let (found, sequential) = simulate(places, sizes, requests);
    let footprint = wanted.footprint().max(1) as f64;
    let error = (found.footprint() as f64 - footprint).abs() / footprint;
    distance(wanted, &found) + OF_FOOTPRINT * error.min(1.0) + OF_SEQUENTIAL * sequential
}

/// The share of requests at random places of an area that are in sequential runs by chance.
pub(super) fn by_chance(size: u64, sizes: &BlockSizes, requests: u64) -> f64 {
    let place = Place::Drawn { size, granule: sizes.smallest(), distribution: Distribution::Uniform };
    simulate(&vec![("", 1.0, place)], sizes, requests).1
}

/// The popularity of blocks, and the share of requests in sequential runs.
fn simulate(places: &Shared, sizes: &BlockSizes, requests: u64) -> (Popularity, f64) {
    let mean = sizes.mean();
    let most = (MOST_BLOCKS as f64 / (mean / BLOCK as f64).max(1.0)) as u64;
    let (mut counter, mut finder) = (Counter::default(), StreamFinder::default());
    let mut draws: Vec<Draw> = places.iter().map(|place| Draw::of(&place.2, mean)).collect();
    let mut numbers = Generator::new(11, true);
    let device = Device { major: 0, minor: 0 };
    let requests = requests.min(MOST_REQUESTS).min(most.max(1));
    for number in 0..requests {
        let place =
            pick(places.iter().map(|place| place.1), numbers.below(1 << 20) as f64 / f64::from(1 << 20));
        let percents = sizes.0.iter().map(|size| f64::from(size.1) / 100.0);
        let bytes = sizes.0[pick(percents, numbers.below(1 << 20) as f64 / f64::from(1 << 20))].0;
        let offset = draws[place].next(&mut numbers);
        let request = Request {
            time_ns: number,
            device,
            direction: Direction::Read,
            sector: ((place as u64) << 44) + offset / 512,
            skip: (offset % 512) as u16,
            bytes,
            code: 0,
            process: 0,
        };
        counter.add(&request);
        finder.add(&request, |_, _| {});
    }
    let (streams, _) = finder.finish(|_, _| {});
    (counter.finish(), streams[0].sequential_requests as f64 / requests.max(1) as f64)
}

/// The place of the share that a number from 0 to 1 falls into.
fn pick(shares: impl ExactSizeIterator<Item = f64>, number: f64) -> usize {
    let (last, mut sum) = (shares.len().saturating_sub(1), 0.0);
    let mut shares = shares;
    let found = shares.position(|share| {
        sum += share;
        number < sum
    });
    found.unwrap_or(last)
}

/// Draws offsets of a place.
enum Draw {
    Uniform {
        blocks: u64,
        granule: u64,
    },
    Sampled {
        sampler: Box<Sampler>,
        granule: u64,
    },
    /// Ends of zones in percent of the accesses; first block and number of blocks of each.
    Zones {
        zones: Vec<(u32, u64, u64)>,
        granule: u64,
    },
    /// Every block once per round, at random.
    Once {
        taken: HashSet<u64>,
        blocks: u64,
        granule: u64,
    },
}

impl Draw {
    /// `mean` is the mean size of the requests.
    fn of(place: &Place, mean: f64) -> Draw {
        let granule = place.granule();
        let blocks = (place.size() / granule).max(1);
        let of_zones = |zones: &[(u32, u64)]| {
            let (mut percent, mut first) = (0, 0);
            let zone = |&(share, bytes): &(u32, u64)| {
                let count = (bytes / granule).max(1);
                percent += share;
                first += count;
                (percent, first - count, count)
            };
            Draw::Zones { zones: zones.iter().map(zone).collect(), granule }
        };
        match place {
            Place::Once { .. } | Place::Streams { .. } | Place::Runs { .. } => {
                // A random map gives out what no larger request has covered.
                let granule = ((mean as u64) / granule * granule).max(granule);
                let blocks = (place.size() / granule).max(1);
                Draw::Once { taken: HashSet::new(), blocks, granule }
            }
            Place::Zones { zones, .. } => of_zones(zones),
            Place::Drawn { distribution, .. } => match *distribution {
                Distribution::Uniform => Draw::Uniform { blocks, granule },
                Distribution::Zipf(theta) => {
                    Draw::Sampled { sampler: Box::new(Sampler::zipf(theta, None, blocks, 7)), granule }
                }
                Distribution::Pareto(h) => {
                    Draw::Sampled { sampler: Box::new(Sampler::pareto(h, None, blocks, 7)), granule }
                }
                Distribution::Zones { .. } => of_zones(&place.zones()),
            },
        }
    }

    fn next(&mut self, numbers: &mut Generator) -> u64 {
        match self {
            Draw::Uniform { blocks, granule } => numbers.below(*blocks) * *granule,
            Draw::Sampled { sampler, granule } => sampler.next() * *granule,
            Draw::Zones { zones, granule } => {
                let percent = numbers.below(100) as u32;
                let zone = zones.partition_point(|zone| zone.0 <= percent).min(zones.len() - 1);
                let (_, first, count) = zones[zone];
                (first + numbers.below(count)) * *granule
            }
            Draw::Once { taken, blocks, granule } => {
                if taken.len() as u64 >= *blocks {
                    taken.clear();
                }
                let mut block = numbers.below(*blocks);
                let mut tries = 0;
                while !taken.insert(block) {
                    tries += 1;
                    block = if tries < TRIES { numbers.below(*blocks) } else { (block + 1) % *blocks };
                }
                block * *granule
            }
        }
    }
}
