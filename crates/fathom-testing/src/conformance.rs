//! Conformance tests for every engine, on real files: pass a new engine to [`check`].

use crate::words::spec;
use fathom_run::EngineEntry;
use fathom_run::engine::{Buffers, Completions, Engine, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::storage::Handle;
use fathom_run::unit::Operation;
use fathom_spec::engines::EngineDef;
use fathom_sys::Errno;
use std::fs::{File, OpenOptions};
use std::os::fd::{IntoRawFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

/// Sets an engine up.
pub type Open = fn(&Setup<'_>) -> Result<Box<dyn Engine>, SetupError>;

/// An engine and the way a job selects it.
pub struct Subject {
    /// Command line arguments: the engine and its options.
    pub words: String,
    /// The engine.
    pub engine: EngineEntry,
    /// The function that sets it up.
    pub open: Open,
    /// True if it rejects jobs whose files are replaced during the run.
    pub keeps_files_open: bool,
}

/// Arguments of jobs whose files are replaced during the run.
const RENEWS_FILES: &str = "--unlink_each_loop=1 --loops=2";

/// Size of a block in bytes, and number of blocks in a file.
const BLOCK: usize = 4096;
const BLOCKS: usize = 16;
const DEPTH: usize = 8;
/// Fill byte around a buffer, which must stay unchanged.
const CANARY: u8 = 0xc3;

/// Runs all tests; the error gives the reason why the engine is unavailable on this machine.
///
/// # Panics
///
/// If a test fails.
pub fn check(subject: &Subject) -> Result<(), String> {
    // Engines that move no file data are tested by their effects (`effects_space.rs` and `names.rs` in
    // `fathom/tests/it`).
    let definition = subject.engine.definition;
    if definition.has_files() && !definition.moves_data() {
        return Ok(());
    }
    if let Err(error) = Bench::set_up(subject, "")
        && matches!(error.errno, Errno(libc::ENOSYS | libc::EPERM))
    {
        return Err(format!("{}: {}: {}", subject.words, error.call, error.errno));
    }
    each_io_ends_once(subject);
    a_reap_lists_no_more_than_it_may(subject);
    a_wait_has_an_end(subject);
    in_flight_at_the_end_is_no_harm(subject);
    if !subject.engine.definition.has_files() {
        return Ok(());
    }
    data_written_is_data_read(subject);
    odd_places_are_hit(subject);
    files_are_told_apart(subject);
    a_file_that_was_reopened_is_the_same(subject);
    trims_and_syncs_do_what_they_say(subject);
    the_end_of_a_file_is_the_end(subject);
    errors_come_back(subject);
    Ok(())
}

/// Two files, buffers, and the engine over them.
struct Bench {
    name: String,
    _directory: tempfile::TempDir,
    paths: [PathBuf; 2],
    files: Vec<OpenFile>,
    /// One buffer for each slot, [`STRIDE`] apart.
    arena: Vec<u8>,
    engine: Box<dyn Engine>,
    definition: &'static EngineDef,
    depth: usize,
    /// Descriptors to be closed at the end.
    has_descriptors: bool,
}

/// Distance between buffers in bytes: a block and a guard area.
const STRIDE: usize = 2 * BLOCK;

impl Bench {
    fn new(subject: &Subject) -> Bench {
        Bench::of_job(subject, "")
    }

    fn of_job(subject: &Subject, words: &str) -> Bench {
        Bench::set_up(subject, words).unwrap_or_else(|error| {
            panic!("{}: {} says {} {}", subject.words, error.call, error.errno, error.advice)
        })
    }

    fn set_up(subject: &Subject, words: &str) -> Result<Bench, SetupError> {
        let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("a directory: {error}"));
        let paths = ["first", "second"].map(|name| directory.path().join(name));
        let has_descriptors = subject.engine.definition.has_files();
        for (index, path) in paths.iter().enumerate() {
            let content: Vec<u8> = (0..BLOCK * BLOCKS).map(|at| old_byte(index, at)).collect();
            std::fs::write(path, content).unwrap_or_else(|error| panic!("a file: {error}"));
        }
        let files: Vec<OpenFile> = paths
            .iter()
            .map(|path| OpenFile {
                name: path.display().to_string(),
                handle: match has_descriptors {
                    // SAFETY: the descriptor is closed together with the bench, when the engine is no longer used.
                    true => unsafe { Handle::of_descriptor(open(path).into_raw_fd()) },
                    false => Handle::NONE,
                },
                is_block_device: false,
                start: 0,
                size: (BLOCK * BLOCKS) as u64,
            })
            .collect();
        let depth = if subject.engine.definition.synchronous && !subject.words.contains("offload") {
            1
        } else {
            DEPTH
        };
        let frame = format!("--name=conformance {} --iodepth={depth}", subject.words);
        let job = spec(&format!("{frame} --size=64k --rw=randrw --bs=4k {words}"), &[]).jobs.remove(0);
        let storage = (subject.engine.storage)(&job);
        // The first buffer is page-aligned.
        let mut arena = vec![CANARY; (DEPTH + 1) * STRIDE];
        let first = to_page(&arena);
        let setup = Setup {
            job: &job,
            definition: subject.engine.definition,
            open: subject.engine.open,
            files: &files,
            storage: &*storage,
            reads: true,
            writes: true,
            clone: 0,
            depth: depth as u32,
            // SAFETY: the arena has room for all of them, and is kept for good.
            buffers: unsafe { Buffers::new(arena[first..].as_mut_ptr(), STRIDE, BLOCK, depth as u32) },
            shares_descriptors: false,
        };
        let engine = (subject.open)(&setup)?;
        Ok(Bench {
            name: subject.words.clone(),
            _directory: directory,
            paths,
            files,
            arena,
            engine,
            definition: subject.engine.definition,
            depth,
            has_descriptors,
        })
    }

    /// Position of a slot's buffer in the arena.
    fn place(&self, slot: usize) -> usize {
        to_page(&self.arena) + slot * STRIDE
    }

    fn buffer(&mut self, slot: usize) -> &mut [u8] {
        let place = self.place(slot);
        &mut self.arena[place..place + BLOCK]
    }

    fn io(&mut self, slot: usize, operation: Operation, file: usize, offset: usize, length: usize) -> Io {
        let place = self.place(slot);
        let place_of_file = (file as u32, self.files[file].handle);
        let buffer = self.arena[place..].as_mut_ptr();
        // SAFETY: the arena contains the buffer of every slot, and is never freed.
        unsafe { Io::new(operation, place_of_file, buffer, length as u32, offset as u64, 0) }
    }

    /// I/Os of whole blocks, each given as file and block number, in consecutive slots from the first.
    fn blocks(&mut self, operation: Operation, blocks: impl Iterator<Item = (usize, usize)>) -> Vec<Io> {
        let slots = blocks.enumerate();
        slots.map(|(slot, (file, block))| self.io(slot, operation, file, block * BLOCK, BLOCK)).collect()
    }

    /// Fills a slot's buffer with unique content.
    fn renew(&mut self, slot: usize, seed: usize) {
        let bytes = self.buffer(slot).iter_mut().enumerate();
        bytes.for_each(|(at, byte)| *byte = new_byte(seed, at));
    }

    /// Replaces the descriptor of the first file.
    fn reopen(&mut self, fresh: File) {
        close(self.files[0].handle.descriptor());
        // SAFETY: as above.
        self.files[0].handle = unsafe { Handle::of_descriptor(fresh.into_raw_fd()) };
        self.engine.reopened(0);
    }

    /// Queues and submits all of these I/Os, one per slot; returns the results of those that completed immediately.
    fn begin(&mut self, ios: &[Io]) -> Vec<Option<i64>> {
        assert!(ios.len() <= self.depth);
        let mut results = vec![None; ios.len()];
        let mut left = 0;
        for (slot, io) in ios.iter().enumerate() {
            match self.engine.queue(slot as u32, io) {
                Queued::Done(result) => results[slot] = Some(result),
                Queued::Pending => left += 1,
            }
        }
        while left > 0 {
            match self.engine.commit() {
                Ok(taken) => left -= taken,
                Err(Errno(libc::EAGAIN | libc::EINTR | libc::EBUSY)) => std::thread::yield_now(),
                Err(errno) => panic!("{}: commit: {errno}", self.name),
            }
        }
        results
    }

    /// Waits for all I/Os that [`begin`](Bench::begin) left in flight.
    fn finish(&mut self, mut results: Vec<Option<i64>>) -> Vec<i64> {
        let mut completions = Completions::default();
        while results.iter().any(Option::is_none) {
            completions.begin(DEPTH as u32);
            match self.engine.reap(1, &mut completions) {
                Ok(()) | Err(Errno(libc::EINTR)) => {}
                Err(errno) => panic!("{}: reap: {errno}", self.name),
            }
            self.take(&completions, &mut results);
        }
        results.into_iter().flatten().collect()
    }

    fn take(&self, completions: &Completions, results: &mut [Option<i64>]) {
        for completion in completions.list() {
            let place = &mut results[completion.slot as usize];
            assert_eq!(*place, None, "{}: slot {} has completed twice", self.name, completion.slot);
            *place = Some(completion.result);
        }
    }

    /// Performs these I/Os, as many at a time as the engine supports.
    fn perform(&mut self, ios: &[Io]) -> Vec<i64> {
        let mut results = Vec::new();
        for part in ios.chunks(self.depth) {
            let begun = self.begin(part);
            results.extend(self.finish(begun));
        }
        results
    }

    fn one(&mut self, operation: Operation, file: usize, offset: usize, length: usize) -> i64 {
        let io = self.io(0, operation, file, offset, length);
        self.perform(&[io])[0]
    }

    fn content(&self, file: usize) -> Vec<u8> {
        std::fs::read(&self.paths[file]).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Checks that nothing outside the buffers was written.
    fn check_canaries(&self) {
        for slot in 0..self.depth {
            let place = self.place(slot) + BLOCK;
            let beside = &self.arena[place..place + STRIDE - BLOCK];
            assert!(beside.iter().all(|byte| *byte == CANARY), "{}: next to buffer {slot}", self.name);
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for file in self.files.iter().filter(|_| self.has_descriptors) {
            close(file.handle.descriptor());
        }
        // I/Os in flight may still write to their buffers.
        std::mem::forget(std::mem::take(&mut self.arena));
    }
}

/// Number of bytes up to the first page boundary.
fn to_page(arena: &[u8]) -> usize {
    (BLOCK - arena.as_ptr() as usize % BLOCK) % BLOCK
}

fn open(path: &PathBuf) -> File {
    let options = OpenOptions::new().read(true).write(true).open(path);
    options.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn close(fd: RawFd) {
    // SAFETY: the bench opened it, and uses it no more.
    unsafe { libc::close(fd) };
}

/// Initial content of a file.
fn old_byte(file: usize, at: usize) -> u8 {
    (at / 7 + at / BLOCK * 31 + file * 101) as u8
}

fn new_byte(seed: usize, at: usize) -> u8 {
    (at * 13 + at / 251 + seed * 59 + 1) as u8
}

fn each_io_ends_once(subject: &Subject) {
    let mut bench = Bench::new(subject);
    for round in 0..20 {
        let count = 1 + round % bench.depth;
        let ios = bench.blocks(Operation::Read, (0..count).map(|block| (block % 2, block)));
        assert_eq!(bench.perform(&ios), vec![BLOCK as i64; count], "{}", bench.name);
        let mut none = Completions::default();
        none.begin(DEPTH as u32);
        assert!(bench.engine.reap(0, &mut none).is_ok() && none.is_empty(), "{}: more ends", bench.name);
    }
    bench.check_canaries();
}

fn a_reap_lists_no_more_than_it_may(subject: &Subject) {
    let mut bench = Bench::new(subject);
    if bench.engine.ends_at_once(bench.definition) {
        return;
    }
    let ios = bench.blocks(Operation::Read, (0..bench.depth).map(|block| (0, block)));
    let mut results = bench.begin(&ios);
    let mut completions = Completions::default();
    while results.iter().any(Option::is_none) {
        completions.begin(3);
        assert!(bench.engine.reap(1, &mut completions).is_ok(), "{}", bench.name);
        assert!((1..=3).contains(&completions.len()), "{}: {}", bench.name, completions.len());
        bench.take(&completions, &mut results);
    }
}

fn a_wait_has_an_end(subject: &Subject) {
    let mut bench = Bench::new(subject);
    let io = bench.io(0, Operation::Read, 0, 0, BLOCK);
    let mut results = bench.begin(&[io]);
    let mut completions = Completions::default();
    // For slow machines: a wait that ended early is repeated.
    for _ in 0..6000 {
        if results[0].is_some() {
            break;
        }
        completions.begin(1);
        assert!(
            bench.engine.reap_within(Duration::from_millis(10), &mut completions).is_ok(),
            "{}",
            bench.name
        );
        bench.take(&completions, &mut results);
    }
    assert_eq!(results, [Some(BLOCK as i64)], "{}", bench.name);
    if !bench.engine.ends_at_once(bench.definition) {
        completions.begin(1);
        let waited = bench.engine.reap_within(Duration::from_millis(1), &mut completions);
        assert!(waited.is_ok() && completions.is_empty(), "{}: with nothing in flight", bench.name);
    }
}

fn in_flight_at_the_end_is_no_harm(subject: &Subject) {
    for round in 0..10 {
        let mut bench = Bench::new(subject);
        let operation = if round % 2 == 0 { Operation::Read } else { Operation::Write };
        let ios = bench.blocks(operation, (0..bench.depth).map(|block| (block % 2, block)));
        bench.begin(&ios);
        // As in a worker that aborts: I/Os in flight could otherwise reach the next user of the descriptor number.
        bench.has_descriptors = false;
    }
}

fn data_written_is_data_read(subject: &Subject) {
    let mut bench = Bench::new(subject);
    // Neither forward nor backward order: engines with a file position must move it.
    let order: Vec<usize> = (0..BLOCKS).map(|index| index * 7 % BLOCKS).collect();
    for part in order.chunks(bench.depth) {
        part.iter().enumerate().for_each(|(slot, block)| bench.renew(slot, *block));
        let ios = bench.blocks(Operation::Write, part.iter().map(|block| (0, *block)));
        assert!(bench.perform(&ios).iter().all(|result| *result == BLOCK as i64), "{}", bench.name);
    }
    let content = bench.content(0);
    for (at, byte) in content.iter().enumerate() {
        assert_eq!(*byte, new_byte(at / BLOCK, at % BLOCK), "{}: byte {at}", bench.name);
    }
    for part in order.chunks(bench.depth) {
        (0..part.len()).for_each(|slot| bench.buffer(slot).fill(0));
        let ios = bench.blocks(Operation::Read, part.iter().map(|block| (0, *block)));
        assert!(bench.perform(&ios).iter().all(|result| *result == BLOCK as i64), "{}", bench.name);
        for (slot, block) in part.iter().enumerate() {
            let buffer = bench.buffer(slot).to_vec();
            assert!(buffer == content[block * BLOCK..][..BLOCK], "{}: block {block}", bench.name);
        }
    }
    bench.check_canaries();
}

fn odd_places_are_hit(subject: &Subject) {
    let mut bench = Bench::new(subject);
    let mut expected = bench.content(0);
    for (seed, (offset, length)) in
        [(1, 1), (4095, 2), (517, 3000), (12_289, 4096), (65_535, 1)].into_iter().enumerate()
    {
        bench.renew(0, seed);
        assert_eq!(bench.one(Operation::Write, 0, offset, length), length as i64, "{}", bench.name);
        (0..length).for_each(|at| expected[offset + at] = new_byte(seed, at));
        bench.buffer(0).fill(CANARY);
        assert_eq!(bench.one(Operation::Read, 0, offset, length), length as i64, "{}", bench.name);
        let buffer = bench.buffer(0).to_vec();
        assert!(buffer[..length] == expected[offset..offset + length], "{}: at {offset}", bench.name);
        assert!(buffer[length..].iter().all(|byte| *byte == CANARY), "{}: beyond the length", bench.name);
    }
    assert!(bench.content(0) == expected, "{}", bench.name);
    bench.check_canaries();
}

fn files_are_told_apart(subject: &Subject) {
    let mut bench = Bench::new(subject);
    for (file, seed) in [(0, 3), (1, 5)] {
        bench.renew(0, seed);
        assert_eq!(bench.one(Operation::Write, file, 2 * BLOCK, BLOCK), BLOCK as i64, "{}", bench.name);
    }
    for (file, seed) in [(0, 3), (1, 5)] {
        let content = bench.content(file);
        for (at, byte) in content.iter().enumerate() {
            let is_new = at / BLOCK == 2;
            let expected = if is_new { new_byte(seed, at % BLOCK) } else { old_byte(file, at) };
            assert_eq!(*byte, expected, "{}: file {file}, byte {at}", bench.name);
        }
    }
}

fn a_file_that_was_reopened_is_the_same(subject: &Subject) {
    if subject.keeps_files_open {
        return;
    }
    let mut bench = Bench::of_job(subject, RENEWS_FILES);
    assert_eq!(bench.one(Operation::Read, 0, BLOCK, BLOCK), BLOCK as i64, "{}", bench.name);
    bench.reopen(open(&bench.paths[0]));
    // The file position of the new descriptor differs from that of the old one.
    assert_eq!(bench.one(Operation::Read, 0, 2 * BLOCK, BLOCK), BLOCK as i64, "{}", bench.name);
    let expected: Vec<u8> = (2 * BLOCK..3 * BLOCK).map(|at| old_byte(0, at)).collect();
    assert!(bench.buffer(0) == expected, "{}", bench.name);
}

fn trims_and_syncs_do_what_they_say(subject: &Subject) {
    let mut bench = Bench::new(subject);
    for operation in [Operation::Sync, Operation::DataSync, Operation::RangeSync] {
        let length = if operation == Operation::RangeSync { BLOCK } else { 0 };
        assert_eq!(bench.one(operation, 0, 0, length), 0, "{}: {operation:?}", bench.name);
    }
    // A hole punched in a file counts as zero bytes, or as its length.
    let result = bench.one(Operation::Trim, 0, 3 * BLOCK, BLOCK);
    assert!(result == 0 || result == BLOCK as i64, "{}: {result}", bench.name);
    for (at, byte) in bench.content(0).iter().enumerate() {
        let expected = if at / BLOCK == 3 { 0 } else { old_byte(0, at) };
        assert_eq!(*byte, expected, "{}: byte {at} after a trim", bench.name);
    }
}

fn the_end_of_a_file_is_the_end(subject: &Subject) {
    let mut bench = Bench::new(subject);
    let end = BLOCK * BLOCKS;
    let across = bench.one(Operation::Read, 0, end - 1000, BLOCK);
    let beyond = bench.one(Operation::Read, 0, end + BLOCK, BLOCK);
    match subject.engine.definition.maps_files {
        true => assert!(across < 0 && beyond < 0, "{}: {across}, {beyond}", bench.name),
        false => assert_eq!((across, beyond), (1000, 0), "{}", bench.name),
    }
    assert_eq!(bench.content(0).len(), end, "{}", bench.name);
}

fn errors_come_back(subject: &Subject) {
    if subject.keeps_files_open {
        return;
    }
    let mut bench = Bench::of_job(subject, RENEWS_FILES);
    // A file opened for writing only.
    let fresh = OpenOptions::new().write(true).open(&bench.paths[0]);
    bench.reopen(fresh.unwrap_or_else(|error| panic!("{}: {error}", bench.name)));
    let io = bench.io(0, Operation::Read, 0, 0, BLOCK);
    let expected = -i64::from(libc::EBADF);
    let result = match bench.engine.queue(0, &io) {
        Queued::Done(result) => result,
        Queued::Pending => match bench.engine.commit() {
            // A failed submission ends the job.
            Err(errno) => return assert_eq!(-i64::from(errno.0), expected, "{}", bench.name),
            Ok(_) => bench.finish(vec![None])[0],
        },
    };
    assert_eq!(result, expected, "{}", bench.name);
    // The next I/O is not affected.
    assert_eq!(bench.one(Operation::Write, 0, 0, BLOCK), BLOCK as i64, "{}", bench.name);
}
