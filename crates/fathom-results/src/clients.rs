//! Results that a client collected from servers (`fio --client`), with `client_stats` instead of `jobs`. The
//! entries of all servers are in one list, in any order. The entries of a round are followed by `All clients`,
//! their sum, unless there is only one entry. With `--status-interval` the list has several rounds, and the
//! last one covers the whole run.

use crate::model::{JobResult, RunResult, server_name};
use fathom_stats::Direction;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// Name of the entry that holds the sum.
const SUM: &str = "All clients";

/// Reads the entries of the list, each as text; `None` for the sum.
fn jobs_of(entries: &[&RawValue]) -> Result<Vec<Option<JobResult>>, serde_json::Error> {
    /// The sum has no options, which distinguishes it from a job of that name.
    #[derive(Deserialize)]
    struct Told {
        #[serde(rename = "job options")]
        options: Option<IgnoredAny>,
    }
    let read = |entry: &&RawValue| {
        let job: JobResult = serde_json::from_str(entry.get())?;
        let told: Told = serde_json::from_str(entry.get())?;
        Ok(Some(job).filter(|job| job.name != SUM || told.options.is_some()))
    };
    entries.iter().map(read).collect()
}

/// The jobs of a single server's last complete round.
fn last_round(entries: Vec<Option<JobResult>>) -> Vec<JobResult> {
    let sum = entries.iter().position(Option::is_none);
    let mut jobs: Vec<JobResult> = entries.into_iter().flatten().collect();
    let is_one = |job: &JobResult| job.name == jobs[0].name;
    // A single job has no sum, so a repeated entry means a later round.
    let in_a_round = sum.unwrap_or(if jobs.iter().all(is_one) { 1 } else { jobs.len() });
    let rounds = jobs.len().checked_div(in_a_round).unwrap_or(0);
    jobs.truncate(rounds * in_a_round);
    jobs.split_off(rounds.saturating_sub(1) * in_a_round)
}

/// The jobs of one of several servers in its last round. Servers report at independent times, so the
/// positions of the sums do not delimit one server's rounds; each round has every clone once, or every job
/// with `group_reporting`.
fn last_round_of(result: &RunResult, mut jobs: Vec<JobResult>) -> Vec<JobResult> {
    // fio does not always report group_reporting. But it adds up the run times of merged clones, and also the
    // run times of writing and verifying.
    let is_merged = |job: &JobResult| {
        let longest = Direction::ALL
            .into_iter()
            .filter_map(|which| job.reported(which))
            .map(|own| own.runtime_ms)
            .max();
        let is_added_up = 2 * job.runtime_ms > 3 * longest.unwrap_or(0).max(1);
        result.is_set(job, "group_reporting") || (is_added_up && result.option(job, "verify").is_none())
    };
    let asked = |job: &JobResult| result.option(job, "numjobs").and_then(|text| text.trim().parse().ok());
    // If entries of other jobs are between the rounds, the entries of a job in the last round can be counted.
    let has_others = jobs.iter().any(|job| job.name != jobs[0].name);
    let in_a_row = |job: &JobResult| {
        let is_own = |own: &&JobResult| own.name == job.name;
        jobs.iter().rev().skip_while(|own| !is_own(own)).take_while(is_own).count()
    };
    let clones = |job: &JobResult| {
        if has_others {
            in_a_row(job)
        } else if is_merged(job) {
            1
        } else {
            asked(job).unwrap_or(1).max(1)
        }
    };
    let mut names = BTreeSet::new();
    let named = jobs.iter().filter(|job| names.insert(job.name.clone()));
    let in_a_round = named.map(clones).fold(0, usize::saturating_add);
    jobs.split_off(jobs.len().saturating_sub(in_a_round))
}

/// Replaces the result's own jobs with those of the servers. With several servers, the server's name is
/// appended to the names of jobs and devices, because another server's job or device is a different one.
pub(crate) fn take_in(result: &mut RunResult, entries: &[&RawValue]) -> Result<(), serde_json::Error> {
    let entries = jobs_of(entries)?;
    let mut servers: Vec<(String, Option<u64>)> = Vec::new();
    for job in entries.iter().flatten() {
        if !servers.iter().any(|(host, port)| (host, *port) == (&job.host, job.port)) {
            servers.push((job.host.clone(), job.port));
        }
    }
    result.jobs = match servers.len() {
        0 | 1 => last_round(entries),
        _ => {
            let all: Vec<JobResult> = entries.into_iter().flatten().collect();
            let of_server = |(host, port): &(String, Option<u64>)| {
                let own = all.iter().filter(|job| (&job.host, job.port) == (host, *port));
                last_round_of(result, own.cloned().collect())
            };
            servers.iter().flat_map(of_server).collect()
        }
    };
    if servers.len() > 1 {
        let all: Vec<(&str, Option<u64>)> =
            servers.iter().map(|(host, port)| (host.as_str(), *port)).collect();
        let named = |name: &str, host: &str, port| format!("{name} on {}", server_name(&all, host, port));
        for job in &mut result.jobs {
            job.name = named(&job.name, &job.host, job.port);
        }
        for disk in result.disk_util.iter_mut().filter(|disk| !disk.host.is_empty()) {
            disk.name = named(&disk.name, &disk.host, disk.port);
        }
        // The order in which servers answered is arbitrary, so jobs are sorted by server.
        result.jobs.sort_by(|a, b| (&a.host, a.port).cmp(&(&b.host, b.port)));
        result.disk_util.sort_by(|a, b| (&a.host, a.port).cmp(&(&b.host, b.port)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Direction;
    use crate::parse;

    fn entry(name: &str, port: u64, bytes: u64) -> String {
        format!(
            r#"{{"jobname":"{name}","job options":{{}},"read":{{"io_bytes":{bytes}}},"hostname":"h","port":{port}}}"#
        )
    }

    fn told(entries: &[String]) -> Vec<(String, u64)> {
        let text = format!(
            r#"hostname=h, be=0
{{"fio version":"fio-3.33","global options":{{"bs":"8k"}},"client_stats":[{}],
            "disk_util":[{{"name":"sda","hostname":"h","port":2}},{{"name":"sda","hostname":"h","port":1}}]}}"#,
            entries.join(",")
        );
        let run = parse(&text, "text").expect("reads");
        assert!(run.jobs.iter().all(|job| run.option(job, "bs") == Some("8k") && job.host == "h"));
        run.jobs.iter().map(|job| (job.name.clone(), job.io_bytes(Direction::Read))).collect()
    }

    const SUM: &str = r#"{"jobname":"All clients","read":{"io_bytes":99},"hostname":"h","port":1}"#;

    #[test]
    fn the_sum_is_no_job() {
        let one = [entry("a", 1, 1), entry("b", 1, 2), SUM.to_owned()];
        assert_eq!(told(&one), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        let namesake = [entry("All clients", 1, 1)];
        assert_eq!(told(&namesake), [("All clients".to_owned(), 1)]);
        assert_eq!(told(&[]), []);
    }

    #[test]
    fn several_servers_are_told_apart() {
        let two = [entry("a", 2, 2), entry("a", 1, 1), SUM.to_owned()];
        assert_eq!(told(&two), [("a on h:1".to_owned(), 1), ("a on h:2".to_owned(), 2)]);
    }

    #[test]
    fn servers_report_at_times_of_their_own() {
        // Two clones of a and one of b on each server; the second server missed a round.
        let clone = |name: &str, port: u64, bytes: u64| {
            let clones = if name == "a" { 2 } else { 1 };
            entry(name, port, bytes)
                .replace(r#""job options":{}"#, &format!(r#""job options":{{"numjobs":"{clones}"}}"#))
        };
        let round = |port: u64, bytes: u64| {
            [("a", 0), ("a", 1), ("b", 2)].map(|(name, more)| clone(name, port, bytes + more))
        };
        let entries = [
            &round(1, 10)[..],
            &round(1, 20),
            &round(2, 30),
            &[SUM.to_owned()],
            &round(1, 40),
            &[SUM.to_owned()],
        ];
        let found: Vec<u64> = told(&entries.concat()).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(found, [40, 41, 42, 30, 31, 32]);
        // If there are several jobs, the order of entries shows whether clones are merged, regardless of their
        // run times.
        let slow = |port: u64, bytes: u64| {
            round(port, bytes)
                .map(|entry| entry.replace(r#""read":{"#, r#""job_runtime":1600,"read":{"runtime":1000,"#))
        };
        let entries = [&slow(1, 10)[..], &slow(2, 20), &slow(1, 30), &slow(2, 40)];
        let found: Vec<u64> = told(&entries.concat()).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(found, [30, 31, 32, 40, 41, 42]);
        // Merged clones are one entry per round.
        let merged = |port: u64, bytes: u64| {
            clone("a", port, bytes).replace(r#""read":{"#, r#""job_runtime":2000,"read":{"runtime":1000,"#)
        };
        let entries = [merged(1, 1), merged(2, 2), merged(1, 3), merged(2, 4)];
        assert_eq!(told(&entries), [("a on h:1".to_owned(), 3), ("a on h:2".to_owned(), 4)]);
    }

    #[test]
    fn the_last_round_is_the_run() {
        let names = |list: Vec<(String, u64)>| list.into_iter().map(|(_, bytes)| bytes).collect::<Vec<u64>>();
        let rounds = [
            entry("a", 1, 1),
            entry("a", 1, 2),
            SUM.to_owned(),
            entry("a", 1, 3),
            entry("a", 1, 4),
            entry("a", 1, 5),
            entry("a", 1, 6),
        ];
        assert_eq!(names(told(&rounds)), [5, 6]);
        // An incomplete round does not count.
        assert_eq!(names(told(&rounds[..4])), [1, 2]);
        assert_eq!(names(told(&[entry("a", 1, 1), entry("a", 1, 2)])), [2]);
        assert_eq!(names(told(&[entry("a", 1, 1), entry("b", 1, 2)])), [1, 2]);
    }
}
