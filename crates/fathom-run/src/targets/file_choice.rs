//! Chooses the next file.

use super::distribution::Sampler;
use crate::plan::model::targets::{FileOrder, FileRule};
use crate::random::{DrawnAhead, Generator, part_below};

/// Number of slots per file in a skewed draw: the distribution covers slots, and `slot / SLOTS_PER_FILE` is the
/// file.
const SLOTS_PER_FILE: u64 = 1024;

/// State of the file choice.
#[derive(Clone, Debug)]
pub(super) struct FileChoice {
    rule: FileRule,
    numbers: DrawnAhead,
    sampler: Option<Sampler>,
    current: usize,
    left: u64,
    /// Which files are in use; empty without a limit.
    open: Vec<bool>,
}

impl FileChoice {
    pub(super) fn new(rule: FileRule, files: usize, seed: u64) -> FileChoice {
        let slots = files as u64 * SLOTS_PER_FILE;
        let mut sampler = match rule.order {
            FileOrder::Zipf(theta) => Some(Sampler::zipf(theta, None, slots, seed)),
            FileOrder::Pareto(h) => Some(Sampler::pareto(h, None, slots, seed)),
            FileOrder::Normal(deviation) => Some(Sampler::normal(deviation, None, slots, seed)),
            _ => None,
        };
        sampler.iter_mut().for_each(Sampler::make_table);
        let limited = if rule.most_open.is_some_and(|most| most < files) { files } else { 0 };
        FileChoice {
            rule,
            numbers: DrawnAhead::new(Generator::new(seed, false)),
            sampler,
            current: usize::MAX,
            left: 0,
            open: vec![false; limited],
        }
    }

    /// Restarts the draws. A round-robin order continues instead, because it draws nothing.
    pub(super) fn rewind(&mut self) {
        self.numbers.rewind();
        self.sampler.iter_mut().for_each(Sampler::rewind);
        if self.rule.order != FileOrder::RoundRobin {
            (self.current, self.left) = (usize::MAX, 0);
        }
    }

    /// True if another file may be started.
    fn may_open(&self) -> bool {
        let open = self.open.iter().filter(|open| **open).count();
        self.open.is_empty() || self.rule.most_open.is_none_or(|most| open < most)
    }

    /// Reports that a file has no more targets: another file may take its place, and the turn passes to the
    /// next file, even across passes.
    pub(super) fn is_done(&mut self, file: usize) {
        if file == self.current {
            self.left = 0;
            if self.rule.order == FileOrder::Sequential {
                self.current += 1;
            }
        }
        if let Some(open) = self.open.get_mut(file) {
            *open = false;
        }
    }

    /// The file for the next I/O among those that `usable` accepts; `None` if there is none.
    #[inline(always)]
    pub(super) fn next(&mut self, count: usize, usable: impl Fn(usize) -> bool) -> Option<usize> {
        if self.left > 0 && usable(self.current) {
            self.left -= 1;
            return Some(self.current);
        }
        let wanted = self.wanted(count);
        let chosen = match self.open.is_empty() && usable(wanted) {
            true => wanted,
            false => self.next_usable(wanted, count, usable)?,
        };
        self.current = chosen;
        self.left = self.rule.hold.saturating_sub(1);
        Some(chosen)
    }

    /// The file that is due or drawn, regardless of whether it is usable.
    #[inline(always)]
    fn wanted(&mut self, count: usize) -> usize {
        match self.rule.order {
            FileOrder::RoundRobin => {
                Some(self.current.wrapping_add(1)).filter(|&next| next < count).unwrap_or(0)
            }
            FileOrder::Sequential => Some(self.current).filter(|&current| current < count).unwrap_or(0),
            FileOrder::Random => self.drawn(count),
            _ => match &mut self.sampler {
                Some(sampler) => ((sampler.next_in_order() / SLOTS_PER_FILE) as usize).min(count - 1),
                None => 0,
            },
        }
    }

    #[inline(always)]
    fn drawn(&mut self, count: usize) -> usize {
        part_below(self.numbers.next(), count as u64) as usize
    }

    /// A substitute for a file that is not usable: the one after it, or another draw.
    #[inline(never)]
    fn next_usable(&mut self, wanted: usize, count: usize, usable: impl Fn(usize) -> bool) -> Option<usize> {
        let may_open = self.may_open();
        let is_open =
            |choice: &FileChoice, file: usize| may_open || choice.open.get(file).is_none_or(|open| *open);
        let fits = |choice: &FileChoice, file: usize| usable(file) && is_open(choice, file);
        let chosen = match self.rule.order {
            FileOrder::Random if !fits(self, wanted) => {
                // Drawing below ends only if a usable file exists, so this is checked first.
                (0..count).find(|&file| fits(self, file))?;
                loop {
                    let drawn = self.drawn(count);
                    if fits(self, drawn) {
                        break drawn;
                    }
                }
            }
            _ => (wanted..count).chain(0..wanted).find(|&file| fits(self, file))?,
        };
        if let Some(open) = self.open.get_mut(chosen) {
            *open = true;
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(rule: FileRule, usable: impl Fn(usize) -> bool + Copy) -> Vec<usize> {
        let mut choice = FileChoice::new(rule, 3, 1);
        (0..6).filter_map(|_| choice.next(3, usable)).collect()
    }

    #[test]
    fn orders() {
        let rule = |order, hold| FileRule { order, hold, most_open: None };
        assert_eq!(order(rule(FileOrder::RoundRobin, 1), |_| true), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(rule(FileOrder::RoundRobin, 2), |_| true), [0, 0, 1, 1, 2, 2]);
        assert_eq!(order(rule(FileOrder::RoundRobin, 1), |f| f != 1), [0, 2, 0, 2, 0, 2]);
        assert_eq!(order(rule(FileOrder::Sequential, 1), |f| f != 0), [1; 6]);
        assert!(order(rule(FileOrder::Random, 1), |_| false).is_empty());
        let two_open = FileRule { most_open: Some(2), ..rule(FileOrder::RoundRobin, 1) };
        assert_eq!(order(two_open, |_| true), [0, 1, 0, 1, 0, 1]);
        let mut choice = FileChoice::new(two_open, 3, 1);
        assert_eq!((choice.next(3, |_| true), choice.next(3, |_| true)), (Some(0), Some(1)));
        choice.is_done(0);
        assert_eq!((choice.next(3, |file| file != 0), choice.next(3, |file| file != 0)), (Some(2), Some(1)));
        let mut zipf = FileChoice::new(rule(FileOrder::Zipf(1.3), 1), 3, 1);
        let drawn: Vec<usize> = (0..1000).filter_map(|_| zipf.next(3, |_| true)).collect();
        let hits = |file| drawn.iter().filter(|&&drawn| drawn == file).count();
        assert!(hits(0) > 5 * hits(1) && hits(1) > hits(2), "{} {} {}", hits(0), hits(1), hits(2));
    }
}
