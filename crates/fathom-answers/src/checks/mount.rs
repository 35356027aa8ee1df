//! `mount`: the files are on a network or user-space file system. The finding says what the figures describe
//! and which cache may have served I/O.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::evidence::mounts::{Mount, Passage};
use fathom_results::RunResult;
use fathom_stats::Direction;

/// Share of the jobs' bytes below which some of the I/O stayed on this machine.
const PASSED_ON: f64 = 0.9;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(mount) = Mount::of_run(run) else { return Vec::new() };
    let client = mount.client();
    let kind = &mount.system.kind;
    let what = match &mount.system.transport {
        Some(transport) => format!(
            "{kind} is a file system of a server: the figures are those of {client}, the network ({transport}) and the server together"
        ),
        None => format!(
            "{kind} is a file system in user space: the figures are those of {client} and what it uses"
        ),
    };
    let mut found = vec![Found::new(Severity::Note, what, "")];
    let passages: Vec<(usize, Passage)> = [0, 1]
        .into_iter()
        .filter_map(|direction| {
            let bytes = run.jobs.iter().map(|job| job.io_bytes(Direction::ALL[direction]));
            let passage = mount.passage(bytes.sum(), direction)?;
            passage.network_bytes.is_some().then_some((direction, passage))
        })
        .collect();
    let kept =
        passages.iter().filter(|(_, passage)| mount.may_keep_data() && passage.stayed_partly(PASSED_ON));
    found.extend(kept.filter_map(|(direction, passage)| {
        let text = format!(
            "cached: the jobs' {}, and {}; a cache on this machine took the rest",
            passage.of_jobs(),
            passage.of_network()?
        );
        Some(
            Found::new(Severity::Doubtful, text, mount.caches().trim_end_matches('.'))
                .in_direction(*direction)
                .with(&[
                    ("job_bytes", passage.job_bytes as f64),
                    ("network_bytes", passage.network_bytes.unwrap_or(0) as f64),
                ]),
        )
    }));
    let is_known = !mount.is_in_user_space() || !passages.is_empty();
    let is_direct = Evidence::all(run).iter().all(Evidence::is_direct);
    if is_direct && !is_known {
        found.push(Found::new(
            Severity::Note,
            format!(
                "direct I/O bypasses the page cache, but {client} decides what it means below: its own cache may have answered"
            ),
            "",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{run, told};

    #[test]
    fn what_a_client_keeps_is_told() {
        let of = |received: u32| {
            let more = format!(
                r#""fathom host":{{"file_systems":[{{"directory":"/m","kind":"fuse.sshfs","transport":"SSH","source":"s:/"}}]}},
                "fathom mounts":[{{"directory":"/m","interfaces":{{"read_bytes":{received},"write_bytes":0}}}}]"#
            );
            told(find(&run("", r#""read":{"total_ios":1,"io_bytes":1000}"#, &more)))
        };
        let note = |found: &[(Severity, String)]| {
            found[0].0 == Severity::Note && found[0].1.contains("a file system of a server")
        };
        // sshfs does not cache data, so a cache cannot be the reason for little traffic.
        let all = of(1000);
        assert!(note(&all) && all.len() == 1, "{all:?}");
        assert_eq!(told(find(&run("", r#""read":{"total_ios":1,"io_bytes":1000}"#, ""))), []);
    }
}
