//! `swapping`: the machine swapped memory while the jobs ran.

use super::{Found, Severity};
use crate::figures;
use fathom_results::RunResult;

/// Minimum rate in pages per second; a lower one is normal housekeeping.
const PAGES_PER_SECOND: f64 = 256.0;
/// Page size on most machines, in bytes.
const PAGE: u64 = 4096;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(facts) = &run.facts else { return Vec::new() };
    let pages = facts.memory.swapped_pages;
    let rate = pages as f64 * 1000.0 / facts.span_ms.max(1000) as f64;
    if rate < PAGES_PER_SECOND {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "the machine swapped about {}, which takes time from disks and programs",
            figures::size(pages.saturating_mul(PAGE))
        ),
        "use less memory for buffers and files in memory, or stop other programs that need it",
    );
    vec![found.with(&[("swapped_pages", pages as f64)]).weighing(rate)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn swapping_is_told() {
        let of = |pages: u32| {
            let facts = format!(r#""fathom facts":{{"span_ms":10000,"memory":{{"swapped_pages":{pages}}}}}"#);
            told(find(&run("", "", &facts)))
        };
        is_told(&of(25_600), Severity::Doubtful, "swapped about 100 MiB");
        assert_eq!(of(500), []);
    }
}
