//! Where the time of a direction's I/Os went (`--layers`): a table of the parts that add up to its latencies.

use crate::scale::duration;
use fathom_stats::counted;
use fathom_stats::layers::{Layer, LayerRun, LayerStats, Made};

/// The percentiles of the table.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// Appends a direction's layers, after its latencies.
pub(super) fn append(text: &mut String, layers: &LayerStats) {
    let columns = std::iter::once(layers.mean()).chain(PERCENTILES.map(|percent| layers.at(percent)));
    let columns: Option<Vec<Made>> = columns.collect();
    if let Some(columns) = columns {
        *text += &format!("   layers      : {:>9} {:>9} {:>9} {:>9}\n", "mean", "50%", "99%", "99.9%");
        for layer in Layer::ALL {
            append_row(text, layer.word(), columns.iter().map(|made| made.layers_ns[layer as usize]));
        }
        append_row(text, "in all", columns.iter().map(|made| made.total_ns));
    }
    let mut others = Vec::new();
    if layers.without_request > 0 {
        others.push(format!("{} reached no block device", counted(layers.without_request, "I/O")));
    }
    if layers.unseen > 0 {
        others.push(format!("of {} the layers are unknown", counted(layers.unseen, "I/O")));
    }
    if !others.is_empty() {
        *text += &format!("     ({})\n", others.join("; "));
    }
}

fn append_row(text: &mut String, label: &str, values: impl Iterator<Item = u64>) {
    let values: Vec<String> = values.map(|ns| format!("{:>9}", duration(ns))).collect();
    *text += &format!("     {label:<10}: {}\n", values.join(" "));
}

/// Appends what recording the layers cost and lost.
pub(super) fn append_run(text: &mut String, run: &LayerRun) {
    let share = 100.0 * run.cpu_ns as f64 / run.span_ns.max(1) as f64;
    let what = match run.one_in {
        0 | 1 => "all blocks".to_owned(),
        parts => format!("a sample of the blocks, one in {parts} at the highest rate"),
    };
    *text += &format!("\nLayers:\n  recorded: {what}, {share:.1}% of a processor, {} events", run.events);
    if run.lost_events > 0 {
        *text += &format!(", {} lost", run.lost_events);
    }
    if run.ended_early {
        *text += "; the recorder ended before the jobs did";
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    // The other fields are private, so it cannot be written as one expression.
    #[allow(clippy::field_reassign_with_default)]
    #[test]
    fn without_figures_only_remarks_are_left() {
        let mut text = String::new();
        let mut layers = LayerStats::default();
        layers.unseen = 3;
        append(&mut text, &layers);
        assert_eq!(text, "     (of 3 I/Os the layers are unknown)\n");
        text.clear();
        append_run(
            &mut text,
            &LayerRun { cpu_ns: 1, span_ns: 100, events: 7, one_in: 8, ..LayerRun::default() },
        );
        assert_eq!(
            text,
            "\nLayers:\n  recorded: a sample of the blocks, one in 8 at the highest rate, 1.0% of a processor, 7 events\n"
        );
    }
}
