//! Memory mappings: private arenas for I/O buffers, memory shared between processes, and mapped files.

use crate::errno::Errno;
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// A mapping that is unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<u8>,
    length: usize,
    origin: Origin,
}

/// The way in which the memory is released.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Mapped,
    SystemV,
}

// SAFETY: a mapping is plain memory; nothing in it is tied to the thread that created it.
unsafe impl Send for Mapping {}
// SAFETY: shared access provides raw pointers only; dereferencing them is justified there.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps anonymous memory of this process, zeroed and page aligned.
    pub fn private(length: usize) -> Result<Mapping, Errno> {
        Mapping::map(
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    }

    /// Maps anonymous zeroed memory, shared with processes that are forked later. Its pages are allocated on
    /// first access.
    pub fn shared(length: usize) -> Result<Mapping, Errno> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        Mapping::map(length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// Maps a part of a file, shared with all users of the file.
    pub fn file(
        fd: RawFd,
        offset: u64,
        length: usize,
        readable: bool,
        writable: bool,
        private: bool,
    ) -> Result<Mapping, Errno> {
        let protection =
            if readable { libc::PROT_READ } else { 0 } | if writable { libc::PROT_WRITE } else { 0 };
        let sharing = if private { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
        Mapping::map(length, protection, sharing, fd, offset)
    }

    /// Maps a part of persistent memory, where stores are durable once they leave the processor. `EOPNOTSUPP`
    /// if the file is not in such memory.
    pub fn persistent(fd: RawFd, offset: u64, length: usize, writable: bool) -> Result<Mapping, Errno> {
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        Mapping::map(length, protection, libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC, fd, offset)
    }

    fn map(length: usize, protection: i32, flags: i32, fd: RawFd, offset: u64) -> Result<Mapping, Errno> {
        let length = length.max(1);
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset as libc::off_t) };
        if address == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let address = NonNull::new(address.cast()).ok_or(Errno(libc::ENOMEM))?;
        Ok(Mapping { address, length, origin: Origin::Mapped })
    }

    /// Maps anonymous memory of this process in huge pages of `page` bytes; `length` is a multiple of it.
    pub fn huge(length: usize, page: HugePage) -> Result<Mapping, Errno> {
        let size = (page.bits as i32) << libc::MAP_HUGE_SHIFT;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | size;
        Mapping::map(length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// Attaches System V shared memory, optionally in huge pages, which is removed with its last user.
    pub fn system_v(length: usize, page: Option<HugePage>) -> Result<Mapping, Errno> {
        let length = length.max(1);
        let huge = page.map_or(0, |page| libc::SHM_HUGETLB | (page.bits as i32) << libc::MAP_HUGE_SHIFT);
        // SAFETY: a new segment; no memory is passed.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, length, libc::IPC_CREAT | huge | 0o600) };
        if id < 0 {
            return Err(Errno::last());
        }
        // SAFETY: the kernel chooses the address of the segment, which is then marked to be removed with its
        // last user.
        let (address, failure) = unsafe {
            let address = libc::shmat(id, std::ptr::null(), 0);
            let failure = Errno::last();
            libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
            (address, failure)
        };
        if address as isize == -1 {
            return Err(failure);
        }
        let address = NonNull::new(address.cast()).ok_or(Errno(libc::ENOMEM))?;
        Ok(Mapping { address, length, origin: Origin::SystemV })
    }

    /// Locks the pages in memory (`mlock`), which also faults them in.
    pub fn lock(&self) -> Result<(), Errno> {
        // SAFETY: the range is this mapping, which is alive.
        let result = unsafe { libc::mlock(self.address().cast(), self.length) };
        if result == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    /// First byte.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Always false: a mapping is never empty. Provided because `len` is.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Advises the kernel (`MADV_*`) on the whole mapping.
    pub fn advise(&self, advice: i32) -> Result<(), Errno> {
        // SAFETY: the range is this mapping, which is alive.
        let result = unsafe { libc::madvise(self.address().cast(), self.length, advice) };
        if result == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    /// Writes back dirty pages of a part of a file mapping. `offset` is rounded down to a page.
    pub fn sync(&self, offset: usize, length: usize) -> Result<(), Errno> {
        let start = offset / page_size() * page_size();
        let end = (offset + length).min(self.length);
        // SAFETY: start..end lies inside this mapping.
        let result = unsafe {
            libc::msync(self.address().add(start).cast(), end.saturating_sub(start), libc::MS_SYNC)
        };
        if result == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    /// Drops the pages of a part of the mapping from this process. `offset` is rounded down to a page.
    pub fn drop_pages(&self, offset: usize, length: usize) -> Result<(), Errno> {
        let start = offset / page_size() * page_size();
        let end = (offset + length).min(self.length);
        // SAFETY: start..end lies inside this mapping; it maps a file, whose content stays.
        let result = unsafe {
            libc::madvise(self.address().add(start).cast(), end.saturating_sub(start), libc::MADV_DONTNEED)
        };
        if result == 0 { Ok(()) } else { Err(Errno::last()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the memory is ours and its pointers must not be used after the owner is gone.
        unsafe {
            match self.origin {
                Origin::Mapped => libc::munmap(self.address().cast(), self.length),
                Origin::SystemV => libc::shmdt(self.address().cast()),
            }
        };
    }
}

/// A size of huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePage {
    bits: u32,
}

impl HugePage {
    /// Returns huge pages of this many bytes, which must be a power of two.
    pub fn of_bytes(bytes: u64) -> Option<HugePage> {
        bytes.is_power_of_two().then(|| HugePage { bits: bytes.trailing_zeros() })
    }

    /// Returns the size of a page in bytes.
    pub fn bytes(self) -> usize {
        1 << self.bits
    }
}

/// Returns the size of the physical memory in bytes.
pub fn physical_memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(page_size() as u64)
}

/// Returns the size of a page in bytes.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions. rustix would read the auxiliary vector, which crashes under valgrind.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if size > 0 { size as usize } else { 4096 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_zero_and_aligned() {
        let mapping = Mapping::private(10_000).expect("mapped");
        assert_eq!(mapping.address() as usize % page_size(), 0);
        // SAFETY: 10 000 bytes were mapped and the pointer is not shared.
        let bytes = unsafe { std::slice::from_raw_parts(mapping.address(), 10_000) };
        assert!(bytes.iter().all(|&b| b == 0));
    }

    #[test]
    fn shared_segments_are_memory_too() {
        let segment = Mapping::system_v(10_000, None).expect("attached");
        // SAFETY: 10 000 bytes were attached and the pointer is not shared.
        let bytes = unsafe { std::slice::from_raw_parts_mut(segment.address(), 10_000) };
        bytes.fill(7);
        assert_eq!(bytes[9_999], 7);
    }

    #[test]
    fn huge_pages_are_powers_of_two() {
        assert_eq!(HugePage::of_bytes(2 << 20).map(HugePage::bytes), Some(2 << 20));
        assert_eq!(HugePage::of_bytes(3 << 20), None);
    }
}
