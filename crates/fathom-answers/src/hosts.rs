//! Formats the hosts of a run over several hosts.

use crate::figures;
use crate::table::{Align, Table};
use fathom_results::{HostFigures, HostResult, HostsResult};
use fathom_stats::Direction;

/// Maximum number of names in a sentence; further hosts are only counted.
const MOST_NAMED: usize = 3;

/// `a, b, c and 7 more`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        _ if names.len() <= MOST_NAMED => {
            let (last, first) = names.split_last().unwrap_or((&"", &[]));
            format!("{} and {last}", first.join(", "))
        }
        _ => format!("{} and {} more", names[..MOST_NAMED].join(", "), names.len() - MOST_NAMED),
    }
}

/// A phrase such as `8 hosts: a1, a2, b1 and 5 more`.
pub(crate) fn counted(hosts: &HostsResult) -> String {
    let names: Vec<&str> = hosts.hosts.iter().map(|host| host.name.as_str()).collect();
    match names.len() {
        1 => format!("one host: {}", names[0]),
        number => format!("{number} hosts: {}", listed(&names)),
    }
}

/// Final state of a host, in a word or two.
pub(crate) fn state(host: &HostResult) -> String {
    match (host.is_whole(), host.errors) {
        (false, _) => host.state.clone(),
        (true, 0) => "ok".to_owned(),
        (true, 1) => "1 error".to_owned(),
        (true, errors) => format!("{errors} errors"),
    }
}

/// The directions in which a host did I/O, with their names; a host without I/O still gets a row.
pub(crate) fn directions(host: &HostResult) -> Vec<(&'static str, Option<&HostFigures>)> {
    let named = Direction::ALL.map(Direction::word).into_iter().zip(host.directions());
    let active: Vec<(&'static str, Option<&HostFigures>)> =
        named.filter(|(_, figures)| figures.is_some()).collect();
    if active.is_empty() { vec![("-", None)] } else { active }
}

/// MB/s, IOPS, p50, p99, p99.9 and the maximum.
pub(crate) fn cells(figures: Option<&HostFigures>) -> [String; 6] {
    let unknown = || "-".to_owned();
    let Some(found) = figures else { return [(); 6].map(|()| unknown()) };
    let time = |ns: Option<u64>| ns.map_or_else(unknown, |ns| figures::duration(ns as f64));
    [
        figures::three_figures(found.bytes_per_second / 1e6),
        figures::count(found.iops),
        time(found.p50_ns),
        time(found.p99_ns),
        time(found.p99_9_ns),
        time(found.max_ns),
    ]
}

/// Time between the agreed instant and the actual start of a host's jobs.
pub(crate) fn skew(host: &HostResult) -> String {
    host.start_skew_ns.map_or_else(
        || "-".to_owned(),
        |ns| {
            let sign = if ns < 0 { '-' } else { '+' };
            format!("{sign}{}", figures::duration(ns.unsigned_abs() as f64))
        },
    )
}

/// Columns of [`table`].
pub(crate) const COLUMNS: usize = 10;

/// A row for each host and direction, with the first `columns` columns. If there are more than `most` hosts,
/// only the first hosts and those with remarks are shown. The second value is the number of omitted hosts.
pub(crate) fn table(hosts: &HostsResult, most: usize, columns: usize) -> (Table, usize) {
    let right = Align::Right;
    let headings = [
        ("host", Align::Name),
        ("state", Align::Left),
        ("", Align::Left),
        ("MB/s", right),
        ("IOPS", right),
        ("p50", right),
        ("p99", right),
        ("p99.9", right),
        ("max", right),
        ("start", right),
    ];
    let mut table = Table::new(&headings[..columns.min(COLUMNS)]);
    let mut left_out = 0;
    for (index, host) in hosts.hosts.iter().enumerate() {
        if index >= most && host.remark().is_empty() {
            left_out += 1;
            continue;
        }
        for (name, figures) in directions(host) {
            let mut row = vec![host.name.clone(), state(host), name.to_owned()];
            row.extend(cells(figures));
            row.push(skew(host));
            row.truncate(columns);
            table.row(row);
        }
    }
    (table, left_out)
}

/// One sentence for each noteworthy host.
pub(crate) fn remarks(hosts: &HostsResult) -> Vec<String> {
    let worth = hosts.hosts.iter().filter(|host| !host.remark().is_empty());
    worth
        .map(|host| match host.is_whole() {
            true => format!("{} was slower than the others: {}.", host.name, host.remark()),
            false if host.state == "lost" => format!("{} was lost: {}.", host.name, host.remark()),
            false => format!("{} {}: {}.", host.name, host.state, host.remark()),
        })
        .collect()
}

/// Sentences that compare how the hosts ran.
pub(crate) fn together(hosts: &HostsResult) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(skew) = &hosts.skew {
        let bound = skew.clock_bound_ns.map_or(String::new(), |bound| {
            format!("; their clocks are known to {}", figures::duration(bound as f64))
        });
        sentences.push(format!(
            "The jobs of the hosts started within {} of the agreed instant, half of them within {}{bound}.",
            figures::duration(skew.largest_ns as f64),
            figures::duration(skew.median_ns as f64)
        ));
    }
    let started = hosts.hosts.iter().filter(|host| host.start_skew_ns.is_some()).count();
    match &hosts.overlap {
        Some(overlap) => {
            let seconds = |ms: u64| figures::three_figures(ms as f64 / 1e3);
            let named = Direction::ALL.map(Direction::word).into_iter().zip(overlap.directions());
            let rates: Vec<String> = named
                .filter_map(|(name, figures)| Some((name, figures?)))
                .map(|(name, figures)| {
                    format!(
                        "{name} {} IOPS, {}",
                        figures::count(figures.iops),
                        figures::bandwidth(figures.bytes_per_second)
                    )
                })
                .collect();
            let rates = if rates.is_empty() { rates.concat() } else { format!(": {}", rates.join("; ")) };
            sentences.push(format!(
                "All of them were running from {} s to {} s{rates}.",
                seconds(overlap.begin_ms),
                seconds(overlap.end_ms)
            ));
        }
        None if started > 1 => {
            sentences.push("There was no time in which all of them were running.".to_owned())
        }
        None => {}
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_names_are_short() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn what_there_is_to_say_of_is_always_in_the_table() {
        let host = |name: &str, state: &str, reason: &str| HostResult {
            name: name.into(),
            state: state.into(),
            reason: reason.into(),
            start_skew_ns: Some(-2000),
            read: Some(HostFigures {
                total_ios: 1,
                iops: 10.0,
                p99_ns: Some(5000),
                ..HostFigures::default()
            }),
            ..HostResult::default()
        };
        let mut hosts = vec![host("a", "whole", ""), host("b", "whole", ""), host("c", "lost", "gone")];
        hosts[0].write = hosts[0].read.clone();
        (hosts[2].read, hosts[2].start_skew_ns) = (None, None);
        let all = HostsResult { hosts, ..HostsResult::default() };
        let (table, left_out) = table(&all, 1, COLUMNS);
        let text = table.text(0, None);
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0][..3], ["a", "ok", "read"]);
        assert_eq!(rows[1][..3], ["a", "ok", "write"]);
        assert_eq!(rows[2], ["c", "lost", "-", "-", "-", "-", "-", "-", "-", "-"]);
        assert_eq!(remarks(&all), ["c was lost: gone."]);
        assert_eq!((rows.len(), left_out), (3, 1));
    }
}
