//! `zonemode=strided`: a file is used zone by zone, and the gaps between zones are skipped. I/O moves on to the
//! next zone when the requested number of bytes has been moved in the current one, in any direction. A zone
//! shorter than that is repeated; a longer zone is used only in part. The last zone is followed by the first.

use super::{FileState, Target, TargetRegion, Targets};
use crate::plan::model::targets::{DirectionPlan, StrideRule, TargetPlan};
use crate::random::Seeds;
use fathom_stats::{Direction, PerDirection};

/// The current zone of a file.
#[derive(Clone)]
pub(super) struct Stride {
    rule: StrideRule,
    /// Offset of the region that contains the zones.
    region_start: u64,
    /// Its bytes.
    region_size: u64,
    /// Smallest possible I/O: a shorter remainder of the region is not a zone.
    smallest: u64,
    /// Offset of the zone relative to the region.
    zone_start: u64,
    /// Bytes moved in this zone.
    done: u64,
    /// State for the other zone length, if the end of the region shortens the last zone. Allocated beforehand,
    /// because nothing is allocated during a run.
    other_length: Option<Box<FileState>>,
}

impl Stride {
    pub(super) fn new(rule: StrideRule, plan: &TargetPlan, region: &TargetRegion, seeds: &Seeds) -> Stride {
        let distance = rule.length.saturating_add(rule.skip).max(1);
        let last_length = region.size - region.size.saturating_sub(1) / distance * distance;
        let smallest = plan.smallest_length();
        let is_short = last_length >= smallest && last_length < rule.length.min(region.size);
        Stride {
            rule,
            region_start: region.start,
            region_size: region.size,
            smallest,
            zone_start: 0,
            done: 0,
            other_length: is_short.then(|| Box::new(FileState::of_extent(plan, region, last_length, seeds))),
        }
    }

    /// Start of the next zone.
    fn next_start(&self) -> u64 {
        let next = self.zone_start.saturating_add(self.rule.length).saturating_add(self.rule.skip);
        if next.saturating_add(self.smallest) > self.region_size { 0 } else { next }
    }
}

impl Targets {
    /// The next target in a file that has zones.
    pub(super) fn next_strided(&mut self, file: usize, direction: Direction) -> Option<Target> {
        if self.files[file].leave_zone_when_done() && self.plan.repeat_offset {
            // The offset to repeat is in the previous zone, so no follow-ups remain.
            self.follow_ups = 0;
        }
        let target = match self.next_in_extent(file, direction) {
            Some(target) => target,
            None => {
                self.files[file].repeat_zone(direction);
                self.next_in_extent(file, direction)?
            }
        };
        // The write after a trim has no separate target, so the pair counts once.
        let moves = if self.plan.directions == DirectionPlan::TrimThenWrite { 2 } else { 1 };
        if let Some(stride) = &mut self.files[target.file as usize].stride {
            stride.done += u64::from(target.length) * moves;
        }
        Some(target)
    }
}

impl FileState {
    /// Advances to the next zone if the current zone's bytes have been moved; true if it advanced.
    fn leave_zone_when_done(&mut self) -> bool {
        match &self.stride {
            Some(stride) if stride.done >= stride.rule.work => {
                let next = stride.next_start();
                self.enter_zone(next);
                true
            }
            _ => false,
        }
    }

    /// Makes the zone at this distance from the region's start the current one.
    fn enter_zone(&mut self, zone_start: u64) {
        let Some(stride) = &mut self.stride else { return };
        stride.zone_start = zone_start;
        stride.done = 0;
        self.start = stride.region_start + zone_start;
        let left = stride.region_size - zone_start;
        let length = stride.rule.length.min(left);
        if length != self.size
            && let Some(other) = &mut stride.other_length
        {
            std::mem::swap(&mut self.size, &mut other.size);
            std::mem::swap(&mut self.blocks, &mut other.blocks);
            std::mem::swap(&mut self.random, &mut other.random);
        }
        self.overhang = left - self.size;
        self.positions = PerDirection::default();
        self.restart_random(false);
    }

    /// Restarts a zone that was covered before all its bytes were moved.
    fn repeat_zone(&mut self, direction: Direction) {
        self.positions[direction] = 0;
        self.restart_random(false);
    }

    /// Starts another pass: with `again`, in the same order from the first zone; otherwise, from the current
    /// position.
    pub(super) fn restart_stride(&mut self, again: bool) {
        self.done = self.size == 0;
        if again {
            self.enter_zone(0);
            if let Some(other) = self.stride.as_mut().and_then(|stride| stride.other_length.as_mut()) {
                other.restart_random(true);
            }
            self.restart_random(true);
        }
    }
}
