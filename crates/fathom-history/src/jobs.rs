//! The jobs of a result, each with the host and the devices that it ran on: those of all hosts together, then, in a run
//! over several hosts, those of each host.

use crate::fingerprint;
use crate::record::{Device, Host, Job};
use crate::value::clean;
use fathom_results::{JobResult, RunResult};
use fathom_stats::verdict::VerdictReport;

/// What the jobs of one result have in common.
struct Source<'r> {
    result: &'r RunResult,
    verdict: &'r str,
    hosts: &'r [Host],
    devices: &'r [Device],
}

/// The jobs of a result. `judge` gives the verdict on the result of a single host.
pub(crate) fn of_result(
    result: &RunResult,
    verdict: &VerdictReport,
    judge: &dyn Fn(&RunResult) -> VerdictReport,
    (hosts, devices): (&[Host], &[Device]),
) -> Vec<Job> {
    let whole = Source { result, verdict: verdict.word(), hosts, devices };
    let mut jobs: Vec<Job> = result.jobs.iter().map(|job| whole.job(job, &job.host)).collect();
    let of_hosts = result.hosts.iter().flat_map(|all| &all.hosts);
    for host in of_hosts.filter(|_| hosts.len() > 1) {
        let verdict = judge(&host.result);
        // The figures of a lost host end early.
        let word = match (verdict.word(), host.state.as_str()) {
            ("no doubts", "lost") => "doubtful",
            (word, _) => word,
        };
        let own = Source { result: &host.result, verdict: word, hosts, devices };
        jobs.extend(host.result.jobs.iter().map(|job| own.job(job, &host.name)));
    }
    jobs
}

impl Source<'_> {
    /// `label` is that of the job's host; empty if it ran on all.
    fn job(&self, job: &JobResult, label: &str) -> Job {
        let mut options = self.result.options(job);
        options.retain(|(name, _)| !fingerprint::is_secret(name));
        let options: Vec<(String, String)> =
            options.into_iter().map(|(name, value)| (clean(&name), clean(&value))).collect();
        let choices = self.result.choices.iter().find(|choices| choices.name == job.name);
        let limits = choices.map(|choices| &choices.limits).filter(|limits| !limits.is_empty());
        let (figures, latencies) = crate::figures::of_job(job);
        let label = clean(label);
        let on_host = match self.hosts {
            [_] => Some(0),
            hosts => hosts.iter().position(|host| !label.is_empty() && host.label == label),
        };
        let devices = if on_host.is_some() { self.devices_of(job, &options) } else { Vec::new() };
        let is_it = |device: &Device| devices.contains(&device.name) && self.is_at(device, &label);
        Job {
            name: clean(&job.name),
            reporting_group: job.group_id,
            host: label.clone(),
            on_host,
            on_device: if devices.len() == 1 { self.devices.iter().position(is_it) } else { None },
            devices,
            verdict: self.verdict.to_owned(),
            fingerprint: fingerprint::of_job(&options),
            options,
            error: job.error,
            error_message: clean(job.error_message.as_deref().unwrap_or_default()),
            limits: limits.and_then(|limits| serde_json::to_string(limits).ok()).unwrap_or_default(),
            figures,
            latencies,
        }
    }

    /// True if the device is at this host. The devices of a single host have no label.
    fn is_at(&self, device: &Device, label: &str) -> bool {
        self.hosts.len() == 1 || device.host == label
    }

    /// Names of the devices under the files of a job. A result that does not list them has a name in `filename`, or a
    /// single device.
    fn devices_of(&self, job: &JobResult, options: &[(String, String)]) -> Vec<String> {
        if !job.devices.is_empty() {
            // All hosts together name the host of a device, even if there is only one.
            let host = self.hosts.first().map(|host| format!("{}:", host.label)).unwrap_or_default();
            return job.devices.iter().map(|name| clean(name.strip_prefix(&host).unwrap_or(name))).collect();
        }
        let disks = self.result.disk_util.iter().filter(|disk| !disk.is_member && disk.host == job.host);
        let mut known: Vec<&str> = disks.map(|disk| disk.name.as_str()).collect();
        if let Some(host) = &self.result.host {
            known.extend(host.devices.iter().map(|device| device.name.as_str()));
        }
        known.sort_unstable();
        known.dedup();
        let files = options.iter().find(|(name, _)| name == "filename").map(|(_, files)| files.split(':'));
        let mut named: Vec<&str> =
            files.into_iter().flatten().map(|file| file.strip_prefix("/dev/").unwrap_or_default()).collect();
        named.sort_unstable();
        named.dedup();
        let chosen = match named.iter().all(|name| known.contains(name)) && !named.is_empty() {
            true => named,
            false if known.len() == 1 => known,
            false => Vec::new(),
        };
        chosen.into_iter().map(clean).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::Record;
    use fathom_stats::verdict::VerdictReport;
    use std::collections::BTreeMap;

    fn record(text: &str) -> Record {
        let result = fathom_results::parse(text, "x").expect("a result");
        Record::new(&result, |_| VerdictReport::default(), BTreeMap::new())
    }

    fn job(more: &str) -> String {
        format!(r#"{{"jobname":"a","read":{{"io_bytes":4096,"iops":1,"total_ios":1,"runtime":1000}}{more}}}"#)
    }

    const TWO: &str =
        r#""fathom host":{"name":"h","devices":[{"name":"sda","serial":"1"},{"name":"sdb","serial":"2"}]}"#;

    /// Host, device and names of all devices of each job.
    fn places(record: &Record) -> Vec<(Option<usize>, Option<usize>, String)> {
        record.jobs.iter().map(|job| (job.on_host, job.on_device, job.devices.join("+"))).collect()
    }

    #[test]
    fn each_job_is_on_the_device_of_its_files() {
        let devices = [
            (r#","devices":["sdb"]"#, (Some(0), Some(1), "sdb")),
            (r#","devices":["sda","sdb"]"#, (Some(0), None, "sda+sdb")),
            (r#","job options":{"filename":"/dev/sdb"}"#, (Some(0), Some(1), "sdb")),
            (r#","job options":{"filename":"/dev/sdb:/dev/sda"}"#, (Some(0), None, "sda+sdb")),
            (r#","job options":{"filename":"/dev/disk/by-id/x"}"#, (Some(0), None, "")),
            ("", (Some(0), None, "")),
        ];
        let jobs: Vec<String> = devices.iter().map(|(more, _)| job(more)).collect();
        let record = record(&format!(r#"{{"fio version":"f","jobs":[{}],{TWO}}}"#, jobs.join(",")));
        let expected: Vec<_> =
            devices.iter().map(|(_, (host, device, names))| (*host, *device, (*names).to_owned())).collect();
        assert_eq!(places(&record), expected);
    }

    #[test]
    fn the_jobs_of_each_host_follow_those_of_all() {
        let of_host = |name: &str, serial: &str, state: &str| {
            format!(
                r#"{{"name":"{name}","state":"{state}","jobs":[{}],"fathom host":{{"name":"{name}.lab","kernel":"k",
                "devices":[{{"name":"sda","serial":"{serial}"}}]}}}}"#,
                job(r#","devices":["sda"]"#)
            )
        };
        let hosts = [of_host("a", "1", "whole"), of_host("b", "2", "lost")].join(",");
        let whole = job(r#","devices":["a:sda","b:sda"]"#);
        let two = record(&format!(
            r#"{{"fio version":"f","jobs":[{whole}],"fathom hosts":{{"hosts":[{hosts}]}}}}"#
        ));
        let expected = [(None, None, ""), (Some(0), Some(0), "sda"), (Some(1), Some(1), "sda")];
        assert_eq!(places(&two), expected.map(|(host, device, names)| (host, device, names.to_owned())));
        assert_eq!(two.devices[1].serial, "2");
        let verdicts: Vec<&str> = two.jobs.iter().map(|job| job.verdict.as_str()).collect();
        assert_eq!(verdicts, ["no doubts", "no doubts", "doubtful"]);
        // All hosts together, if there is only one, are that host.
        let one = of_host("a", "1", "whole");
        let whole = job(r#","devices":["a:sda"]"#);
        let one =
            record(&format!(r#"{{"fio version":"f","jobs":[{whole}],"fathom hosts":{{"hosts":[{one}]}}}}"#));
        assert_eq!(one.jobs.len(), 1);
        assert_eq!((one.jobs[0].on_host, one.jobs[0].on_device), (Some(0), Some(0)));
    }
}
