//! The blocks of a job and their errors (`block_error_percentiles`).

use super::latency::append_number_percentiles;
use fathom_stats::block_errors::BlockErrorReport;

/// Appends the states of blocks, and the number of trims after which their first errors occurred.
pub(super) fn append(text: &mut String, blocks: &BlockErrorReport, percentiles: &[f64]) {
    let states: Vec<String> = blocks.counts().map(|(state, count)| format!("{state}={count}")).collect();
    *text += &format!("  blocks       : {}\n", states.join(", "));
    append_number_percentiles(text, "trims to the first error", &blocks.trims, percentiles);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_trims_in_whole_numbers() {
        let mut blocks = BlockErrorReport { states: [90, 2, 3, 1, 4], ..Default::default() };
        let shown = |blocks: &BlockErrorReport| {
            let mut text = String::new();
            append(&mut text, blocks, &[50.0, 99.0]);
            text
        };
        let states = "  blocks       : untouched=90, trimmed=2, written=3, trim failed=1, write failed=4\n";
        assert_eq!(shown(&blocks), states);
        [0, 3, 3, 3, 20_000].into_iter().for_each(|trims| blocks.trims.record(trims));
        assert_eq!(
            shown(&blocks),
            format!(
                "{states}    trims to the first error percentiles:\n     |  50th=[    3],  99th=[20096]\n"
            )
        );
    }
}
