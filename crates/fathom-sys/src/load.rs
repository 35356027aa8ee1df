//! Measures the load from other programs: how long a thread waited for a processor, and how the machine spent
//! its processor time.

/// Processor time of the whole machine since boot, summed over all processors, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time spent in programs, including virtual machines on this host.
    pub user_ms: u64,
    /// Time spent in programs, the kernel and interrupts.
    pub busy_ms: u64,
    /// Time that the hypervisor gave to other machines.
    pub stolen_ms: u64,
    /// Total time, including idle time.
    pub total_ms: u64,
}

impl ProcessorTime {
    /// Reads the times since boot from `/proc/stat`; `None` if unavailable.
    pub fn now() -> Option<ProcessorTime> {
        // SAFETY: sysconf only reads a constant.
        let ticks_per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?.max(1);
        ProcessorTime::parse(&std::fs::read_to_string("/proc/stat").ok()?, ticks_per_second)
    }

    /// Returns the difference from an earlier reading.
    pub fn since(self, earlier: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            user_ms: self.user_ms.saturating_sub(earlier.user_ms),
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            stolen_ms: self.stolen_ms.saturating_sub(earlier.stolen_ms),
            total_ms: self.total_ms.saturating_sub(earlier.total_ms),
        }
    }

    /// The first line is `cpu user nice system idle iowait irq softirq steal ...`, in ticks (proc_stat(5)).
    fn parse(stat: &str, ticks_per_second: u64) -> Option<ProcessorTime> {
        let fields: Vec<u64> = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        let &[user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen, ..] = &fields[..]
        else {
            return None;
        };
        let ms = |ticks: u64| ticks * 1000 / ticks_per_second;
        let busy = user + nice + system + interrupts + soft_interrupts;
        Some(ProcessorTime {
            user_ms: ms(user + nice),
            busy_ms: ms(busy),
            stolen_ms: ms(stolen),
            total_ms: ms(busy + idle + waiting + stolen),
        })
    }
}

/// Returns the time in ns that the calling thread was runnable without a processor since it began; `None` if
/// the kernel does not report it (it does with `CONFIG_SCHED_INFO`, see
/// `Documentation/scheduler/sched-stats.rst`).
pub fn processor_wait_of_thread_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_line_of_the_kernel_is_read() {
        let text = "cpu  100 20 30 4000 500 6 7 80 90 0\ncpu0 1 2 3\n";
        let expected = ProcessorTime { user_ms: 1200, busy_ms: 1630, stolen_ms: 800, total_ms: 47_430 };
        assert_eq!(ProcessorTime::parse(text, 100), Some(expected));
        for broken in ["", "cpu  1 2 3\n", "intr 1\n", "cpu  a b c d e f g h\n"] {
            assert_eq!(ProcessorTime::parse(broken, 100), None, "{broken}");
        }
    }

    #[test]
    fn work_is_seen() {
        let before = ProcessorTime::now().expect("/proc is mounted");
        let until = Instant::now() + Duration::from_secs(60);
        // A busy machine may give this test little processor time, so it waits until the kernel counts some.
        while ProcessorTime::now().expect("/proc is mounted").since(before).user_ms < 50 {
            assert!(Instant::now() < until, "no time goes by");
            std::hint::black_box((0..10_000).map(std::hint::black_box).sum::<u64>());
        }
        let passed = ProcessorTime::now().expect("/proc is mounted").since(before);
        assert!(
            passed.busy_ms >= passed.user_ms && passed.total_ms >= passed.busy_ms + passed.stolen_ms,
            "{passed:?}"
        );
    }
}
