//! CPU time and page faults.

/// Resource usage of a process or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// User time in µs.
    pub user_us: u64,
    /// System time in µs.
    pub system_us: u64,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
}

impl Usage {
    /// Reads the usage of the calling thread.
    pub fn of_thread() -> Usage {
        let mut raw = empty();
        // SAFETY: `raw` is a valid rusage for the whole call.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut raw) };
        Usage::from_raw(&raw)
    }

    /// Returns the usage since an earlier reading.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }

    pub(crate) fn from_raw(raw: &libc::rusage) -> Usage {
        let micros = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
        Usage {
            user_us: micros(raw.ru_utime),
            system_us: micros(raw.ru_stime),
            context_switches: (raw.ru_nvcsw + raw.ru_nivcsw) as u64,
            major_faults: raw.ru_majflt as u64,
            minor_faults: raw.ru_minflt as u64,
        }
    }
}

pub(crate) fn empty() -> libc::rusage {
    // SAFETY: rusage is a plain C structure of integers; all zeros is a valid value.
    unsafe { std::mem::zeroed() }
}
