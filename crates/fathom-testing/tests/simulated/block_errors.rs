//! `block_error_percentiles` counts the operations on each block.

use crate::drawn::{failing_device, words};
use fathom_run::unit::Operation;
use fathom_stats::block_errors::{BlockErrorReport, BlockState};
use fathom_testing::run::{Simulated, run};
use proptest::prelude::*;
use std::collections::HashMap;

/// The block statistics that a job must report, computed from the record of the device; `blocks` is the job's
/// number of blocks.
fn expected(run: &Simulated, block_bytes: u64, blocks: u64) -> BlockErrorReport {
    let mut states: HashMap<(u32, u64), (BlockState, u64)> = HashMap::new();
    let mut report = BlockErrorReport::default();
    // Bytes already moved by an I/O whose rest has been requested.
    let mut done: HashMap<u32, u64> = HashMap::new();
    for io in &run.record.served {
        let (well, badly) = match io.operation {
            Operation::Trim => (BlockState::Trimmed, BlockState::TrimFailed),
            Operation::Write => (BlockState::Written, BlockState::WriteFailed),
            _ => continue,
        };
        let before = done.remove(&io.slot).unwrap_or(0);
        let (from, length) = (io.offset - before, before + u64::from(io.length));
        let moved = match (io.operation, io.result) {
            (Operation::Trim, 0) => u64::from(io.length),
            (_, result) => result.max(0) as u64,
        };
        if moved > 0 && before + moved < length {
            done.insert(io.slot, before + moved);
            continue;
        }
        let good = before + moved;
        for (offset, length, state) in [(from, good, well), (from + good, length - good, badly)] {
            let of_byte = |byte: u64| (byte - START) / block_bytes;
            let range = if length == 0 { 0..0 } else { of_byte(offset)..of_byte(offset + length - 1) + 1 };
            for block in range {
                let (now, trims) = states.entry((io.file, block)).or_insert((BlockState::Untouched, 0));
                if now.is_failed() {
                    continue;
                }
                *trims += u64::from(state == BlockState::Trimmed);
                if state.is_failed() {
                    report.trims.record(*trims);
                }
                *now = state;
            }
        }
    }
    report.states[BlockState::Untouched as usize] = blocks - states.len() as u64;
    states.values().for_each(|(state, _)| report.states[*state as usize] += 1);
    report
}

/// First byte of the job's part of each file.
const START: u64 = 8192;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn blocks_fail_as_the_device_says(
        direction in words(&["--rw=trimwrite", "--rw=randtrimwrite", "--rw=randtrim", "--rw=write", "--rw=trim"]),
        lengths in words(&["--bs=4k", "--bs=4k,4k,1k", "--bs=4k,2k,16k"]),
        depth in words(&["--iodepth=1", "--iodepth=8", "--iodepth=16 --iodepth_batch=4"]),
        more in words(&["", "--continue_on_error=all", "--continue_on_error=all --ramp_time=1ms", "--ignore_error=,EIO:ENOSPC:ETIMEDOUT"]),
        end in words(&["--loops=4", "--norandommap=1 --io_size=1m", "--nrfiles=4 --loops=3", "--number_ios=30"]),
        mut device in failing_device(),
    ) {
        // A trim that completes while it is queued is counted before completions that await processing, and two
        // I/Os in flight on one block have no order.
        device.ends_rare_ones_at_once &= depth == "--iodepth=1";
        let words = format!(
            "--block_error_percentiles=1 --offset={START} --size=256k {direction} {lengths} {depth} {more} {end}"
        );
        let run = run(&words, device);
        let block_bytes = run.plan.workers[0].block_bytes.expect("the job follows its blocks");
        let counted = run.block_errors().expect("the job follows its blocks").snapshot();
        let blocks = counted.states.iter().sum();
        prop_assert_eq!(&counted, &expected(&run, block_bytes, blocks), "{}", words);
        let failed: u64 = counted.states[3..].iter().sum();
        prop_assert_eq!(counted.trims.count(), failed);
    }
}

#[test]
fn a_job_without_the_option_follows_no_blocks() {
    assert!(run("--rw=trim --bs=4k --size=64k", Default::default()).block_errors().is_none());
}
