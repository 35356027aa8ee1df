//! `holes`: the file below a loop device has holes where a job reads. Holes hold no data, so reading them does
//! not access a disk.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::evidence::asked::AskedWorkload;
use crate::figures;
use fathom_results::RunResult;
use fathom_stats::Direction;

/// Minimum share of holes; a smaller one hardly changes the figures.
const LEAST: f64 = 0.05;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(facts) = &run.facts else { return Vec::new() };
    // A write-only job that verifies reads only blocks that it has written.
    let only_writes =
        |own: &Evidence<'_>| matches!(own.asked.workload, AskedWorkload::Write | AskedWorkload::TrimWrite);
    let all = Evidence::all(run);
    let reads = |job: &str| {
        all.iter()
            .any(|own| own.job.name == job && own.job.total_ios(Direction::Read) > 0 && !only_writes(own))
    };
    let of_part = |holes: &fathom_results::model::HoleFacts| {
        let share = holes.hole_bytes as f64 / holes.part_bytes.max(1) as f64;
        let text = format!(
            "{} of what job {} reads of {} were holes of the file below it when the job began: nothing was ever written there, and no \
             disk is read for it",
            figures::percent(100.0 * share),
            holes.job,
            holes.device
        );
        let found = Found::new(Severity::Doubtful, text, "write the whole device first, then read it");
        let figures = [("part_bytes", holes.part_bytes as f64), ("hole_bytes", holes.hole_bytes as f64)];
        (share >= LEAST && reads(&holes.job)).then(|| found.in_direction(0).with(&figures).weighing(share))
    };
    facts.holes.iter().filter_map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn what_was_never_written_is_told_to_those_who_read_it() {
        let with = |options: &str, direction: &str, holes: u32| {
            let facts = format!(
                r#""fathom facts":{{"holes":[{{"job":"a","device":"loop0","part_bytes":1000,"hole_bytes":{holes}}}]}}"#
            );
            told(find(&run(options, &format!(r#""{direction}":{{"total_ios":9,"io_bytes":9}}"#), &facts)))
        };
        let of = |direction: &str, holes: u32| with("", direction, holes);
        let verified = with(r#""rw":"randwrite","verify":"crc32c""#, "read", 750);
        assert_eq!(verified, [], "it reads what it has written");
        is_told(&of("read", 750), Severity::Doubtful, "75.0 % of what job a reads of loop0 were holes");
        assert_eq!((of("read", 10), of("write", 750)), (Vec::new(), Vec::new()));
    }
}
