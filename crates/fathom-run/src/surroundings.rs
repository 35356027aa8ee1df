//! The state of the machine during a job. It is read before the first I/O and after the last one, so reading it
//! does not slow down any I/O.

use crate::limits::GroupsOfThread;
use fathom_stats::limits::GroupLimits;
use fathom_stats::report::ProcessorShares;
use fathom_sys::load::{ProcessorTime, processor_wait_of_thread_ns};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

/// Room for limits of control groups, as text.
const LIMIT_TEXT: usize = 2048;

/// The state of the machine before the job.
pub(crate) struct Surroundings {
    waited_ns: Option<u64>,
    processors: Option<ProcessorTime>,
    limits: Option<(GroupsOfThread, GroupLimits)>,
}

/// The changes that a worker stores for the report. All-zero memory means unknown.
#[derive(Debug)]
#[repr(C)]
pub struct SurroundingsBlock {
    /// 1 plus the time that the worker waited for a processor, ms.
    wait_ms: AtomicU64,
    /// 1 plus the times of [`ProcessorShares`] in ms: user, busy, stolen, total.
    processors_ms: [AtomicU64; 4],
    /// [`GroupLimits`] as lines of text, terminated by a NUL.
    limits: [AtomicU8; LIMIT_TEXT],
}

impl Surroundings {
    /// Reads the state of the machine before the job. Only the first clone of a job reads what all clones
    /// share.
    pub(crate) fn look(is_first_clone: bool) -> Surroundings {
        let processors = if is_first_clone { ProcessorTime::now() } else { None };
        let limits = is_first_clone.then(|| {
            let groups = GroupsOfThread::of_thread();
            let before = groups.read();
            (groups, before)
        });
        Surroundings { waited_ns: processor_wait_of_thread_ns(), processors, limits }
    }

    /// Stores the changes since [`look`](Surroundings::look).
    pub(crate) fn store(&self, block: &SurroundingsBlock) {
        if let (Some(before), Some(now)) = (self.waited_ns, processor_wait_of_thread_ns()) {
            block.wait_ms.store(now.saturating_sub(before) / 1_000_000 + 1, Relaxed);
        }
        if let (Some(before), Some(now)) = (self.processors, ProcessorTime::now()) {
            let passed = now.since(before);
            let values = [passed.user_ms, passed.busy_ms, passed.stolen_ms, passed.total_ms];
            for (place, value) in block.processors_ms.iter().zip(values) {
                place.store(value + 1, Relaxed);
            }
        }
        if let Some((groups, before)) = &self.limits {
            let text = groups.read().since(before).to_lines(LIMIT_TEXT - 1);
            for (place, byte) in block.limits.iter().zip(text.bytes().chain([0])) {
                place.store(byte, Relaxed);
            }
        }
    }
}

impl SurroundingsBlock {
    /// Time that the worker was runnable without a processor, ms.
    pub fn processor_wait_ms(&self) -> Option<u64> {
        self.wait_ms.load(Relaxed).checked_sub(1)
    }

    /// Limits of the worker's control groups.
    pub fn limits(&self) -> GroupLimits {
        let bytes = self.limits.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0);
        GroupLimits::from_lines(&String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()))
    }

    /// Utilisation of the machine's processors while the worker ran.
    pub fn processors(&self) -> Option<ProcessorShares> {
        let [user_ms, busy_ms, stolen_ms, total_ms] =
            self.processors_ms.each_ref().map(|value| value.load(Relaxed).checked_sub(1));
        Some(ProcessorShares {
            user_ms: user_ms?,
            busy_ms: busy_ms?,
            stolen_ms: stolen_ms?,
            total_ms: total_ms?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_until_it_is_stored() {
        let block = SurroundingsBlock {
            wait_ms: AtomicU64::default(),
            processors_ms: Default::default(),
            limits: [const { AtomicU8::new(0) }; LIMIT_TEXT],
        };
        assert!(block.limits().is_empty());
        assert_eq!((block.processor_wait_ms(), block.processors()), (None, None));
        Surroundings::look(false).store(&block);
        assert_eq!(block.processors(), None);
        Surroundings::look(true).store(&block);
        let processors = block.processors().expect("/proc is mounted");
        assert!(processors.total_ms >= processors.busy_ms, "{processors:?}");
    }
}
