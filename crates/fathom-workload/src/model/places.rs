//! Chooses where the requests of a job go: streams, or the area and distribution whose requests are most like those of the trace.

use super::place::Place;
use super::simulation::{self, Shared};
use super::sizes::{BlockSizes, SizeClass};
use crate::parts::Part;
use crate::profile::Profile;
use crate::skew::{Zones, fits, zones};
use crate::space::{BLOCK, Popularity};

/// A zone with fewer accesses per block than this is a job in which each block comes once.
const ONCE: f64 = 1.15;
/// Maximum number of streams.
const MOST_STREAMS: f64 = 64.0;
/// At most this many runs per stream are the stream that goes round; more are runs at random places.
const MOST_RUNS: f64 = 2.0;
/// Room of streams beyond what they use, so that a run that is a little longer does not go round.
const ROOM: f64 = 1.5;
/// Smallest number of bytes between two runs: enough that the end of one is not the start of the next.
const GAP: u64 = 64 << 10;
/// Room of an area in which each block comes once, relative to what is accessed: the more, the fewer requests are next to earlier ones
/// by chance.
const SPREADS: [u64; 4] = [1, 2, 4, 16];
/// Largest area in files, relative to what is accessed.
const MOST_OF_FILES: u64 = 16;
/// Ratio of the accesses per block from which streams have a separate hot zone, and percent of the accesses of each zone.
const HOTTER: f64 = 3.0;
const LEAST_PERCENT: u32 = 5;
/// Share of the requests that begin at a multiple of the granule.
const ALIGNED: f64 = 0.9;

/// The places of a part: a suffix for the name of its job, the share of the part, the place.
pub(super) fn of(part: &Part, class: &SizeClass, profile: &Profile, on_files: bool) -> Shared {
    // A file is written before it is read, and a device is there already.
    let most = match on_files {
        true => part.popularity.footprint().saturating_mul(MOST_OF_FILES),
        false => u64::MAX,
    };
    match part.is_sequential {
        true => streams(part, class, profile),
        // Blocks that are read and written are in one area only if neither is spread over more than it accesses.
        false if profile.space.is_shared() => random(part, &class.sizes, &SPREADS[..1], most),
        false => random(part, &class.sizes, &SPREADS, most),
    }
}

/// Streams; those of blocks that are accessed again and again, such as a log that is overwritten, are separate jobs.
fn streams(part: &Part, class: &SizeClass, profile: &Profile) -> Shared {
    let found = profile.directions.iter().find(|found| found.direction == part.direction);
    let (runs, ns) =
        found.map_or((1, 0), |found| (found.streams.sequential_runs, found.streams.sequential_ns));
    let at_once = (ns as f64 / 1e9 / profile.seconds.max(1e-9)).clamp(1.0, MOST_STREAMS);
    let zones = zones(&part.popularity, 1.0, 0.0).map_or_else(Vec::new, |zones| hot_and_cold(&zones.hot));
    let blocks: f64 = zones.iter().map(|zone| zone.1).sum();
    let footprint = part.popularity.footprint() as f64 * class.share_of_bytes;
    // Runs are as many requests long in each class of sizes.
    let of_class = part.sizes.bytes() as f64 * class.share_of_bytes;
    let run = of_class / (runs.max(1) as f64 * class.share);
    let place = |share: f64, size: f64| {
        let bytes = of_class * share;
        let room = if bytes > size * ROOM { 1.0 } else { ROOM };
        let streams = (at_once * share).round().max(1.0);
        stream(streams as u32, size * room / streams, (bytes / run).max(1.0), run, class.sizes.largest())
    };
    match zones.as_slice() {
        [hot, cold] => {
            let share = f64::from(hot.0) / 100.0;
            vec![
                ("-again", share, place(share, footprint * hot.1 / blocks)),
                ("", 1.0 - share, place(1.0 - share, footprint * cold.1 / blocks)),
            ]
        }
        _ => vec![("", 1.0, place(1.0, footprint))],
    }
}

/// This many streams with an area of `size` bytes each, which together have `runs` runs of `run` bytes.
fn stream(streams: u32, size: f64, runs: f64, run: f64, largest: u64) -> Place {
    if runs <= f64::from(streams) * MOST_RUNS {
        return Place::Streams { streams, size: (size as u64).next_multiple_of(BLOCK) };
    }
    let run = (run as u64).max(largest).next_multiple_of(BLOCK);
    let runs = (size / run as f64).ceil().max(1.0) as u64;
    // The last request of a run may begin just before its end.
    let gap = GAP.max(largest.next_multiple_of(GAP));
    Place::Runs { streams, run, gap, size: runs * (run + gap) }
}

/// Two zones, if the blocks of one are accessed much more often than those of the other; else none.
fn hot_and_cold(zones: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let sum =
        |zones: &[(u32, f64)]| zones.iter().fold((0, 0.0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
    let mean = |zone: (u32, f64)| f64::from(zone.0) / zone.1.max(1.0);
    let split = |place: usize| (sum(&zones[..place]), sum(&zones[place..]));
    let ratio = |(hot, cold): ((u32, f64), (u32, f64))| mean(hot) / mean(cold).max(f64::MIN_POSITIVE);
    let best = (1..zones.len()).map(split).max_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
    match best {
        Some((hot, cold)) if ratio((hot, cold)) >= HOTTER && hot.0.min(cold.0) >= LEAST_PERCENT => {
            vec![hot, cold]
        }
        _ => Vec::new(),
    }
}

/// The candidate that comes closest: places fitted to the popularity of blocks, or of the places where requests begin, which
/// differ where sizes do.
fn random(part: &Part, sizes: &BlockSizes, spreads: &[u64], most: u64) -> Shared {
    let (smallest, largest) = (sizes.smallest(), sizes.largest());
    let aligned = |granule: &u64| part.sizes.aligned_share(*granule) >= ALIGNED;
    let granules = (9..20).map(|power| 1u64 << power);
    let granule = granules.filter(aligned).filter(|granule| *granule <= largest).max().unwrap_or(512);
    let once = |spread: u64| {
        let size = part.popularity.footprint().saturating_mul(spread);
        vec![("", 1.0, Place::Once { size, granule: smallest })]
    };
    let mut candidates: Vec<Shared> = spreads.iter().copied().map(once).collect();
    let is_small = |places: &Shared| places.iter().all(|place| place.2.size() <= most);
    candidates.extend(
        fitted(&part.popularity, part.sizes.unit(BLOCK), BLOCK, smallest).into_iter().filter(is_small),
    );
    candidates.extend(fitted(&part.starts, 1.0, granule, granule).into_iter().filter(is_small));
    simulation::best(candidates, sizes, part.requests(), &part.popularity)
}

/// Distributions and zones for the popularity of pieces of the space, of which `unit` are accessed together.
fn fitted(popularity: &Popularity, unit: f64, piece: u64, granule: u64) -> Vec<Shared> {
    let size = |pieces: f64| ((pieces * piece as f64) as u64).next_multiple_of(granule);
    let drawn = fits(popularity, unit).into_iter().map(|(distribution, pieces)| {
        vec![("", 1.0, Place::Drawn { size: size(pieces), granule, distribution })]
    });
    let zoned = zones(popularity, unit, ONCE).map(|zones| of_zones(&zones, &size, granule));
    drawn.chain(zoned).collect()
}

/// Zones, and what comes once as a separate job.
fn of_zones(zones: &Zones, size: &impl Fn(f64) -> u64, granule: u64) -> Shared {
    let hot: u32 = zones.hot.iter().map(|zone| zone.0).sum();
    let mut places = Vec::new();
    if hot > 0 {
        let shares: Vec<f64> = zones.hot.iter().map(|zone| f64::from(zone.0) / f64::from(hot)).collect();
        let sizes = zones.hot.iter().map(|zone| size(zone.1));
        let all = super::whole_percents(&shares).into_iter().zip(sizes);
        // A zone without accesses is part of no distribution.
        let zones = all.filter(|zone| zone.0 > 0).collect();
        places.push(("", f64::from(hot) / 100.0, Place::Zones { zones, granule }));
    }
    if zones.once > 0.0 {
        places.push(("-once", f64::from(100 - hot) / 100.0, Place::Once { size: size(zones.once), granule }));
    }
    places
}
