//! `fits-in-memory`: buffered I/O on files that fit into memory, so that caches may serve part of it.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;
use fathom_stats::Direction;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let memory = evidence.run.host.as_ref().map_or(0, |host| host.memory_bytes);
    let moves_data = evidence.job.io_bytes(Direction::Read) + evidence.job.io_bytes(Direction::Write) > 0;
    if evidence.is_direct() || !evidence.is_on_this_machine() || memory == 0 || !moves_data {
        return Vec::new();
    }
    // The result does not say which part of a file or device the job used, so its size must be given.
    let Some(size) = evidence.asked.size else { return Vec::new() };
    // Each clone has its own files, unless the files are named.
    let files = match evidence.run.option(evidence.job, "filename") {
        Some(_) => 1.0,
        None => evidence.clones(),
    };
    let bytes = size * files;
    if bytes >= memory as f64 {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Note,
        format!(
            "buffered I/O on {}, which fits into the {} of memory: the page cache may answer a part of it",
            figures::size(bytes as u64),
            figures::size(memory)
        ),
        "direct=1 measures the device, or use a file larger than memory",
    );
    vec![found.with(&[("size_bytes", bytes), ("memory_bytes", memory as f64)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn small_files_are_told() {
        let of = |options: &str| {
            let host = r#""fathom host":{"memory_bytes":8589934592}"#;
            of_job(find, &run(options, r#""read":{"total_ios":1,"io_bytes":4096}"#, host))
        };
        is_told(
            &of(r#""size":"1g""#),
            Severity::Note,
            "buffered I/O on 1 GiB, which fits into the 8 GiB of memory",
        );
        assert_eq!(of(r#""size":"64g""#), []);
        assert_eq!(of(r#""size":"1g","direct":"1""#), []);
        assert_eq!(of(r#""size":"1g","ioengine":"null""#), []);
        assert_eq!(of(r#""size":"10%""#), []);
    }
}
