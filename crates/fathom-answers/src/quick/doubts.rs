//! Doubts about the figures of `quick`: the findings of the checks, grouped by test.

use super::grid::GridTest;
use crate::checks::{self, Severity};
use fathom_results::RunResult;
use fathom_results::model::QuickDoubt;
use fathom_stats::verdict::{Finding, VerdictReport};

/// Doubts about a result.
pub(super) struct Doubts {
    verdict: VerdictReport,
}

impl Doubts {
    /// Collects the findings of all checks.
    pub(super) fn of(run: &RunResult) -> Doubts {
        Doubts { verdict: checks::judge(run) }
    }

    /// The doubts about one test. If doubts of one kind apply to several tests, the most serious one represents
    /// them all.
    pub(super) fn of_test(&self, test: &GridTest) -> Vec<QuickDoubt> {
        let is_own = |finding: &&Finding| {
            finding.job.as_deref() == Some(test.name)
                && finding.severity >= Severity::Doubtful
                && finding.direction.as_deref().is_none_or(|direction| direction == test.direction_name())
        };
        let doubt = |finding: &Finding| QuickDoubt {
            kind: finding.code.clone(),
            weight: finding.weight,
            text: text(finding),
        };
        self.verdict.findings.iter().filter(is_own).map(doubt).collect()
    }

    /// The doubts about the whole run.
    pub(super) fn of_run(&self, run: &RunResult, is_direct: bool) -> Vec<String> {
        let mut doubts = Vec::new();
        if !is_direct {
            doubts.push(
                "this file system does not support direct I/O: the figures show the page cache in memory, not a disk"
                    .to_owned(),
            );
        }
        doubts.extend(self.verdict.findings.iter().filter(|finding| finding.job.is_none()).map(text));
        doubts.extend(run.notes.iter().cloned());
        doubts
    }
}

fn text(finding: &Finding) -> String {
    match advice(finding) {
        "" => finding.text.clone(),
        advice => format!("{}; {advice}", finding.text),
    }
}

/// The advice of a finding, in terms of quick's options rather than a job's.
fn advice(finding: &Finding) -> &str {
    match finding.code.as_str() {
        "short" => "use a longer --time",
        "step" => "run it for longer (--time), on a larger file (--size)",
        _ => &finding.advice,
    }
}

/// Describes doubts of this kind in a few words; `None` if that is impossible.
pub(super) fn in_few_words(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "failed" => "I/Os failed",
        "clock" => "the clock cannot be trusted",
        "stalled" => "the machine stood still",
        "stopped" => "the process was stopped",
        "outage" => "for a while nothing ended",
        "reads-missing" | "writes-missing" => "not all I/O reached the device",
        "other-io" => "other programs used the disk",
        "io-limit" => "a limit of the control group held them back",
        "cpu-limit" => "the control group had too little CPU time",
        "heat" => "the processor was too hot",
        "swapping" => "the machine was swapping",
        "short" => "the tests were too short",
        "step" | "drift" => "the rate changed during the test",
        "runs-differ" => "the runs differ from each other",
        "starved" => "reads or writes were starved",
        "depth" => "the queue depth was not reached",
        "above-device" => "I/Os waited above the device",
        "submission" => "the call that submits an I/O waited for it",
        "processor-wait" => "the tester waited for a CPU",
        "stolen" => "the hypervisor took CPU time away",
        "processor" => "the tester itself was the limit",
        "few-samples" => "there were too few I/Os for the highest percentiles",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::grid::TESTS;
    use super::*;

    #[test]
    fn what_concerns_one_test_marks_it_and_the_rest_the_run() {
        let text = r#"{"fio version":"fio-3.42","jobs":[
            {"jobname":"read-rand-4k-d1","groupid":0,"error":5,"job options":{"direct":"1","rw":"randread"},
             "read":{"total_ios":1000,"io_bytes":4096000,"runtime":2000}},
            {"jobname":"write-rand-4k-d1","groupid":1,"job options":{"direct":"1","rw":"randwrite"},
             "write":{"total_ios":1000,"io_bytes":4096000,"runtime":2000}}],
            "fathom host":{"devices":[{"name":"loop3"}]}}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let doubts = Doubts::of(&run);
        let of = |name: &str| {
            let test = TESTS.iter().find(|test| test.name == name).expect("a test");
            doubts.of_test(test).into_iter().map(|doubt| doubt.kind).collect::<Vec<String>>()
        };
        assert_eq!((of("read-rand-4k-d1"), of("write-rand-4k-d1")), (vec!["failed".to_owned()], Vec::new()));
        let of_run = doubts.of_run(&run, false);
        assert!(
            of_run[0].contains("does not support direct I/O") && of_run[1].contains("loop3 is a file on"),
            "{of_run:?}"
        );
    }
}
