//! Compares the cost of an io_uring I/O, kernel included, with its floor: a loop that makes the same calls
//! and does nothing else (`crates/fathom-engines/examples/floor.rs`).

use super::instructions::{Counted, MANY, job_ms, null_device};
use super::programs::{Program, Programs};
use std::path::PathBuf;
use std::process::Command;

/// Number of I/Os of the shorter of the two runs whose costs are subtracted.
const SHORT: u64 = 10_000;
/// Number of I/Os of the longer run. Reports are in milliseconds, so the resolution is 7 instructions.
const LONG: u64 = 160_000;
/// Goal: at most this many percent above the floor.
const GOAL: f64 = 3.0;

/// A job and the parameters of the equivalent loop: queue depth, I/Os per submission call, and whether completions are polled.
struct Row {
    words: &'static str,
    depth: u32,
    batch: u32,
    polled: bool,
}

const ROWS: &[Row] = &[
    Row { words: "--iodepth=1", depth: 1, batch: 1, polled: false },
    Row { words: "--iodepth=32", depth: 32, batch: 1, polled: false },
    Row {
        words: "--iodepth=32 --iodepth_batch=16 --iodepth_batch_complete_min=16",
        depth: 32,
        batch: 16,
        polled: false,
    },
    Row {
        words: "--iodepth=32 --iodepth_batch=32 --iodepth_batch_complete_min=32",
        depth: 32,
        batch: 32,
        polled: false,
    },
    Row {
        words: "--iodepth=128 --iodepth_batch=32 --iodepth_batch_complete_min=32",
        depth: 128,
        batch: 32,
        polled: false,
    },
    Row { words: "--hipri --iodepth=1", depth: 1, batch: 1, polled: true },
    Row { words: "--hipri --iodepth=32", depth: 32, batch: 1, polled: true },
    Row {
        words: "--hipri --iodepth=32 --iodepth_batch=32 --iodepth_batch_complete_min=32",
        depth: 32,
        batch: 32,
        polled: true,
    },
];

/// Runs inside the virtual machine: measures on a null_blk device and prints a table.
pub(super) fn inside(programs: &Programs, only: Option<&str>) -> Result<(), String> {
    if only.is_some_and(|only| !"floor".contains(only)) {
        return Ok(());
    }
    let device = &null_device(MANY)?;
    println!("\n| job | floor | fathom | above | goal |\n|---|---:|---:|---:|---|");
    for row in ROWS {
        let figures = floor(programs, row, device)
            .and_then(|floor| fathom(programs, row, device).map(|fathom| (floor, fathom)));
        let shown = match figures {
            Ok((floor, fathom)) => {
                let above = (fathom / floor - 1.0) * 100.0;
                let met = if above <= GOAL { "met" } else { "**no**" };
                format!("{floor:.0} | {fathom:.0} | {above:.1} % | {met}")
            }
            Err(reason) => format!("{reason} | – | – | –"),
        };
        println!("| `{}` | {shown} |", row.words);
    }
    Ok(())
}

/// Instructions per additional I/O of the loop.
fn floor(programs: &Programs, row: &Row, device: &str) -> Result<f64, String> {
    let program = floor_of(programs);
    let run = |ios: u64| -> Result<f64, String> {
        let mut command = Command::new(&program);
        command.arg(device).args([ios, row.depth.into(), row.batch.into()].map(|number| number.to_string()));
        command.args(row.polled.then_some("polled"));
        let ended = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        let said =
            String::from_utf8_lossy(if ended.status.success() { &ended.stdout } else { &ended.stderr });
        said.trim().parse().map_err(|_| format!("the floor: {}", said.trim()))
    };
    // The first run includes page faults, so it is discarded.
    run(SHORT)?;
    Ok((run(LONG)? - run(SHORT)?) / (LONG - SHORT) as f64)
}

/// Instructions per additional I/O of fathom, with all statistics.
fn fathom(programs: &Programs, row: &Row, device: &str) -> Result<f64, String> {
    let words: Vec<String> = ["--name=a", "--ioengine=io_uring", "--rw=randread", "--bs=4k", "--direct=1"]
        .into_iter()
        .chain(row.words.split_whitespace())
        .map(str::to_owned)
        .chain([format!("--filename={device}")])
        .collect();
    let run = |ios| job_ms(programs, Program::Fathom, &words, ios, Counted::Machine);
    run(SHORT)?;
    Ok((run(LONG)? - run(SHORT)?) * 1e6 / (LONG - SHORT) as f64)
}

/// Path of the loop: an example in the build directory of the program that it is compared with.
fn floor_of(programs: &Programs) -> PathBuf {
    programs.fathom_program().with_file_name("examples").join("floor")
}
