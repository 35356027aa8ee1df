//! Content that compresses and repeats as requested: `buffer_compress_percentage` and `dedupe_percentage`. A
//! buffer is a sequence of segments, each of which starts with random bytes and ends with fixed ones. Every
//! segment takes one seed from the content generator, so the generator's state determines a whole buffer: a
//! duplicate is a buffer generated from a state that another buffer also uses.

use super::fill_random;
use crate::plan::model::payload::{DuplicateSource, Duplicates, SetPart, SetSize, ShapedRule};
use crate::random::{SeedUse, Seeds, Taus88};
use thiserror::Error;

/// The dedupe working set does not fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no memory for a working set of {pages} pages; lower dedupe_working_set_percentage=")]
pub struct NoRoomForPages {
    /// Number of pages in the working set.
    pub pages: u64,
}

/// Generates compressible and repeating content for one worker.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    rule: ShapedRule,
    content: Taus88,
    duplicate_draws: Taus88,
    page_draws: Taus88,
    working_set: Vec<Taus88>,
}

impl Shaper {
    /// Creates the generator for the worker with these seeds, whose files have `bytes` bytes in total.
    pub(super) fn new(rule: ShapedRule, seeds: &Seeds, bytes: u64) -> Result<Shaper, NoRoomForPages> {
        let mut working_set = Vec::new();
        if let Some(Duplicates { source: DuplicateSource::WorkingSet(parts), .. }) = &rule.duplicates {
            for part in parts {
                add_pages(&mut working_set, part, seeds, bytes)?;
            }
            if working_set.is_empty() {
                // The working set is smaller than a page, so all duplicates are equal.
                working_set.push(seeds.generator(SeedUse::Buffer));
            }
        }
        Ok(Shaper {
            rule,
            content: seeds.generator(SeedUse::Buffer),
            duplicate_draws: seeds.generator(SeedUse::Dedupe),
            page_draws: seeds.generator(SeedUse::DedupeWorkingSet),
            working_set,
        })
    }

    /// True if all buffers have the same content.
    pub(super) fn is_static(&self) -> bool {
        let offsets = self.rule.fixed.as_ref().is_some_and(|fixed| !fixed.offset_places.is_empty());
        let repeats = self.rule.duplicates.as_ref().is_some_and(|duplicates| {
            duplicates.percent >= 100 && duplicates.source == DuplicateSource::Neighbour
        });
        repeats && !offsets
    }

    /// Fills the next buffer, for this file offset.
    pub(super) fn fill(&mut self, buffer: &mut [u8], offset: u64) {
        let Some(duplicates) = &self.rule.duplicates else {
            return fill_segments(&self.rule, &mut self.content, buffer, offset);
        };
        if self.duplicate_draws.percent() > duplicates.percent {
            return fill_segments(&self.rule, &mut self.content, buffer, offset);
        }
        let mut state = match duplicates.source {
            DuplicateSource::Neighbour => self.content.clone(),
            DuplicateSource::WorkingSet(_) => {
                let page = self.page_draws.below(self.working_set.len() as u64);
                self.working_set[page as usize].clone()
            }
        };
        fill_segments(&self.rule, &mut state, buffer, offset);
    }
}

fn add_pages(set: &mut Vec<Taus88>, part: &SetPart, seeds: &Seeds, bytes: u64) -> Result<(), NoRoomForPages> {
    let pages = match part.pages {
        SetSize::Pages(pages) => pages,
        SetSize::Share { percent, page } => {
            (u128::from(bytes) * u128::from(percent) / 100 / u128::from(page.max(1))) as u64
        }
    };
    let room = usize::try_from(pages).ok().and_then(|pages| set.try_reserve_exact(pages).ok());
    room.ok_or(NoRoomForPages { pages })?;
    let mut state = part.seed.map_or_else(|| seeds.generator(SeedUse::Buffer), Taus88::new);
    for _ in 0..pages {
        set.push(state.clone());
        for _ in 0..part.segments_per_page {
            state.buffer_seed();
        }
    }
    Ok(())
}

fn fill_segments(rule: &ShapedRule, state: &mut Taus88, buffer: &mut [u8], offset: u64) {
    let random_percent = (100 - rule.compress_percent.min(100)) as usize;
    let mut place = offset;
    for segment in buffer.chunks_mut(rule.segment.max(1)) {
        let (random, fixed) = segment.split_at_mut(segment.len() * random_percent / 100);
        fill_random(random, state.buffer_seed());
        place += random.len() as u64;
        match &rule.fixed {
            None => fixed.fill(0),
            Some(pattern) => {
                pattern.repeat(fixed);
                pattern.place_offsets(fixed, |at| place + at);
            }
        }
        place += fixed.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_verify::content::Pattern;

    fn shaper(compress_percent: u32, segment: usize, duplicates: Option<Duplicates>) -> Shaper {
        let rule = ShapedRule { compress_percent, segment, fixed: None, duplicates };
        Shaper::new(rule, &Seeds::new(0x89, 1), 4 << 20).expect("memory")
    }

    /// State of the content generator at the start of each of the next 4 KiB buffers, in segments.
    fn states(shaper: &mut Shaper, count: usize) -> Vec<usize> {
        let mut generator = Seeds::new(0x89, 1).generator(SeedUse::Buffer);
        let seeds: Vec<u64> = (0..2000).map(|_| generator.buffer_seed()).collect();
        let mut buffer = vec![0; 4096];
        (0..count)
            .map(|_| {
                shaper.fill(&mut buffer, 0);
                let first = u64::from_le_bytes(buffer[..8].try_into().expect("eight bytes"));
                seeds.iter().position(|&seed| seed == first).expect("a state")
            })
            .collect()
    }

    #[test]
    fn duplicates_come_as_from_fio() {
        // Matches fio --bs=4k --dedupe_percentage=50. The first state fills the initial buffer; the others
        // belong to writes.
        let next = Duplicates { percent: 50, source: DuplicateSource::Neighbour };
        assert_eq!(
            states(&mut shaper(0, 512, Some(next)), 15),
            [0, 8, 16, 16, 16, 16, 24, 24, 24, 32, 40, 48, 56, 56, 64]
        );
        // The same with --dedupe_mode=working_set --size=4m.
        let part =
            SetPart { seed: None, pages: SetSize::Share { percent: 5, page: 4096 }, segments_per_page: 8 };
        let set = Duplicates { percent: 50, source: DuplicateSource::WorkingSet(vec![part]) };
        assert_eq!(
            states(&mut shaper(0, 512, Some(set)), 15),
            [0, 8, 312, 384, 320, 16, 136, 328, 24, 32, 40, 48, 72, 56, 64]
        );
    }

    #[test]
    fn a_segment_is_random_and_then_fixed() {
        let mut shaper = shaper(30, 1000, None);
        let mut buffer = vec![7; 4096];
        shaper.fill(&mut buffer, 0);
        for (segment, random) in buffer.chunks(1000).zip([700, 700, 700, 700, 67]) {
            assert!(segment[random..].iter().all(|&byte| byte == 0));
            assert!(segment[random - 8..random].iter().any(|&byte| byte != 0));
        }
    }

    #[test]
    fn fixed_parts_hold_the_pattern() {
        let fixed = Some(Pattern { bytes: vec![0xaa; 16], offset_places: vec![8] });
        let rule = ShapedRule { compress_percent: 50, segment: 64, fixed, duplicates: None };
        let mut shaper = Shaper::new(rule, &Seeds::new(1, 1), 0).expect("memory");
        let mut buffer = vec![0; 128];
        shaper.fill(&mut buffer, 0x1000);
        assert_eq!(buffer[96..104], [0xaa; 8]);
        assert_eq!(buffer[104..112], 0x1060u64.to_le_bytes());
        assert_eq!(buffer[120..128], 0x1070u64.to_le_bytes());
    }
}
