//! `unwritten`: some of a job's writes were still in the page cache when it ended.

use super::{Found, MANY, Severity};
use crate::evidence::Evidence;
use crate::figures::size as bytes;

/// Index of the write direction.
const WRITES: usize = 1;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let left = evidence.choices().and_then(|choices| choices.unwritten_bytes).filter(|left| *left > 0);
    let Some(left) = left else { return Vec::new() };
    let found = Found::new(
        Severity::Note,
        format!(
            "when it ended, {} of its {} were in the page cache and not yet on the storage, so the figures do \
            not include them, and an error in them would have gone unnoticed",
            bytes(left),
            MANY[WRITES]
        ),
        "end_fsync=1 waits for them, and direct I/O avoids them",
    );
    vec![found.in_direction(WRITES).with(&[("unwritten_bytes", left as f64)]).weighing(left as f64)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn what_waits_in_memory_is_told() {
        let of = |left: &str| {
            let jobs = format!(r#""fathom jobs":[{{"jobname":"a"{left}}}]"#);
            of_job(find, &run("", r#""write":{"total_ios":1,"io_bytes":8192}"#, &jobs))
        };
        is_told(&of(r#","unwritten_bytes":1048576"#), Severity::Note, "1 MiB of its writes");
        assert_eq!((of(r#","unwritten_bytes":0"#), of("")), (Vec::new(), Vec::new()));
    }
}
