//! Derives the verdict from a result by running every check on every job, stage, run and host.

use super::{CHECKS, Check, Found, Look, Needs, hosts};
use crate::evidence::Evidence;
use fathom_results::{ReadError, RunResult};
use fathom_stats::report::RunReport;
use fathom_stats::verdict::{Finding, VerdictReport};

/// The verdict on a result, recomputed from its figures and facts. A result that lacks some of these keeps its
/// stored verdict, which was based on all of them.
pub(crate) fn judge(run: &RunResult) -> VerdictReport {
    if let (Some(timeline), Some(verdict)) = (&run.timeline, &run.verdict)
        && timeline.condensed
    {
        return VerdictReport::from(verdict);
    }
    match &run.hosts {
        // Hosts are judged separately, because a finding about the sum would not show which host it concerns.
        Some(of_hosts) if of_hosts.hosts.iter().any(|host| !host.result.jobs.is_empty()) => {
            let mut verdict = VerdictReport::default();
            for check in CHECKS.iter().filter(|check| check.code == hosts::CODE) {
                add_all(&mut verdict, check, None, look_at_run(check, run));
            }
            for host in of_hosts.hosts.iter().filter(|host| !host.result.jobs.is_empty()) {
                let own = judge_one(&host.result);
                own.not_checked.into_iter().for_each(|code| note(&mut verdict, &code));
                for finding in own.findings {
                    verdict.add(Finding { hosts: vec![host.name.clone()], ..finding });
                }
            }
            verdict
        }
        _ => judge_one(run),
    }
}

/// Judges a report made by a run of this program, and the reports of its hosts. Fails if the report is
/// inconsistent.
pub(crate) fn judge_report(report: &mut RunReport) -> Result<(), ReadError> {
    let result = fathom_results::at_hand(fathom_report::result(report), "the result")?;
    let of_hosts = result.hosts.iter().flat_map(|hosts| &hosts.hosts);
    for (host, own) in report.hosts.iter_mut().flat_map(|hosts| &mut hosts.hosts).zip(of_hosts) {
        if let Some(report) = host.report.as_mut().filter(|_| host.digest.is_none()) {
            report.verdict = Some(judge_one(&own.result));
        }
    }
    report.verdict = Some(judge(&result));
    Ok(())
}

fn judge_one(run: &RunResult) -> VerdictReport {
    let mut verdict = VerdictReport::default();
    let evidence = Evidence::all(run);
    let uses_devices = evidence.iter().any(Evidence::is_on_this_machine);
    for check in &CHECKS {
        match check.needs {
            Needs::Devices if !uses_devices => continue,
            needs if !needs.are_met(run) => {
                note(&mut verdict, check.code);
                continue;
            }
            _ => {}
        }
        match check.look {
            Look::Run(_) => add_all(&mut verdict, check, None, look_at_run(check, run)),
            Look::Stage(find) => {
                for first in first_of_stages(&evidence) {
                    add_all(&mut verdict, check, only_job(first), find(first));
                }
            }
            Look::Job(find) => {
                for of_job in &evidence {
                    add_all(&mut verdict, check, Some(&of_job.job.name), find(of_job));
                }
            }
        }
    }
    verdict
}

fn look_at_run(check: &Check, run: &RunResult) -> Vec<Found> {
    match check.look {
        Look::Run(find) => find(run),
        _ => Vec::new(),
    }
}

/// One job from each stage with separate counters. If several stages share counters, one job that uses storage
/// represents them.
fn first_of_stages<'a, 'e>(evidence: &'e [Evidence<'a>]) -> Vec<&'e Evidence<'a>> {
    let mut firsts: Vec<&Evidence<'_>> = Vec::new();
    for own in evidence.iter().filter(|evidence| evidence.is_on_this_machine()) {
        let is_known = firsts.iter().any(|first| {
            first.shares_stage_with(own) && (&first.job.host, first.job.port) == (&own.job.host, own.job.port)
        });
        if !is_known {
            firsts.push(own);
        }
    }
    firsts
}

/// Name of the jobs in a stage, if all of them have the same one.
fn only_job<'a>(first: &Evidence<'a>) -> Option<&'a str> {
    let name = first.job.name.as_str();
    first.neighbours().all(|job| job.name == name).then_some(name)
}

impl Needs {
    fn are_met(self, run: &RunResult) -> bool {
        match self {
            Needs::Figures => true,
            Needs::Devices => !run.disk_util.is_empty(),
            Needs::Timeline => run.timeline.is_some(),
            Needs::Facts => run.facts.is_some(),
        }
    }
}

fn note(verdict: &mut VerdictReport, code: &str) {
    if !verdict.not_checked.iter().any(|known| known == code) {
        verdict.not_checked.push(code.to_owned());
    }
}

fn add_all(verdict: &mut VerdictReport, check: &Check, job: Option<&str>, found: Vec<Found>) {
    for Found { severity, direction, text, advice, evidence, weight } in found {
        verdict.add(Finding {
            code: check.code.to_owned(),
            severity,
            job: job.map(str::to_owned),
            direction: direction.map(str::to_owned),
            hosts: Vec::new(),
            entries: 1,
            text,
            advice,
            evidence: evidence.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            weight,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::parsed;

    /// The code, the job and the hosts of each finding.
    fn told(text: &str) -> Vec<(String, Option<String>, String)> {
        let findings = judge(&parsed(text)).findings.into_iter();
        findings.map(|own| (own.code, own.job, own.hosts.join(" "))).collect()
    }

    #[test]
    fn hosts_are_judged_one_by_one() {
        let host = |name: &str, error: u32| {
            format!(r#"{{"name":"{name}","state":"whole","jobs":[{{"jobname":"a","error":{error}}}]}}"#)
        };
        let of = |hosts: &str| {
            told(&format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a"}}],"fathom hosts":{{"hosts":[{hosts}]}}}}"#
            ))
        };
        let hosts = [host("x", 5), host("y", 0), host("z", 5)].join(",");
        assert_eq!(of(&hosts), [("failed".to_owned(), Some("a".to_owned()), "x z".to_owned())]);
        let lost = format!(r#"{},{{"name":"w","state":"lost","reason":"gone"}}"#, host("x", 0));
        assert_eq!(of(&lost), [("lost-hosts".to_owned(), None, String::new())]);
    }

    #[test]
    fn counters_of_a_stage_are_held_against_its_job() {
        let text = r#"{"fio version":"fio-3.42","jobs":[
            {"jobname":"a","groupid":0,"read":{"total_ios":9,"io_bytes":8388608}},
            {"jobname":"b","groupid":1,"read":{"total_ios":9,"io_bytes":8388608}}],
            "disk_util":[{"name":"sda","read_ios":9,"read_sectors":16484}],
            "fathom stages":[{"groups":[0],"disk_util":[{"name":"sda","read_ios":9,"read_sectors":16384}]},
            {"groups":[1],"disk_util":[{"name":"sda","read_ios":9,"read_sectors":100}]}]}"#;
        let missing: Vec<Option<String>> = told(text)
            .into_iter()
            .filter(|(code, _, _)| code == "reads-missing")
            .map(|(_, job, _)| job)
            .collect();
        assert_eq!(missing, [Some("b".to_owned())]);
    }

    #[test]
    fn what_a_result_does_not_tell_is_named() {
        let unknown = |text: &str| judge(&parsed(text)).not_checked;
        let job =
            r#"{"fio version":"fio-3.42","jobs":[{"jobname":"a","job options":{"ioengine":"ENGINE"}}]}"#;
        let of_disk = unknown(&job.replace("ENGINE", "psync"));
        assert!(of_disk.contains(&"clock".to_owned()) && of_disk.contains(&"reads-missing".to_owned()));
        let of_nothing = unknown(&job.replace("ENGINE", "null"));
        assert!(!of_nothing.contains(&"reads-missing".to_owned()), "{of_nothing:?}");
    }
}
