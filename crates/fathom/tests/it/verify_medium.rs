//! Verification reads from the medium and reports to what extent this was possible: data that stays in memory,
//! unverified data, late write errors, and blocks of an earlier run.

use crate::damaging_fs::{Caching, Damage, DamagingFs};
use crate::support::devices::LoopDevice;
use crate::support::program::{Finished, Launch};
use crate::support::{json, scratch, skip};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes written and verified by the tests.
const SIZE: u64 = 1 << 20;

/// A run on `target`, and the verification part of its JSON.
#[track_caller]
fn verified(directory: &Path, target: &Path, words: &str) -> (Finished, Value, Value) {
    let finished = Launch::fathom(directory)
        .words("--name=job --bs=4k --size=1m --verify=crc32c --verdict --output-format=json")
        .words(words)
        .argument(format!("--filename={}", target.display()))
        .run();
    let document = json::document(&finished.stdout);
    let verification = document["fathom verify"][0].clone();
    (finished, verification, document)
}

/// The severity of a finding of the verdict.
fn severity(document: &Value, code: &str) -> Option<String> {
    let findings = document["fathom verdict"]["findings"].as_array().expect("a verdict");
    let found = findings.iter().find(|finding| finding["code"] == code)?;
    found["severity"].as_str().map(str::to_owned)
}

fn bytes(verification: &Value, key: &str) -> u64 {
    verification[key].as_u64().unwrap_or_else(|| panic!("{key} in {verification}"))
}

/// Sectors read by a device.
fn sectors_read(device: &LoopDevice) -> u64 {
    let name = device.path().file_name().expect("a name").to_string_lossy();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("counters");
    text.split_whitespace().nth(2).and_then(|field| field.parse().ok()).expect("a number")
}

#[test]
fn a_device_that_another_process_holds_open_is_read() {
    fathom_only!();
    let device = require!(LoopDevice::new(SIZE));
    let directory = scratch();
    let held = File::options().read(true).write(true).open(device.path()).expect("opens");
    let mut first = [0; 4096];
    for engine in ["psync", "mmap", "libaio", "io_uring"] {
        // Dirty pages of another process are written to the device before the job reads.
        held.write_all_at(&[1; 4096], 8192).expect("written");
        held.read_exact_at(&mut first, 0).expect("read");
        for rest in ["", "--verify_backlog=16", "--verify_only", "--verify_only --verify_state_load=1"] {
            let before = sectors_read(&device);
            let words = format!("--rw=write --ioengine={engine} {rest}");
            let (finished, verification, document) = verified(directory.path(), device.path(), &words);
            assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
            assert_eq!(bytes(&verification, "from_memory_bytes"), 0, "{words}");
            assert_eq!(severity(&document, "verify-from-memory"), None, "{words}");
            let read = (sectors_read(&device) - before) * 512;
            assert!(read >= SIZE, "{words}: {read} bytes came from the device");
        }
    }
}

#[test]
fn pages_that_another_process_has_mapped_are_passed_by() {
    fathom_only!();
    let device = require!(LoopDevice::new(SIZE));
    require!(skip::tool("python3"));
    let directory = scratch();
    let mut holder = Holder::of(device.path());
    let words = "--rw=write --ioengine=psync";
    let before = sectors_read(&device);
    let (finished, verification, _) = verified(directory.path(), device.path(), words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(bytes(&verification, "from_memory_bytes"), 0, "direct I/O passes them by");
    assert!((sectors_read(&device) - before) * 512 >= SIZE);
    // Blocks that direct I/O cannot read stay in memory, and are counted.
    let (finished, verification, document) = verified(
        directory.path(),
        device.path(),
        "--rw=write --ioengine=psync --bsrange=1000-4000 --bs_unaligned",
    );
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(bytes(&verification, "from_memory_bytes") > SIZE / 2, "{verification}");
    assert!(severity(&document, "verify-from-memory").is_some());
    holder.let_go();
}

/// A process that has all of a file mapped and locked.
struct Holder(std::process::Child);

impl Holder {
    fn of(file: &Path) -> Holder {
        use std::io::{BufRead, BufReader};
        let script = "import ctypes, mmap, os, sys\n\
            f = os.open(sys.argv[1], os.O_RDWR)\n\
            m = mmap.mmap(f, 1 << 20)\n\
            a = ctypes.addressof(ctypes.c_char.from_buffer(m))\n\
            ctypes.CDLL(None).mlock(ctypes.c_void_p(a), ctypes.c_size_t(1 << 20))\n\
            sum(m[i] for i in range(0, 1 << 20, 4096))\n\
            print('held', flush=True)\n\
            sys.stdin.read()\n";
        let mut child = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(file)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        let answer = child.stdout.as_mut().expect("a pipe");
        BufReader::new(answer).read_line(&mut line).expect("a line");
        assert_eq!(line, "held\n");
        Holder(child)
    }

    fn let_go(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("it ends");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_file_of_a_loop_device_does_not_answer_for_the_disk() {
    fathom_only!();
    let fs = require!(DamagingFs::mount(SIZE as usize, 40960..45056, Caching::Back));
    let device = require!(LoopDevice::on_file(&fs.file()));
    let directory = scratch();
    for words in ["--rw=write --direct=0", "--rw=write --direct=1", "--rw=write --ioengine=mmap"] {
        fs.set(Damage::None);
        let (finished, verification, _) = verified(directory.path(), device.path(), words);
        assert_eq!((finished.code(), bytes(&verification, "from_memory_bytes")), (0, 0), "{words}");
        fs.set(Damage::Flip);
        let (finished, _, _) = verified(directory.path(), device.path(), words);
        assert_eq!(finished.code(), 1, "{words}: the page cache of the backing file answered");
    }
}

#[test]
fn a_cache_that_is_to_stay_is_counted() {
    fathom_only!();
    let device = require!(LoopDevice::new(SIZE));
    // While a process has it open, its cache is kept.
    let _held = File::open(device.path()).expect("opens");
    let directory = scratch();
    let words = "--rw=write --ioengine=psync --invalidate=0";
    let (finished, verification, document) = verified(directory.path(), device.path(), words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(bytes(&verification, "from_memory_bytes"), SIZE);
    assert_eq!(verification["keeps_cache"], true);
    assert_eq!(severity(&document, "verify-from-memory").as_deref(), Some("wrong"));
    let notes = document["fathom notes"].to_string();
    assert!(notes.contains("1048576 of the 1048576 bytes checked were in memory (invalidate=0)"), "{notes}");
}

/// Errors of writes that reached the page cache but not the storage, with and without verification.
#[test]
fn write_errors_that_come_late_are_the_jobs() {
    fathom_only!();
    let directory = scratch();
    for engine in ["psync", "sync", "vsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap"] {
        for rest in ["", "--verify=crc32c", "--fsync=7", "--end_fsync=1", "--openfiles=1"] {
            // An unreported error is reported to the next process that opens the file.
            let fs = require!(DamagingFs::mount(SIZE as usize, 40960..45056, Caching::Back));
            let run = |damage| {
                fs.set(damage);
                let words = format!("--name=job --bs=4k --size=1m --rw=write --ioengine={engine} {rest}");
                let finished = Launch::fathom(directory.path())
                    .words(&words)
                    .argument(format!("--filename={}", fs.file().display()))
                    .run();
                (words, finished.code(), finished.stderr)
            };
            let (words, code, errors) = run(Damage::None);
            assert_eq!(code, 0, "{words}: {errors}");
            let (words, code, errors) = run(Damage::FailWrites);
            // A mapping is only written back at the kernel's discretion, or on request.
            if engine != "mmap" || !rest.is_empty() && rest != "--openfiles=1" {
                assert_eq!(code, 1, "{words}: {errors}");
            }
        }
    }
}

#[test]
fn what_was_not_checked_is_told() {
    fathom_only!();
    let directory = scratch();
    let target = directory.path().join("data");
    let run = |words: &str| verified(directory.path(), &target, words);
    // The job writes until its time limit, so no time remains for verification.
    let (finished, verification, document) = run("--rw=write --time_based --runtime=1");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(bytes(&verification, "checked_reads"), 0);
    assert!(bytes(&verification, "unchecked_blocks") > 0);
    assert_eq!(severity(&document, "unverified").as_deref(), Some("wrong"));
    let require = Launch::fathom(directory.path())
        .words("--name=job --filename=data --bs=4k --size=1m --rw=write --verify=crc32c --time_based --runtime=1")
        .words("--require=sound")
        .run();
    assert_eq!(require.code(), 125, "{}", require.stdout);
    // Only a part is read, as requested.
    run("--rw=write");
    for (words, checked) in [("--rw=read --io_size=64k", 16), ("--rw=randread --number_ios=10", 10)] {
        let (finished, verification, document) = run(words);
        assert_eq!((finished.code(), bytes(&verification, "checked_reads")), (0, checked), "{words}");
        assert_eq!(bytes(&verification, "unchecked_blocks"), 256 - checked, "{words}");
        assert_eq!(severity(&document, "unverified").as_deref(), Some("doubtful"), "{words}");
        let notes = document["fathom notes"].to_string();
        assert!(notes.contains(&format!("{checked} of 256 blocks were checked")), "{words}: {notes}");
    }
    // All of it is read, one way or another.
    for words in [
        "--rw=read",
        "--rw=randread",
        "--rw=write --verify_only",
        "--rw=write --verify_backlog=7",
        "--rw=randwrite --norandommap",
        "--rw=write --io_size=3m --ioengine=libaio --iodepth=4",
        "--rw=write --experimental_verify=1",
        "--rw=randrw --loops=2",
    ] {
        let (finished, verification, document) = run(words);
        assert_eq!((finished.code(), bytes(&verification, "unchecked_blocks")), (0, 0), "{words}");
        assert_eq!(severity(&document, "unverified").as_deref(), Some("note"), "{words}");
        assert!(bytes(&verification, "checked_reads") > 0, "{words}");
        run("--rw=write");
    }
}

/// The old blocks equal the new ones byte for byte, except for their time.
#[test]
fn lost_writes_over_an_earlier_run_are_found() {
    fathom_only!();
    let fs = require!(DamagingFs::mount(SIZE as usize, 40960..45056, Caching::Off));
    let directory = scratch();
    let run = |words: &str| verified(directory.path(), &fs.file(), words);
    for kind in ["crc32c", "md5", "sha512", "meta", "pattern_hdr --verify_pattern=0x55"] {
        fs.set(Damage::None);
        let kind = format!("--rw=randwrite --verify={kind}");
        assert_eq!(run(&kind).0.code(), 0, "{kind}");
        fs.set(Damage::Drop);
        let (finished, verification, _) = run(&kind);
        assert_eq!((finished.code(), &verification["miscompares"]["stale"]), (1, &1.into()), "{kind}");
        assert!(
            finished.stderr.contains("of another run, and the write of this one is lost"),
            "{}",
            finished.stderr
        );
        // A later run finds the mismatch with the saved state of the first run. Without the state it accepts
        // the data of any run, and reports that.
        run(&format!("{kind} --do_verify=0"));
        assert_eq!(run(&format!("{kind} --verify_only --verify_state_load=1")).0.code(), 1, "{kind}");
        let (finished, verification, _) = run(&format!("{kind} --verify_only"));
        assert_eq!((finished.code(), &verification["takes_any_run"]), (0, &true.into()), "{kind}");
    }
}

#[test]
fn data_of_another_seed_is_refused_where_seeds_are_checked() {
    fathom_only!();
    let directory = scratch();
    let target = directory.path().join("data");
    let run = |words: &str| verified(directory.path(), &target, words).0.code();
    for engine in ["psync", "libaio --iodepth=8"] {
        assert_eq!(run(&format!("--rw=write --ioengine={engine}")), 0);
        for mode in ["--rw=read", "--rw=write --verify_only"] {
            let words = |seed: u32, checks: u32| {
                format!("{mode} --ioengine={engine} --randseed={seed} --verify_header_seed={checks}")
            };
            let of = |words: String| run(&words.replace("--randseed=0", ""));
            assert_eq!((of(words(0, 1)), of(words(77, 1)), of(words(77, 0))), (0, 1, 0), "{engine} {mode}");
        }
    }
}

/// Two clones that write the same blocks cannot know whose write was the last.
#[test]
fn clones_that_share_a_file_raise_no_alarm() {
    fathom_only!();
    let directory = scratch();
    let target = directory.path().join("data");
    for rw in ["write", "randwrite", "randrw"] {
        let words = format!(
            "--rw={rw} --numjobs=2 --verify_backlog=16 --time_based --runtime=300ms --group_reporting"
        );
        let (finished, verification, _) = verified(directory.path(), &target, &words);
        assert!(!finished.stderr.contains("verify:"), "{words}: {}", finished.stderr);
        assert_eq!((finished.code(), &verification["shares_blocks"]), (0, &true.into()), "{words}");
    }
    let apart = "--rw=write --numjobs=2 --offset_increment=1m";
    let (finished, verification, _) = verified(directory.path(), &target, apart);
    assert_eq!((finished.code(), &verification["shares_blocks"]), (0, &false.into()));
}

#[test]
fn more_files_than_fit_sixteen_bits_raise_no_alarm() {
    fathom_only!();
    let directory = require!(tempfile::tempdir_in("/dev/shm").map_err(|error| format!("/dev/shm: {error}")));
    let finished = Launch::fathom(directory.path())
        .words(
            "--name=job --nrfiles=65600 --openfiles=50 --size=268697600 --bs=4k --rw=write --verify=crc32c",
        )
        .words("--file_service_type=sequential --unlink=1")
        .run();
    assert_eq!((finished.code(), finished.complaints().as_str()), (0, ""));
}
