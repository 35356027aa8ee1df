//! `processor-wait`: the job was ready to run, but other work used the processors.

use super::{Found, Severity};
use crate::evidence::Evidence;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let Some(wait) = evidence.processor_wait().filter(|wait| wait.is_worth_telling()) else {
        return Vec::new();
    };
    if !evidence.has_storage() {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!("the job {}", wait.told()),
        "measure on an idle machine to see what the storage can do",
    );
    let figures =
        [("wait_percent", wait.share), ("each_ns", wait.each_ns), ("processors_of_others", wait.others)];
    vec![found.with(&figures).weighing(wait.share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn waits_for_processors_are_told() {
        let of = |engine: &str, wait_ms: u32| {
            let more = format!(
                r#""fathom host":{{"processors":2}},"fathom jobs":[{{"jobname":"a","processor_wait_ms":{wait_ms},
                "processors":{{"user_ms":3720,"busy_ms":3980,"stolen_ms":10,"total_ms":4000}}}}]"#
            );
            let options = format!(r#""ioengine":"{engine}""#);
            of_job(find, &run(&options, r#""job_runtime":2000,"ctx":1000"#, &more))
        };
        is_told(&of("psync", 1600), Severity::Doubtful, "the job waited 80.0 % of the time for a CPU");
        assert_eq!((of("psync", 10), of("null", 1600)), (Vec::new(), Vec::new()));
    }
}
