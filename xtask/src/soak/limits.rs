//! Runs with too little of a resource end soon with a message, or they succeed.

use super::Round;
use super::program::Program;
use crate::chance::Chance;
use std::path::Path;

/// One run with a resource limit on its processes.
pub(crate) fn round(program: &Program, chance: &mut Chance, directory: &Path) -> Result<Round, String> {
    let (what, limit) = match chance.below(5) {
        // With less than 26.5 MB, the system ends the program while loading it, before it can report an error.
        0 => ("memory", format!("ulimit -v {}", 30_000 + chance.below(400_000))),
        1 => ("open files", format!("ulimit -n {}", 4 + chance.below(60))),
        2 => ("locked memory", format!("ulimit -l {}", chance.below(256))),
        3 => ("file size", format!("ulimit -f {}", chance.below(2_000))),
        _ => match Group::new(chance.below(12) + 1) {
            Some(group) => return limited_processes(program, chance, directory, &group),
            None => return Ok(Round::Skipped("no control group for the number of processes")),
        },
    };
    try_job(program, chance, directory, &limit).map(|()| Round::Good(what))
}

fn limited_processes(
    program: &Program,
    chance: &mut Chance,
    directory: &Path,
    group: &Group,
) -> Result<Round, String> {
    let join = format!("echo $$ > {}/cgroup.procs", group.0.display());
    try_job(program, chance, directory, &join)?;
    Ok(Round::Good("processes"))
}

fn try_job(program: &Program, chance: &mut Chance, directory: &Path, limit: &str) -> Result<(), String> {
    let engine = chance.one(&[
        "psync",
        "libaio --iodepth=32",
        "io_uring --iodepth=32",
        "io_uring --iodepth=8 --fixedbufs=1 --registerfiles=1",
        "posixaio --iodepth=8",
        "mmap",
        "psync --iodepth=4 --io_submit_mode=offload",
        "io_uring --iodepth=4 --sqthread_poll=1",
    ]);
    let more = chance.one(&[
        "",
        "--numjobs=6",
        "--numjobs=4 --thread",
        "--verify=crc32c",
        "--verify=crc32c --verify_async=4",
        "--write_lat_log=l",
        "--idle-prof=percpu",
        "--nrfiles=40",
        "--norandommap --size=64m",
        "--lockmem=1m",
    ]);
    let rw = chance.one(&["randread", "randwrite", "write", "randrw"]);
    let words =
        format!("--output-format=json --name=job --size=1m --bs=4k --rw={rw} --ioengine={engine} {more}");
    let finished = program.start_limited(directory, limit, &words)?.finish()?;
    let told = || format!("  {limit}\n{}", finished.told(&words));
    let all = format!("{}{}", finished.stderr, finished.stdout);
    if all.contains("panicked") || all.contains("internal error") || all.contains("memory allocation of") {
        return Err(told());
    }
    let has_reason = finished.stderr.lines().any(|line| line.len() > 20);
    match finished.status.code() {
        Some(0) => Ok(()),
        // As many as failed jobs.
        Some(1..=100) if has_reason => Ok(()),
        // A limit so low that the program itself cannot be loaded.
        Some(127) => Ok(()),
        _ => Err(told()),
    }
}

/// A control group that limits the number of processes; removed on drop.
struct Group(std::path::PathBuf);

impl Group {
    fn new(most: u64) -> Option<Group> {
        let name = format!("fathom-soak-{}", std::process::id());
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
        let path = roots.iter().map(|root| Path::new(root).join(&name)).find(|path| {
            std::fs::create_dir(path).is_ok() && path.join("pids.max").exists() || {
                let _ = std::fs::remove_dir(path);
                false
            }
        })?;
        let group = Group(path);
        std::fs::write(group.0.join("pids.max"), most.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Processes that are still exiting keep the group busy for a moment.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
