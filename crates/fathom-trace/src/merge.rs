//! Merges several block traces in order of time.

use crate::blktrace::{Event, Trace, TraceAction};
use crate::error::{CutOff, TraceError};
use std::io::{self, Read, Write};

/// A trace to merge, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Time scale in percent: at 50 the trace takes half as long.
    pub time_percent: f64,
    /// Number of repetitions.
    pub repetitions: u64,
}

impl Default for Part {
    fn default() -> Part {
        Part { time_percent: 100.0, repetitions: 1 }
    }
}

/// The reason for which merging failed: the trace (`None` for the result), and the error.
#[derive(Debug)]
pub struct MergeError {
    /// Number of the trace.
    pub part: Option<usize>,
    /// The error.
    pub error: TraceError,
}

/// The result of a merge.
#[derive(Debug, Default)]
pub struct Merged {
    /// Number of events in the result.
    pub events: u64,
    /// Traces that ended prematurely: number and reason.
    pub broken: Vec<(usize, CutOff)>,
}

/// A trace that is being merged.
struct Input<R> {
    part: Part,
    trace: Option<Trace<R>>,
    /// Number of repetitions after the current one.
    left: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    /// Delay of the current repetition relative to the first.
    shift_ns: u64,
    head: Option<Event>,
    broken: Option<CutOff>,
}

/// Writes the queued requests of all traces to `out`. `open` opens a trace from its beginning, once per
/// repetition. Memory use does not depend on the length of the traces.
pub fn merge<R: Read>(
    parts: &[Part],
    mut open: impl FnMut(usize) -> io::Result<R>,
    out: &mut impl Write,
) -> Result<Merged, MergeError> {
    let mut inputs = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut input = Input {
            part: *part,
            trace: None,
            left: part.repetitions,
            first_ns: None,
            last_ns: 0,
            shift_ns: 0,
            head: None,
            broken: None,
        };
        input.advance(|| open(number)).map_err(|error| MergeError { part: Some(number), error })?;
        inputs.push(input);
    }
    let (mut merged, mut record) = (Merged::default(), Vec::new());
    loop {
        let heads = inputs.iter().enumerate().filter_map(|(number, input)| Some((number, input.head?)));
        let Some((number, event)) = heads.min_by_key(|(_, event)| event.time_ns) else { break };
        record.clear();
        event.encode(merged.events as u32, &[], &mut record);
        out.write_all(&record).map_err(|error| MergeError { part: None, error: error.into() })?;
        merged.events += 1;
        inputs[number].advance(|| open(number)).map_err(|error| MergeError { part: Some(number), error })?;
    }
    let broken = inputs.into_iter().enumerate();
    merged.broken = broken.filter_map(|(number, input)| Some((number, input.broken?))).collect();
    Ok(merged)
}

impl<R: Read> Input<R> {
    /// Advances to the next queued request, through all repetitions.
    fn advance(&mut self, mut open: impl FnMut() -> io::Result<R>) -> Result<(), TraceError> {
        loop {
            let Some(trace) = &mut self.trace else {
                if self.left == 0 {
                    self.head = None;
                    return Ok(());
                }
                self.left -= 1;
                self.trace = Some(Trace::open(open()?)?);
                continue;
            };
            match trace.next() {
                Ok(Some(event)) if event.action == TraceAction::Queue => {
                    let first = *self.first_ns.get_or_insert(event.time_ns);
                    let since = event.time_ns.saturating_sub(first);
                    self.last_ns = self.last_ns.max(since);
                    let scaled =
                        (since.saturating_add(self.shift_ns)) as f64 * self.part.time_percent / 100.0;
                    self.head = Some(Event { time_ns: first.saturating_add(scaled as u64), ..event });
                    return Ok(());
                }
                Ok(Some(_)) => {}
                end => {
                    if let Err(broken) = end {
                        self.broken = Some(broken);
                    }
                    self.trace = None;
                    // A trace without requests is not repeated, because every repetition would be empty.
                    self.left = if self.first_ns.is_none() { 0 } else { self.left };
                    self.shift_ns = self.shift_ns.saturating_add(self.last_ns);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blktrace::code;
    use crate::names::Device;
    use proptest::prelude::*;

    fn trace(times: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for time in times {
            let event = Event {
                time_ns: u64::from(*time),
                sector: 8,
                bytes: 4096,
                pid: 1,
                device: Device { major: 8, minor: 16 },
                ..Event::of_code(code::QUEUE | code::READ)
            };
            event.encode(0, &[], &mut bytes);
        }
        bytes
    }

    fn times(bytes: &[u8]) -> Vec<u64> {
        let mut trace = Trace::open(bytes).expect("a trace");
        std::iter::from_fn(|| trace.next().expect("whole")).map(|event| event.time_ns).collect()
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_times_are_in_order(
            first in prop::collection::vec(any::<u32>(), 1..20),
            second in prop::collection::vec(any::<u32>(), 1..20),
            repetitions in 1u64..4,
        ) {
            let sorted = |mut times: Vec<u32>| { times.sort_unstable(); times };
            let (first, second) = (sorted(first), sorted(second));
            let traces = [trace(&first), trace(&second)];
            let parts = [Part { repetitions, ..Part::default() }, Part::default()];
            let mut out = Vec::new();
            let merged = merge(&parts, |number| Ok(&traces[number][..]), &mut out).expect("merged");
            let all = times(&out);
            prop_assert_eq!(all.len() as u64, merged.events);
            prop_assert_eq!(all.len(), first.len() * repetitions as usize + second.len());
            prop_assert!(all.is_sorted());
            if repetitions == 1 {
                let mut wanted: Vec<u64> = first.iter().chain(&second).map(|time| u64::from(*time)).collect();
                wanted.sort_unstable();
                prop_assert_eq!(all, wanted);
            }
        }

        #[test]
        fn any_bytes_are_merged_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), whole in 0usize..3) {
            let damaged = [trace(&vec![5; whole]), bytes].concat();
            let parts = [Part { repetitions: 2, time_percent: 1e300 }, Part::default()];
            let good = trace(&[1]);
            let traces = [damaged, good];
            let result = merge(&parts, |number| Ok(&traces[number][..]), &mut Vec::new());
            prop_assert_eq!(result.is_ok(), whole > 0 || crate::blktrace::begins_trace(&traces[0]) && traces[0].len() >= 48);
        }
    }
}
