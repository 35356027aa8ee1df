//! A row per block device, with the kernel's statistics.

use super::{bar, put_pieces, rows};
use crate::look::Look;
use crate::state::{State, count, printable};
use fathom_stats::Direction;
use fathom_stats::live::LiveDisk;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Minimum width of the screen for separate read and write columns.
const WIDTH_OF_BOTH: u16 = 78;
/// Minimum width of the screen for a bar.
const WIDTH_WITH_BAR: u16 = 110;
/// Width of the bar.
const BAR: u16 = 20;

pub(crate) fn heading() -> String {
    "devices, kernel statistics".to_owned()
}

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let longest = state.details.disks.iter().map(|disk| name(disk).chars().count()).max().unwrap_or(0);
    for (row, disk) in rows(area).zip(&state.details.disks) {
        let mut pieces = vec![
            (format!("{:longest$} ", name(disk)), look.heading()),
            (format!("util {:>5.1}%", disk.util_percent), Style::new()),
        ];
        if area.width >= WIDTH_WITH_BAR {
            pieces.push((format!(" {}", bar(disk.util_percent, BAR, look)), look.bar()));
        }
        let [read, write] = disk.bytes_per_second;
        let [read_ios, write_ios] = disk.iops;
        if area.width >= WIDTH_OF_BOTH {
            for (direction, bytes, ios) in
                [(Direction::Read, read, read_ios), (Direction::Write, write, write_ios)]
            {
                let word = direction.word();
                let text = format!("  {word} {:>9} {:>10}", state.rate(bytes), count(ios) + " IOPS");
                pieces.push((text, look.direction(direction)));
            }
        } else {
            pieces.push((format!(" {:>9}", state.rate(read + write)), Style::new()));
            pieces.push((format!(" {} IOPS", count(read_ios + write_ios)), Style::new()));
        }
        put_pieces(buffer, row, &pieces, look);
    }
}

/// Returns the name of a device. Members of other devices are indented.
fn name(disk: &LiveDisk) -> String {
    format!("{}{}", if disk.is_member { "  " } else { "" }, printable(&disk.name))
}
