//! Crash consistency: compares the promises in a job's ledger with the content after the job was killed, or
//! after a power cut at any flush of the disk below a real file system.

use crate::recording_disk::{Event, Image, RecordingDisk};
use crate::support::devices::{LoopDevice, Mounted};
use crate::support::program::{Finished, Launch};
use crate::support::{PATIENCE, json, processes, scratch, skip};
use fathom_sys::clock::monotonic_ns;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Exit code of a check that found no promise.
const NOTHING_PROMISED: i32 = 3;

/// `fathom ledger check` with these arguments; the exit code and the JSON.
#[track_caller]
fn check(words: &str) -> (i32, Value) {
    let finished = Launch::fathom(Path::new("/")).words("ledger check --format=json").words(words).run();
    assert_ne!(finished.code(), 2, "{words}: {}", finished.stderr);
    let document = json::document(&finished.stdout);
    let expected = match (finished.code(), promised(&document)) {
        (0, 1..) => Value::Bool(true),
        (1, _) => Value::Bool(false),
        (NOTHING_PROMISED, 0) => Value::Null,
        (code, promised) => panic!("{words}: exit status {code} after {promised} promises: {document:#}"),
    };
    assert_eq!(document["kept"], expected, "{words}: {document:#}");
    (finished.code(), document)
}

/// Promised writes, in all ledgers.
fn promised(document: &Value) -> u64 {
    let ledgers = document["ledgers"].as_array().expect("a list of ledgers");
    ledgers.iter().filter_map(|ledger| ledger["writes_promised"].as_u64()).sum()
}

#[track_caller]
fn expect_kept(words: &str) -> Value {
    let (code, document) = check(words);
    assert_eq!(code, 0, "{words}: {document:#}");
    document
}

/// A small random generator, used to choose times and subsets.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Starts a job, kills it with all its children, and waits for its end.
fn kill_after(directory: &Path, words: &str, pause: Duration, ledger: &Path) -> Finished {
    let running = Launch::fathom(directory).words(words).start();
    // However slow the machine is, some writes must be in flight.
    while std::fs::metadata(ledger).map_or(0, |metadata| metadata.len()) < 4096 {
        std::thread::sleep(Duration::from_millis(1));
        assert!(running.elapsed() < PATIENCE, "the ledger does not grow");
    }
    std::thread::sleep(pause);
    processes::kill_tree(running.pid());
    running.finish()
}

fn kill_at_random_moments(directory: &Path, flavours: &[&str]) {
    let ledgers = scratch();
    let mut chance = Chance(7);
    for (index, flavour) in flavours.iter().enumerate() {
        let ledger = ledgers.path().join(format!("ledger{index}"));
        let words = format!(
            "--name=job --filename=data{index} --size=2m --bs=4k --rw=randwrite --norandommap --time_based --runtime=60 \
             --verify=crc32c --do_verify=0 --verify_ledger={} {flavour}",
            ledger.display()
        );
        let pause = Duration::from_millis(chance.next() % 150);
        kill_after(directory, &words, pause, &ledger);
        let words = format!("--after=kill {}", ledger.display());
        let document = expect_kept(&words);
        assert!(json::integer(&document["ledgers"][0], "writes_promised") > 0, "{flavour}: {document:#}");
        assert_eq!(document["ledgers"][0]["job_ended"], false, "{flavour}");
        // A missing file is detected.
        let path = directory.join(format!("data{index}"));
        let mut data = std::fs::read(&path).expect("the job made the file");
        data.fill(0);
        std::fs::write(&path, data).expect("the file can be written");
        let (code, document) = check(&words);
        assert_eq!(code, 1, "{flavour}");
        assert!(json::integer(&document["outcome"], "broken_count") > 0, "{flavour}: {document:#}");
        assert_eq!(document["outcome"]["broken"][0]["class"], "never_written", "{flavour}: {document:#}");
    }
}

#[test]
fn a_killed_job_leaves_what_was_acknowledged_on_a_disk() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 32 << 20));
    kill_at_random_moments(
        mounted.path(),
        &[
            "--ioengine=psync",
            "--ioengine=psync --sync=dsync",
            "--ioengine=libaio --iodepth=16 --direct=1",
            "--ioengine=io_uring --iodepth=16",
            "--ioengine=io_uring --iodepth=16 --direct=1 --fsync=32",
            "--ioengine=mmap",
        ],
    );
}

#[test]
fn a_killed_job_leaves_what_was_acknowledged_in_memory() {
    fathom_only!();
    let mounted = require!(Mounted::memory(32 << 20));
    kill_at_random_moments(
        mounted.path(),
        &[
            "--ioengine=psync",
            "--ioengine=libaio --iodepth=16",
            "--ioengine=io_uring --iodepth=16 --verify_interval=1k",
        ],
    );
}

#[test]
fn a_job_without_promises_proves_nothing() {
    fathom_only!();
    let mounted = require!(Mounted::memory(32 << 20));
    let ledgers = scratch();
    for (name, words, expected) in
        [("unsynced", "", [NOTHING_PROMISED, 0]), ("synced", "--end_fsync=1", [0, 0])]
    {
        let ledger = ledgers.path().join(name);
        Launch::fathom(mounted.path())
            .words("--name=job --size=64k --bs=4k --rw=randwrite --verify=crc32c --do_verify=0 --output=/dev/null")
            .words(words)
            .argument(format!("--filename={name}"))
            .argument(format!("--verify_ledger={}", ledger.display()))
            .run()
            .expect_clean();
        for (after, expected) in ["power-cut", "kill"].into_iter().zip(expected) {
            let (code, document) = check(&format!("--after={after} {}", ledger.display()));
            assert_eq!(code, expected, "{name}, {after}: {document:#}");
        }
    }
    let words = format!("ledger check {}", ledgers.path().join("unsynced").display());
    let told = Launch::fathom(mounted.path()).words(&words).run();
    assert_eq!(told.code(), NOTHING_PROMISED);
    assert!(told.stdout.contains("Nothing was promised") && !told.stdout.contains("kept"), "{}", told.stdout);
    // Before the first write, nothing was promised.
    let words = format!("--until=1 {}", ledgers.path().join("synced").display());
    assert_eq!(check(&words).0, NOTHING_PROMISED);
}

/// Runs a system program.
#[track_caller]
fn tool(words: &str) -> Result<(), String> {
    let mut words = words.split_whitespace();
    let program = words.next().expect("a program");
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A mounted loop device, which is unmounted before it is detached, so that all data is written.
struct Mount {
    directory: tempfile::TempDir,
    device: Option<LoopDevice>,
}

impl Mount {
    fn new(file: &Path, options: &str, make: &str) -> Result<Mount, String> {
        let device = LoopDevice::on_file(file)?;
        let directory = scratch();
        if !make.is_empty() {
            tool(&format!("{make} {}", device.path().display()))?;
        }
        tool(&format!("mount -o {options} {} {}", device.path().display(), directory.path().display()))?;
        Ok(Mount { directory, device: Some(device) })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A ring left by a process is removed shortly after its end.
        for pause_ms in [0, 10, 100, 1_000, 5_000] {
            std::thread::sleep(Duration::from_millis(pause_ms));
            if tool(&format!("umount {}", self.path().display())).is_ok() {
                break;
            }
        }
        drop(self.device.take());
    }
}

/// A job that ran on a file system whose disk was recorded.
struct Recorded {
    disk: RecordingDisk,
    _ledgers: tempfile::TempDir,
    ledger: PathBuf,
    file: PathBuf,
    events: Vec<Event>,
    /// Index of the job's first event.
    first: usize,
    /// Index of the job's last event.
    ended_ns: u64,
}

impl Recorded {
    fn run(make: &str, bytes: u64, words: &str) -> Result<Recorded, String> {
        skip::tool(make.split_whitespace().next().unwrap_or_default())?;
        let disk = RecordingDisk::new(bytes)?;
        let ledgers = scratch();
        let ledger = ledgers.path().join("ledger");
        let mount = Mount::new(&disk.disk(), "rw", make)?;
        tool("sync").expect("sync(1) can be run");
        // Index from which the file system can be mounted.
        let first = disk.events().len();
        let file = mount.path().join("data");
        Launch::fathom(mount.path())
            .words(
                "--name=job --filename=data --size=1m --bs=4k --rw=randwrite --norandommap --number_ios=160",
            )
            .words("--verify=crc32c --do_verify=0 --output=/dev/null")
            .argument(format!("--verify_ledger={}", ledger.display()))
            .words(words)
            .run()
            .expect_clean();
        let ended_ns = monotonic_ns();
        drop(mount);
        let events = disk.events();
        Ok(Recorded { disk, _ledgers: ledgers, ledger, file, events, first, ended_ns })
    }

    /// The flushes, and the time of the next one: until then nothing relies on a later flush.
    fn boundaries(&self) -> Vec<(usize, u64)> {
        let flush = |(index, event): (usize, &Event)| match event {
            Event::Flush { time_ns } => Some((index, *time_ns)),
            Event::Write { .. } => None,
        };
        let flushes: Vec<(usize, u64)> =
            self.events.iter().enumerate().skip(self.first).filter_map(flush).collect();
        let next = flushes.iter().skip(1).map(|(_, time_ns)| time_ns - 1).chain([u64::MAX]);
        flushes.iter().zip(next).map(|((index, _), until)| (*index, until)).collect()
    }

    /// The content of the disk after these events.
    fn image_of<'a>(events: impl Iterator<Item = &'a Event>) -> Image {
        let mut image = Image::default();
        for event in events {
            if let Event::Write { offset, data } = event {
                image.write(*offset, data);
            }
        }
        image
    }

    /// Mounts the state after a power cut and checks it; returns the number of broken promises.
    fn broken_in(&self, image: Image, until: u64) -> u64 {
        self.disk.set_image(image);
        let mount = Mount::new(&self.disk.image(), "ro", "").expect("what is left can be mounted");
        let actual = mount.path().join("data");
        let (code, document) = check(&format!(
            "--until={until} --file={}={} {}",
            self.file.display(),
            actual.display(),
            self.ledger.display()
        ));
        let broken = json::integer(&document["outcome"], "broken_count");
        assert_eq!(code == 1, broken > 0, "exit status {code}");
        broken
    }

    /// Cuts the power at every flush, with none or some of the later writes: nothing promised is lost.
    fn expect_honest(&self, every_nth_variant: usize) {
        let boundaries = self.boundaries();
        assert!(boundaries.len() > 20, "{} flushes", boundaries.len());
        let mut chance = Chance(11);
        for (number, (index, until)) in boundaries.iter().enumerate() {
            let image = Recorded::image_of(self.events[..*index].iter());
            assert_eq!(self.broken_in(image.clone(), *until), 0, "flush {number} of {}", boundaries.len());
            if number % every_nth_variant > 0 {
                continue;
            }
            let end = boundaries.get(number + 1).map_or(self.events.len(), |(next, _)| *next);
            let kept = self.events[*index..end].iter().filter(|_| chance.next().is_multiple_of(2));
            let mut some = image;
            for event in kept {
                if let Event::Write { offset, data } = event {
                    some.write(*offset, data);
                }
            }
            assert_eq!(self.broken_in(some, *until), 0, "some writes after flush {number}");
        }
    }

    /// A disk that lies about flushes: its content is that of half its flushes earlier.
    fn expect_lies_found(&self) {
        let mut boundaries = self.boundaries();
        // The last flushes belong to the unmount.
        boundaries.retain(|(_, until)| *until < self.ended_ns);
        let half = boundaries.len() / 2;
        for number in (half..boundaries.len()).step_by(half / 4) {
            let (kept, _) = boundaries[number / 2];
            let image = Recorded::image_of(self.events[..kept].iter());
            let (_, until) = boundaries[number];
            let broken = self.broken_in(image, until);
            assert!(broken > 0, "flush {number} of {}, of which {} arrived", boundaries.len(), number / 2);
        }
    }
}

const EXT4: (&str, u64) =
    ("mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard", 32 << 20);
const XFS: (&str, u64) = ("mkfs.xfs -q -K", 320 << 20);

#[test]
fn every_flush_of_ext4_buffered() {
    fathom_only!();
    let recorded = require!(Recorded::run(EXT4.0, EXT4.1, "--ioengine=psync --fsync=8"));
    recorded.expect_honest(4);
    recorded.expect_lies_found();
}

#[test]
fn every_flush_of_ext4_direct() {
    fathom_only!();
    let words = "--ioengine=libaio --iodepth=8 --direct=1 --fdatasync=8";
    let recorded = require!(Recorded::run(EXT4.0, EXT4.1, words));
    recorded.expect_honest(4);
    recorded.expect_lies_found();
}

#[test]
fn every_flush_of_xfs_with_synchronous_writes() {
    fathom_only!();
    let words = "--ioengine=io_uring --iodepth=4 --direct=1 --sync=dsync --number_ios=40";
    let recorded = require!(Recorded::run(XFS.0, XFS.1, words));
    recorded.expect_honest(8);
    recorded.expect_lies_found();
}
