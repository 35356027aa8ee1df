//! `failed`: the job ended early with an error.

use super::{Found, Severity};
use crate::evidence::Evidence;

/// Options that let a job continue after an error.
const TOLERANT: [&str; 2] = ["continue_on_error", "ignore_error"];

/// The errno for a block that differs from what was written.
const EILSEQ: i64 = 84;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let error = evidence.job.error;
    let is_tolerant = TOLERANT.iter().any(|option| {
        evidence.run.option(evidence.job, option).is_some_and(|value| !matches!(value.trim(), "none" | "0"))
    });
    let found = match (error, is_tolerant) {
        (0, _) => return Vec::new(),
        (_, true) => Found::new(
            Severity::Doubtful,
            format!("I/Os failed, the first one with error {error}, and the job went on"),
            "look at what was printed about it",
        ),
        // The advice is not to run the job again, because that would overwrite the data that shows what
        // happened.
        (EILSEQ, _) => Found::new(
            Severity::Wrong,
            format!(
                "it failed with error {error}: data was not what had been written, and the figures end there"
            ),
            "keep the data: verify_only=1 checks it again without writing",
        ),
        _ => Found::new(
            Severity::Wrong,
            format!("it failed with error {error}, and the figures end there"),
            "look at what was printed about it, and run it again",
        ),
    };
    vec![found.with(&[("error", error as f64)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn errors_are_told() {
        let of = |options: &str, error: i32| of_job(find, &run(options, &format!("\"error\":{error}"), ""));
        is_told(&of("", 5), Severity::Wrong, "it failed with error 5");
        is_told(&of(r#""continue_on_error":"io""#, 5), Severity::Doubtful, "error 5, and the job went on");
        assert_eq!(of("", 0), []);
        assert_eq!(of(r#""continue_on_error":"io""#, 0), []);
    }
}
