//! Persistent memory: durable stores. A store is durable once its cache line was written back (or it bypassed the cache) and
//! the processor has drained its buffers.

/// Size of a cache line in bytes.
const LINE: usize = 64;

/// How this processor writes cache lines back. The method is detected once, because not all processors have the
/// better instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// The line stays in the cache (x86 `clwb`, ARM `dc cvap`).
    Keep,
    /// The line leaves the cache (x86 `clflushopt`).
    Drop,
    /// The line leaves the cache, serialized (x86 `clflush`); on ARM to the point of coherency (`dc cvac`).
    Oldest,
}

impl WriteBack {
    /// Returns the best method of this processor.
    pub fn detect() -> WriteBack {
        arch::detect()
    }

    /// Returns the instruction's name in reports.
    pub fn instruction(self) -> &'static str {
        arch::instruction(self)
    }

    /// Writes the cache lines of a range back.
    ///
    /// # Safety
    /// The range is mapped memory.
    #[inline]
    pub unsafe fn write_back(self, address: *const u8, length: usize) {
        if length == 0 {
            return;
        }
        let mut line = address as usize & !(LINE - 1);
        let end = address as usize + length;
        while line < end {
            // SAFETY: the line holds a byte of the range, which is mapped, and lines do not cross pages.
            unsafe { arch::write_back(self, line as *const u8) };
            line += LINE;
        }
    }
}

/// Waits until all write-backs and non-temporal stores have completed.
#[inline]
pub fn drain() {
    arch::drain();
}

/// Copies bytes with non-temporal stores if the processor has them, and through the cache otherwise; durable
/// after [`drain`].
///
/// # Safety
///
/// Both ranges are mapped memory of that length, and do not overlap.
#[inline]
pub unsafe fn copy_past_cache(write_back: WriteBack, from: *const u8, to: *mut u8, length: usize) {
    let head = (to as usize).wrapping_neg() % LINE;
    if !arch::STREAMS || length < head + LINE {
        // SAFETY: as for the caller.
        return unsafe { copy_through_cache(write_back, from, to, length) };
    }
    let lines = (length - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: the three parts lie one after the other within the ranges; the middle begins at a cache line of the target.
    unsafe {
        copy_through_cache(write_back, from, to, head);
        arch::stream(from.add(head), to.add(head), lines);
        copy_through_cache(write_back, from.add(tail), to.add(tail), length - tail);
    }
}

/// Copies bytes and writes the cache lines back; durable after [`drain`].
///
/// # Safety
/// As for [`copy_past_cache`].
#[inline]
pub unsafe fn copy_through_cache(write_back: WriteBack, from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller answers for the ranges.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, length);
        write_back.write_back(to, length);
    }
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::{LINE, WriteBack};
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid, __cpuid_count, __m128i, _mm_clflush, _mm_loadu_si128, _mm_sfence, _mm_stream_si128,
    };

    pub(super) const STREAMS: bool = true;
    // Leaf 7, EBX.
    const CLFLUSHOPT: u32 = 1 << 23;
    const CLWB: u32 = 1 << 24;

    pub(super) fn detect() -> WriteBack {
        let features = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        match features {
            _ if features & CLWB != 0 => WriteBack::Keep,
            _ if features & CLFLUSHOPT != 0 => WriteBack::Drop,
            _ => WriteBack::Oldest,
        }
    }

    pub(super) fn instruction(write_back: WriteBack) -> &'static str {
        match write_back {
            WriteBack::Keep => "clwb",
            WriteBack::Drop => "clflushopt",
            WriteBack::Oldest => "clflush",
        }
    }

    #[inline(always)]
    pub(super) unsafe fn write_back(how: WriteBack, line: *const u8) {
        // SAFETY: the line is mapped; the processor has the instruction, as `detect` has found.
        unsafe {
            match how {
                WriteBack::Keep => asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                WriteBack::Drop => asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)),
                WriteBack::Oldest => _mm_clflush(line),
            }
        }
    }

    #[inline(always)]
    pub(super) fn drain() {
        // SAFETY: every x86_64 processor has SSE.
        unsafe { _mm_sfence() };
    }

    #[inline(always)]
    pub(super) unsafe fn stream(from: *const u8, to: *mut u8, lines: usize) {
        const PART: usize = size_of::<__m128i>();
        for line in 0..lines {
            // SAFETY: within the ranges, and the target is aligned to a cache line.
            unsafe {
                let (from, to) = (from.add(line * LINE), to.add(line * LINE));
                // All loads of a line precede its stores, so that four of each are in flight together.
                let parts: [__m128i; LINE / PART] =
                    std::array::from_fn(|part| _mm_loadu_si128(from.add(part * PART).cast()));
                for (part, value) in parts.into_iter().enumerate() {
                    _mm_stream_si128(to.add(part * PART).cast(), value);
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use super::WriteBack;
    use std::arch::asm;

    /// On this architecture, non-temporal stores are only a hint and guarantee nothing about durability.
    pub(super) const STREAMS: bool = false;
    /// `HWCAP_DCPOP` of asm/hwcap.h.
    const DCPOP: libc::c_ulong = 1 << 16;

    pub(super) fn detect() -> WriteBack {
        // SAFETY: asks for a number.
        let features = unsafe { libc::getauxval(libc::AT_HWCAP) };
        if features & DCPOP != 0 { WriteBack::Keep } else { WriteBack::Oldest }
    }

    pub(super) fn instruction(write_back: WriteBack) -> &'static str {
        if write_back == WriteBack::Keep { "dc cvap" } else { "dc cvac" }
    }

    #[inline(always)]
    pub(super) unsafe fn write_back(how: WriteBack, line: *const u8) {
        // SAFETY: the line is mapped. `dc cvap` is `sys #3, c7, c12, #1`, which older assemblers know by no name.
        unsafe {
            match how {
                WriteBack::Keep => {
                    asm!("sys #3, c7, c12, #1, {}", in(reg) line, options(nostack, preserves_flags))
                }
                _ => asm!("dc cvac, {}", in(reg) line, options(nostack, preserves_flags)),
            }
        }
    }

    #[inline(always)]
    pub(super) fn drain() {
        // SAFETY: a barrier.
        unsafe { asm!("dsb sy", options(nostack, preserves_flags)) };
    }

    pub(super) unsafe fn stream(_from: *const u8, _to: *mut u8, _lines: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_copies_all_bytes_and_no_others() {
        let from: Vec<u8> = (0..1000_u32).map(|at| (at * 7 % 251) as u8).collect();
        for start in 0..LINE + 3 {
            for length in [0, 1, 15, 63, 64, 65, 127, 128, 200, 640] {
                for past in [false, true] {
                    let mut to = vec![0xee_u8; 1000];
                    let way = WriteBack::detect();
                    // SAFETY: both vectors hold `start + length` bytes.
                    unsafe {
                        let target = to.as_mut_ptr().add(start);
                        match past {
                            true => copy_past_cache(way, from.as_ptr(), target, length),
                            false => copy_through_cache(way, from.as_ptr(), target, length),
                        }
                    }
                    drain();
                    assert!(to[start..start + length] == from[..length], "start {start}, length {length}");
                    let outside = to[..start].iter().chain(&to[start + length..]);
                    assert!(outside.into_iter().all(|byte| *byte == 0xee), "start {start}, length {length}");
                }
            }
        }
    }
}
