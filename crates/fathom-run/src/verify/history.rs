//! Writes of a job that have not been verified yet.

use fathom_verify::stamp::{Write, split_time};
use std::collections::BTreeMap;
use std::ops::Range;

/// A completed write, or a part of it that has not been overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Seed of the content.
    pub seed: u64,
    /// Number of writes before this one.
    pub number: u64,
    /// The time at which the write was issued, ns.
    pub time_ns: u64,
    /// Offset of the part in its file.
    pub offset: u64,
    /// Length of the part in bytes.
    pub length: u32,
    /// Offset of the part within the write.
    pub into_write: u32,
    /// Length of the whole write in bytes.
    pub write_length: u32,
    /// Index of the file.
    pub file: u32,
    /// Its state.
    pub state: State,
    /// True if the range is to be trimmed before it is checked.
    pub to_trim: bool,
}

/// State of a recorded write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The written data is on the device.
    Written,
    /// The range was trimmed after the write and reads as zeros.
    Trimmed,
    /// The job itself trimmed the range, so its content is unknown.
    Gone,
    /// The remainder of an interval that has no header left.
    Fragment,
}

impl Record {
    /// A record that marks the content of a range as unknown, up to the write with this number.
    pub fn gone(file: u32, offset: u64, length: u32, number: u64) -> Record {
        Record {
            seed: 0,
            number,
            time_ns: 0,
            offset,
            length,
            into_write: 0,
            write_length: length,
            file,
            state: State::Gone,
            to_trim: false,
        }
    }

    /// True if the whole write is on the device.
    pub fn is_whole(&self) -> bool {
        self.state == State::Written && self.into_write == 0 && self.length == self.write_length
    }

    /// The whole write, in the form that the checks need.
    pub fn write(&self, thread: u16) -> Write {
        Write {
            seed: self.seed,
            offset: self.offset - u64::from(self.into_write),
            number: self.number,
            thread,
            time: split_time(self.time_ns),
        }
    }

    fn meets(&self, (file, offset, length): (u32, u64, u32)) -> bool {
        file == self.file && offset < self.end() && self.offset < offset + u64::from(length)
    }

    fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// The records of one worker.
#[derive(Debug, Default)]
pub struct History {
    /// Records that have yet to be returned; the next one is last.
    records: Vec<Record>,
    /// Records added since [`records`](History::records) was last sorted.
    added: Vec<Record>,
    /// Number of records to be trimmed.
    to_trim: usize,
    may_overlap: bool,
    /// Bytes between two headers: records are not split into smaller parts; 0 for whole writes.
    interval: u32,
    /// True if the remainders of split intervals are returned as well.
    keeps_fragments: bool,
    /// Number of records after the last compaction.
    condensed: usize,
}

impl History {
    /// An empty history with space for this many records.
    pub fn new(may_overlap: bool, interval: u32, room: usize) -> History {
        History { added: Vec::with_capacity(room), may_overlap, interval, ..History::default() }
    }

    /// Returns the remainders of partly overwritten intervals as well.
    pub fn keeping_fragments(mut self) -> History {
        self.keeps_fragments = true;
        self
    }

    /// Keeps only the latest write of each range.
    pub fn condense(&mut self) {
        self.put_in_order();
    }

    /// Compacts once the number of records has doubled since the last compaction, unless it is below `fewest`.
    /// Memory then grows with the number of ranges instead of the number of writes.
    pub fn condense_when_doubled(&mut self, fewest: usize) {
        if self.may_overlap && self.len() > 2 * self.condensed.max(fewest) {
            self.condense();
            self.condensed = self.len();
        }
    }

    /// Keeps only the records for which `is_wanted` returns true.
    pub fn retain(&mut self, is_wanted: impl Fn(&Record) -> bool) {
        self.put_in_order();
        self.records.retain(is_wanted);
        self.to_trim = self.records.iter().filter(|record| record.to_trim).count();
    }

    /// Keeps only the wanted records, in the order in which they would be returned.
    pub fn retain_in_order(&mut self, is_wanted: impl Fn(&Record) -> bool) {
        if self.may_overlap {
            self.put_in_order();
        }
        self.records.retain(&is_wanted);
        self.added.retain(&is_wanted);
        self.to_trim = self.all().filter(|record| record.to_trim).count();
    }

    /// Adds a completed write.
    pub fn add(&mut self, record: Record) {
        self.to_trim += usize::from(record.to_trim);
        self.added.push(record);
    }

    /// Number of records to be trimmed.
    pub fn to_trim(&self) -> usize {
        self.to_trim
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.records.clear();
        self.added.clear();
        (self.to_trim, self.condensed) = (0, 0);
    }

    /// Records not yet returned.
    pub fn len(&self) -> usize {
        self.records.len() + self.added.len()
    }

    /// Number of records still to be checked.
    pub fn to_check(&self) -> usize {
        self.all().filter(|record| record.state != State::Gone).count()
    }

    /// True if every record has been returned.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.added.is_empty()
    }

    /// Marks the content of this range as unknown, for example after a failed write, until a write with this
    /// number or a later one.
    pub fn forget(&mut self, file: u32, offset: u64, length: u32, number: u64) {
        if self.may_overlap {
            // The remainder of the write outside the range still hides earlier writes. Without earlier records,
            // as in a job that ends only by time, there are none to hide.
            if !self.is_empty() {
                self.added.push(Record::gone(file, offset, length, number));
            }
            return;
        }
        let stays = |record: &Record| !record.meets((file, offset, length));
        self.records.retain(stays);
        self.added.retain(stays);
        self.to_trim = self.all().filter(|record| record.to_trim).count();
    }

    /// The next record to check. Records that overlap writes `in_flight`, and records to be trimmed first, are
    /// skipped for now.
    pub fn next(&mut self, in_flight: impl Iterator<Item = (u32, u64, u32)>) -> Option<Record> {
        if self.may_overlap {
            if !self.added.is_empty() {
                self.put_in_order();
            }
        } else if self.records.is_empty() {
            self.take_over();
        }
        let covered: Vec<(u32, u64, u32)> = if self.may_overlap { in_flight.collect() } else { Vec::new() };
        let keeps_fragments = self.keeps_fragments;
        let waits = |record: &Record| record.to_trim && !keeps_fragments;
        let is_ready = |record: &Record| !waits(record) && !covered.iter().any(|place| record.meets(*place));
        let mut place = self.records.iter().rposition(is_ready);
        if place.is_none() && !self.added.is_empty() {
            self.take_over();
            place = self.records.iter().rposition(is_ready);
        }
        Some(self.records.remove(place?))
    }

    /// Takes up to `most` records that are to be trimmed.
    pub fn take_to_trim(
        &mut self,
        most: usize,
        in_flight: impl Iterator<Item = (u32, u64, u32)>,
    ) -> Vec<Record> {
        match self.may_overlap {
            true => self.put_in_order(),
            false => self.take_over(),
        }
        let covered: Vec<(u32, u64, u32)> = in_flight.collect();
        let mut taken = Vec::new();
        let mut kept = Vec::with_capacity(self.records.len());
        while let Some(record) = self.records.pop() {
            let is_ready = record.to_trim && !covered.iter().any(|place| record.meets(*place));
            match is_ready && taken.len() < most {
                true => taken.push(record),
                false => kept.push(record),
            }
        }
        kept.reverse();
        self.records = kept;
        self.to_trim = self.records.iter().filter(|record| record.to_trim).count();
        taken
    }

    /// Merges added records in the order of the writes, which is not the order of their completion.
    fn take_over(&mut self) {
        self.records.append(&mut self.added);
        self.records.sort_by_key(|record| std::cmp::Reverse(record.number));
    }

    /// Merges added records: only the latest write of each range is kept, in the order of offsets.
    fn put_in_order(&mut self) {
        self.records.append(&mut self.added);
        // A trim by the job itself precedes the write of the same number.
        self.records.sort_by_key(|record| std::cmp::Reverse((record.number, record.state != State::Gone)));
        let mut covered = Covered::default();
        let mut kept = Vec::with_capacity(self.records.len());
        for record in &self.records {
            if record.state != State::Gone {
                covered.parts_left(record, self.interval, self.keeps_fragments, &mut kept);
            }
            covered.add(record);
        }
        kept.sort_by_key(|record| std::cmp::Reverse((record.file, record.offset)));
        self.records = kept;
        self.to_trim = self.records.iter().filter(|record| record.to_trim).count();
    }

    /// All remaining records, for finding earlier writes of a range.
    pub fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().chain(&self.added)
    }
}

/// Ranges overwritten by later writes, by file: start and end.
#[derive(Default)]
struct Covered(BTreeMap<(u32, u64), u64>);

impl Covered {
    fn add(&mut self, record: &Record) {
        let (mut start, mut end) = (record.offset, record.end());
        let meeting: Vec<(u32, u64)> = self
            .0
            .range((record.file, 0)..=(record.file, end))
            .rev()
            .take_while(|(_, until)| **until >= start)
            .map(|(&key, _)| key)
            .collect();
        for key in meeting {
            start = start.min(key.1);
            end = end.max(self.0.remove(&key).unwrap_or(end));
        }
        self.0.insert((record.file, start), end);
    }

    /// Adds the visible parts of a record to `kept`: runs of intervals that were not overwritten and, with
    /// `fragments`, the remainders of partly overwritten ones.
    fn parts_left(&self, record: &Record, interval: u32, fragments: bool, kept: &mut Vec<Record>) {
        if !self.meets(record.file, record.offset, record.end()) {
            kept.push(*record);
            return;
        }
        if record.state == State::Fragment {
            self.fragments_left(record, record.offset..record.end(), kept);
            return;
        }
        let interval = match interval {
            0 => record.write_length,
            bytes => bytes,
        };
        let mut run: Option<Record> = None;
        let mut at = record.offset;
        while at < record.end() {
            let length = u64::from(interval).min(record.end() - at);
            if self.meets(record.file, at, at + length) {
                kept.extend(run.take());
                if fragments && record.state == State::Written && !record.to_trim {
                    self.fragments_left(record, at..at + length, kept);
                }
            } else {
                let into_write = record.into_write + (at - record.offset) as u32;
                let run = run.get_or_insert(Record { offset: at, length: 0, into_write, ..*record });
                run.length += length as u32;
            }
            at += length;
        }
        kept.extend(run);
    }

    /// Adds the parts of a range that were not overwritten, as fragments.
    fn fragments_left(&self, record: &Record, range: Range<u64>, kept: &mut Vec<Record>) {
        let mut at = range.start;
        let before = self.0.range((record.file, 0)..(record.file, at)).next_back();
        if let Some((_, &until)) = before {
            at = at.max(until);
        }
        let mut add = |start: u64, end: u64| {
            if start < end {
                let into_write = record.into_write + (start - record.offset) as u32;
                let (offset, length) = (start, (end - start) as u32);
                kept.push(Record { offset, length, into_write, state: State::Fragment, ..*record });
            }
        };
        for (&(_, start), &end) in self.0.range((record.file, at)..(record.file, range.end.max(at))) {
            add(at, start);
            at = at.max(end);
        }
        add(at, range.end);
    }

    fn meets(&self, file: u32, start: u64, end: u64) -> bool {
        self.0.range((file, 0)..(file, end)).next_back().is_some_and(|(_, until)| *until > start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(number: u64, offset: u64, length: u32) -> Record {
        Record { state: State::Written, ..Record::gone(0, offset, length, number) }
    }

    fn all(history: &mut History) -> Vec<(u64, u64, u32)> {
        std::iter::from_fn(|| history.next(std::iter::empty()))
            .map(|record| (record.number, record.offset, record.length))
            .collect()
    }

    #[test]
    fn without_overlap_the_order_is_that_of_the_writes() {
        let mut history = History::new(false, 0, 0);
        for (number, offset) in [(1, 0), (0, 8), (2, 4)] {
            history.add(record(number, offset, 4));
        }
        assert_eq!(all(&mut history), [(0, 8, 4), (1, 0, 4), (2, 4, 4)]);
    }

    #[test]
    fn the_latest_write_counts() {
        let mut history = History::new(true, 4, 0);
        history.add(record(0, 0, 16));
        history.add(record(1, 4, 4));
        history.add(record(2, 32, 4));
        history.add(record(3, 32, 4));
        assert_eq!(all(&mut history), [(0, 0, 4), (1, 4, 4), (0, 8, 8), (3, 32, 4)]);
    }

    #[test]
    fn what_is_being_written_over_waits() {
        let mut history = History::new(true, 4, 0);
        history.add(record(0, 0, 4));
        history.add(record(1, 8, 4));
        assert_eq!(history.next([(0, 0, 4)].into_iter()).map(|record| record.number), Some(1));
        assert_eq!(history.next([(0, 0, 4)].into_iter()), None);
        assert_eq!(history.next(std::iter::empty()).map(|record| record.number), Some(0));
    }

    #[test]
    fn only_the_latest_of_a_place_is_given_back() {
        for may_overlap in [false, true] {
            let mut history = History::new(may_overlap, 4, 0);
            history.add(Record { to_trim: true, ..record(0, 0, 4) });
            history.add(Record { to_trim: true, ..record(1, 8, 4) });
            history.add(record(2, 16, 4));
            if may_overlap {
                history.add(record(3, 0, 4));
            }
            assert_eq!(history.to_trim(), 2);
            assert_eq!(
                history.next(std::iter::empty()).map(|record| record.number),
                Some(if may_overlap { 3 } else { 2 })
            );
            let taken: Vec<u64> =
                history.take_to_trim(9, std::iter::empty()).iter().map(|record| record.number).collect();
            assert_eq!(taken, if may_overlap { vec![1] } else { vec![0, 1] });
            assert_eq!(history.to_trim(), 0);
        }
    }

    #[test]
    fn what_the_job_gave_back_is_not_checked() {
        let mut history = History::new(true, 4, 0);
        history.add(record(0, 0, 4));
        history.add(Record { state: State::Gone, ..record(1, 0, 4) });
        history.add(record(1, 8, 4));
        assert_eq!(all(&mut history), [(1, 8, 4)]);
        history.add(Record { state: State::Gone, ..record(2, 0, 4) });
        history.add(record(2, 0, 4));
        assert_eq!(all(&mut history), [(2, 0, 4)]);
    }

    #[test]
    fn what_is_forgotten_in_part_hides_what_came_before_it() {
        let mut history = History::new(true, 4, 0);
        history.add(record(0, 8, 16));
        history.add(record(1, 0, 12));
        history.forget(0, 0, 4, 2);
        assert_eq!(all(&mut history), [(1, 4, 8), (0, 12, 12)]);
        history.forget(0, 0, 4, 3);
        assert!(history.is_empty(), "nothing is kept to hide nothing");
        let mut history = History::new(false, 4, 0);
        history.add(Record { to_trim: true, ..record(0, 0, 4) });
        history.forget(0, 2, 1, 1);
        assert_eq!((history.len(), history.to_trim()), (0, 0));
    }

    proptest! {
        /// With fragments, every byte is returned with the number of its latest write, regardless of how often
        /// records are compacted.
        #[test]
        fn fragments_fill_the_gaps(
            writes in prop::collection::vec((0u64..24, 1u32..8), 1..60),
            interval in 0u32..5,
            condensed_every in 1usize..9,
        ) {
            let mut history = History::new(true, interval, 0).keeping_fragments();
            let mut model = [None; 32];
            for (number, &(offset, length)) in writes.iter().enumerate() {
                history.add(record(number as u64, offset, length));
                model[offset as usize..offset as usize + length as usize].fill(Some(number as u64));
                if number % condensed_every == 0 {
                    history.condense();
                }
            }
            let mut given = [None; 32];
            while let Some(part) = history.next(std::iter::empty()) {
                let (start, length) = writes[part.number as usize];
                prop_assert_eq!(part.offset - u64::from(part.into_write), start);
                let step = if interval == 0 { length } else { interval };
                if part.state == State::Written {
                    prop_assert_eq!(part.into_write % step, 0);
                    let end = part.into_write + part.length;
                    prop_assert!(end % step == 0 || end == length);
                }
                for place in part.offset..part.end() {
                    prop_assert!(given[place as usize].is_none());
                    given[place as usize] = Some(part.number);
                }
            }
            prop_assert_eq!(given, model);
        }

        /// For every block, the records that the history returns hold the latest write of that block.
        #[test]
        fn a_model_agrees(
            writes in prop::collection::vec((0u64..24, 1u32..8, prop::bool::weighted(0.2)), 1..60),
        ) {
            let mut history = History::new(true, 1, 0);
            let mut model = [None; 32];
            for (number, &(offset, length, fails)) in writes.iter().enumerate() {
                let number = number as u64;
                match fails {
                    true => history.forget(0, offset, length, number + 1),
                    false => history.add(record(number, offset, length)),
                }
                let place = offset as usize..offset as usize + length as usize;
                model[place].fill(Some(number).filter(|_| !fails));
            }
            let mut given = [None; 32];
            let mut last = 0;
            while let Some(part) = history.next(std::iter::empty()) {
                prop_assert!(part.offset >= last);
                last = part.end();
                prop_assert_eq!(part.offset - u64::from(part.into_write), writes[part.number as usize].0);
                for place in part.offset..part.end() {
                    prop_assert!(given[place as usize].is_none());
                    given[place as usize] = Some(part.number);
                }
            }
            prop_assert_eq!(given, model);
        }
    }
}
