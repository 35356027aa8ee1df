//! The lower bound for `make bench BENCH=--instructions`: random 4 KiB reads through io_uring by a loop that
//! does nothing else. It uses the engine's ring, with registered file, buffers and ring, but keeps no
//! statistics, reads no clock and checks nothing twice.
//!
//! `floor DEVICE IOS DEPTH BATCH [polled]` prints how many nanoseconds the I/Os took by the machine's clock.
//! Each call submits `BATCH` requests and waits for an equal number of completions.

use io_uring::{IoUring, Submitter, opcode, squeue, types};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const BLOCK: u32 = 4096;
/// Number of blocks of the device that are read; a power of two.
const BLOCKS: u64 = 1 << 18;
const GET_EVENTS: u32 = 1;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u32>().ok());
    let (Some(device), Some(ios), Some(depth), Some(batch)) =
        (words.first(), number(1), number(2), number(3))
    else {
        return Err(io::Error::other("usage: floor DEVICE IOS DEPTH BATCH [polled]"));
    };
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT | libc::O_NOATIME).open(device)?;
    let mut builder = IoUring::builder();
    builder.setup_cqsize(depth.next_power_of_two() * 2).setup_no_sqarray();
    builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun();
    if words.get(4).is_some_and(|word| word == "polled") {
        builder.setup_iopoll();
    }
    let ring: IoUring = builder.build(depth)?;
    let length = depth as usize * BLOCK as usize;
    let arena = map(-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, length, 0)?;
    let mut submitter = ring.submitter();
    // SAFETY: the arena is mapped until the program ends.
    unsafe { submitter.register_buffers(&[libc::iovec { iov_base: arena.cast(), iov_len: length }])? };
    submitter.register_files(&[file.as_raw_fd()])?;
    submitter.register_ring_fd()?;
    let mut reader = Reader { queues: Queues::of(&ring)?, arena, written: 0, blocks: 1 };
    let start = Instant::now();
    reader.read(&submitter, ios, depth, batch)?;
    let span = start.elapsed().as_nanos();
    writeln!(io::stdout(), "{span}")
}

/// A loop over the queues.
struct Reader {
    queues: Queues,
    arena: *mut u8,
    /// Number of requests written so far.
    written: u32,
    /// State of a random number generator.
    blocks: u64,
}

impl Reader {
    /// Reads `ios` blocks, plus those that are still in flight when this number is reached.
    fn read(&mut self, submitter: &Submitter<'_>, ios: u32, depth: u32, batch: u32) -> io::Result<()> {
        (0..depth).for_each(|slot| self.request(slot));
        let (mut count, mut taken) = (depth, 0u32);
        while taken < ios {
            // SAFETY: the requests name the arena and a registered file.
            unsafe {
                (*self.queues.requests_there).store(self.written, Ordering::Release);
                submitter.enter::<libc::sigset_t>(count, batch, GET_EVENTS, None)?;
            }
            count = 0;
            // SAFETY: the counter is mapped.
            let there = unsafe { (*self.queues.ends_there).load(Ordering::Acquire) };
            while taken != there && count < batch {
                // SAFETY: the remainder is inside the queue, and the kernel has written this entry.
                let [slot, result] =
                    unsafe { *self.queues.ends.add((taken & self.queues.end_mask) as usize) };
                if result as u32 != BLOCK {
                    return Err(io::Error::other(format!("a read ends with {}", result as i32)));
                }
                self.request(slot as u32);
                (taken, count) = (taken.wrapping_add(1), count + 1);
            }
            // SAFETY: the counter is mapped.
            unsafe { (*self.queues.ends_taken).store(taken, Ordering::Release) };
        }
        Ok(())
    }

    /// Writes a request for a random block into the buffer of a slot.
    #[inline(always)]
    fn request(&mut self, slot: u32) {
        self.blocks = self.blocks.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let offset = (self.blocks >> 40) % BLOCKS * u64::from(BLOCK);
        let place = (self.written & self.queues.request_mask) as usize;
        // SAFETY: there is a place and a buffer for every slot.
        unsafe {
            let buffer = self.arena.add(slot as usize * BLOCK as usize);
            let request = opcode::ReadFixed::new(types::Fixed(0), buffer, BLOCK, 0).offset(offset).build();
            self.queues.requests.add(place).write(request.user_data(u64::from(slot)));
        }
        self.written = self.written.wrapping_add(1);
    }
}

/// Counters and entries of a ring, mapped from its descriptor.
struct Queues {
    requests: *mut squeue::Entry,
    request_mask: u32,
    requests_there: *const AtomicU32,
    ends: *const [u64; 2],
    end_mask: u32,
    ends_taken: *const AtomicU32,
    ends_there: *const AtomicU32,
}

impl Queues {
    fn of(ring: &IoUring) -> io::Result<Queues> {
        // SAFETY: the parameters are transparent over `struct io_uring_params`, which has thirty words.
        let words = unsafe { *std::ptr::from_ref(ring.params()).cast::<[u32; 30]>() };
        // The words are offsets within the mapping: sizes of the queues and tail of the submission queue; head,
        // tail and entries of the completion queue.
        let ([requests, ends], request_tail) = ([words[0], words[1]], words[11]);
        let [end_head, end_tail, entries] = [words[20], words[21], words[25]];
        let (ends_length, requests_length) = (entries as usize + ends as usize * 16, requests as usize * 64);
        let rings = map(ring.as_raw_fd(), libc::MAP_SHARED, ends_length, 0)?;
        let counter = |place: u32| {
            // SAFETY: the mapping reaches beyond its counters.
            unsafe { rings.add(place as usize).cast::<AtomicU32>().cast_const() }
        };
        Ok(Queues {
            requests: map(ring.as_raw_fd(), libc::MAP_SHARED, requests_length, 0x1000_0000)?.cast(),
            request_mask: requests - 1,
            requests_there: counter(request_tail),
            ends: counter(entries).cast(),
            end_mask: ends - 1,
            ends_taken: counter(end_head),
            ends_there: counter(end_tail),
        })
    }
}

fn map(fd: RawFd, flags: i32, length: usize, offset: i64) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address.cast()) }
}
