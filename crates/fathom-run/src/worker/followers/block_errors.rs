//! `block_error_percentiles`: how often each block had been trimmed before its first failed trim or write.

use crate::cause::Cause;
use crate::files::open::OpenFiles;
use crate::invariant::holds;
use crate::message::Message;
use crate::unit::Unit;
use crate::worker::feature::{Feature, Needs};
use crate::worker::{GivenUp, WorkerContext};
use fathom_stats::Direction;
use fathom_stats::block_errors::{BlockErrorSamples, BlockState};
use fathom_sys::Errno;
use std::ops::Range;

/// Maximum number of blocks of one clone; their table takes a gigabyte of memory.
const MOST_BLOCKS: u64 = (1 << 30) / size_of::<Block>() as u64;

/// The state of every block that a job may trim or write, and the counters of these states.
pub(in crate::worker) struct BlockErrors<'a> {
    samples: &'a BlockErrorSamples,
    table: Table,
}

impl Feature for BlockErrors<'_> {
    /// Must see every completed trim and write.
    fn needs(&self) -> Needs {
        Needs { ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> BlockErrors<'a> {
    /// Created for workers whose plan tracks blocks. Covers all files of the worker.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        files: &OpenFiles,
    ) -> Result<Option<BlockErrors<'a>>, GivenUp> {
        let wanted = context.worker_plan().block_bytes.zip(context.region.block_errors(context.index));
        let Some((block_bytes, samples)) = wanted else { return Ok(None) };
        let parts = files.list.iter().map(|file| (file.start, file.size));
        match Table::new(block_bytes, parts) {
            Ok(table) => {
                samples.begin(table.blocks.len() as u64);
                Ok(Some(BlockErrors { samples, table }))
            }
            Err(blocks) => {
                let name = &context.worker_plan().name;
                context.messages.send(&Message::Error(format!(
                    "fathom: job {name}: block_error_percentiles=1 keeps a record of every block, and its files have {blocks} of \
                     {block_bytes} bytes: more than the {MOST_BLOCKS} that a clone may have; set a larger bs= for trims, or a smaller size="
                )));
                Err(context.fail(Errno(libc::ENOMEM), Cause::BLOCK_TABLE))
            }
        }
    }

    /// Handles an I/O that has moved all its bytes.
    pub(in crate::worker) fn completed(&mut self, unit: &Unit, direction: Direction) {
        self.end(unit.file(), direction, unit.offset(), u64::from(unit.length()), true);
    }

    /// Handles an I/O that has failed after moving some of its bytes; only the rest counts as failed.
    pub(in crate::worker) fn failed(&mut self, unit: &Unit, direction: Direction) {
        let (done, length) = (u64::from(unit.done()), u64::from(unit.length()));
        self.end(unit.file(), direction, unit.offset(), done, true);
        self.end(unit.file(), direction, unit.offset() + done, length - done, false);
    }

    fn end(&mut self, file: u32, direction: Direction, offset: u64, length: u64, went_well: bool) {
        let state = match (direction, went_well) {
            (Direction::Read, _) => return,
            (Direction::Trim, true) => BlockState::Trimmed,
            (Direction::Write, true) => BlockState::Written,
            (Direction::Trim, false) => BlockState::TrimFailed,
            (Direction::Write, false) => BlockState::WriteFailed,
        };
        for word in self.table.touched(file, offset, length) {
            let mut block = Block(*word);
            let Some(before) = block.enter(state) else { continue };
            *word = block.0;
            if before != state {
                self.samples.change(before, state);
            }
            if state.is_failed() {
                self.samples.record_error(block.trims());
            }
        }
    }
}

/// The blocks of all files of a job.
#[derive(Debug)]
struct Table {
    block_bytes: u64,
    /// For each file, the first byte of the job's part and the index of its first block.
    parts: Vec<(u64, usize)>,
    /// The words of each [`Block`]: zeroed words take no memory until a block is touched.
    blocks: Vec<u32>,
}

impl Table {
    /// A table for parts of files, each with its first byte and length. If the number of blocks is too large,
    /// it is the error.
    fn new(block_bytes: u64, files: impl Iterator<Item = (u64, u64)>) -> Result<Table, u64> {
        let mut count = 0_u64;
        let mut parts = Vec::new();
        for (start, size) in files {
            parts.push((start, count as usize));
            count = count.saturating_add(size.div_ceil(block_bytes));
        }
        match count <= MOST_BLOCKS {
            true => Ok(Table { block_bytes, parts, blocks: vec![0; count as usize] }),
            false => Err(count),
        }
    }

    /// The blocks that overlap a range.
    fn touched(&mut self, file: u32, offset: u64, length: u64) -> &mut [u32] {
        if length == 0 {
            return &mut [];
        }
        let range = self.range(file as usize, offset, length);
        &mut self.blocks[range]
    }

    fn range(&self, file: usize, offset: u64, length: u64) -> Range<usize> {
        let (start, first) = self.parts[file];
        let end = self.parts.get(file + 1).map_or(self.blocks.len(), |&(_, first)| first);
        let offset = offset.wrapping_sub(start);
        let from = offset / self.block_bytes;
        let to = offset.saturating_add(length - 1) / self.block_bytes;
        let is_inside = to < (end - first) as u64;
        holds!(is_inside, Within, "blocks {from} to {to} of file {file}, which has {}", end - first);
        first + from as usize..first + to as usize + 1
    }
}

/// State and number of trims of one block. All zeros means untouched.
#[derive(Clone, Copy, Debug)]
struct Block(u32);

/// Number of bits of the state, which are below the number of trims.
const STATE_BITS: u32 = 3;

impl Block {
    fn state(self) -> BlockState {
        BlockState::ALL[(self.0 & ((1 << STATE_BITS) - 1)) as usize]
    }

    /// Number of successful trims before the first error; saturating.
    fn trims(self) -> u64 {
        u64::from(self.0 >> STATE_BITS)
    }

    /// Moves the block to another state; returns the previous one, or `None` if the block has failed permanently.
    fn enter(&mut self, state: BlockState) -> Option<BlockState> {
        let before = self.state();
        if before.is_failed() {
            return None;
        }
        let more = u64::from(state == BlockState::Trimmed);
        let trims = (self.trims() + more).min(u64::from(u32::MAX >> STATE_BITS)) as u32;
        self.0 = trims << STATE_BITS | state as u32;
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn the_first_error_stays() {
        let mut block = Block(0);
        for state in [BlockState::Trimmed, BlockState::Written, BlockState::Trimmed, BlockState::Trimmed] {
            assert!(block.enter(state).is_some());
        }
        assert_eq!(block.enter(BlockState::WriteFailed), Some(BlockState::Trimmed));
        assert_eq!((block.state(), block.trims()), (BlockState::WriteFailed, 3));
        for state in BlockState::ALL {
            assert_eq!(block.enter(state), None);
        }
        assert_eq!((block.state(), block.trims()), (BlockState::WriteFailed, 3));
    }

    #[test]
    fn a_number_of_trims_does_not_wrap() {
        let mut block = Block(u32::MAX >> STATE_BITS << STATE_BITS);
        block.enter(BlockState::Trimmed);
        assert_eq!((block.state(), block.trims()), (BlockState::Trimmed, u64::from(u32::MAX >> STATE_BITS)));
    }

    #[test]
    fn a_table_is_not_larger_than_it_may_be() {
        let blocks_of =
            |size| Table::new(4096, [(0, size), (512, 4096)].into_iter()).map(|table| table.blocks.len());
        assert_eq!(blocks_of(4097), Ok(3));
        assert_eq!(blocks_of(MOST_BLOCKS * 4096), Err(MOST_BLOCKS + 1));
        assert_eq!(blocks_of(u64::MAX), Err(u64::MAX / 4096 + 2));
    }

    #[test]
    #[should_panic]
    fn a_block_beyond_its_file_is_an_error() {
        let mut table = Table::new(4096, [(0, 8192), (0, 8192)].into_iter()).expect("a small one");
        table.touched(0, 8192, 1);
    }

    proptest! {
        /// Every byte of a range is in exactly one block of its file.
        #[test]
        fn blocks_are_those_of_the_bytes(
            block_bytes in 1u64..50, starts in prop::collection::vec((0u64..100, 1u64..300), 1..4),
            file in any::<prop::sample::Index>(), place in 0.0f64..1.0, length in 1u64..300
        ) {
            let mut table = Table::new(block_bytes, starts.iter().copied()).expect("a small one");
            let mut numbers = HashMap::new();
            for (file, &(start, size)) in starts.iter().enumerate() {
                for at in 0..size {
                    let next = numbers.len();
                    numbers.entry((file, at / block_bytes)).or_insert(next);
                    let _ = start;
                }
            }
            prop_assert_eq!(table.blocks.len(), numbers.len());
            let file = file.index(starts.len());
            let (start, size) = starts[file];
            let offset = (place * size as f64) as u64;
            let length = length.min(size - offset);
            table.touched(file as u32, start + offset, length).fill(1);
            let mut expected = vec![0; numbers.len()];
            (offset..offset + length).for_each(|at| expected[numbers[&(file, at / block_bytes)]] = 1);
            prop_assert_eq!(table.blocks, expected);
        }
    }
}
