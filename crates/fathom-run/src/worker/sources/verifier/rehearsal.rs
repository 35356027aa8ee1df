//! `verify_only` with overlapping writes: the job's sequence is first generated without I/O, to find the last
//! write of each range; each range is then read once. A sequence that covers more ranges than fit into memory
//! is generated once per window of the files.

use super::backlog::Backlog;
use super::{Loop, Phase, Verifier, Worker, gone, is_to_trim, new_record};
use crate::message::Message;
use crate::random::Taus88;
use crate::targets::{Target, Targets};
use crate::verify::history::State;
use crate::worker::budget::Budget;
use crate::worker::issue::count_as_made;
use fathom_stats::Direction;
use std::ops::Range;

/// Maximum number of ranges that are kept in memory.
const MOST_PLACES: u64 = 1 << 21;
/// Number of steps between two checks of the time and of orders to stop.
const STEPS: u32 = 4096;

/// State at the start of the sequence.
#[derive(Clone)]
struct Beginning {
    targets: Targets,
    budget: Budget,
    generator: Taus88,
    trim_generator: Taus88,
}

impl<E: Loop + ?Sized> Worker<'_, E> {
    /// Generates the sequence and reads back the resulting data.
    pub(super) fn check_by_rehearsal(&mut self) {
        let windows = windows(self.any().space(), self.plan.target_plan.smallest_length(), MOST_PLACES);
        let mut beginning = (windows.len() > 1).then(|| self.any().beginning()).flatten();
        for (index, window) in windows.iter().enumerate() {
            if let Some(beginning) = beginning.as_ref().filter(|_| index > 0) {
                self.any().begin_again(beginning.clone());
            }
            if index + 1 == windows.len() {
                beginning = None;
            }
            self.any().rehearse((windows.len() > 1).then_some(window), index == 0);
            let smallest = self.plan.target_plan.smallest_length();
            let later = windows.last().filter(|_| index + 1 < windows.len());
            let Some(verifier) = &mut self.features.verifier else { return };
            verifier.blocks_of_later_windows =
                later.map_or(0, |last| (last.start - window.end) / smallest + 1);
            verifier.phase = Phase::ReadingBack;
            if !self.any().is_over() {
                self.run_engine();
            }
            self.any().finish_checks();
            if self.any().is_over() {
                return;
            }
        }
    }
}

impl Worker<'_> {
    /// Total bytes of all files.
    fn space(&self) -> u64 {
        self.files.list.iter().fold(0, |sum, file| u64::saturating_add(sum, file.size))
    }

    fn beginning(&self) -> Option<Beginning> {
        let verifier = self.features.verifier.as_ref()?;
        Some(Beginning {
            targets: self.targets.clone(),
            budget: self.budget.clone(),
            generator: verifier.generator.clone(),
            trim_generator: verifier.trim_generator.clone(),
        })
    }

    fn begin_again(&mut self, beginning: Beginning) {
        (self.targets, self.budget) = (beginning.targets, beginning.budget);
        if let Some(verifier) = &mut self.features.verifier {
            verifier.history.clear();
            verifier.take_bytes_read_back();
            (verifier.generator, verifier.number) = (beginning.generator, 0);
            (verifier.trim_generator, verifier.phase) = (beginning.trim_generator, Phase::Working);
            verifier.backlog = Backlog::new(verifier.plan);
        }
    }

    /// Generates the sequence. With a window, ranges outside of it are ignored. If `counts` is set, the I/Os
    /// count as done.
    fn rehearse(&mut self, window: Option<&Range<u64>>, counts: bool) {
        let bases: Vec<u64> = bases(self.files.list.iter().map(|file| file.size));
        let starts: Vec<u64> = self.files.list.iter().map(|file| file.start).collect();
        let longest = self.plan.target_plan.lengths.values().map(|rule| rule.max()).max().unwrap_or(0);
        let position = |file: usize, offset: u64| bases[file] + offset.saturating_sub(starts[file]);
        let is_near = |target: &Target| {
            let at = position(target.file as usize, target.offset);
            window.is_none_or(|window| {
                at < window.end.saturating_add(longest) && window.start < at + u64::from(target.length)
            })
        };
        let mut step = 0;
        while let Some(target) = self.next_rehearsed() {
            step += 1;
            if step % STEPS == 0 {
                self.handle_event(self.clock.ticks());
                if self.is_over() {
                    return;
                }
            }
            if counts {
                count_as_made(self.samples, &target);
            }
            let Some(verifier) = &mut self.features.verifier else { return };
            match verifier.rehearse(target, is_near(&target)) {
                Rehearsed::GoneOver => self.budget.count_ios(verifier.take_reads_of_backlog()),
                Rehearsed::Stop(line) => {
                    if counts {
                        self.context.messages.send(&Message::Output(line));
                    }
                    break;
                }
            }
            verifier.history.condense_when_doubled(MOST_PLACES as usize);
        }
        if let (Some(verifier), Some(window)) = (&mut self.features.verifier, window) {
            verifier.history.retain(|record| window.contains(&position(record.file as usize, record.offset)));
        }
    }

    /// The next I/O of the whole sequence, over all passes and loops; a run that ends only by time makes one pass.
    fn next_rehearsed(&mut self) -> Option<Target> {
        if !self.budget.count_io() {
            return None;
        }
        let mut target = self.next_of_pass();
        if target.is_none() && !self.plan.time.time_based && self.begin_next_pass() {
            target = self.next_of_pass();
        }
        target
    }

    pub(super) fn next_of_pass(&mut self) -> Option<Target> {
        if self.budget.is_spent() {
            return None;
        }
        let target = self.targets.next()?;
        self.budget.spend(u64::from(target.length));
        Some(target)
    }
}

/// Result of a step.
enum Rehearsed {
    GoneOver,
    /// The earlier run ended at this step; holds the message about it.
    Stop(String),
}

impl Verifier<'_> {
    fn rehearse(&mut self, target: Target, is_near: bool) -> Rehearsed {
        match target.direction {
            Direction::Read => return Rehearsed::GoneOver,
            Direction::Trim if is_near => {
                self.history.add(gone(target, self.number));
                return Rehearsed::GoneOver;
            }
            Direction::Trim => return Rehearsed::GoneOver,
            Direction::Write => {}
        }
        let number = self.number;
        if let Some(line) = self.limit.as_ref().and_then(|limit| limit.stop_line(number)) {
            return Rehearsed::Stop(line);
        }
        let mut record = new_record(&mut self.generator, &mut self.number, target);
        record.to_trim = is_to_trim(self.plan, &mut self.trim_generator);
        // The block of a write that was in flight may hold the old or the new data.
        if self.limit.as_ref().is_some_and(|limit| limit.was_in_flight(number)) {
            record.state = State::Gone;
        }
        self.will_be_read_back(&record);
        if is_near {
            self.history.add(record);
        }
        Rehearsed::GoneOver
    }
}

/// Offset of each file in the concatenation of all files.
fn bases(sizes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut behind = 0u64;
    sizes
        .map(|size| {
            let base = behind;
            behind = behind.saturating_add(size);
            base
        })
        .collect()
}

/// Divides a space into windows, each with at most `most` ranges of this size.
fn windows(space: u64, smallest: u64, most: u64) -> Vec<Range<u64>> {
    let count = (space / smallest.max(1)).div_ceil(most.max(1)).max(1);
    let length = space.div_ceil(count);
    (0..count)
        .map(|index| {
            let start = index.saturating_mul(length);
            let end = if index + 1 == count { u64::MAX } else { start.saturating_add(length) };
            start..end
        })
        .collect()
}
