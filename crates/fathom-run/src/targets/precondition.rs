//! `sprandom`: one pass of random writes that brings a solid state disk into the state that endless random
//! writes would reach.
//!
//! A disk whose flash is larger than its logical size by the factor ρ = 1 + over-provisioning is in its steady
//! state when the flash is full and the oldest data holds the most overwritten blocks. Their number follows
//! from the well-known model of a log that is cleaned in the order of writing (Robinson, "Analysis of
//! steady-state segment storage utilizations in a log-structured file system with least-utilized segment
//! cleaning", 1996; Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012). When the cleaner
//! reaches a piece of the log, the share u of its blocks is still valid, and
//!
//! ```text
//! u = exp(-ρ (1 - u)),   so   u = -W(-ρ exp(-ρ)) / ρ   with Lambert's W,
//! ```
//!
//! and of the data written at the fraction x of the log's length before the newest write, the share u^x is
//! valid. The mean of u^x over the log is 1/ρ, because that is the ratio of logical blocks to flash.
//!
//! The pass produces this state directly. It writes as many blocks as the flash holds, divided into regions of
//! equal size. New blocks come in the order of the shift register. In each region, the share that the model
//! considers overwritten is selected evenly, and these blocks are written again in a later region. A second
//! register repeats the order with a delay for this purpose, so no state is kept per block. The blocks of the
//! newest region cannot be overwritten later; the few that the model would overwrite there are distributed over
//! the other regions.

use super::shift_register::ShiftRegister;
use crate::plan::model::distribution::PreconditionRule;
use thiserror::Error;

/// Share of a piece of flash that is still valid when the cleaner reaches it: u in the module documentation.
pub fn oldest_validity(over_provisioning: f64) -> f64 {
    let size = 1.0 + over_provisioning;
    // ln u + ρ (1 - u) rises from minus infinity to above 0 between 0 and 1/ρ; the other root, 1, is beyond
    // that interval.
    let (mut low, mut high) = (0.0, 1.0 / size);
    for _ in 0..100 {
        let middle: f64 = (low + high) / 2.0;
        match middle.ln() + size * (1.0 - middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// Share of region `index` of `count`, oldest first, that stays valid: the mean of u^x over its part of the log.
pub fn validity(over_provisioning: f64, index: u64, count: u64) -> f64 {
    let decay = -oldest_validity(over_provisioning).ln();
    let (near, far) = ((count - index - 1) as f64 / count as f64, (count - index) as f64 / count as f64);
    ((-decay * near).exp() - (-decay * far).exp()) / (decay * (far - near))
}

/// Number of writes in each region that are overwritten later, and of those that overwrite others.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    regions: Vec<RegionWrites>,
}

/// Writes of one region, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionWrites {
    /// Number of writes to new blocks.
    pub new: u64,
    /// Number of writes to new blocks that a later region overwrites ("doomed").
    pub doomed: u64,
    /// Number of writes to doomed blocks of earlier regions.
    pub again: u64,
}

/// Why a region has no valid schedule.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoSchedule {
    /// A region would have no blocks, because there are fewer blocks than `spr_num_regions`.
    #[error("{blocks} blocks are too few for spr_num_regions={regions}; ask for fewer regions")]
    TooFewBlocks {
        /// Number of blocks.
        blocks: u64,
        /// Requested regions.
        regions: u64,
    },
    /// A block would be overwritten while it may still be in the cache.
    #[error(
        "spr_cs={cache_bytes} is more than a pass of {pass_bytes} bytes can leave between a write and the next of the same block"
    )]
    LargeCache {
        /// Size of the cache in bytes.
        cache_bytes: u64,
        /// Bytes that a pass writes.
        pass_bytes: u64,
    },
    /// More blocks would have to be overwritten than there are candidates.
    #[error(
        "spr_op={over_provisioning} asks for more overwriting than spr_num_regions={regions} and spr_cs={cache_bytes} leave room for; \
         ask for more regions or less over-provisioning"
    )]
    TooMuchOverwriting {
        /// Requested over-provisioning.
        over_provisioning: f64,
        /// Requested regions.
        regions: u64,
        /// Size of the cache in bytes.
        cache_bytes: u64,
    },
}

impl Schedule {
    /// The schedule for this number of blocks of this size in bytes; the error says why none exists.
    pub fn new(rule: &PreconditionRule, blocks: u64, block_bytes: u64) -> Result<Schedule, NoSchedule> {
        let (writes, count) = (rule.writes(blocks), u64::from(rule.regions));
        if blocks < count {
            return Err(NoSchedule::TooFewBlocks { blocks, regions: count });
        }
        let end = |index: u64| (u128::from(writes) * u128::from(index) / u128::from(count)) as u64;
        let distance = 1 + rule.cache_bytes.div_ceil((writes / count).saturating_mul(block_bytes).max(1));
        let Some(overwritten) = count.checked_sub(distance).filter(|&regions| regions > 0) else {
            let (cache_bytes, pass_bytes) = (rule.cache_bytes, writes.saturating_mul(block_bytes));
            return Err(NoSchedule::LargeCache { cache_bytes, pass_bytes });
        };
        let doomed = doomed(rule.over_provisioning, writes - blocks, overwritten, count);
        let mut regions = Vec::with_capacity(count as usize);
        // Number of doomed blocks that are old enough and not yet overwritten.
        let mut waiting = 0;
        for index in 0..count {
            let all = end(index + 1) - end(index);
            waiting += index.checked_sub(distance).map_or(0, |earlier| doomed[earlier as usize]);
            let doomed = doomed[index as usize];
            let again = all.saturating_sub(doomed).min(waiting);
            waiting -= again;
            regions.push(RegionWrites { new: all - again, doomed: doomed.min(all - again), again });
        }
        let of_all = |part: fn(&RegionWrites) -> u64| regions.iter().map(part).sum::<u64>();
        let fits =
            of_all(|share| share.again) == writes - blocks && of_all(|share| share.doomed) == writes - blocks;
        match fits {
            true => Ok(Schedule { regions }),
            false => Err(NoSchedule::TooMuchOverwriting {
                over_provisioning: rule.over_provisioning,
                regions: count,
                cache_bytes: rule.cache_bytes,
            }),
        }
    }

    /// The regions, in the order of writing.
    pub fn regions(&self) -> &[RegionWrites] {
        &self.regions
    }
}

/// Number of doomed blocks in each region: `total` in sum, none in regions from `overwritten` on, in the others
/// in proportion to the model.
fn doomed(over_provisioning: f64, total: u64, overwritten: u64, count: u64) -> Vec<u64> {
    let lost =
        |index| if index < overwritten { 1.0 - validity(over_provisioning, index, count) } else { 0.0 };
    let sum: f64 = (0..overwritten).map(lost).sum();
    let (mut so_far, mut given) = (0.0, 0);
    (0..count)
        .map(|index| {
            so_far += lost(index);
            // Running sums are rounded instead of the parts, so that the parts add up exactly.
            let until = match index + 1 >= overwritten {
                true => total,
                false => ((so_far / sum * total as f64).round() as u64).clamp(given, total),
            };
            until - std::mem::replace(&mut given, until)
        })
        .collect()
}

/// Distributes evenly: of every `of` calls of [`Spread::next`], `some` return true.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    some: u64,
    of: u64,
    sum: u64,
}

impl Spread {
    fn new(some: u64, of: u64) -> Spread {
        Spread { some, of, sum: of / 2 }
    }

    fn next(&mut self) -> bool {
        self.sum += self.some;
        let is_one = self.sum >= self.of;
        self.sum -= if is_one { self.of } else { 0 };
        is_one
    }
}

/// Position of a shift register within the regions.
#[derive(Clone, Debug)]
struct Walk {
    register: ShiftRegister,
    /// Regions begun.
    begun: usize,
    /// Number of blocks left in the region, and how many of them are special.
    left: u64,
    spread: Spread,
}

impl Walk {
    fn new(register: &ShiftRegister) -> Walk {
        Walk { register: register.clone(), begun: 0, left: 0, spread: Spread::default() }
    }

    /// True if the next block of the region is special; `None` after the last region. `share` returns the total
    /// number of blocks of a region and the number of special ones.
    fn step(&mut self, regions: &[RegionWrites], share: fn(&RegionWrites) -> (u64, u64)) -> Option<bool> {
        while self.left == 0 {
            let (all, special) = share(regions.get(self.begun)?);
            self.begun += 1;
            self.left = all;
            self.spread = Spread::new(special, all);
        }
        self.left -= 1;
        Some(self.spread.next())
    }
}

/// The pass: returns the blocks in the order of writing.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    schedule: Schedule,
    writes: Walk,
    overwrites: Walk,
    beginning: ShiftRegister,
}

impl Pass {
    /// A pass that visits new blocks in the order of this register.
    pub(super) fn new(schedule: Schedule, register: &ShiftRegister) -> Pass {
        let (writes, overwrites) = (Walk::new(register), Walk::new(register));
        Pass { schedule, writes, overwrites, beginning: register.clone() }
    }

    /// Restarts with the first write.
    pub(super) fn rewind(&mut self) {
        self.writes = Walk::new(&self.beginning);
        self.overwrites = Walk::new(&self.beginning);
    }

    /// The next block to write; `None` when the pass is over.
    pub(super) fn next(&mut self) -> Option<u64> {
        let regions = &self.schedule.regions;
        let is_overwrite = self.writes.step(regions, |share| (share.new + share.again, share.again))?;
        if !is_overwrite {
            return self.writes.register.next();
        }
        loop {
            let is_doomed = self.overwrites.step(regions, |share| (share.new, share.doomed))?;
            let block = self.overwrites.register.next()?;
            if is_doomed {
                return Some(block);
            }
        }
    }
}
