//! `processor`: fathom itself used a whole processor, so the storage may be faster than measured.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;

/// Share of a processor, in percent, above which fathom may have been the bottleneck.
const FULL: f64 = 90.0;
/// Options that intentionally make a job use a whole processor.
const POLLING: [&str; 3] = ["hipri", "sqthread_poll", "thinkcycles"];

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let (user, system) = evidence.processor();
    let polls = POLLING.iter().any(|option| evidence.run.is_set(evidence.job, option));
    if user + system < FULL || !evidence.has_storage() || polls {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "fathom used {} of a CPU, so the storage may be faster than this",
            figures::percent(user + system)
        ),
        match system > user {
            true => "try larger blocks, io_uring, or more clones",
            false => "more clones spread the work over more CPUs",
        },
    );
    vec![found.with(&[("user_percent", user), ("system_percent", system)]).weighing(user + system)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn a_full_processor_is_told() {
        let of = |options: &str, user: u32| {
            of_job(find, &run(options, &format!(r#""usr_cpu":{user},"sys_cpu":50"#), ""))
        };
        is_told(&of("", 45), Severity::Doubtful, "fathom used 95.0 % of a CPU");
        assert_eq!(
            (of("", 10), of(r#""ioengine":"null""#, 45), of(r#""hipri":"1""#, 45)),
            Default::default()
        );
    }
}
