//! Reasons why two results are hard to compare: different jobs, machines, storage or use of the page cache, and
//! errors.

use super::input::{ComparedRun, Side};
use crate::evidence::{Evidence, device_share};
use crate::figures;
use crate::measures::workload::{Workload, workloads};
use fathom_results::{HostResult, RunResult};
use std::collections::{BTreeMap, BTreeSet};

/// The reasons, one sentence each.
pub(super) fn warnings(a: &Side, b: &Side) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(first), Some(second)) = (a.runs.first(), b.runs.first()) {
        found.extend(programs(&first.result, &second.result));
        found.extend(hosts(&first.result, &second.result));
        found.extend(surroundings(&first.result, &second.result));
    }
    let (jobs_a, jobs_b) = (jobs(a), jobs(b));
    let mut other_options: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, one) in &jobs_a {
        let Some((_, other)) = jobs_b.iter().find(|(other, _)| other == name) else { continue };
        found.extend(durations(name, one, other));
        // A difference that many jobs share is reported once.
        let Some(different) = options(one, other, [a, b].map(reports_flags)) else { continue };
        match other_options.iter_mut().find(|(known, _)| *known == different) {
            Some((_, names)) => names.push(name),
            None => other_options.push((different, vec![name])),
        }
    }
    found.extend(other_options.into_iter().map(|(different, names)| match names.as_slice() {
        [name] => format!("job {name} had different options: {different}"),
        names if names.len() == jobs_a.len() => format!("all jobs had different options: {different}"),
        names => format!("jobs {} had different options: {different}", names.join(", ")),
    }));
    for (side, letter) in [(a, 'A'), (b, 'B')] {
        found.extend(within_side(side, letter));
        found.extend(side.runs.iter().flat_map(errors));
        found.extend(side.runs.iter().filter_map(lost_hosts));
    }
    found.extend(cache(a, b));
    found.extend([a, b].into_iter().filter_map(busiest));
    let mut seen = BTreeSet::new();
    found.retain(|warning| seen.insert(warning.clone()));
    found
}

/// The jobs of one side, from its first run.
fn jobs(side: &Side) -> Vec<(String, Workload)> {
    let mut known = BTreeSet::new();
    let mut found: Vec<(String, Workload)> = Vec::new();
    for run in &side.runs {
        for workload in workloads(&run.result) {
            let name = name_in(run, &workload);
            if known.insert(name.clone()) {
                found.push((name, workload));
            }
        }
    }
    found
}

/// The name of a job, with its cell if the run belongs to a sweep.
fn name_in(run: &ComparedRun, workload: &Workload) -> String {
    match run.cell.is_empty() {
        true => workload.name.clone(),
        false => format!("{} [{}]", workload.name, run.cell),
    }
}

fn programs(a: &RunResult, b: &RunResult) -> Option<String> {
    let program = |run: &RunResult| match run.is_of_fathom() {
        true => format!("fathom ({})", run.version),
        false => run.version.clone(),
    };
    let (one, other) = (program(a), program(b));
    (one != other).then(|| format!("different programs: A was measured by {one}, B by {other}"))
}

fn machines(a: &RunResult, b: &RunResult) -> Vec<String> {
    let (Some(one), Some(other)) = (&a.host, &b.host) else { return Vec::new() };
    let gigabytes = |bytes: u64| figures::size(bytes);
    let pairs = [
        ("machine", one.name.clone(), other.name.clone()),
        ("kernel", one.kernel.clone(), other.kernel.clone()),
        ("processor", one.processor.clone(), other.processor.clone()),
        ("number of CPUs", one.processors.to_string(), other.processors.to_string()),
        ("memory", gigabytes(one.memory_bytes), gigabytes(other.memory_bytes)),
    ];
    let differs = |(what, one, other): (&str, String, String)| {
        (one != other).then(|| format!("different {what}: {one} in A, {other} in B"))
    };
    pairs.into_iter().filter_map(differs).collect()
}

/// Compares the machines and their storage. For runs over several hosts, the hosts that both runs have are
/// compared.
fn surroundings(a: &RunResult, b: &RunResult) -> Vec<String> {
    let both = |a: &RunResult, b: &RunResult| machines(a, b).into_iter().chain(storage(a, b));
    if a.hosts.is_none() && b.hosts.is_none() {
        return both(a, b).collect();
    }
    let of = |run: &RunResult| -> Vec<HostResult> {
        run.hosts.iter().flat_map(|hosts| &hosts.hosts).filter(|host| host.is_whole()).cloned().collect()
    };
    let others: BTreeMap<String, HostResult> =
        of(b).into_iter().map(|host| (host.name.clone(), host)).collect();
    // A difference that many hosts share is reported once.
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in of(a) {
        let Some(other) = others.get(&host.name) else { continue };
        for difference in both(&host.result, &other.result) {
            told.entry(difference).or_default().push(host.name.clone());
        }
    }
    let named = |(difference, names): (String, Vec<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("on {}: {difference}", crate::hosts::listed(&names))
    };
    told.into_iter().map(named).collect()
}

/// Reports different sets of hosts.
fn hosts(a: &RunResult, b: &RunResult) -> Option<String> {
    let one_machine = || "one machine".to_owned();
    let told = |run: &RunResult| run.hosts.as_ref().map_or_else(one_machine, crate::hosts::counted);
    let names = |run: &RunResult| {
        let hosts = run.hosts.iter().flat_map(|hosts| &hosts.hosts);
        hosts.map(|host| host.name.clone()).collect::<BTreeSet<String>>()
    };
    (names(a) != names(b)).then(|| format!("different hosts: {} in A, {} in B", told(a), told(b)))
}

/// Reports hosts whose figures are missing or incomplete.
fn lost_hosts(run: &ComparedRun) -> Option<String> {
    let hosts = run.result.hosts.as_ref()?;
    let lost: Vec<&str> =
        hosts.hosts.iter().filter(|host| !host.is_whole()).map(|host| host.name.as_str()).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{}: {} of {} hosts were lost or never began ({}), so the figures are incomplete without them",
            run.result.source,
            lost.len(),
            hosts.hosts.len(),
            crate::hosts::listed(&lost)
        )
    })
}

fn storage(a: &RunResult, b: &RunResult) -> Vec<String> {
    let (Some(one), Some(other)) = (&a.host, &b.host) else {
        let names = |run: &RunResult| run.disk_util.iter().map(|disk| disk.name.clone()).collect::<Vec<_>>();
        return differs("devices", &names(a), &names(b)).into_iter().collect();
    };
    let device = |device: &fathom_results::model::DeviceReport| {
        let model = if device.model.is_empty() { "" } else { " " };
        let size = figures::size(device.size_bytes);
        format!(
            "{}{model}{} ({size}, scheduler {}, cache {})",
            device.name, device.model, device.scheduler, device.write_cache
        )
    };
    let file_system =
        |system: &fathom_results::model::FileSystemReport| format!("{} ({})", system.kind, system.options);
    let devices = [one, other].map(|host| host.devices.iter().map(device).collect::<Vec<_>>());
    let systems = [one, other].map(|host| host.file_systems.iter().map(file_system).collect::<Vec<_>>());
    let pairs = [("devices", devices), ("file systems", systems)];
    pairs.iter().filter_map(|(what, [one, other])| differs(what, one, other)).collect()
}

fn differs(what: &str, one: &[String], other: &[String]) -> Option<String> {
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    (one != other).then(|| format!("different {what}: {} in A, {} in B", list(one), list(other)))
}

/// True if the results of a side contain options without a value, some of which fio omits.
fn reports_flags(side: &Side) -> bool {
    side.runs.first().is_some_and(|run| run.result.is_of_fathom())
}

/// Options that differ, with both values.
fn options(one: &Workload, other: &Workload, [one_tells, other_tells]: [bool; 2]) -> Option<String> {
    let names: BTreeSet<&String> = one.options.iter().chain(&other.options).map(|(name, _)| name).collect();
    let value = |workload: &Workload, name: &str| {
        let found = workload.options.iter().find(|(own, _)| own == name);
        found.map_or(
            "not set".to_owned(),
            |(_, value)| if value.is_empty() { "set".to_owned() } else { value.clone() },
        )
    };
    let has = |workload: &Workload, name: &str| workload.options.iter().any(|(own, _)| own == name);
    let is_flag = |workload: &Workload, name: &str| {
        workload.options.iter().any(|(own, value)| own == name && value.is_empty())
    };
    let is_untold = |name: &str| {
        (!one_tells && !has(one, name) && is_flag(other, name))
            || (!other_tells && !has(other, name) && is_flag(one, name))
    };
    let different: Vec<String> = names
        .into_iter()
        .filter(|name| !is_untold(name))
        .map(|name| (name, value(one, name), value(other, name)))
        .filter(|(_, one, other)| one != other)
        .map(|(name, one, other)| format!("{name} ({one} in A, {other} in B)"))
        .collect();
    (!different.is_empty()).then(|| different.join(", "))
}

/// Reports runs limited by time that took different times.
fn durations(name: &str, one: &Workload, other: &Workload) -> Option<String> {
    let (one, other) = (one.traffic(None)?, other.traffic(None)?);
    let far = |one: u64, other: u64| one.abs_diff(other) as f64 > 0.1 * one.max(other) as f64;
    // With a fixed amount of work, a different duration only means that the device is faster or slower.
    let is_other = far(one.runtime_ms, other.runtime_ms) && far(one.io_bytes, other.io_bytes);
    let seconds = |ms: u64| format!("{} s", figures::three_figures(ms as f64 / 1e3));
    is_other.then(|| {
        format!(
            "job {name} ran for {} in A and for {} in B",
            seconds(one.runtime_ms),
            seconds(other.runtime_ms)
        )
    })
}

/// Reports runs of one side that do not repeat the same jobs.
fn within_side(side: &Side, letter: char) -> Vec<String> {
    let mut firsts = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for run in &side.runs {
        for own in workloads(&run.result) {
            let name = name_in(run, &own);
            let first = firsts.entry(name.clone()).or_insert_with(|| own.options.clone());
            if *first != own.options && told.insert(name.clone()) {
                found.push(format!(
                    "the runs of {letter} do not repeat the same job {name}: its options differ in {}",
                    run.result.source
                ));
            }
        }
    }
    found
}

fn errors(run: &ComparedRun) -> Vec<String> {
    let failed = workloads(&run.result).into_iter().filter_map(|job| Some((job.name, job.error?)));
    failed
        .map(|(name, error)| format!("{}: job {name} ended early with error {error}", run.result.source))
        .collect()
}

/// Reports reads that the page cache served.
fn cache(a: &Side, b: &Side) -> Vec<String> {
    let mut found: Vec<String> = [a, b]
        .into_iter()
        .filter_map(most_cached)
        .map(|(share, source)| {
            format!(
                "{source}: only {} of the data read came from the device, the rest from memory; direct=1 measures the device",
                figures::percent(share * 100.0)
            )
        })
        .collect();
    if found.len() == 1 {
        found.push("one side used the page cache and the other did not".to_owned());
    }
    found
}

/// The run of one side whose devices served the smallest share of its reads, if that share is too small to
/// measure the devices.
fn most_cached(side: &Side) -> Option<(f64, &str)> {
    // Below this share, the cache served most reads. Stacked devices may count a byte twice and the end of a
    // read-ahead may be missing, but neither amounts to half of the data.
    const MOSTLY_CACHE: f64 = 0.5;
    let shares = side
        .runs
        .iter()
        .filter_map(|run| Some((device_share(&run.result, 0)?.ratio(), run.result.source.as_str())));
    shares.min_by(|one, other| one.0.total_cmp(&other.0)).filter(|(share, _)| *share < MOSTLY_CACHE)
}

/// The job of one side that waited longest for a CPU that other work used.
fn busiest(side: &Side) -> Option<String> {
    let waits = side.runs.iter().flat_map(|run| {
        Evidence::all(&run.result).into_iter().filter_map(|evidence| {
            let wait =
                evidence.processor_wait().filter(|wait| wait.is_others_doing() || wait.is_stolen_from())?;
            Some((wait, run.result.source.as_str(), evidence.job.name.as_str()))
        })
    });
    let (wait, source, name) = waits.max_by(|one, other| one.0.share.total_cmp(&other.0.share))?;
    let what = match wait.is_others_doing() {
        true => wait.told(),
        false => format!("ran while the {}", wait.told_of_stolen()),
    };
    Some(format!("{source}: job {name} {what}: the figures reflect a busy machine"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: &str = include_str!("../../tests/results/hosts.json");

    fn side(text: &str) -> Side {
        let result = fathom_results::parse(text, "r.json").expect("reads");
        Side { runs: vec![ComparedRun { cell: String::new(), result }] }
    }

    #[test]
    fn hosts_are_compared_with_themselves() {
        let found = |a: &str, b: &str| warnings(&side(a), &side(b));
        let lost = "r.json: 2 of 4 hosts were lost or never began (b4 and b5), so the figures are incomplete without them";
        let same = found(HOSTS, HOSTS);
        assert!(same.iter().any(|warning| warning == lost), "{same:?}");
        assert!(!same.iter().any(|warning| warning.contains("different")), "{same:?}");
        let others = found(HOSTS, &HOSTS.replace("\"name\":\"b5\"", "\"name\":\"c\""));
        let different =
            "different hosts: 4 hosts: a1, a3, b4 and 1 more in A, 4 hosts: a1, a3, b4 and 1 more in B";
        assert!(others.iter().any(|warning| warning == different), "{others:?}");
        // Devices are compared separately for each host.
        let changed = found(HOSTS, &HOSTS.replace("\"name\":\"vda\"", "\"name\":\"sda\""));
        assert_eq!(
            changed.iter().filter(|warning| warning.contains("different")).collect::<Vec<_>>(),
            ["on a1 and a3: different devices: vda in A, sda in B"]
        );
        let plain = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"work","read":{"total_ios":1}}]}"#;
        let one = found(HOSTS, plain);
        assert!(one.iter().any(|warning| warning.ends_with(" in A, one machine in B")), "{one:?}");
    }
}
