//! Write-ahead preparation: content and checksums of the next writes, which depend only on their seeds and length.

use crate::rule::Rule;
use crate::stamp::{Write, stamp, stamp_headers};
use crate::sums::{Sums, TOGETHER, gain_together};

/// Prepared content for the next writes of a job.
#[derive(Debug, Default)]
pub struct Drafts {
    drafts: Vec<Draft>,
    /// Index of the first unused draft.
    next: usize,
    /// Length of the last write in bytes; the number of consecutive writes of that length follows.
    length: usize,
    in_a_row: usize,
}

#[derive(Debug, Default)]
struct Draft {
    seed: u64,
    content: Vec<u8>,
    sums: Sums,
}

impl Drafts {
    /// Does the same as [`stamp`]. `next_seeds` predicts the seeds of the following writes; a draft is used
    /// only if seed and length match the actual write.
    pub fn stamp(&mut self, rule: &Rule, buffer: &mut [u8], write: &Write, next_seeds: impl FnMut() -> u64) {
        self.in_a_row = if self.length == buffer.len() { self.in_a_row + 1 } else { 0 };
        self.length = buffer.len();
        // If lengths vary, most drafts would be discarded, so none are made.
        if self.in_a_row < TOGETHER || rule.pattern.is_some() || !gain_together(rule, buffer.len()) {
            return stamp(rule, buffer, write);
        }
        let is_next = |draft: &Draft| draft.seed == write.seed && draft.content.len() == buffer.len();
        if !self.drafts.get(self.next).is_some_and(is_next) {
            self.prepare(rule, write.seed, next_seeds);
        }
        let draft = &self.drafts[self.next];
        self.next += 1;
        buffer.copy_from_slice(&draft.content);
        stamp_headers(rule, buffer, write, &draft.sums);
    }

    /// Prepares the write with this seed and its successors.
    fn prepare(&mut self, rule: &Rule, seed: u64, next_seeds: impl FnMut() -> u64) {
        self.next = 0;
        self.drafts.resize_with(TOGETHER, Draft::default);
        let seeds = std::iter::once(seed).chain(std::iter::repeat_with(next_seeds));
        for (draft, seed) in self.drafts.iter_mut().zip(seeds) {
            draft.seed = seed;
            draft.content.resize(self.length, 0);
            // The offset is 0, because content without a pattern does not depend on it.
            rule.fill(&mut draft.content, seed, 0);
        }
        let sums = Sums::of_writes(rule, self.drafts.iter().map(|draft| draft.content.as_slice()));
        for (draft, sums) in self.drafts.iter_mut().zip(sums) {
            draft.sums = sums;
        }
    }
}
