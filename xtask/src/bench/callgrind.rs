//! User-space instructions per I/O, counted by valgrind: the same on a busy machine as on an idle one.

use super::programs::{Pair, Program, Programs};
use std::path::Path;

/// I/Os of the shorter and the longer run. What start and end cost is in both, so the difference is I/O alone.
const FEW: u64 = 100_000;
const MANY: u64 = 400_000;
/// Bytes of an I/O of the job.
const BLOCK: u64 = 4096;

/// Instructions per I/O of both programs.
pub(crate) fn instructions(programs: &Programs, job: &[String]) -> Result<Pair, String> {
    let found = std::process::Command::new("valgrind").arg("--version").output();
    found.map_err(|_| "valgrind is not installed".to_owned())?;
    Ok(Pair { fio: per_io(programs, Program::Fio, job)?, fathom: per_io(programs, Program::Fathom, job)? })
}

fn per_io(programs: &Programs, program: Program, job: &[String]) -> Result<f64, String> {
    let few = count(programs, program, job, FEW)?;
    let many = count(programs, program, job, MANY)?;
    match many > few {
        true => Ok((many - few) as f64 / (MANY - FEW) as f64),
        false => Err(format!("{program:?}: {MANY} I/Os took no more instructions than {FEW}")),
    }
}

/// Instructions of a run, over all its processes and threads.
fn count(programs: &Programs, program: Program, job: &[String], ios: u64) -> Result<u64, String> {
    let directory =
        tempfile::tempdir_in(programs.scratch()).map_err(|error| format!("a directory: {error}"))?;
    let profiles = format!("--callgrind-out-file={}/profile.%p", directory.path().display());
    let before = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--quiet", &profiles];
    let mut command = programs.command(program, &before);
    command.args(job).arg(format!("--io_size={}", ios * BLOCK));
    programs.finish(program, command)?;
    let total = total_of(directory.path())?;
    match total {
        0 => Err(format!("{program:?}: valgrind left no counts")),
        total => Ok(total),
    }
}

fn total_of(directory: &Path) -> Result<u64, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut total = 0;
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let profile = std::fs::read_to_string(entry.map_err(fail)?.path()).map_err(fail)?;
        total += total_in(&profile);
    }
    Ok(total)
}

/// The total of a profile. With a dump per thread there are several.
fn total_in(profile: &str) -> u64 {
    let totals = profile.lines().filter_map(|line| line.strip_prefix("totals: "));
    totals.filter_map(|total| total.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_all_parts_add_up() {
        assert_eq!(total_in("events: Ir\nfn=(1)\n1 20\ntotals: 120\npart: 2\ntotals: 30\n"), 150);
        assert_eq!(total_in("events: Ir\n"), 0);
    }
}
