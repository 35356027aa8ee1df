//! A log, and the job that replays it.

use super::programs::Programs;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Arguments of a job that replays a text log of this many entries on the null engine, as fast as possible.
/// Writes the log to the scratch directory.
pub(crate) fn job(programs: &Programs, entries: u64) -> Result<Vec<String>, String> {
    const BLOCKS: u64 = 1 << 28;
    let path = programs.scratch().join(format!("{entries}.iolog"));
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    if !path.exists() {
        let mut log = BufWriter::new(File::create(&path).map_err(fail)?);
        writeln!(log, "fio version 3 iolog\n0 bench add\n0 bench open").map_err(fail)?;
        for number in 0..entries {
            // The multiplication spreads the offsets over the file and reaches every block.
            let offset = number.wrapping_mul(0x9e37_79b9) % BLOCKS * 4096;
            let word = if number % 2 == 0 { "read" } else { "write" };
            writeln!(log, "{number} bench {word} {offset} 4096").map_err(fail)?;
        }
        writeln!(log, "{entries} bench close").map_err(fail)?;
        log.flush().map_err(fail)?;
    }
    let words = ["--name=bench", "--ioengine=null", "--replay_no_stall=1"].map(str::to_owned);
    Ok(words.into_iter().chain([format!("--read_iolog={}", path.display())]).collect())
}
