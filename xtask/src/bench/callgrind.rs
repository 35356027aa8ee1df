//! User-space instructions per I/O, counted by valgrind. The count does not depend on the load of the machine.

use super::programs::{Pair, Program, Programs, jobs_in, of_directions};
use std::path::Path;

/// Number of I/Os of the shorter and the longer run. Both include setup and teardown, so the difference is the cost of the I/O alone.
const FEW: u64 = 100_000;
const MANY: u64 = 400_000;
/// Bytes of an I/O of the job.
const BLOCK: u64 = 4096;

/// Counts of one run.
struct Run {
    /// Instructions of all its processes and threads.
    instructions: u64,
    /// Number of I/Os that it reports.
    ios: f64,
}

/// Instructions per I/O of both programs.
pub(crate) fn instructions(programs: &Programs, job: &[String]) -> Result<Pair, String> {
    is_installed()?;
    let per_io = |program| per_io(programs, program, job, [FEW * BLOCK, MANY * BLOCK]);
    Ok(Pair { fio: per_io(Program::Fio)?, fathom: per_io(Program::Fathom)? })
}

/// An error if valgrind is not installed.
pub(super) fn is_installed() -> Result<(), String> {
    let found = std::process::Command::new("valgrind").arg("--version").output();
    found.map(|_| ()).map_err(|_| "valgrind is not installed".to_owned())
}

/// Instructions per additional I/O: the difference between a short run and a long one.
pub(super) fn per_io(
    programs: &Programs,
    program: Program,
    job: &[String],
    [few, many]: [u64; 2],
) -> Result<f64, String> {
    let few = count(programs, program, job, few)?;
    let many = count(programs, program, job, many)?;
    match many.instructions > few.instructions && many.ios > few.ios {
        true => Ok((many.instructions - few.instructions) as f64 / (many.ios - few.ios)),
        false => {
            Err(format!("{program:?}: the longer run has no more instructions or I/Os than the shorter one"))
        }
    }
}

fn count(programs: &Programs, program: Program, job: &[String], bytes: u64) -> Result<Run, String> {
    let directory =
        tempfile::tempdir_in(programs.scratch()).map_err(|error| format!("a directory: {error}"))?;
    let profiles = format!("--callgrind-out-file={}/profile.%p", directory.path().display());
    let before = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--quiet", &profiles];
    let mut command = programs.command(program, &before);
    // Other output files are separate too, because several runs execute concurrently.
    command.current_dir(directory.path());
    command.args(job).arg(format!("--io_size={bytes}")).arg("--output-format=json");
    let jobs = jobs_in(&programs.finish(program, command)?)?;
    let ios = jobs.iter().flat_map(|job| of_directions(job, "total_ios")).sum();
    match total_of(directory.path())? {
        0 => Err(format!("{program:?}: valgrind left no counts")),
        instructions => Ok(Run { instructions, ios }),
    }
}

fn total_of(directory: &Path) -> Result<u64, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut total = 0;
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.file_name().to_string_lossy().starts_with("profile.") {
            total += total_in(&std::fs::read_to_string(entry.path()).map_err(fail)?);
        }
    }
    Ok(total)
}

/// Total instructions of a profile, summed over its dumps (one per thread).
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
