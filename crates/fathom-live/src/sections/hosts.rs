//! A row per host in a run on several hosts; the slowest host is first.

use super::table::{Column, Columns};
use super::{first_row, rows};
use crate::look::Look;
use crate::state::{State, count, latency, printable};
use fathom_stats::live::LiveHost;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// State shown for a lost host.
const LOST: &str = "lost";
/// Time in milliseconds after which a host's silence is displayed.
const LONG_SILENCE_MS: u64 = 3000;

/// The columns after the name, from left to right.
static COLUMNS: [Column<LiveHost>; 9] = [
    Column { title: "state", width: 10, rank: 0, text: |host, _| printable(&host.state) },
    Column {
        title: "rate",
        width: 10,
        rank: 1,
        text: |host, state| state.rate(host.bytes_per_second.values().sum()),
    },
    Column { title: "IOPS", width: 7, rank: 3, text: |host, _| count(host.iops.values().sum()) },
    Column { title: "p50", width: 9, rank: 8, text: |host, _| latency(host.latency.map(|all| all.p50_ns)) },
    Column { title: "p99", width: 9, rank: 2, text: |host, _| latency(host.latency.map(|all| all.p99_ns)) },
    Column {
        title: "p99.9",
        width: 9,
        rank: 7,
        text: |host, _| latency(host.latency.map(|all| all.p99_9_ns)),
    },
    Column { title: "in flight", width: 10, rank: 9, text: |host, _| count(host.in_flight) },
    Column { title: "errors", width: 7, rank: 4, text: |host, _| count(host.errors) },
    Column {
        title: "heard",
        width: 8,
        rank: 5,
        text: |host, _| format!("{:.1}s", host.silent_ms as f64 / 1e3),
    },
];

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: Look) {
    let mut hosts: Vec<&LiveHost> = state.details.hosts.iter().collect();
    // Hosts with equal tail latency, or without one, keep their order.
    hosts.sort_by_key(|host| std::cmp::Reverse(host.latency.map(|all| all.p99_ns)));
    let (titles, area) = first_row(area);
    let shown = usize::from(area.height).min(hosts.len());
    let mut title = match hosts.len() > shown {
        true => format!("host 1-{shown}/{}", hosts.len()),
        false => "host".to_owned(),
    };
    let lost = hosts.iter().filter(|host| host.state == LOST).count();
    if lost > 0 {
        title += &format!(", {lost} lost");
    }
    let names = hosts.iter().map(|host| host.name.as_str()).chain([title.as_str()]);
    let columns = Columns::of(&COLUMNS, area.width, names);
    columns.draw_titles(buffer, titles, &title, look);
    for (row, host) in rows(area).zip(hosts) {
        let is_silent = host.silent_ms >= LONG_SILENCE_MS;
        let is_alarming = host.errors > 0 || host.state == LOST;
        let alarm = if is_alarming { look.alarm() } else { Style::new() };
        let name = format!("{}{}", if is_alarming { "!" } else { "" }, printable(&host.name));
        columns.draw_row(buffer, row, (&name, alarm), look, |column| {
            let style = match column.title {
                "errors" if host.errors > 0 => look.alarm(),
                "heard" if is_silent => look.alarm(),
                _ => Style::new(),
            };
            ((column.text)(host, state), style)
        });
    }
}
