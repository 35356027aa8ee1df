//! Counts of recorded calls, for the line on the screen and the summary.

use crate::figures;
use fathom_trace::files::{CallEnd, Item, Operation};
use std::collections::BTreeMap;

/// Calls and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    calls: u64,
    bytes: u64,
}

/// Counts since the start of the recording.
#[derive(Clone, Debug, Default)]
pub(super) struct CallTally {
    amounts: BTreeMap<&'static str, Amount>,
}

/// The operation in a sum.
fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Sync | Operation::DataSync | Operation::RangeSync => "sync",
        Operation::Allocate | Operation::Punch => "allocation",
        Operation::Truncate => "truncation",
        Operation::Open => "open",
        Operation::Close => "close",
        Operation::Map => "mapping",
    }
}

/// Words in the order in which people want to read them.
const WORDS: [&str; 8] = ["read", "write", "sync", "open", "close", "truncation", "allocation", "mapping"];

impl CallTally {
    pub(super) fn add(&mut self, item: &Item) {
        match item {
            Item::Call(call) => {
                let amount = self.amounts.entry(word(call.operation)).or_default();
                amount.calls += 1;
                if let (Operation::Read | Operation::Write, CallEnd::Known(_, result)) =
                    (call.operation, call.end)
                {
                    amount.bytes += result.max(0).unsigned_abs();
                }
            }
            Item::Begin(_) | Item::File(_) | Item::Task(_) | Item::Done(_) | Item::Lost(_) | Item::End(_) => {
            }
        }
    }

    fn amount(&self, word: &str) -> Amount {
        self.amounts.get(word).copied().unwrap_or_default()
    }

    /// `1.2k reads/s (84 MB/s), 310 writes/s (1.3 MB/s), 12 syncs/s`, since an earlier state.
    pub(super) fn rates(&self, earlier: &CallTally, seconds: f64) -> String {
        let mut parts = Vec::new();
        for word in WORDS {
            let (now, before) = (self.amount(word), earlier.amount(word));
            if now.calls > before.calls {
                let calls = figures::count((now.calls - before.calls) as f64 / seconds);
                let bytes = match now.bytes - before.bytes {
                    0 => String::new(),
                    bytes => format!(" ({})", figures::bandwidth(bytes as f64 / seconds)),
                };
                parts.push(format!("{calls} {word}s/s{bytes}"));
            }
        }
        if parts.is_empty() { "nothing asked".to_owned() } else { parts.join(", ") }
    }

    /// `12,345 reads (1.2 GiB), 88 writes (3 MiB), 12 syncs`.
    pub(super) fn sums(&self) -> String {
        let mut parts = Vec::new();
        for word in WORDS {
            let Amount { calls, bytes } = self.amount(word);
            if calls > 0 {
                let plural = if calls == 1 { "" } else { "s" };
                let bytes = if bytes == 0 { String::new() } else { format!(" ({})", figures::size(bytes)) };
                parts.push(format!("{calls} {word}{plural}{bytes}"));
            }
        }
        if parts.is_empty() { "nothing was asked of files".to_owned() } else { parts.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_trace::files::Call;

    #[test]
    fn calls_are_counted_by_what_they_ask() {
        let call = |operation, result| {
            Item::Call(Call {
                time_ns: 0,
                tid: 1,
                operation,
                is_ring: false,
                file: 1,
                offset: None,
                length: 4096,
                end: CallEnd::Known(1, result),
            })
        };
        let mut tally = CallTally::default();
        assert_eq!(tally.sums(), "nothing was asked of files");
        for item in [
            call(Operation::Write, 4096),
            call(Operation::Write, -28),
            call(Operation::Sync, 0),
            call(Operation::DataSync, 0),
            call(Operation::Open, 3),
        ] {
            tally.add(&item);
        }
        assert_eq!(tally.sums(), "2 writes (4 KiB), 2 syncs, 1 open");
        assert_eq!(
            tally.rates(&CallTally::default(), 2.0),
            "1 writes/s (0.00205 MB/s), 1 syncs/s, 0.500 opens/s"
        );
    }
}
