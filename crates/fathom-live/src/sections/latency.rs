//! Percentiles of the completion latency in the last interval, and their history.

use super::{Charted, put_pieces};
use crate::look::Look;
use crate::state::{State, latency};
use fathom_stats::live::LiveJob;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

const LABELS: [&str; 3] = ["p50", "p99", "p99.9"];

pub(crate) fn heading(state: &State) -> String {
    let is_open = |job: &LiveJob| job.waiting.is_some();
    let jobs = &state.details.jobs;
    match (jobs.iter().any(is_open), jobs.iter().all(is_open)) {
        (false, _) => "completion latency per interval",
        (true, true) => "response time per interval",
        (true, false) => "completion latency, response time of open loops, per interval",
    }
    .to_owned()
}

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let values = state.percentiles();
    if area.height < 3 {
        let pieces: Vec<(String, Style)> = LABELS
            .iter()
            .zip(values)
            .map(|(label, value)| format!("{label} {} ", latency(value)))
            .enumerate()
            // The trailing space is removed because it could displace the last figure.
            .map(|(place, text)| if place == 2 { text.trim_end().to_owned() } else { text })
            .map(|text| (text, Style::new()))
            .collect();
        return put_pieces(buffer, area, &pieces, look);
    }
    let height = area.height / 3;
    for (place, value) in values.into_iter().enumerate() {
        let row = Rect { y: area.y + place as u16 * height, height, ..area };
        Charted {
            label: LABELS[place],
            figure: latency(value),
            second: String::new(),
            history: &state.latencies[place],
            style: look.latency(),
            value: &|ns| latency(Some(ns)),
        }
        .draw(buffer, row, look);
    }
}
