//! Explains the hosts of a run over several hosts: what each host did and what limited it, based on its own
//! result.

use super::verdict;
use crate::evidence::Evidence;
use crate::hosts::{listed, remarks, together};
use fathom_results::{HostsResult, RunResult};
use fathom_stats::counted;
use std::fmt::Write as _;

/// Maximum number of hosts that are described individually.
const MOST_REMARKS: usize = 20;

/// A verdict, and the hosts for which it holds.
pub(crate) struct Shared<'a> {
    headline: &'static str,
    hosts: Vec<&'a str>,
    /// Reasons for the verdict, from the first of these hosts.
    reasons: Vec<String>,
    is_only: bool,
}

impl Shared<'_> {
    /// The verdict, followed by its hosts.
    pub(crate) fn told(&self) -> String {
        match (&self.hosts[..], self.is_only) {
            ([_, _, ..], true) => {
                format!("Verdict on all {} hosts that ran it: {}", self.hosts.len(), self.headline)
            }
            (names, _) => format!("Verdict on {}: {}", listed(names), self.headline),
        }
    }

    /// The reasons, with the first host's figures.
    pub(crate) fn reasons(&self) -> Vec<String> {
        match &self.hosts[..] {
            [first, _, ..] => self.reasons.iter().map(|reason| format!("{first}: {reason}")).collect(),
            _ => self.reasons.clone(),
        }
    }
}

/// Appends the verdict on a job on each host; hosts with the same verdict are listed together.
pub(super) fn tell_verdicts(evidence: &Evidence<'_>, hosts: &HostsResult, text: &mut String) {
    for found in shared(evidence, hosts) {
        let _ = writeln!(text, "  {}", found.told());
        for reason in found.reasons() {
            let _ = writeln!(text, "  * {reason}");
        }
    }
}

/// The verdicts on a job, the most frequent first.
pub(crate) fn shared<'a>(evidence: &Evidence<'_>, hosts: &'a HostsResult) -> Vec<Shared<'a>> {
    let mut verdicts: Vec<Shared<'a>> = Vec::new();
    for host in &hosts.hosts {
        let Some(own) = same_job(evidence, &host.result) else { continue };
        let found = verdict::of(&own);
        let headline = found.bottleneck.headline();
        match verdicts.iter_mut().find(|shared| shared.headline == headline) {
            Some(shared) => shared.hosts.push(&host.name),
            None => verdicts.push(Shared {
                headline,
                hosts: vec![&host.name],
                reasons: found.reasons,
                is_only: false,
            }),
        }
    }
    verdicts.sort_by_key(|shared| std::cmp::Reverse(shared.hosts.len()));
    if let [only] = &mut verdicts[..] {
        only.is_only = true;
    }
    verdicts
}

/// The entry of a host that is part of this sum: the one with the same job name and position.
fn same_job<'a>(evidence: &Evidence<'_>, result: &'a RunResult) -> Option<Evidence<'a>> {
    let job = evidence.job;
    let is_same = |run: &RunResult, index: usize| {
        let other = &run.jobs[index];
        (other.group_id, &other.name) == (job.group_id, &job.name)
    };
    let mut of_run = (0..evidence.run.jobs.len()).filter(|&index| is_same(evidence.run, index));
    let nth = of_run.position(|index| std::ptr::eq(&evidence.run.jobs[index], job))?;
    let mut of_host = (0..result.jobs.len()).filter(|&index| is_same(result, index));
    of_host.nth(nth).map(|index| Evidence::of(result, index))
}

/// Hosts that deserve attention, and how evenly all of them ran.
pub(super) fn told(hosts: &HostsResult) -> String {
    let mut text = String::from("\nHosts:\n");
    let remarks = remarks(hosts);
    for sentence in remarks.iter().take(MOST_REMARKS).chain(&together(hosts)) {
        let _ = writeln!(text, "  * {sentence}");
    }
    if remarks.len() > MOST_REMARKS {
        let _ = writeln!(text, "  * And {} to look at.", counted(remarks.len() - MOST_REMARKS, "more host"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::story;

    const HOSTS: &str = include_str!("../../tests/results/hosts.json");

    fn story_of(text: &str) -> String {
        story::tell(&fathom_results::parse(text, "r.json").expect("reads"), 200)
    }

    #[test]
    fn hosts_have_verdicts_of_their_own() {
        let text = story_of(HOSTS);
        for part in [
            "It ran on 4 hosts: a1, a3, b4 and 1 more.",
            "Job work: On each host, one process reads blocks",
            "\n  Verdict on all 3 hosts that ran it: The page cache answered: this is a figure of memory, not of the device.\n  * a1: The job did not",
            "\n  * a3 was slower than the others: read rate 65% below the median.\n",
            "\n  * b4 was lost: nothing was heard of it for 10 s (figures of its first 0.8 s).\n  * b5 never began: no route to host.\n",
            "\n  * All of them were running from 0.00200 s to 0.750 s: read 7.00k IOPS, 28.7 MB/s.\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("  Verdict: "), "{text}");
    }

    #[test]
    fn verdicts_that_differ_name_their_hosts() {
        // The first host uses the page cache.
        let own = HOSTS.find("\"name\":\"a1\"").expect("it is there");
        let at = own + HOSTS[own..].find("\"time_based\"").expect("an option");
        let text = story_of(&format!("{}\"direct\":\"1\",{}", &HOSTS[..at], &HOSTS[at..]));
        let verdicts: Vec<&str> = text.lines().filter(|line| line.starts_with("  Verdict")).collect();
        assert!(verdicts[0].starts_with("  Verdict on a3 and b4: The page cache answered"), "{verdicts:?}");
        assert!(
            verdicts[1].starts_with("  Verdict on a1: ") && !verdicts[1].contains("page cache"),
            "{verdicts:?}"
        );
    }

    #[test]
    fn each_job_finds_itself_on_the_hosts() {
        let job = |name: &str, error: u32, runtime_ms: u32| {
            format!(
                r#"{{"jobname":"{name}","error":{error},"job_runtime":{runtime_ms},"job options":{{"numjobs":"2"}},
                "read":{{"total_ios":9,"io_bytes":36864,"iops":9,"runtime":1000,"lat_ns":{{"mean":1000000}}}}}}"#
            )
        };
        let host = |name: &str, jobs: &[String]| {
            format!(r#"{{"name":"{name}","state":"whole","jobs":[{}]}}"#, jobs.join(","))
        };
        let hosts = [
            host("h1", &[job("a", 0, 2000), job("b", 5, 2000)]),
            host("h2", &[job("b", 5, 2000)]),
            host("h3", &[job("a", 0, 2000)]),
        ];
        let both = [job("a", 0, 4000), job("b", 5, 4000)].join(",");
        let text = story_of(&hosts_document(&hosts, &both));
        let verdicts: Vec<&str> = text.lines().filter(|line| line.starts_with("  Verdict")).collect();
        assert_eq!(verdicts.len(), 2);
        assert!(!verdicts[0].contains("failed"), "{verdicts:?}");
        assert_eq!(
            verdicts[1],
            "  Verdict on all 2 hosts that ran it: The job failed, so its figures say little."
        );
        // The run has two clones on each of two hosts.
        let run =
            fathom_results::parse(&hosts_document(&hosts, &job("a", 0, 4000)), "r.json").expect("reads");
        assert_eq!(crate::evidence::Evidence::of(&run, 0).clones(), 4.0);
    }

    fn hosts_document(hosts: &[String], job: &str) -> String {
        format!(
            r#"{{"fio version":"fio-3.42","jobs":[{job}],"fathom hosts":{{"hosts":[{}]}}}}"#,
            hosts.join(",")
        )
    }
}
