//! Limits on processes, memory and files: the run ends, and names the limit and how to raise it.

use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, json, scratch, skip};
use std::path::{Path, PathBuf};

/// The error if no thread or process can be created.
const EAGAIN: u64 = 11;

/// A control group limited to this number of processes and threads.
struct FewProcesses(PathBuf);

impl FewProcesses {
    fn new(limit: u32) -> Result<FewProcesses, String> {
        skip::root()?;
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists());
        let root = root.ok_or("control groups are not mounted in a usual place")?;
        let name = std::thread::current().name().unwrap_or("test").replace(':', "-");
        let group = root.join(format!("fathom-{}-{name}", std::process::id()));
        std::fs::create_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
        let group = FewProcesses(group);
        std::fs::write(group.0.join("pids.max"), limit.to_string())
            .map_err(|error| format!("processes cannot be limited: {error}"))?;
        Ok(group)
    }

    /// Runs the program in the group.
    fn run(&self, directory: &Path, words: &str) -> Finished {
        let script = format!(
            "echo $$ > {} && exec {} {words}",
            self.0.join("cgroup.procs").display(),
            program::path().display()
        );
        Launch::of(Path::new("/bin/sh"), directory).argument("-c").argument(script).run()
    }
}

impl Drop for FewProcesses {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Runs the program under a shell limit.
fn under(limit: &str, directory: &Path, words: &str) -> Finished {
    let script = format!("ulimit {limit} && exec {} {words}", program::path().display());
    Launch::of(Path::new("/bin/sh"), directory).argument("-c").argument(script).run()
}

#[track_caller]
fn check_told(finished: &Finished, limit: &str) {
    assert!(finished.stderr.contains(limit), "{}\n{}", finished.stderr, finished.stdout);
    assert!(!finished.stderr.contains("internal error"), "{}", finished.stderr);
    assert!(finished.code() < 128, "{}: {}", finished.code(), finished.stderr);
}

#[test]
fn clones_for_which_there_is_no_thread_fail_and_the_others_run() {
    fathom_only!();
    let directory = scratch();
    let group = require!(FewProcesses::new(8));
    let finished = group.run(
        directory.path(),
        "--output-format=json --name=a --ioengine=null --rw=read --size=1M --bs=4k --thread --numjobs=20",
    );
    check_told(&finished, "may have 8 processes and threads (pids.max)");
    let document = json::document(&finished.stdout);
    let jobs = document["jobs"].as_array().expect("jobs");
    let errors: Vec<u64> = jobs.iter().map(|job| json::integer(job, "error")).collect();
    assert_eq!(errors.len(), 20);
    assert!(errors.contains(&0) && errors.contains(&EAGAIN), "{errors:?}");
    for job in jobs {
        let all = if json::integer(job, "error") == 0 { 256 } else { 0 };
        assert_eq!(json::integer(job, "read/total_ios"), all);
    }
    assert_ne!(finished.code(), 0);
}

#[test]
fn processes() {
    fathom_only!();
    let directory = scratch();
    let group = require!(FewProcesses::new(8));
    let words = "--output-format=json --name=a --ioengine=null --rw=read --size=1M --bs=4k --numjobs=20";
    check_told(&group.run(directory.path(), words), "no process for job a: ");
    check_told(&group.run(directory.path(), words), "may have 8 processes and threads (pids.max)");
}

#[test]
fn threads_that_verify_or_offload() {
    fathom_only!();
    let directory = scratch();
    let group = require!(FewProcesses::new(8));
    for (more, told) in [
        ("--verify=crc32c --verify_async=20", "no thread for verify_async"),
        ("--io_submit_mode=offload --iodepth=20", "a smaller iodepth= needs fewer threads"),
    ] {
        let words = format!("--output-format=json --name=a --ioengine=psync --rw=write --size=1M {more}");
        let finished = group.run(directory.path(), &words);
        check_told(&finished, told);
        check_told(&finished, "(pids.max)");
        assert_eq!(finished.code(), 1, "{}", finished.stderr);
    }
}

#[test]
fn the_threads_that_measure_idleness() {
    fathom_only!();
    let directory = scratch();
    // The supervisor and the measuring process, but no thread of the latter.
    let group = require!(FewProcesses::new(2));
    let finished =
        group.run(directory.path(), "--idle-prof=percpu --name=a --ioengine=null --rw=read --size=1M");
    assert!(
        finished.stdout.contains("the idleness of the processors is not measured"),
        "{}",
        finished.stdout
    );
    // The threads have a time limit of ten seconds.
    assert!(finished.elapsed.as_secs() < 10, "it was waited for what cannot come");
}

#[test]
fn address_space() {
    fathom_only!();
    let directory = scratch();
    let file = std::fs::File::create(directory.path().join("data")).expect("made");
    file.set_len(4096 * MIB).expect("it may have holes");
    // A little more than the program itself takes, which grows with it.
    let starts = |kib: &usize| under(&format!("-v {kib}"), directory.path(), "--version").code() == 0;
    let kib = (40_000..400_000).step_by(2_000).find(starts).expect("a limit under which it starts") + 2_000;
    let (limit, told) = (format!("-v {kib}"), format!("limited to {} MiB (ulimit -v)", kib / 1024));
    for words in [
        "--output-format=normal --name=a --filename=data --ioengine=psync --rw=randrw --bs=4k --size=4G \
         --verify=crc32c --number_ios=4",
        "--name=b --ioengine=psync --rw=write --bs=64M --size=64M --iodepth=9 --ioengine=libaio",
    ] {
        check_told(&under(&limit, directory.path(), words), &told);
    }
}

#[test]
fn open_files() {
    fathom_only!();
    let directory = scratch();
    (0..200).for_each(|number| drop(file_of(directory.path(), &format!("a.0.{number}"), 4096)));
    let words = "--output-format=json --name=a --ioengine=psync --rw=read --nrfiles=200 --filesize=4k";
    let finished = under("-n 100", directory.path(), words);
    check_told(&finished, "a process may have 100 files open (ulimit -n");
    // Only the soft limit is raised.
    let finished = under("-S -n 100", directory.path(), words);
    assert_eq!((finished.code(), finished.complaints().as_str()), (0, ""));
}
