//! Peak memory of a run: the sum of the proportional set sizes of its processes, so that shared pages count once.

use super::programs::{Pair, Program, Programs};
use std::collections::HashMap;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Sampling interval.
const INTERVAL: Duration = Duration::from_millis(200);

/// Peak memory of both programs in MiB.
pub(crate) fn peaks(programs: &Programs, job: &[String]) -> Result<Pair, String> {
    Ok(Pair { fio: peak(programs, Program::Fio, job)?, fathom: peak(programs, Program::Fathom, job)? })
}

fn peak(programs: &Programs, program: Program, job: &[String]) -> Result<f64, String> {
    // Run at low priority: a thousand busy jobs would otherwise leave no processor time for sampling.
    let mut command = programs.command(program, &["nice", "-n", "19"]);
    let fail = |error: std::io::Error| format!("{program:?}: {error}");
    let mut child = command.args(job).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(fail)?;
    let highest = watch(&mut child);
    let ended = child.wait().map_err(fail)?;
    match ended.success() && highest > 0 {
        true => Ok(highest as f64 / 1024.0),
        false => Err(format!("{program:?} ended with {ended}")),
    }
}

/// Samples the memory until the program ends and returns the highest value, in KiB.
fn watch(child: &mut Child) -> u64 {
    let mut highest = 0;
    while let Ok(None) = child.try_wait() {
        let pids = descendants(child.id(), &parents());
        highest = highest.max(pids.iter().filter_map(|&pid| proportional_kib(pid)).sum());
        std::thread::sleep(INTERVAL);
    }
    highest
}

/// The parent of every process on the machine.
fn parents() -> HashMap<u32, u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A process may end during the scan; it is then left out.
    pids.filter_map(|pid| {
        Some((pid, parent_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))
    })
    .collect()
}

/// The parent in a line of /proc/PID/stat. The name before it is in parentheses and may contain anything.
fn parent_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// A process and all its descendants.
fn descendants(root: u32, parents: &HashMap<u32, u32>) -> Vec<u32> {
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&one) = family.get(next) {
        family.extend(parents.iter().filter(|&(_, &parent)| parent == one).map(|(&pid, _)| pid));
        next += 1;
    }
    family
}

fn proportional_kib(pid: u32) -> Option<u64> {
    proportional_in(&std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
}

fn proportional_in(rollup: &str) -> Option<u64> {
    rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_is_found() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 5)]);
        let mut family = descendants(2, &parents);
        family.sort_unstable();
        assert_eq!(family, [2, 3, 4]);
    }

    #[test]
    fn figures_of_the_kernel_are_read() {
        assert_eq!(parent_in("17 (a) b) (c)) S 4 17 17 0"), Some(4));
        assert_eq!(parent_in("17"), None);
        assert_eq!(proportional_in("55a0-7ffe ---p [rollup]\nRss:    900 kB\nPss:    123 kB\n"), Some(123));
        assert_eq!(proportional_in(""), None);
    }

    #[test]
    fn this_very_process_has_memory() {
        assert!(proportional_kib(std::process::id()).is_some_and(|size| size > 0));
    }
}
