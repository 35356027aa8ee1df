//! Files of a recording that hardly count: what a loader reads of libraries, configuration, files for messages.

use crate::characterize::trace::events;
use fathom_command::Failure;
use fathom_stats::{Direction, counted};
use fathom_trace::blktrace::TraceAction;
use fathom_trace::events::{FileSums, Keep};
use fathom_trace::files::FileKind;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Largest share of the calls, and of the bytes, that all files have together that are left out.
const MOST: f64 = 0.01;
/// The same for files that were only read, and closed before they could be looked up: most are those of /proc, or configuration.
const MOST_UNKNOWN: f64 = 0.2;

/// Calls on a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    calls: u64,
    bytes: u64,
    /// There are other calls than reads.
    is_written: bool,
    is_unknown: bool,
}

/// A filter of a recording of files that leaves out those that hardly count; `None` for other traces, and for those that can be read
/// only once.
pub(super) fn most_of(trace: &Path) -> Result<Option<Keep>, Failure> {
    if !trace.is_file() {
        return Ok(None);
    }
    let mut events = events(trace)?;
    if events.files().is_none() {
        return Ok(None);
    }
    let mut amounts: BTreeMap<u32, Amount> = BTreeMap::new();
    // The part before an error is modelled.
    while let Ok(Some(event)) = events.next() {
        // A device with that number stands for many files.
        if event.action == TraceAction::Queue && event.device.minor != u32::MAX {
            let amount = amounts.entry(event.device.minor).or_default();
            amount.calls += 1;
            amount.bytes = amount.bytes.saturating_add(u64::from(event.bytes));
            amount.is_written |= event.flushes || event.direction != Direction::Read;
            amount.is_unknown = events.file(event.device).is_none_or(|file| file.kind == FileKind::Unknown);
        }
    }
    let rest = rest(&amounts.into_iter().collect::<Vec<_>>());
    Ok((!rest.is_empty()).then(|| -> Keep { Box::new(move |file| !rest.contains(&file.id)) }))
}

/// The files that are left out.
fn rest(files: &[(u32, Amount)]) -> HashSet<u32> {
    let sum = files.iter().fold(Amount::default(), |sum, (_, amount)| plus(sum, *amount));
    let is_unknown = |(_, amount): &&(u32, Amount)| amount.is_unknown && !amount.is_written;
    let (unknown, known): (Vec<_>, Vec<_>) = files.iter().partition(is_unknown);
    let mut found = smallest(unknown, sum, MOST_UNKNOWN);
    found.extend(smallest(known, sum, MOST));
    found
}

/// The files with the smallest shares of the sum, as many as have together at most this share.
fn smallest(mut files: Vec<&(u32, Amount)>, sum: Amount, most: f64) -> HashSet<u32> {
    let share = |amount: Amount| {
        let calls = amount.calls as f64 / sum.calls.max(1) as f64;
        calls.max(amount.bytes as f64 / sum.bytes.max(1) as f64)
    };
    files.sort_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    let mut left_out = Amount::default();
    let are_few = |(_, amount): &&(u32, Amount)| {
        left_out = plus(left_out, *amount);
        share(left_out) <= most
    };
    files.into_iter().take_while(are_few).map(|(file, _)| *file).collect()
}

fn plus(a: Amount, b: Amount) -> Amount {
    Amount { calls: a.calls + b.calls, bytes: a.bytes.saturating_add(b.bytes), ..a }
}

/// What was left out of a model.
pub(super) fn sentence(sums: &FileSums) -> Option<String> {
    let left_out = sums.unwanted;
    let kept: u64 = sums.calls.values().sum();
    let share = left_out.calls as f64 / (kept + left_out.calls).max(1) as f64;
    (left_out.files > 0).then(|| {
        format!(
            "{} with {:.1} % of the calls left out: those with the fewest calls, and those only read that could not be looked up.",
            counted(left_out.files, "file"),
            share * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(calls: u64, bytes: u64) -> Amount {
        Amount { calls, bytes, ..Amount::default() }
    }

    #[test]
    fn only_files_are_left_out_that_hardly_count_together() {
        // A database, a file that is small and read often, one large call, and libraries.
        let files = [(1, amount(10_000, 50 << 20)), (2, amount(500, 500)), (3, amount(1, 10 << 20))];
        let libraries = (10..40).map(|file| (file, amount(2, 832)));
        let found = rest(&files.into_iter().chain(libraries).collect::<Vec<_>>());
        assert_eq!(found, (10..40).collect());
        // Many small files are a load.
        let many: Vec<(u32, Amount)> = (0..1000).map(|file| (file, amount(3, 4096))).collect();
        assert_eq!(rest(&many).len(), 10);
        assert!(rest(&[(1, amount(5, 5))]).is_empty() && rest(&[]).is_empty());
    }

    #[test]
    fn more_is_left_out_of_files_that_could_not_be_looked_up_and_were_only_read() {
        let load = (1, amount(250, 1_024_000));
        let of = |is_written| {
            let unknown = Amount { is_unknown: true, is_written, ..amount(2, 2000) };
            let files = [load].into_iter().chain((10..30).map(|file| (file, unknown)));
            rest(&files.collect::<Vec<_>>()).len()
        };
        assert_eq!((of(false), of(true)), (20, 1));
    }
}
