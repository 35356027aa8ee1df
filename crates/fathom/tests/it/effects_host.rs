//! Changes that a job makes to its environment: commands, users, memory.

use crate::support::program::{self, Launch, Running};
use crate::support::{PATIENCE, processes, scratch, skip, wait_until};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// A job that runs until it is stopped.
const ENDLESS: &str = "--name=a --ioengine=psync --rw=randwrite --bs=4k --size=1m --time_based --runtime=60";

/// A running job, and its worker's files in /proc.
struct Watched {
    running: Running,
    worker: u32,
}

impl Watched {
    /// Starts a job and waits until its worker is running.
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
            assert!(running.elapsed() < PATIENCE, "{words}: no worker at work");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.worker)).expect("the worker is there")
    }

    /// A line of /proc/PID/status: its values.
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

/// Bytes that a process passed to write calls.
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
    // The final cat does not fail, because its input is empty. ls has not found a file yet.
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
        assert!(running.elapsed() < PATIENCE, "no command");
    };
    running.signal("INT");
    assert_eq!(running.finish().code(), 128);
    wait_until("the end of the command", || !processes::runs(sleep));
}

/// Processes and threads have the program's name, by which scripts find them with pgrep and pidstat.
#[test]
fn workers_are_called_as_the_program_is() {
    for name in ["fio", "fathom"] {
        let directory = scratch();
        let called = directory.path().join(name);
        std::os::unix::fs::symlink(program::path(), &called).expect("a link can be made");
        // Workers, the threads of another job, submitting threads, verifying threads, and the log writer.
        let running = Launch::of(&called, directory.path())
            .words("--size=64k --bs=4k --rw=write --time_based --runtime=60 --write_iops_log=log")
            .words("--name=a --ioengine=libaio --iodepth=2 --io_submit_mode=offload --numjobs=2")
            .words(
                "--name=b --thread --numjobs=2 --name=c --verify=crc32c --verify_backlog=4 --verify_async=2",
            )
            .words("--name=d --comm=other")
            .start();
        let names = || {
            let processes = processes::descendants(running.pid()).into_iter().chain([running.pid()]);
            let tasks = processes.filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok());
            let comm = |task: std::io::Result<std::fs::DirEntry>| {
                std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
            };
            tasks.flatten().filter_map(comm).collect::<Vec<String>>()
        };
        // The program, its log writer, two processes with two threads each, one of two threads, one with two,
        // and another.
        let expected = format!("{name}\n");
        loop {
            let (own, others): (Vec<String>, Vec<String>) =
                names().into_iter().partition(|found| *found == expected);
            if own.len() >= 13 && others == ["other\n"] {
                break;
            }
            assert!(running.elapsed() < PATIENCE, "{name}: {} and {others:?}", own.len());
            std::thread::sleep(Duration::from_millis(10));
        }
        running.signal("INT");
        running.finish();
    }
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
    // Threads of one process have their own users.
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
    wait_until("the end of the worker", || !processes::runs(watched.worker));
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

/// Reserves a few huge pages during a test.
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
    assert!(refused("--mem=mmaphuge --hugepage-size=3m").contains("hugepage-size=3145728 is not a size"));
    assert!(refused("--mem=mmap:/no/such/file").contains("/no/such/file cannot be opened"));
    assert!(refused("--mem=mmaphuge:buffers").contains("is not in a hugetlbfs"));
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

/// Mount point of control groups of version 1 (with blkio) or 2; an error if groups cannot be created there.
fn control_groups(of_version_1: bool) -> Result<std::path::PathBuf, String> {
    skip::root()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
    let found = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|fields| {
        let blkio = fields[3].split(',').any(|option| option == "blkio");
        if of_version_1 { fields[2] == "cgroup" && blkio } else { fields[2] == "cgroup2" }
    });
    let root = found.map(|fields| std::path::PathBuf::from(fields[1]));
    let root = root.ok_or("such control groups are not mounted")?;
    let probe = root.join(format!("fathom-probe-{}", std::process::id()));
    std::fs::create_dir(&probe)
        .and_then(|()| std::fs::remove_dir(&probe))
        .map_err(|error| error.to_string())?;
    Ok(root)
}

#[test]
fn clones_are_in_the_control_group() {
    let root = require!(control_groups(true));
    let directory = scratch();
    let group = format!("fathom-test-{}", std::process::id());
    let watched = Watched::start(directory.path(), &format!("--cgroup={group}/inner"));
    let own = watched.read("cgroup");
    assert!(own.lines().any(|line| line.ends_with(&format!("/{group}/inner"))), "{own}");
    watched.stop();
    assert!(!root.join(&group).exists());
    let words = format!("--name=a --ioengine=null --size=4k --rw=read --cgroup={group} --cgroup_nodelete=1");
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    // Removing fails unless the group exists and is empty.
    std::fs::remove_dir(root.join(&group)).expect("the group was kept");
}

#[test]
fn control_groups_of_version_2_are_used_where_there_is_no_other() {
    let root = require!(control_groups(false));
    require!(skip::tool("unshare"));
    let directory = scratch();
    let group = format!("fathom-test-2-{}", std::process::id());
    // In a separate cgroup namespace, the command does not see version 1.
    let script = format!(
        "grep ' cgroup ' /proc/self/mounts | cut -d' ' -f2 | xargs -r umount -l && exec {} --name=a --ioengine=null \
         --size=1g --rw=read --time_based --runtime=60 --cgroup={group}",
        program::path().display()
    );
    let running =
        Launch::of(Path::new("unshare"), directory.path()).words("-m sh -c").argument(script).start();
    let members = root.join(&group).join("cgroup.procs");
    while std::fs::read_to_string(&members).unwrap_or_default().is_empty() {
        assert!(running.elapsed() < PATIENCE, "no process is in {}", members.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal("INT");
    assert_eq!(running.finish().code(), 128);
    assert!(!root.join(&group).exists());
}

#[test]
fn a_control_group_that_cannot_be_is_told() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words("--ioengine=null --size=4k --rw=read --name=a --cgroup=../a --name=b")
        .run();
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stderr.contains("job a: cgroup=../a is not a name")
            || finished.stderr.contains("needs a mounted")
    );
    assert!(finished.stdout.contains("b: (groupid=0, jobs=1): err= 0"), "{}", finished.stdout);
}

#[test]
fn memory_comes_from_the_nodes_asked_for() {
    let directory = scratch();
    for policy in ["bind:0", "interleave:0", "prefer:0"] {
        let watched = Watched::start(directory.path(), &format!("--numa_mem_policy={policy}"));
        let policies = std::fs::read_to_string(format!("/proc/{}/numa_maps", watched.worker));
        let Ok(policies) = policies else { skip!("the kernel has no numa_maps") };
        assert!(policies.contains(&format!(" {policy} ")), "{policy}: {policies}");
        watched.stop();
    }
    let watched = Watched::start(directory.path(), "--numa_cpu_nodes=0");
    let cpus = std::fs::read_to_string("/sys/devices/system/node/node0/cpulist").unwrap_or_default();
    assert_eq!(watched.status("Cpus_allowed_list"), [cpus.trim()]);
    watched.stop();
    let words = "--name=a --ioengine=null --size=4k --rw=read --numa_cpu_nodes=900";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("numa_cpu_nodes: there is no node 900"), "{}", finished.stderr);
}

#[test]
fn a_cpu_is_kept_free() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        skip!("needs two CPUs");
    }
    let directory = scratch();
    let watched = Watched::start(directory.path(), "--gtod_cpu=0");
    let cpus = watched.status("Cpus_allowed_list").concat();
    assert!(!cpus.split([',', '-']).any(|cpu| cpu == "0"), "{cpus}");
    watched.stop();
}

#[test]
fn control_groups_have_their_weight() {
    let root = require!(control_groups(true));
    let directory = scratch();
    let group = format!("fathom-test-weight-{}", std::process::id());
    let words = format!(
        "--name=a --ioengine=null --size=4k --rw=read --cgroup={group} --cgroup_nodelete=1 --cgroup_weight=321"
    );
    let finished = Launch::fathom(directory.path()).words(&words).run();
    let path = root.join(&group);
    let weights = ["blkio.weight", "blkio.bfq.weight"].map(|name| std::fs::read_to_string(path.join(name)));
    let _ = std::fs::remove_dir(&path);
    let Some(Ok(weight)) = weights.into_iter().find(Result::is_ok) else {
        assert!(finished.stderr.contains("cgroup_weight needs blkio.weight"), "{}", finished.stderr);
        skip!("control groups have no weights here");
    };
    assert_eq!((finished.code(), weight.trim()), (0, "321"), "{}", finished.stderr);
}
