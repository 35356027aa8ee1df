//! A worker's record of one I/O.

/// Size of a record in words.
pub(crate) const WORDS: usize = 5;

/// Marks a missing submission latency.
const NO_SUBMISSION: u64 = u64::MAX;

/// One successful I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoRecord {
    /// Time of its end, in ns since the job started recording.
    pub end_ns: u64,
    /// Submission latency in ns; `None` for engines that complete an I/O inside the call.
    pub slat_ns: Option<u64>,
    /// Completion latency in ns.
    pub clat_ns: u64,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// The kernel's `ioprio` value: class in bits 13 to 15, hint in 3 to 12, level in 0 to 2.
    pub priority: u16,
    /// True for an additional record of a scheduled I/O (`open_loop`) with the response time as its latency.
    pub is_response: bool,
}

/// Position of that flag in the last word of a record.
const RESPONSE_BIT: u32 = 40;

impl IoRecord {
    /// Total latency in ns.
    pub fn lat_ns(&self) -> u64 {
        self.slat_ns.unwrap_or(0) + self.clat_ns
    }

    #[inline(always)]
    pub(crate) fn to_words(self) -> [u64; WORDS] {
        let rest = u64::from(self.length)
            | u64::from(self.direction) << 32
            | u64::from(self.is_response) << RESPONSE_BIT
            | u64::from(self.priority) << 48;
        [self.end_ns, self.slat_ns.unwrap_or(NO_SUBMISSION), self.clat_ns, self.offset, rest]
    }

    #[inline(always)]
    pub(crate) fn from_words(words: [u64; WORDS]) -> IoRecord {
        let [end_ns, slat_ns, clat_ns, offset, rest] = words;
        IoRecord {
            end_ns,
            slat_ns: (slat_ns != NO_SUBMISSION).then_some(slat_ns),
            clat_ns,
            offset,
            length: rest as u32,
            direction: (rest >> 32) as u8,
            priority: (rest >> 48) as u16,
            is_response: (rest >> RESPONSE_BIT) & 1 == 1,
        }
    }
}
