//! Bytes and I/Os per second for every direction with I/O.

use super::Charted;
use crate::look::Look;
use crate::state::{State, count};
use fathom_stats::Direction;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) fn heading(state: &State) -> String {
    match state.details.interval_ns {
        0 => "rates".to_owned(),
        interval => format!("rates, {:.1} s per column", interval as f64 / 1e9),
    }
}

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let drawn = state.rates.iter().filter(|(_, rates)| rates.has_values());
    let mut shown: Vec<Direction> = drawn.map(|(direction, _)| direction).collect();
    if shown.is_empty() {
        shown.push(Direction::Read);
    }
    let height = area.height / shown.len() as u16;
    for (place, &direction) in shown.iter().enumerate() {
        let figures = state.details.jobs.iter();
        let (bytes, ios) = figures.fold((0, 0), |(bytes, ios), job| {
            (bytes + job.bytes_per_second[direction], ios + job.iops[direction])
        });
        let row = Rect { y: area.y + place as u16 * height, height, ..area };
        Charted {
            label: direction.word(),
            figure: state.rate(bytes),
            second: format!("{} IOPS", count(ios)),
            history: &state.rates[direction],
            style: look.direction(direction),
            value: &|bytes| state.rate(bytes),
        }
        .draw(buffer, row, look);
    }
}
