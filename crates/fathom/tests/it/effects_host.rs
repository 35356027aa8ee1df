//! What a job changes around it: commands, users, memory.

use crate::support::program::{self, Launch, Running};
use crate::support::{processes, scratch, skip};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// A job that runs until it is told to stop.
const ENDLESS: &str = "--name=a --ioengine=psync --rw=randwrite --bs=4k --size=1m --time_based --runtime=60";

/// A running job, and the files of its worker in /proc.
struct Watched {
    running: Running,
    worker: u32,
}

impl Watched {
    /// Starts a job and waits until its worker is at work.
    #[track_caller]
    fn start(directory: &Path, words: &str) -> Watched {
        let running = Launch::fathom(directory).words(ENDLESS).words(words).start();
        loop {
            let found = processes::descendants(running.pid())
                .into_iter()
                .find(|&pid| written_bytes(pid).is_some_and(|bytes| bytes > 10 << 20));
            if let Some(worker) = found {
                return Watched { running, worker };
            }
            assert!(running.elapsed() < Duration::from_secs(30), "{words}: no worker at work");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.worker)).expect("the worker is there")
    }

    /// A line of /proc/PID/status, its values.
    fn status(&self, key: &str) -> Vec<String> {
        let text = self.read("status");
        let line = text.lines().find(|line| line.starts_with(&format!("{key}:")));
        line.expect("the key exists").split_whitespace().skip(1).map(str::to_owned).collect()
    }

    fn stop(self) {
        self.running.signal("INT");
        assert_eq!(self.running.finish().code(), 128);
    }
}

/// Bytes that a process gave to write calls.
fn written_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

#[test]
fn commands_run_before_and_after_a_job() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words("--name=a --size=16k --bs=4k --rw=write --create_serialize=0 --ioengine=psync")
        .argument("--exec_prerun=echo before; ls a.0.0 >&2; cat")
        .argument("--exec_postrun=stat -c %s a.0.0; exit 7")
        .run();
    assert_eq!(finished.code(), 0);
    assert!(finished.stdout.contains("a : Saving output of prerun in a.prerun.txt\n"), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("a : Saving output of postrun in a.postrun.txt\n"),
        "{}",
        finished.stdout
    );
    // cat at the end fails nothing: its input is empty. ls found no file yet.
    let before = std::fs::read_to_string(directory.path().join("a.prerun.txt")).expect("saved");
    assert!(before.starts_with("before\n") && before.contains("No such file"), "{before}");
    assert_eq!(std::fs::read_to_string(directory.path().join("a.postrun.txt")).expect("saved"), "16384\n");
    assert!(finished.stderr.contains("exec_postrun ended with exit status: 7"), "{}", finished.stderr);
}

#[test]
fn a_job_whose_first_command_fails_does_not_run() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words("--size=16k --bs=4k --rw=write --name=a")
        .argument("--exec_prerun=exit 3")
        .words("--name=b --exec_prerun=true")
        .run();
    assert_eq!(finished.code(), 0);
    assert!(finished.stderr.contains("job a: exec_prerun ended with exit status: 3; the job does not run"));
    assert!(!finished.stdout.contains("a: (groupid="), "{}", finished.stdout);
    assert!(finished.stdout.contains("b: (groupid=0, jobs=1): err= 0:"), "{}", finished.stdout);
}

#[test]
fn a_command_that_hangs_ends_with_the_run() {
    let directory = scratch();
    let mut running = Launch::fathom(directory.path())
        .words("--name=a --size=16k --rw=write --thread")
        .argument("--exec_prerun=sleep 1000 & wait")
        .start();
    running.wait_for_output(|text| text.contains("a.prerun.txt"));
    let sleeps = || {
        let all = processes::descendants(running.pid());
        all.into_iter().find(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "sleep\n")
        })
    };
    let sleep = loop {
        if let Some(pid) = sleeps() {
            break pid;
        }
        assert!(running.elapsed() < Duration::from_secs(30), "no command");
    };
    running.signal("INT");
    assert_eq!(running.finish().code(), 128);
    for _ in 0..500 {
        if !processes::runs(sleep) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the command still runs");
}

#[test]
fn clones_run_as_the_user_of_the_job() {
    require!(skip::root());
    let directory = scratch();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).expect("permitted");
    let watched = Watched::start(directory.path(), "--uid=65534 --gid=65533 --create_serialize=0");
    assert_eq!(watched.status("Uid"), ["65534"; 4]);
    assert_eq!(watched.status("Gid"), ["65533"; 4]);
    let made = std::fs::metadata(directory.path().join("a.0.0")).expect("made");
    assert_eq!((made.uid(), made.gid()), (65534, 65533));
    watched.stop();
    // Threads of one process have users of their own.
    let words = "--thread --size=16k --rw=write --create_serialize=0 --name=b --uid=65534 --name=c";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    let owner = |name: &str| std::fs::metadata(directory.path().join(name)).expect("made").uid();
    assert_eq!((owner("b.0.0"), owner("c.0.0")), (65534, 0));
}

#[test]
fn a_killed_supervisor_takes_workers_of_other_users_along() {
    require!(skip::root());
    let directory = scratch();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).expect("permitted");
    let watched = Watched::start(directory.path(), "--uid=65534 --create_serialize=0");
    watched.running.signal("KILL");
    for _ in 0..500 {
        if !processes::runs(watched.worker) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the worker still runs");
}

#[test]
fn memory_is_locked() {
    let directory = scratch();
    let watched = Watched::start(directory.path(), "--lockmem=4m");
    assert_eq!(watched.status("VmLck"), ["4096", "kB"]);
    watched.stop();
}

#[test]
fn buffers_lie_in_the_memory_asked_for() {
    let directory = scratch();
    let file = directory.path().join("buffers");
    for (kind, mark) in [
        ("shm".to_owned(), "/SYSV"),
        ("mmapshared".to_owned(), "/dev/zero (deleted)"),
        (format!("mmap:{}", file.display()), "/buffers"),
        (format!("mmapshared:{}", file.display()), "/buffers"),
    ] {
        let watched = Watched::start(directory.path(), &format!("--mem={kind} --iodepth=1"));
        let maps = watched.read("maps");
        let line = maps.lines().find(|line| line.contains(mark));
        let shared = line.unwrap_or_else(|| panic!("{kind}: {maps}")).contains("rw-s");
        assert_eq!(shared, !kind.starts_with("mmap:"), "{kind}");
        watched.stop();
        assert!(!file.exists(), "{kind}: the file for buffers is left");
    }
}

#[test]
fn a_file_for_buffers_stays_if_it_was_there() {
    let directory = scratch();
    let file = directory.path().join("buffers");
    std::fs::write(&file, vec![1; 10_000]).expect("written");
    let file_after = |kind: &str| {
        Launch::fathom(directory.path())
            .words("--name=a --rw=write --size=16k --bs=4k --buffer_pattern=0x7f")
            .argument(format!("--mem={kind}:{}", file.display()))
            .run()
            .expect_clean();
        std::fs::read(&file).expect("still there")
    };
    assert_eq!(file_after("mmap"), vec![1; 10_000]);
    let after = file_after("mmapshared");
    assert_eq!((after.len(), &after[..4096]), (10_000, &[0x7f; 4096][..]));
}

/// Has a few huge pages for the time of a test.
struct HugePages(String);

impl HugePages {
    const COUNT: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    const FREE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";

    fn take() -> Result<HugePages, String> {
        skip::root()?;
        let before = std::fs::read_to_string(HugePages::COUNT).map_err(|error| error.to_string())?;
        let wanted = before.trim().parse::<u32>().map_err(|error| error.to_string())? + 4;
        std::fs::write(HugePages::COUNT, wanted.to_string()).map_err(|error| error.to_string())?;
        let pages = HugePages(before);
        let free = std::fs::read_to_string(HugePages::FREE).map_err(|error| error.to_string())?;
        match free.trim().parse::<u32>() {
            Ok(free) if free >= 4 => Ok(pages),
            _ => Err("the machine has no four huge pages to spare".into()),
        }
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        let _ = std::fs::write(HugePages::COUNT, self.0.trim());
    }
}

#[test]
fn buffers_lie_in_huge_pages() {
    let _pages = require!(HugePages::take());
    let directory = scratch();
    for kind in ["mmaphuge", "shmhuge"] {
        let watched = Watched::start(directory.path(), &format!("--mem={kind}"));
        let maps = watched.read("smaps");
        assert!(
            maps.lines().any(|line| line.starts_with("KernelPageSize:") && line.contains("2048 kB")),
            "{kind}"
        );
        watched.stop();
    }
}

#[test]
fn memory_that_cannot_be_had_is_told() {
    let directory = scratch();
    let refused = |words: &str| {
        let words = format!("--name=a --size=16k --rw=write {words}");
        let finished = Launch::fathom(directory.path()).words(&words).run();
        assert_eq!(finished.code(), 1, "{words}");
        finished.stderr
    };
    assert!(refused("--mem=mmaphuge --hugepage-size=3m").contains("hugepage-size=3145728 is no size"));
    assert!(refused("--mem=mmap:/no/such/file").contains("/no/such/file cannot be opened"));
    assert!(refused("--mem=mmaphuge:buffers").contains("does not lie in a file system of huge pages"));
    assert!(!directory.path().join("buffers").exists());
    assert!(refused("--mem=cudamalloc").contains("mem=cudamalloc"));
}

#[test]
fn the_first_buffer_is_aligned() {
    require!(skip::tool("strace"));
    let directory = scratch();
    for (align, mem) in [(2 << 20, "malloc"), (1 << 20, "shm"), (12288, "mmap")] {
        let log = directory.path().join("calls");
        let words = format!("--name=a --size=64k --bs=4k --rw=write --iomem_align={align} --mem={mem}");
        Launch::of(Path::new("strace"), directory.path())
            .words("-f -qq --trace=pwrite64 --raw=pwrite64 -o")
            .argument(&log)
            .argument(program::path())
            .words(&words)
            .run();
        let calls = std::fs::read_to_string(&log).expect("traced");
        let addresses: Vec<usize> = calls
            .lines()
            .filter_map(|line| line.split("pwrite64(").nth(1)?.split(", ").nth(1)?.strip_prefix("0x"))
            .map(|address| usize::from_str_radix(address, 16).expect("an address"))
            .collect();
        assert_eq!(addresses.len(), 16, "{calls}");
        assert!(addresses.iter().all(|address| address % align == 0), "{mem}: {calls}");
    }
}
