//! Which of its files a worker turns to next.

use super::distribution::Sampler;
use crate::plan::model::targets::{FileOrder, FileRule};
use crate::random::Taus88;

/// Slots per file that a skewed draw spreads over, so that neighbouring files share the steps of the curve.
const SLOTS_PER_FILE: u64 = 1024;

/// The state of the choice.
#[derive(Clone, Debug)]
pub(super) struct FileChoice {
    rule: FileRule,
    generator: Taus88,
    sampler: Option<Sampler>,
    current: usize,
    left: u64,
    /// The files in use; empty without a limit.
    open: Vec<bool>,
}

impl FileChoice {
    pub(super) fn new(rule: FileRule, files: usize, seed: u64) -> FileChoice {
        let slots = files as u64 * SLOTS_PER_FILE;
        let sampler = match rule.order {
            FileOrder::Zipf(theta) => Some(Sampler::zipf(theta, None, slots, seed)),
            FileOrder::Pareto(h) => Some(Sampler::pareto(h, None, slots, seed)),
            FileOrder::Normal(deviation) => Some(Sampler::normal(deviation, None, slots, seed)),
            _ => None,
        };
        let limited = if rule.most_open.is_some_and(|most| most < files) { files } else { 0 };
        FileChoice {
            rule,
            generator: Taus88::new(seed),
            sampler,
            current: usize::MAX,
            left: 0,
            open: vec![false; limited],
        }
    }

    /// Draws again as `beginning` would. Turns go on, as nobody draws them.
    pub(super) fn draw_again(&mut self, beginning: &FileChoice) {
        self.generator.clone_from(&beginning.generator);
        self.sampler.clone_from(&beginning.sampler);
        if self.rule.order != FileOrder::RoundRobin {
            (self.current, self.left) = (beginning.current, beginning.left);
        }
    }

    /// True while another file may be taken up.
    fn may_open(&self) -> bool {
        let open = self.open.iter().filter(|open| **open).count();
        self.open.is_empty() || self.rule.most_open.is_none_or(|most| open < most)
    }

    /// A file has nothing left: another may be taken up in its place, and it is the turn of the next one, in the next pass as well.
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

    /// The file for the next I/O among those for which `usable` holds; `None` when there is none.
    pub(super) fn next(&mut self, count: usize, usable: impl Fn(usize) -> bool) -> Option<usize> {
        if self.left > 0 && usable(self.current) {
            self.left -= 1;
            return Some(self.current);
        }
        let start = match self.rule.order {
            FileOrder::RoundRobin => self.current.wrapping_add(1) % count,
            FileOrder::Sequential => {
                if self.current < count {
                    self.current
                } else {
                    0
                }
            }
            FileOrder::Random => self.generator.below(count as u64) as usize,
            _ => match &mut self.sampler {
                Some(sampler) => ((sampler.next_in_order() / SLOTS_PER_FILE) as usize).min(count - 1),
                None => 0,
            },
        };
        let may_open = self.may_open();
        let is_open = |file: usize| may_open || self.open.get(file).is_none_or(|open| *open);
        let fits = |file: &usize| usable(*file) && is_open(*file);
        let chosen = match self.rule.order {
            FileOrder::Random if !fits(&start) => {
                // As long as there is a file to draw.
                (0..count).find(fits)?;
                std::iter::repeat_with(|| self.generator.below(count as u64) as usize).find(fits)?
            }
            _ => (start..count).chain(0..start).find(fits)?,
        };
        if let Some(open) = self.open.get_mut(chosen) {
            *open = true;
        }
        self.current = chosen;
        self.left = self.rule.hold.saturating_sub(1);
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
