//! Complete runs of the program, under the launcher of the MPI in use. `FATHOM_MPIRUN` names another command;
//! an argument filters tests by name.

#![allow(clippy::print_stdout, reason = "it is the runner of its tests")]

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// A test; the error says why this machine cannot run it.
type Test = (&'static str, fn(&Place) -> Result<(), String>);

const TESTS: [Test; 14] = [
    ("sums_are_exact", sums_are_exact),
    ("people_get_one_report", people_get_one_report),
    ("a_mistake_is_told_once", a_mistake_is_told_once),
    ("what_is_not_for_ranks_is_refused_by_name", what_is_not_for_ranks_is_refused_by_name),
    ("a_rank_that_cannot_run_keeps_nobody_waiting", a_rank_that_cannot_run_keeps_nobody_waiting),
    ("a_rank_that_fails_keeps_nobody_waiting", a_rank_that_fails_keeps_nobody_waiting),
    ("stages_begin_on_all_ranks_together", stages_begin_on_all_ranks_together),
    ("a_job_for_a_node_runs_on_its_ranks", a_job_for_a_node_runs_on_its_ranks),
    ("each_rank_has_logs_of_its_own", each_rank_has_logs_of_its_own),
    ("a_signal_ends_all_with_a_report", a_signal_ends_all_with_a_report),
    ("a_signal_ends_those_that_wait", a_signal_ends_those_that_wait),
    ("a_dead_rank_leaves_a_report", a_dead_rank_leaves_a_report),
    ("whole_results_are_kept", whole_results_are_kept),
    ("slurm_starts_ranks", slurm_starts_ranks),
];

fn main() -> ExitCode {
    let Some(launcher) = support::launcher() else {
        support::skip("runs", "no mpirun that belongs to this MPI");
        return ExitCode::SUCCESS;
    };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in TESTS {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part)) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let place = Place { launcher: launcher.clone(), directory };
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&place))) {
            Ok(Ok(())) => passed += 1,
            Ok(Err(reason)) => {
                support::skip(name, &reason);
                passed += 1;
            }
            Err(_) => {
                failed += 1;
                println!("test {name} ... FAILED");
                continue;
            }
        }
        println!("test {name} ... ok");
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Working directory of a test.
struct Place {
    launcher: Vec<String>,
    directory: tempfile::TempDir,
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// Number of ranks.
    fn command(&self, ranks: usize, words: &str) -> Command {
        let mut command = Command::new(&self.launcher[0]);
        command.args(&self.launcher[1..]).args(["-n", &ranks.to_string()]).arg(program());
        command.args(words.split_whitespace()).current_dir(self.directory.path()).stdin(Stdio::null());
        // Identifies its ranks.
        command.env("FATHOM_MPI_TEST", self.directory.path());
        command
    }

    fn run(&self, ranks: usize, words: &str) -> Done {
        Done::of(self.command(ranks, words).output().expect("it can be started"))
    }

    fn start(&self, ranks: usize, words: &str) -> Child {
        let mut command = self.command(ranks, words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started")
    }

    /// The process of this rank, once it exists.
    fn pid_of_rank(&self, rank: usize) -> u32 {
        let mark = format!("FATHOM_MPI_TEST={}", self.directory.path().display());
        let of_rank = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
        let is_it = |pid: u32| {
            let text = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has = |wanted: &str| text.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes());
            has(&mark) && of_rank.iter().any(|wanted| has(wanted))
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let entries = std::fs::read_dir("/proc").expect("processes").flatten();
            let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            // Its jobs started later.
            if let Some(pid) = pids.filter(|pid| is_it(*pid)).min() {
                return pid;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("there is no rank {rank}")
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fathom-mpi"))
}

/// Results of a run.
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Done {
    fn of(output: Output) -> Done {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn expect_code(self, code: i32) -> Done {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Its standard output, which must be exactly the JSON report.
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.out, self.err))
    }
}

fn hosts(report: &Value) -> &Vec<Value> {
    report["fathom hosts"]["hosts"].as_array().expect("there are hosts")
}

fn node() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_owned()
}

fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "no process {pid}");
}

fn sums_are_exact(place: &Place) -> Result<(), String> {
    let names = "[global]\nioengine=null\nbs=4k\n[a]\nrw=randread\nsize=64k\n[b]\nrw=write\nsize=${SIZE_OF_B}\nnumjobs=2\n";
    place.write("job.fio", names);
    for ranks in [1, 2, 8, 100] {
        let mut command = place.command(ranks, "--output-format=json+ job.fio");
        let done = Done::of(command.env("SIZE_OF_B", "128k").output().expect("it can be started"));
        let report = done.expect_code(0).json();
        let count = ranks as u64;
        let jobs = report["jobs"].as_array().expect("jobs");
        let sums: Vec<(&str, u64, u64, u64)> = jobs
            .iter()
            .map(|job| {
                let side = &job[if job["jobname"] == "a" { "read" } else { "write" }];
                let bins = side["clat_ns"]["bins"].as_object().expect("bins").values();
                (
                    job["jobname"].as_str().expect("a name"),
                    side["total_ios"].as_u64().expect("a number"),
                    side["io_bytes"].as_u64().expect("a number"),
                    bins.map(|bin| bin.as_u64().expect("a number")).sum(),
                )
            })
            .collect();
        let expected = |name, ios: u64| (name, ios * count, ios * 4096 * count, ios * count);
        assert_eq!(sums, [expected("a", 16), expected("b", 32), expected("b", 32)], "{ranks} ranks");
        let hosts = hosts(&report);
        assert_eq!(hosts.len(), ranks);
        for (rank, host) in hosts.iter().enumerate() {
            let name = if ranks == 1 { node() } else { format!("{}.{rank}", node()) };
            assert_eq!((&host["name"], &host["transport"]), (&name.into(), &"mpi".into()));
            assert_eq!((&host["read"]["total_ios"], &host["write"]["total_ios"]), (&16.into(), &64.into()));
            let before = &host["clock"]["before"];
            let (offset, bound) = (before["offset_ns"].as_i64(), before["bound_ns"].as_u64());
            let (offset, bound) = (offset.expect("an offset"), bound.expect("a bound"));
            // All ranks are on this machine, with one clock.
            assert!(offset.unsigned_abs() <= bound, "{host}");
            assert!(host["clock"]["after"]["bound_ns"].is_u64() && host["start_skew_ns"].is_i64(), "{host}");
        }
        assert!(report["fathom hosts"]["skew"]["largest_ns"].is_u64());
    }
    Ok(())
}

fn people_get_one_report(place: &Place) -> Result<(), String> {
    let words = "--name=a --ioengine=null --size=64k --rw=read --time_based --runtime=1";
    let done = place.run(4, words).expect_code(0);
    for line in
        ["\nfio-3.42\n", "\nStarting 1 process\n", "\nHosts (4):\n", "\n  All hosts were running from "]
    {
        assert_eq!(done.out.matches(line).count(), 1, "{line}\n{}", done.out);
    }
    assert!(
        done.out.contains("  start skew: median=") && done.out.contains("; clock bound: max="),
        "{}",
        done.out
    );
    assert!(done.out.contains(": read IOPS="), "{}", done.out);
    assert_eq!(done.err, "");
    let done = place.run(3, &format!("{words} --output=o --eta=always")).expect_code(0);
    assert_eq!(done.out, "");
    assert!(done.err.contains("--eta=always: there is no progress line"), "{}", done.err);
    let text = std::fs::read_to_string(place.path("o")).expect("the report");
    assert!(text.contains("\nHosts (3):\n"), "{text}");
    Ok(())
}

fn a_mistake_is_told_once(place: &Place) -> Result<(), String> {
    place.write("bad.fio", "[a]\nioengine=nul\nsize=1m\n");
    let done = place.run(8, "bad.fio").expect_code(1);
    assert_eq!(done.err.matches("did you mean null?").count(), 1, "{}", done.err);
    // An error that only the ranks can detect.
    let done = place.run(8, "--name=a --size=64k --directory=nowhere").expect_code(1);
    assert_eq!(done.err.matches("expected directories that exist").count(), 1, "{}", done.err);
    assert!(!done.out.contains("Hosts ("), "{}", done.out);
    Ok(())
}

fn what_is_not_for_ranks_is_refused_by_name(place: &Place) -> Result<(), String> {
    let job = "--name=a --ioengine=null --size=64k";
    for option in [
        "--live",
        "--hosts=a,b",
        "--client=a",
        "--status-interval=1",
        "--output-format=jsonl",
        "--trigger-timeout=5",
    ] {
        let done = place.run(2, &format!("{option} {job}")).expect_code(1);
        let name = option.split('=').next().expect("a name").trim_end_matches("-timeout");
        assert_eq!(done.err.matches(&format!("fathom-mpi: {name} is not for")).count(), 1, "{}", done.err);
        assert_eq!(done.out, "");
    }
    place.run(2, "--server").expect_code(1);
    let done = place.run(2, &format!("{job} --host=elsewhere")).expect_code(1);
    assert_eq!(done.err.matches("host=elsewhere is neither a host nor a group").count(), 1, "{}", done.err);
    Ok(())
}

fn a_rank_that_cannot_run_keeps_nobody_waiting(place: &Place) -> Result<(), String> {
    for rank in [0, 1, 3] {
        std::fs::create_dir(place.path(&format!("d{rank}"))).expect("a directory");
    }
    let job = "[global]\nsize=64k\nrw=write\ndirectory=d${HOST_INDEX}\n[a]\n[b]\nstonewall\n";
    place.write("job.fio", job);
    let done = place.run(4, "--output-format=json job.fio").expect_code(1);
    let report = done.json();
    let states: Vec<&str> = hosts(&report).iter().map(|host| host["state"].as_str().expect("one")).collect();
    assert_eq!(states, ["whole", "whole", "never began", "whole"]);
    assert_eq!(report["jobs"][1]["write"]["total_ios"], 3 * 16);
    let line = format!("<{}.2> fathom: job.fio:4: option directory=d2", node());
    assert_eq!(done.err.matches(&line).count(), 1, "{}", done.err);
    Ok(())
}

fn a_rank_that_fails_keeps_nobody_waiting(place: &Place) -> Result<(), String> {
    // A directory instead of a file.
    std::fs::create_dir(place.path("f1")).expect("a directory");
    place.write("job.fio", "[global]\nsize=64k\nrw=write\n[a]\nfilename=f${HOST_INDEX}\n[b]\nstonewall\nfilename=g${HOST_INDEX}\n");
    let done = place.run(3, "--output-format=json job.fio");
    let report = done.json();
    assert_eq!(report["jobs"][0]["write"]["total_ios"], 2 * 16);
    assert!(report["jobs"][0]["error"].as_i64().is_some_and(|error| error != 0), "{}", done.out);
    assert!(done.code.is_some_and(|code| code > 0), "{}", done.err);
    assert!(done.err.contains(&format!("<{}.1> ", node())), "{}", done.err);
    Ok(())
}

fn stages_begin_on_all_ranks_together(place: &Place) -> Result<(), String> {
    let node = node();
    let job = format!(
        "[global]\nioengine=null\nsize=64k\n[slow]\nhost={node}.0\ntime_based\nruntime=1\n[all]\nstonewall\n\
         [one]\nstonewall\nhost={node}.2\n[again]\nstonewall\n"
    );
    place.write("job.fio", &job);
    let report = place.run(4, "--output-format=json job.fio").expect_code(0).json();
    let ios: Vec<u64> = report["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| job["read"]["total_ios"].as_u64().expect("a number"))
        .collect();
    assert_eq!(ios[1..], [4 * 16, 16, 4 * 16]);
    for host in &hosts(&report)[1..] {
        // They waited for the first one.
        let done_ms = host["first_done_ms"].as_u64().expect("a time");
        assert!((1000..20_000).contains(&done_ms), "{host}");
    }
    Ok(())
}

fn a_job_for_a_node_runs_on_its_ranks(place: &Place) -> Result<(), String> {
    let words = format!("--output-format=json --name=a --ioengine=null --size=64k --host={}", node());
    let report = place.run(3, &words).expect_code(0).json();
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 3 * 16);
    assert_eq!(hosts(&report)[1]["groups"][0], node());
    Ok(())
}

fn each_rank_has_logs_of_its_own(place: &Place) -> Result<(), String> {
    let words = "--name=a --ioengine=null --size=64k --write_lat_log=x --output-format=json";
    place.run(2, words).expect_code(0);
    for rank in 0..2 {
        let name = format!("x_lat.1.log.{}.{rank}", node());
        let text = std::fs::read_to_string(place.path(&name)).expect("a log");
        assert_eq!(text.lines().count(), 16, "{name}");
    }
    Ok(())
}

const LONG: &str = "--ioengine=null --size=1m --time_based --runtime=30 --rate_iops=1000";

/// Signals the launcher, as Ctrl-C does, and returns the output printed within the time that launchers grant
/// their ranks.
fn interrupted(child: Child) -> Done {
    let begin = Instant::now();
    signal(child.id(), "INT");
    let done = Done::of(child.wait_with_output().expect("its end"));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // MPICH's mpiexec exits with 0 after Ctrl-C, regardless of the exit codes of its ranks.
    assert!(!support::is_open_mpi() || done.code != Some(0), "{}", done.err);
    done
}

fn a_signal_ends_all_with_a_report(place: &Place) -> Result<(), String> {
    let child = place.start(4, &format!("--name=a {LONG}"));
    place.pid_of_rank(3);
    std::thread::sleep(Duration::from_secs(3));
    let done = interrupted(child);
    assert_eq!(done.out.matches("fio: terminating on signal").count(), 1, "{}\n{}", done.out, done.err);
    assert!(done.out.contains("\nHosts (4):\n"), "{}\n{}", done.out, done.err);
    assert!(!done.out.contains("never began") && !done.out.contains("  lost "), "{}", done.out);
    Ok(())
}

fn a_signal_ends_those_that_wait(place: &Place) -> Result<(), String> {
    let child = place.start(4, &format!("--name=a {LONG} --host={}.0 --name=b --stonewall {LONG}", node()));
    place.pid_of_rank(3);
    std::thread::sleep(Duration::from_secs(3));
    let done = interrupted(child);
    assert!(done.out.contains("\nHosts (4):\n"), "{}\n{}", done.out, done.err);
    Ok(())
}

fn a_dead_rank_leaves_a_report(place: &Place) -> Result<(), String> {
    let child = place.start(3, &format!("--snapshots=so-far --name=a {LONG}"));
    let snapshot = place.path("so-far/rank-1");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !snapshot.exists() {
        assert!(Instant::now() < deadline, "no snapshot");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(1500));
    signal(place.pid_of_rank(1), "KILL");
    let done = Done::of(child.wait_with_output().expect("its end"));
    assert_ne!(done.code, Some(0), "{}", done.err);
    let mut command = Command::new(program());
    command.args(["--report-of=so-far", "--output-format=json"]).current_dir(place.directory.path());
    let done = Done::of(command.output().expect("it can be started"));
    assert!(done.code.is_some_and(|code| code > 0), "{}", done.err);
    assert!(done.err.contains(&format!("rank 1 ({}.1) is lost: it left no result", node())), "{}", done.err);
    let report = done.json();
    let lost = &hosts(&report)[1];
    assert_eq!(lost["state"], "lost");
    assert!(lost["snapshot_ms"].as_u64().is_some_and(|ms| (900..20_000).contains(&ms)), "{lost}");
    assert!(lost["read"]["total_ios"].as_u64().is_some_and(|ios| ios > 500), "{lost}");
    // The surviving ranks may have had time to deliver all results.
    let of_hosts = hosts(&report).iter().map(|host| host["read"]["total_ios"].as_u64().expect("a number"));
    assert_eq!(report["jobs"][0]["read"]["total_ios"].as_u64(), Some(of_hosts.sum()));
    Ok(())
}

fn whole_results_are_kept(place: &Place) -> Result<(), String> {
    let words = "--snapshots=kept --name=a --ioengine=null --size=64k --output-format=json";
    let printed = place.run(3, words).expect_code(0).json();
    let mut command = Command::new(program());
    command.args(["--report-of", "kept", "--output-format=json"]).current_dir(place.directory.path());
    let kept = Done::of(command.output().expect("it can be started")).expect_code(0).json();
    assert_eq!(kept["jobs"][0]["read"], printed["jobs"][0]["read"]);
    // Each rank's own result is available here.
    assert!(hosts(&printed)[2].get("jobs").is_none());
    assert_eq!(hosts(&kept)[2]["jobs"][0]["read"]["total_ios"], 16);
    let mut command = Command::new(program());
    command.args(["--report-of=nowhere"]).current_dir(place.directory.path());
    let done = Done::of(command.output().expect("it can be started")).expect_code(1);
    assert!(done.err.contains("no run has left files here"), "{}", done.err);
    Ok(())
}

/// A cluster started by a script of this repository.
struct Cluster<'a> {
    script: PathBuf,
    place: &'a Place,
    printed: String,
}

impl Cluster<'_> {
    fn start(place: &Place) -> Result<Cluster<'_>, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/servers/slurm");
        let started =
            Command::new(&script).arg("start").arg(place.path("cluster")).stdin(Stdio::null()).output();
        let output = started.map_err(|error| error.to_string())?;
        let cluster =
            Cluster { script, place, printed: String::from_utf8_lossy(&output.stdout).into_owned() };
        match output.status.success() {
            true => Ok(cluster),
            false => Err(format!("no Slurm: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn value(&self, key: &str) -> &str {
        let mut lines = self.printed.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| *name == key).unwrap_or_else(|| panic!("no {key}: {}", self.printed)).1
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        let _ = Command::new(&self.script).arg("stop").arg(self.place.path("cluster")).output();
    }
}

fn slurm_starts_ranks(place: &Place) -> Result<(), String> {
    let cluster = Cluster::start(place)?;
    let mut command = Command::new(cluster.value("NETNS_EXEC"));
    let plugin = if support::is_open_mpi() { "--mpi=pmix" } else { "--mpi=pmi2" };
    command.args(["srun", "-N2", "--ntasks-per-node=2", plugin]).arg(program());
    command.args("--name=a --ioengine=null --size=64k --output-format=json".split_whitespace());
    command.env("SLURM_CONF", cluster.value("SLURM_CONF")).current_dir(place.directory.path());
    let done = Done::of(command.stdin(Stdio::null()).output().expect("it can be started")).expect_code(0);
    let report = done.json();
    let names: Vec<&str> = hosts(&report).iter().map(|host| host["name"].as_str().expect("one")).collect();
    assert_eq!(names, ["host0.0", "host0.1", "host1.2", "host1.3"]);
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 4 * 16);
    Ok(())
}
