//! `unverified` and `verify-from-memory`: a clean result of a verifying job proves only that those blocks are
//! intact that were checked and read from the medium.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures::size as bytes;
use fathom_results::RunResult;
use fathom_results::model::Verification;
use fathom_stats::counted;

/// Verifying jobs whose results contain the number of checked blocks.
fn jobs(run: &RunResult) -> impl Iterator<Item = &Verification> {
    run.verification.iter().filter(|own| own.from_memory_bytes.is_some())
}

/// Finds blocks that were not checked.
pub(super) fn unchecked(run: &RunResult) -> Vec<Found> {
    jobs(run).filter_map(of_checks).collect()
}

fn of_checks(own: &Verification) -> Option<Found> {
    let (name, checked) = (&own.jobname, own.checked_reads);
    let Some(unchecked) = own.unchecked_blocks else {
        return Some(Found::new(
            Severity::Doubtful,
            format!(
                "job {name} ended before its data was verified: {} checked, and how many were not is not known",
                counted(checked, "block")
            ),
            "look at what was printed about it, and run it again",
        ));
    };
    let all = checked.saturating_add(unchecked);
    let figures = [("checked_blocks", checked as f64), ("unchecked_blocks", unchecked as f64)];
    let advice =
        "a longer runtime, or none, lets it read back everything; a time_based job needs verify_backlog";
    let found = match (checked, unchecked) {
        (0, 0) => return None,
        (_, 0) => {
            let mut text = format!(
                "job {name} verified all {} ({})",
                counted(checked, "block"),
                bytes(own.checked_bytes)
            );
            if own.takes_any_run {
                text += "; it cannot tell whether this run wrote them or an earlier one with the same seed: \
                         verify_state_load or a ledger can";
            }
            if own.shares_blocks {
                text += "; other jobs or clones may write the same blocks, so each block only had to be \
                         intact, and a lost write may go unnoticed";
            }
            Found::new(Severity::Note, text, "")
        }
        (0, _) => Found::new(
            Severity::Wrong,
            format!("job {name} verified nothing: 0 of {} were checked", counted(all, "block")),
            advice,
        ),
        _ => Found::new(
            Severity::Doubtful,
            format!("job {name} verified a part: {checked} of {} were checked", counted(all, "block")),
            advice,
        ),
    };
    Some(found.with(&figures).weighing(unchecked as f64))
}

/// Finds checked data that came from memory instead of the storage.
pub(super) fn from_memory(run: &RunResult) -> Vec<Found> {
    jobs(run).filter_map(|own| of_memory(run, own)).collect()
}

fn of_memory(run: &RunResult, own: &Verification) -> Option<Found> {
    let in_memory = own.from_memory_bytes?.min(own.checked_bytes);
    let (name, all) = (&own.jobname, bytes(own.checked_bytes));
    let figures = [("checked_bytes", own.checked_bytes as f64), ("from_memory_bytes", in_memory as f64)];
    let advice = match own.keeps_cache {
        true => "leave out invalidate=0, or use direct I/O",
        false => "end the programs that have the file open, mapped or locked, or use direct I/O",
    };
    let found = match in_memory {
        0 if own.unknown_source_bytes > 0 => Found::new(
            Severity::Note,
            format!(
                "of {all} that job {name} verified, the system does not say whether they came from the storage or from memory"
            ),
            "",
        ),
        0 if devices_read_nothing(run, own) => Found::new(
            Severity::Doubtful,
            format!(
                "job {name} verified {all}, and the devices below its files read nothing at all: a cache above them answered"
            ),
            "look at the layers between the files and the devices",
        ),
        0 => return None,
        part if part >= own.checked_bytes => Found::new(
            Severity::Wrong,
            format!(
                "all {all} that job {name} verified were in memory when they were read: the data on the storage was not checked"
            ),
            advice,
        ),
        part => Found::new(
            Severity::Doubtful,
            format!(
                "up to {} of {all} that job {name} verified were in memory when they were read, and not checked on the storage",
                bytes(part)
            ),
            advice,
        ),
    };
    Some(found.with(&figures).weighing(in_memory as f64))
}

/// True if the kernel counted no reads on the devices, although a job that uses them checked data.
fn devices_read_nothing(run: &RunResult, own: &Verification) -> bool {
    let counts = |name: &str| {
        let facts = run.facts.iter().flat_map(|facts| &facts.devices);
        facts.into_iter().find(|device| device.name == name).is_none_or(|device| device.counts_io)
    };
    let is_on_storage = Evidence::all(run)
        .iter()
        .any(|evidence| evidence.job.name == own.jobname && evidence.is_on_this_machine());
    own.checked_bytes > 0
        && is_on_storage
        && !run.disk_util.is_empty()
        && run.disk_util.iter().all(|disk| disk.read_ios == 0 && counts(&disk.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    fn result(verify: &str, more: &str) -> RunResult {
        run("", "", &format!(r#""fathom verify":[{{"jobname":"a",{verify}}}]{more}"#))
    }

    #[test]
    fn what_was_not_checked_is_told() {
        let of = |verify: &str| told(unchecked(&result(verify, "")));
        let partly = r#""checked_reads":53,"unchecked_blocks":203,"from_memory_bytes":0"#;
        is_told(&of(partly), Severity::Doubtful, "53 of 256 blocks were checked");
        let nothing = r#""checked_reads":0,"unchecked_blocks":256,"from_memory_bytes":0"#;
        is_told(&of(nothing), Severity::Wrong, "0 of 256 blocks were checked");
        let all = r#""checked_reads":256,"checked_bytes":1048576,"unchecked_blocks":0,"from_memory_bytes":0"#;
        is_told(&of(all), Severity::Note, "verified all 256 blocks (1 MiB)");
        is_told(&of(&format!("{all},\"takes_any_run\":true")), Severity::Note, "it cannot tell");
        let lost = r#""checked_reads":2,"from_memory_bytes":0"#;
        is_told(&of(lost), Severity::Doubtful, "ended before its data was verified");
        assert_eq!(of(r#""checked_reads":0,"unchecked_blocks":0,"from_memory_bytes":0"#), []);
        assert_eq!(of(r#""checked_reads":53"#), [], "an old result says nothing of it");
    }

    #[test]
    fn what_was_in_memory_is_told() {
        let of = |verify: &str, more: &str| {
            told(from_memory(&result(
                &format!(r#""checked_reads":256,"checked_bytes":1048576,"unchecked_blocks":0,{verify}"#),
                more,
            )))
        };
        is_told(&of(r#""from_memory_bytes":1048576"#, ""), Severity::Wrong, "all 1 MiB that job a verified");
        is_told(&of(r#""from_memory_bytes":4096"#, ""), Severity::Doubtful, "up to 4 KiB of 1 MiB");
        is_told(
            &of(r#""from_memory_bytes":0,"unknown_source_bytes":4096"#, ""),
            Severity::Note,
            "does not say",
        );
        assert_eq!(of(r#""from_memory_bytes":0"#, ""), []);
        let disk =
            |reads: u64| format!(r#","disk_util":[{{"name":"sda","read_ios":{reads},"write_ios":9}}]"#);
        is_told(&of(r#""from_memory_bytes":0"#, &disk(0)), Severity::Doubtful, "read nothing at all");
        assert_eq!(of(r#""from_memory_bytes":0"#, &disk(1)), []);
    }
}
