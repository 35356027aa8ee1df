//! Kernel counters of the run's devices.

use fathom_stats::report::DiskReport;

/// Appends the heading and one line per device; members of a stacked device follow it, indented.
pub(super) fn append(text: &mut String, disks: &[DiskReport]) {
    if disks.is_empty() {
        return;
    }
    *text += "\nDisk stats (read/write):\n";
    for disk in disks {
        append_disk(text, disk, "  ");
    }
}

fn append_disk(text: &mut String, disk: &DiskReport, indent: &str) {
    *text += &format!(
        "{indent}{}: ios={}, sectors={}, merge={}, ticks={}, in_queue={}, util={:3.2}%",
        disk.name,
        pair(disk.ios),
        pair(disk.sectors),
        pair(disk.merges),
        pair(disk.ticks_ms),
        disk.in_queue_ms,
        disk.util_percent
    );
    if let Some(mean) = disk.mean_of_members() {
        *text += &format!(
            ", aggrios={}, aggsectors={}, aggrmerge={}, aggrticks={}, aggrin_queue={}, aggrutil={:3.2}%",
            pair(mean.ios),
            pair(mean.sectors),
            pair(mean.merges),
            pair(mean.ticks_ms),
            mean.in_queue_ms,
            mean.util_percent
        );
    }
    text.push('\n');
    let deeper = format!("  {indent}");
    for member in &disk.members {
        append_disk(text, member, &deeper);
    }
}

fn pair([read, write]: [u64; 2]) -> String {
    format!("{read}/{write}")
}
