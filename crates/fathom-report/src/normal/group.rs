//! The lines of one reporting group.

use crate::scale::Scale;
use fathom_stats::report::{GroupDirection, GroupReport, UnifiedReporting};

/// Appends `Run status group N (all jobs):` and a line per direction that moved data.
pub(super) fn append(text: &mut String, group: &GroupReport) {
    *text += &format!("\nRun status group {} (all jobs):\n", group.group_id);
    let scale = Scale::new(group.kb_base, group.unit_base, group.significant_figures);
    if group.unified != UnifiedReporting::Mixed {
        for (label, direction) in ["READ", "WRITE", "TRIM"].into_iter().zip(group.directions.values()) {
            append_direction(text, label, direction, &scale);
        }
    }
    if group.unified != UnifiedReporting::Apart {
        append_direction(text, "MIXED", &group.mixed, &scale);
    }
}

fn append_direction(text: &mut String, label: &str, direction: &GroupDirection, scale: &Scale) {
    // A direction without a run time had no I/O, so it has no line.
    if direction.max_runtime_ms == 0 {
        return;
    }
    *text += &format!(
        "{label:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{}msec\n",
        scale.rate(direction.total_bw_bytes),
        scale.other_rate(direction.total_bw_bytes),
        scale.rate(direction.min_bw_bytes),
        scale.rate(direction.max_bw_bytes),
        scale.other_rate(direction.min_bw_bytes),
        scale.other_rate(direction.max_bw_bytes),
        scale.size(direction.io_bytes),
        scale.other_size(direction.io_bytes),
        direction.min_runtime_ms,
        direction.max_runtime_ms
    );
}
