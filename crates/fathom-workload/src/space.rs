//! Footprint, reuse and popularity of blocks, from a sample of them.
//!
//! A block is in the sample if the hash of its address is below a threshold, so all accesses to a sampled block are seen. The
//! threshold falls as more blocks come, which bounds the memory. Source: Waldspurger and others, "Efficient MRC Construction with
//! SHARDS", FAST 2015.

use crate::timeline::{Bin, Timeline};
use fathom_stats::Direction;
use fathom_trace::Device;
use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};

/// Unit of the sample, bytes.
pub const BLOCK: u64 = 4096;
/// Sectors of a block.
const SECTORS: u64 = BLOCK / 512;
/// Maximum number of sampled blocks: up to 1 GiB is counted exactly, and more to 0.2 %.
const MOST_BLOCKS: usize = 1 << 18;
/// Positions of the order of last accesses; twice the sampled blocks, so that it is renumbered rarely.
const POSITIONS: usize = 2 * MOST_BLOCKS;
/// Blocks of a request that are counted after the first: 64 MiB.
const MOST_OF_REQUEST: u64 = 1 << 14;
/// Maximum number of classes of reuse distances, each twice the one before.
const MOST_CLASSES: usize = 51;
/// Registers of the count of distinct blocks per bin of the timeline, as a power of two. The error is 1.6 %.
const REGISTER_BITS: u32 = 12;

/// Use of the address space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// Bytes that were accessed, in blocks of 4 KiB.
    pub footprint: u64,
    /// Bytes that were read.
    pub read_footprint: u64,
    /// Bytes that were written. Trims do not count.
    pub written_footprint: u64,
    /// Accesses to blocks: a request of 64 KiB accesses 16.
    pub accesses: u64,
    /// True if all blocks were counted; the figures are estimates otherwise.
    pub is_exact: bool,
    /// Share of the accesses to a block that was accessed before.
    pub reused: f64,
    /// Size of a cache in bytes (powers of two), and the share of all accesses that it would serve if it replaced the least recently
    /// used block.
    pub reuse: Vec<(u64, f64)>,
    /// Share of the reads of blocks whose last access was a write: (within how many seconds, share).
    pub read_after_write: Vec<(f64, f64)>,
    /// Share of the writes to blocks that were written before.
    pub overwritten: f64,
    /// Number of times that each block was read.
    #[serde(skip)]
    pub reads: Popularity,
    /// Number of times that each block was written.
    #[serde(skip)]
    pub writes: Popularity,
}

impl Space {
    /// True if at least half of the blocks that were read were written, too, or the other way round.
    pub fn is_shared(&self) -> bool {
        let both = (self.read_footprint + self.written_footprint).saturating_sub(self.footprint);
        both > 0 && both * 2 >= self.read_footprint.min(self.written_footprint)
    }
}

/// Limits of the times of reads after writes, ns.
const AFTER_WRITE: [u64; 4] = [100_000_000, 1_000_000_000, 10_000_000_000, u64::MAX];

/// A sampled block.
#[derive(Clone, Copy, Debug)]
struct Block {
    reads: u32,
    writes: u32,
    last_was_write: bool,
    last_ns: u64,
}

/// The sampled blocks, and what was seen of them.
#[derive(Debug, Default)]
struct Sample {
    /// By hash.
    blocks: HashMap<u64, Block>,
    sampled: Sampled,
    order: Order,
    /// Reuses, each weighted by how many a sampled one stands for, by the power of two of the blocks in between.
    distances: Vec<f64>,
    overwritten: f64,
    after_write: [f64; AFTER_WRITE.len()],
}

/// Which blocks are in a sample.
#[derive(Debug, Default)]
struct Sampled {
    /// Hashes of the sampled blocks; the largest leave first.
    hashes: BinaryHeap<u64>,
    /// Hashes above this one are no longer sampled.
    threshold: Option<u64>,
}

impl Sampled {
    /// How many blocks a sampled one stands for.
    fn weight(&self) -> f64 {
        self.threshold.map_or(1.0, |threshold| (u64::MAX as f64) / (threshold as f64 + 1.0))
    }

    fn takes(&self, hash: u64) -> bool {
        self.threshold.is_none_or(|threshold| hash <= threshold)
    }

    /// Adds a block; returns the one that leaves the sample for it.
    fn add(&mut self, hash: u64) -> Option<u64> {
        self.hashes.push(hash);
        if self.hashes.len() <= MOST_BLOCKS {
            return None;
        }
        let largest = self.hashes.pop()?;
        self.threshold = Some(largest - 1);
        Some(largest)
    }
}

/// Counts the accesses to each sampled block.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    counts: HashMap<u64, u64>,
    sampled: Sampled,
    accesses: u64,
}

impl Counter {
    /// Counts the blocks of a request.
    pub(crate) fn add(&mut self, request: &Request) {
        hashes(request).for_each(|hash| self.count(hash));
    }

    /// Counts the place where a request begins.
    pub(crate) fn add_start(&mut self, request: &Request) {
        self.count(hash(request.device, request.sector));
    }

    fn count(&mut self, hash: u64) {
        self.accesses += 1;
        if !self.sampled.takes(hash) {
            return;
        }
        match self.counts.entry(hash) {
            Entry::Occupied(mut entry) => *entry.get_mut() += 1,
            Entry::Vacant(entry) => {
                entry.insert(1);
                if let Some(left) = self.sampled.add(hash) {
                    self.counts.remove(&left);
                }
            }
        }
    }

    pub(crate) fn finish(self) -> Popularity {
        Popularity::of(self.counts.into_values().collect(), self.sampled.weight(), self.accesses)
    }
}

impl Sample {
    fn access(&mut self, hash: u64, time_ns: u64, is_write: bool) {
        if !self.sampled.takes(hash) {
            return;
        }
        let weight = self.sampled.weight();
        if let Some(between) = self.order.access(hash) {
            let blocks = (f64::from(between) * weight).max(1.0);
            let class = (blocks.log2().ceil() as usize).min(MOST_CLASSES - 1);
            self.distances.resize(self.distances.len().max(class + 1), 0.0);
            self.distances[class] += weight;
        }
        let new = Block { reads: 0, writes: 0, last_was_write: false, last_ns: time_ns };
        let (block, is_new) = match self.blocks.entry(hash) {
            Entry::Occupied(entry) => (entry.into_mut(), false),
            Entry::Vacant(entry) => (entry.insert(new), true),
        };
        match is_write {
            true => {
                self.overwritten += if block.writes > 0 { weight } else { 0.0 };
                block.writes = block.writes.saturating_add(1);
            }
            false => {
                if block.last_was_write {
                    let since = time_ns.saturating_sub(block.last_ns);
                    let class = AFTER_WRITE.iter().position(|limit| since <= *limit).unwrap_or(0);
                    self.after_write[class] += weight;
                }
                block.reads = block.reads.saturating_add(1);
            }
        }
        (block.last_was_write, block.last_ns) = (is_write, time_ns);
        if is_new && let Some(left) = self.sampled.add(hash) {
            self.blocks.remove(&left);
            self.order.remove(left);
        }
    }
}

/// Samples blocks.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    sample: Sample,
    accesses: u64,
    reads: u64,
    writes: u64,
    distinct: Timeline<Distinct>,
}

impl Sampler {
    pub(crate) fn add(&mut self, request: &Request) {
        let distinct = self.distinct.at(request.time_ns);
        if request.bytes == 0 || request.direction == Direction::Trim {
            return;
        }
        let is_write = request.direction == Direction::Write;
        let mut count = 0;
        for hash in hashes(request) {
            count += 1;
            distinct.add(hash);
            self.sample.access(hash, request.time_ns, is_write);
        }
        self.accesses += count;
        *(if is_write { &mut self.writes } else { &mut self.reads }) += count;
    }

    /// The use of the space; and bytes accessed per bin of the timeline, with those up to its end.
    pub(crate) fn finish(mut self, end_ns: u64) -> (Space, Vec<(f64, f64)>) {
        self.distinct.at(end_ns);
        let weight = self.sample.sampled.weight();
        let accesses = self.accesses.max(1) as f64;
        let bytes = |number: usize| (number as f64 * weight * BLOCK as f64) as u64;
        let with = |wanted: fn(&Block) -> bool| {
            bytes(self.sample.blocks.values().filter(|block| wanted(block)).count())
        };
        let mut sum = 0.0;
        let reuse = self.sample.distances.iter().enumerate().map(|(class, count)| {
            sum += count;
            (BLOCK << class, (sum / accesses).min(1.0))
        });
        let reuse = reuse.collect();
        let mut after = 0.0;
        let read_after_write = AFTER_WRITE.iter().zip(self.sample.after_write).map(|(limit, count)| {
            after += count;
            (
                if *limit == u64::MAX { f64::INFINITY } else { *limit as f64 / 1e9 },
                (after / self.reads.max(1) as f64).min(1.0),
            )
        });
        let popularity = |count: fn(&Block) -> u32, accesses: u64| {
            let counts =
                self.sample.blocks.values().map(|block| u64::from(count(block))).filter(|count| *count > 0);
            Popularity::of(counts.collect(), weight, accesses)
        };
        let space = Space {
            footprint: bytes(self.sample.blocks.len()),
            read_footprint: with(|block| block.reads > 0),
            written_footprint: with(|block| block.writes > 0),
            accesses: self.accesses,
            is_exact: self.sample.sampled.threshold.is_none(),
            reused: (sum / accesses).min(1.0),
            reuse,
            read_after_write: read_after_write.filter(|(limit, _)| limit.is_finite()).collect(),
            overwritten: (self.sample.overwritten / self.writes.max(1) as f64).min(1.0),
            reads: popularity(|block| block.reads, self.reads),
            writes: popularity(|block| block.writes, self.writes),
        };
        let mut all = Distinct::default();
        let working_set = self.distinct.bins().iter().map(|bin| {
            all.merge(bin);
            (bin.bytes(), all.bytes())
        });
        (space, working_set.collect())
    }
}

/// Accesses of sampled blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Popularity {
    /// Accesses per sampled block, the most popular first.
    pub counts: Vec<u64>,
    /// Blocks that each stands for.
    pub weight: f64,
    /// All accesses.
    pub accesses: u64,
}

impl Popularity {
    fn of(mut counts: Vec<u64>, weight: f64, accesses: u64) -> Popularity {
        counts.sort_unstable_by(|a, b| b.cmp(a));
        Popularity { counts, weight, accesses }
    }

    /// True if enough accesses were to blocks already accessed; otherwise the counts say nothing about popularity.
    pub(crate) fn is_reused(&self) -> bool {
        let total: u64 = self.counts.iter().sum();
        self.counts.len() >= 2 && total as f64 > self.counts.len() as f64 * 1.05
    }

    /// Bytes of the accessed blocks, estimated from the sample.
    pub fn footprint(&self) -> u64 {
        (self.counts.len() as f64 * self.weight * BLOCK as f64) as u64
    }
}

/// The order of last accesses, as positions in a Fenwick tree.
#[derive(Debug, Default)]
struct Order {
    places: HashMap<u64, u32>,
    owners: Vec<Option<u64>>,
    /// Sums of the taken positions.
    tree: Vec<u32>,
}

impl Order {
    /// Number of other blocks that were accessed since this one, which is the last from now on; `None` for a new one.
    fn access(&mut self, hash: u64) -> Option<u32> {
        if self.owners.len() >= POSITIONS {
            self.renumber();
        }
        let before = self.places.get(&hash).copied();
        let between = before.map(|place| self.places.len() as u32 - self.sum(place));
        if let Some(place) = before {
            self.clear(place);
        }
        self.append(hash);
        between
    }

    fn remove(&mut self, hash: u64) {
        if let Some(place) = self.places.remove(&hash) {
            self.clear(place);
        }
    }

    fn append(&mut self, hash: u64) {
        let place = self.owners.len() as u32;
        self.owners.push(Some(hash));
        self.places.insert(hash, place);
        // A new node of the tree sums the positions below it that end there.
        let node = place + 1;
        let lowest = node & node.wrapping_neg();
        let below =
            (node - lowest..place).filter(|&place| self.owners[place as usize].is_some()).count() as u32;
        self.tree.push(below + 1);
    }

    fn clear(&mut self, place: u32) {
        self.owners[place as usize] = None;
        let mut node = place as usize + 1;
        while node <= self.tree.len() {
            self.tree[node - 1] -= 1;
            node += node & node.wrapping_neg();
        }
    }

    /// Taken positions up to this one.
    fn sum(&self, place: u32) -> u32 {
        let (mut node, mut sum) = (place as usize + 1, 0);
        while node > 0 {
            sum += self.tree[node - 1];
            node &= node - 1;
        }
        sum
    }

    fn renumber(&mut self) {
        let owners = std::mem::take(&mut self.owners);
        self.tree.clear();
        owners.into_iter().flatten().for_each(|hash| self.append(hash));
    }
}

/// Counts distinct blocks. Source: Flajolet and others, "HyperLogLog", 2007.
#[derive(Clone, Debug)]
struct Distinct(Box<[u8]>);

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct(vec![0; 1 << REGISTER_BITS].into())
    }
}

impl Distinct {
    fn add(&mut self, hash: u64) {
        let register = &mut self.0[(hash >> (64 - REGISTER_BITS)) as usize];
        *register = (*register).max((hash << REGISTER_BITS).leading_zeros() as u8 + 1);
    }

    fn merge(&mut self, other: &Distinct) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, theirs)| *own = (*own).max(*theirs));
    }

    /// Estimated bytes.
    fn bytes(&self) -> f64 {
        let registers = self.0.len() as f64;
        let sum: f64 = self.0.iter().map(|rank| 0.5f64.powi(i32::from(*rank))).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.0.iter().filter(|rank| **rank == 0).count();
        let blocks = match empty > 0 && estimate <= 2.5 * registers {
            true => registers * (registers / empty as f64).ln(),
            false => estimate,
        };
        blocks * BLOCK as f64
    }
}

impl Bin for Distinct {
    fn absorb(&mut self, next: Distinct) {
        self.merge(&next);
    }
}

/// The hashes of a request's blocks.
fn hashes(request: &Request) -> impl Iterator<Item = u64> + use<> {
    let (device, first) = (request.device, request.sector / SECTORS);
    // No device takes requests that are much larger than this, so only a damaged trace has them.
    let last = (request.end().saturating_sub(1) / SECTORS).min(first + MOST_OF_REQUEST);
    (first..=last).map(move |block| hash(device, block))
}

/// A hash of a block's address: the finalizer of SplitMix64, which permutes all numbers of 64 bits.
fn hash(device: Device, block: u64) -> u64 {
    let mut mixed = block ^ (u64::from(device.major) << 52) ^ (u64::from(device.minor) << 40);
    mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(direction: Direction, time_ns: u64, block: u64, blocks: u32) -> Request {
        let device = Device { major: 8, minor: 0 };
        let bytes = blocks * BLOCK as u32;
        Request { time_ns, device, direction, sector: block * SECTORS, skip: 0, bytes, code: 0, process: 0 }
    }

    #[test]
    fn a_large_footprint_is_estimated() {
        let mut sampler = Sampler::default();
        for block in 0..1_000_000u64 {
            sampler.add(&request(Direction::Read, block * 1000, block, 1));
        }
        for block in 0..1_000_000u64 {
            sampler.add(&request(Direction::Read, 1_000_000_000 + block * 1000, block, 1));
        }
        let (space, working_set) = sampler.finish(0);
        let wanted = 1e6 * BLOCK as f64;
        assert!((space.footprint as f64 / wanted - 1.0).abs() < 0.01, "{}", space.footprint);
        assert!((space.reused - 0.5).abs() < 0.02 && !space.is_exact, "{}", space.reused);
        let (_, all) = working_set.last().expect("a bin");
        assert!((all / wanted - 1.0).abs() < 0.06, "{all}");
        let small = space.reuse.iter().find(|(bytes, _)| *bytes == 1 << 30).map_or(0.0, |(_, share)| *share);
        assert!(small < 0.01, "every reuse is 4 GB apart: {:?}", space.reuse);
    }

    #[test]
    fn reads_after_writes_and_overwrites_are_counted() {
        let mut sampler = Sampler::default();
        for block in 0..100 {
            sampler.add(&request(Direction::Write, 0, block, 1));
            sampler.add(&request(Direction::Read, 50_000_000, block, 1));
            sampler.add(&request(Direction::Write, 60_000_000, block, 1));
            sampler.add(&request(Direction::Read, 5_000_000_000, block, 1));
        }
        let (space, _) = sampler.finish(0);
        assert_eq!(space.read_after_write, [(0.1, 0.5), (1.0, 0.5), (10.0, 1.0)]);
        assert_eq!((space.overwritten, space.footprint), (0.5, 100 * BLOCK));
        assert_eq!((space.read_footprint, space.written_footprint), (100 * BLOCK, 100 * BLOCK));
        assert_eq!(space.reuse, [(BLOCK, 0.75)], "nothing in between");
    }

    proptest! {
        #[test]
        fn the_order_counts_what_came_between(blocks in prop::collection::vec(0u64..40, 1..400)) {
            let (mut order, mut list): (Order, Vec<u64>) = (Order::default(), Vec::new());
            for block in blocks {
                let wanted = list.iter().rev().position(|other| *other == block).map(|place| place as u32);
                prop_assert_eq!(order.access(block), wanted);
                list.retain(|other| *other != block);
                list.push(block);
                if block % 17 == 0 {
                    order.renumber();
                }
                if block == 3 {
                    order.remove(3);
                    list.retain(|other| *other != 3);
                }
            }
        }
    }
}
