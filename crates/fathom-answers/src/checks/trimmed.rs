//! `trimmed`: a job read blocks that the same run had trimmed. A device answers such reads without accessing its medium.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;
use fathom_results::{JobResult, RunResult};
use fathom_stats::Direction;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let trims: Vec<&JobResult> = run.jobs.iter().filter(|job| job.io_bytes(Direction::Trim) > 0).collect();
    let mut found = Vec::new();
    for reader in run.jobs.iter().filter(|job| job.io_bytes(Direction::Read) > 0) {
        // Jobs are listed in the order in which they may have started. Blocks that were written after the trim
        // are no longer empty.
        let before = trims.iter().find(|trim| {
            !writes_again(trim, run)
                && targets(trim, run).is_some()
                && targets(trim, run) == targets(reader, run)
        });
        let Some(before) = before.filter(|trim| trim.group_id <= reader.group_id) else { continue };
        found.push(
            Found::new(
                Severity::Doubtful,
                format!(
                    "job {} read from what job {} trimmed ({}): a device answers such reads without accessing its medium",
                    reader.name,
                    before.name,
                    figures::size(before.io_bytes(Direction::Trim))
                ),
                "write the blocks again before they are read",
            )
            .in_direction(0)
            .with(&[
                ("trimmed_bytes", before.io_bytes(Direction::Trim) as f64),
                ("read_bytes", reader.io_bytes(Direction::Read) as f64),
            ])
            .weighing(before.io_bytes(Direction::Trim) as f64),
        );
    }
    found
}

/// True if the job writes the blocks that it trims, or if its I/O does not reach a device.
fn writes_again(job: &JobResult, run: &RunResult) -> bool {
    let index = run.jobs.iter().position(|own| std::ptr::eq(own, job)).unwrap_or(0);
    let evidence = Evidence::of(run, index);
    job.io_bytes(Direction::Write) > 0 || !evidence.has_storage()
}

/// The files of a job as named in its options.
fn targets<'a>(job: &'a JobResult, run: &'a RunResult) -> Option<&'a str> {
    run.option(job, "filename").filter(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, parsed, told};

    #[test]
    fn reads_after_trims_are_told() {
        let of = |reader: &str, trims: &str| {
            told(find(&parsed(&format!(
                r#"{{"fio version":"fio-3.42","jobs":[
                {{"jobname":"t","groupid":0,"job options":{{"filename":"/dev/sda"}},"trim":{{"total_ios":1,"io_bytes":1048576}}{trims}}},
                {{"jobname":"r","groupid":1,"job options":{{"filename":"{reader}"}},"read":{{"total_ios":1,"io_bytes":4096}}}}]}}"#
            ))))
        };
        is_told(&of("/dev/sda", ""), Severity::Doubtful, "job r read from what job t trimmed (1 MiB)");
        assert_eq!(of("/dev/sdb", ""), []);
        assert_eq!(of("/dev/sda", r#","write":{"total_ios":1,"io_bytes":1048576}"#), []);
    }
}
