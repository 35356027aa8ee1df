//! `stolen`: the hypervisor gave processor time of this machine to other guests.

use super::{Found, Severity};
use crate::evidence::Evidence;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let Some(wait) = evidence.processor_wait().filter(|wait| wait.is_stolen_from()) else {
        return Vec::new();
    };
    if !evidence.has_storage() {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!("the {}", wait.told_of_stolen()),
        "run it when the host is idle, or on dedicated hardware",
    );
    vec![found.with(&[("stolen_percent", wait.stolen)]).weighing(wait.stolen)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn stolen_time_is_told() {
        let of = |stolen: u32| {
            let more = format!(
                r#""fathom host":{{"processors":2}},"fathom jobs":[{{"jobname":"a","processor_wait_ms":0,
                "processors":{{"user_ms":10,"busy_ms":20,"stolen_ms":{stolen},"total_ms":4000}}}}]"#
            );
            of_job(find, &run("", "", &more))
        };
        is_told(&of(400), Severity::Doubtful, "the hypervisor gave 10.0 % of the CPU time");
        assert_eq!(of(40), []);
    }
}
