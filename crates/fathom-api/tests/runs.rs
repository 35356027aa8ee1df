//! Tests that run this program, which is its own harness: a program that calls [`Runner::begin`] must do so
//! before it has threads.

#![allow(clippy::print_stdout, reason = "it is a program that reports its tests")]

use fathom::{Direction, Error, Event, Jobs, JobsError, Outcome, RunError, Runner};
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for any step on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Environment variable that makes this program call `Runner::begin` too late, after it has started threads.
const LATE: &str = "FATHOM_API_TEST_BEGINS_LATE";

type Test = fn(&Runner);

const TESTS: &[(&str, Test)] = &[
    ("a_run_has_figures_a_document_and_a_verdict", a_run_has_figures_a_document_and_a_verdict),
    ("a_failed_job_has_its_error_in_the_result", a_failed_job_has_its_error_in_the_result),
    ("a_stopped_run_has_the_figures_until_then", a_stopped_run_has_the_figures_until_then),
    ("a_dropped_run_ends", a_dropped_run_ends),
    ("a_run_ends_with_a_killed_program", a_run_ends_with_a_killed_program),
    ("a_killed_run_is_lost", a_killed_run_is_lost),
    ("a_run_waits_for_no_reader_of_its_events", a_run_waits_for_no_reader_of_its_events),
    ("runs_at_the_same_time_have_their_own_results", runs_at_the_same_time_have_their_own_results),
    ("what_a_job_prints_is_a_message", what_a_job_prints_is_a_message),
    ("a_program_with_threads_is_told_to_begin_first", a_program_with_threads_is_told_to_begin_first),
    ("a_plan_names_what_it_changes", a_plan_names_what_it_changes),
    ("read_only_jobs_change_nothing", read_only_jobs_change_nothing),
    ("an_external_engine_is_loaded_by_the_run", an_external_engine_is_loaded_by_the_run),
    ("mistakes_and_notes_have_lines", mistakes_and_notes_have_lines),
    ("a_result_can_be_read_again", a_result_can_be_read_again),
    ("the_page_shows_the_example", the_page_shows_the_example),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // The run inherits this variable, so that it has the thread as well.
    if std::env::var_os(LATE).is_some() {
        return begin_late();
    }
    let runner = Runner::begin();
    if let [word, file] = &words[..]
        && word == "leave-a-run"
    {
        return leave_a_run(&runner, file);
    }
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let is_asked = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let mut failed: Vec<&str> = Vec::new();
    let asked: Vec<&(&str, Test)> = TESTS.iter().filter(|(name, _)| is_asked(name)).collect();
    println!("\nrunning {} tests", asked.len());
    for (name, test) in &asked {
        let is_ok = catch_unwind(AssertUnwindSafe(|| test(&runner))).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        failed.extend((!is_ok).then_some(name));
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = asked.len() - failed.len();
    println!(
        "\ntest result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; {} filtered out\n",
        failed.len(),
        TESTS.len() - asked.len()
    );
    std::process::exit(i32::from(!failed.is_empty()) * 101);
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

fn job(directory: &Path, options: &str) -> String {
    format!("[global]\ndirectory={}\nsize=1m\nbs=4k\n[one]\n{options}\n", directory.display())
}

fn planned(text: &str) -> fathom::Plan {
    Jobs::parse(text).expect("valid jobs").plan().expect("a plan")
}

fn finished(runner: &Runner, text: &str) -> Outcome {
    runner.run(&planned(text)).expect("an outcome")
}

/// A job that runs until it is ended.
fn endless(directory: &Path) -> String {
    job(directory, "rw=randwrite\ntime_based\nruntime=1h")
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LIMIT, "{what}: still not so");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn exists(process: u32) -> bool {
    // A process that has ended remains a zombie until its new parent waits for it.
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// The child processes of a process.
fn children(process: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    text.unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

fn a_run_has_figures_a_document_and_a_verdict(runner: &Runner) {
    let directory = scratch();
    let outcome = finished(runner, &job(directory.path(), "rw=write"));
    assert_eq!((outcome.failed_jobs, outcome.is_stopped), (0, false));
    let [job] = &outcome.result.jobs[..] else { panic!("one job") };
    let writes = job.write.as_ref().expect("it writes");
    assert_eq!((job.name.as_str(), writes.total_ios, writes.io_bytes), ("one", 256, 1 << 20));
    assert!(outcome.result.verdict.is_some());
    assert!(outcome.document.contains("\"total_ios\" : 256"), "{}", outcome.document);
    let written = std::fs::metadata(directory.path().join("one.0.0")).expect("the file");
    assert_eq!(written.len(), 1 << 20);
}

fn a_failed_job_has_its_error_in_the_result(runner: &Runner) {
    let directory = scratch();
    std::fs::write(directory.path().join("short"), [0; 8192]).expect("a file");
    let text = job(directory.path(), "rw=read\nfilename=short\nallow_file_create=0\n[two]\nrw=write");
    let outcome = finished(runner, &text);
    assert_eq!(outcome.failed_jobs, 1);
    let [one, two] = &outcome.result.jobs[..] else { panic!("two jobs") };
    assert_ne!(one.error, 0);
    assert_eq!((two.error, two.total_ios(Direction::Write)), (0, 256));
}

fn a_stopped_run_has_the_figures_until_then(runner: &Runner) {
    let directory = scratch();
    let runner = runner.clone().with_progress(Duration::from_millis(100));
    let mut running = runner.start(&planned(&endless(directory.path()))).expect("a run");
    let stopper = running.stopper();
    let mut seen = 0;
    while let Some(event) = running.next_event() {
        if let Event::Progress(progress) = event
            && progress.write.iops > 0
        {
            seen += 1;
            let stopper = stopper.clone();
            std::thread::spawn(move || stopper.stop());
        }
    }
    assert!(seen > 0, "no progress was seen");
    let outcome = running.finish().expect("an outcome");
    assert!(outcome.is_stopped);
    assert!(outcome.result.jobs[0].total_ios(Direction::Write) > 0);
}

fn a_dropped_run_ends(runner: &Runner) {
    let directory = scratch();
    let running = runner.start(&planned(&endless(directory.path()))).expect("a run");
    let id = running.id();
    wait_until("the run has a worker", || !children(id).is_empty());
    let workers = children(id);
    drop(running);
    assert!(!exists(id), "the run goes on");
    wait_until("its workers have ended", || !workers.iter().any(|&worker| exists(worker)));
}

/// Starts a run, prints its process ID, and waits until it is killed.
fn leave_a_run(runner: &Runner, directory: &str) {
    let running = runner.start(&planned(&endless(Path::new(directory)))).expect("a run");
    println!("{}", running.id());
    std::thread::sleep(LIMIT);
}

fn this_program(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words).stdout(Stdio::piped());
    command
}

fn a_run_ends_with_a_killed_program(_: &Runner) {
    let directory = scratch();
    let path = directory.path().to_str().expect("a name");
    let mut program = this_program(&["leave-a-run", path]).spawn().expect("it starts");
    let mut line = String::new();
    let output = program.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let id: u32 = line.trim().parse().expect("a process");
    wait_until("the run has a worker", || !children(id).is_empty());
    let workers = children(id);
    program.kill().expect("it is killed");
    program.wait().expect("it has ended");
    wait_until("the run has ended", || !exists(id) && !workers.iter().any(|&worker| exists(worker)));
}

fn a_killed_run_is_lost(runner: &Runner) {
    let directory = scratch();
    let mut running = runner.start(&planned(&endless(directory.path()))).expect("a run");
    let id = running.id();
    wait_until("the run has a worker", || !children(id).is_empty());
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().expect("kill").success());
    while running.next_event().is_some() {}
    let error = running.finish().expect_err("the run was killed");
    assert!(matches!(&error, RunError::Lost(status) if !status.success()), "{error}");
    assert!(error.to_string().contains("signal: 9"), "{error}");
}

/// Checks that a run does not wait for a reader of its events: progress reports every millisecond fill any
/// pipe.
fn a_run_waits_for_no_reader_of_its_events(runner: &Runner) {
    let runner = runner.clone().with_progress(Duration::from_millis(1));
    let text = "[one]\nioengine=null\nsize=1t\nrw=read\nruntime=2\ntime_based\n";
    let running = runner.start(&planned(text)).expect("a run");
    let outcome = running.finish().expect("an outcome");
    let runtime = outcome.result.jobs[0].read.as_ref().expect("it reads").runtime_ms;
    assert!((2000..20_000).contains(&runtime), "it took {runtime} ms");
}

fn runs_at_the_same_time_have_their_own_results(runner: &Runner) {
    let run = |ios: u64| {
        let text = format!("[one]\nioengine=null\nsize=1t\nrw=read\nnumber_ios={ios}\n");
        finished(runner, &text).result.jobs[0].total_ios(Direction::Read)
    };
    std::thread::scope(|scope| {
        let runs: Vec<_> = (1..=4).map(|ios| (ios, scope.spawn(move || run(ios)))).collect();
        runs.into_iter().for_each(|(ios, run)| assert_eq!(run.join().expect("it ran"), ios));
    });
}

fn what_a_job_prints_is_a_message(runner: &Runner) {
    let text = "[one]\nioengine=exec\nprogram=/bin/echo\narguments={\"Ended\":{}}\nstd_redirect=0\n";
    let mut running = runner.start(&planned(text)).expect("a run");
    let events: Vec<Event> = std::iter::from_fn(|| running.next_event()).collect();
    assert!(events.contains(&Event::Message("{\"Ended\":{}}".to_owned())), "{events:?}");
    assert_eq!(running.finish().expect("an outcome").failed_jobs, 0);
}

/// Calls begin with a thread already running, and prints the outcome of its run.
fn begin_late() {
    std::thread::spawn(|| std::thread::sleep(LIMIT));
    let runner = Runner::begin();
    let error = runner.run(&planned("[one]\nioengine=null\nsize=1m\n")).expect_err("it cannot run");
    println!("{error}");
}

fn a_program_with_threads_is_told_to_begin_first(_: &Runner) {
    let output = this_program(&[]).env(LATE, "1").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("had threads when it called Runner::begin()"), "{text}");
}

fn a_plan_names_what_it_changes(_: &Runner) {
    let directory = scratch();
    std::fs::write(directory.path().join("short"), [0; 8192]).expect("a file");
    let text =
        job(directory.path(), "rw=read\nfilename=short\nnumjobs=3\n[two]\nrw=write\nfilename=new\nunlink=1");
    let plan = planned(&text);
    assert_eq!(plan.clones(), 4);
    let [short, new] = &plan.targets()[..] else { panic!("two targets") };
    assert_eq!(
        (short.job.as_str(), short.exists, short.is_changed, short.is_removed),
        ("one", true, true, false)
    );
    assert_eq!((new.job.as_str(), new.exists, new.is_changed, new.is_removed), ("two", false, true, true));
    assert_eq!(new.path, directory.path().join("new"));
    assert_eq!(std::fs::metadata(directory.path().join("short")).expect("a file").len(), 8192);
    assert!(!new.path.exists());
}

fn read_only_jobs_change_nothing(runner: &Runner) {
    let directory = scratch();
    let writes = Jobs::parse(&job(directory.path(), "rw=write")).expect("valid jobs");
    let error = writes.read_only().expect_err("they write");
    assert!(error.to_string().contains("readonly"), "{error}");
    let reads = Jobs::parse(&job(directory.path(), "rw=read")).expect("valid jobs").read_only();
    let outcome = runner.run(&reads.expect("they read").plan().expect("a plan")).expect("an outcome");
    assert_eq!(outcome.failed_jobs, 1);
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
}

fn an_external_engine_is_loaded_by_the_run(runner: &Runner) {
    let directory = scratch();
    let engine = directory.path().join("null.so");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let words = ["-shared", "-fPIC", "-Iinclude", "examples/external/null.c", "-o"];
    let built = Command::new("cc").current_dir(repository).args(words).arg(&engine).status();
    assert!(built.expect("a compiler").success());
    let text = format!("[one]\nioengine=external:{}\nsize=1m\nrw=read\nnumber_ios=7\n", engine.display());
    assert_eq!(finished(runner, &text).result.jobs[0].total_ios(Direction::Read), 7);
}

fn mistakes_and_notes_have_lines(_: &Runner) {
    let jobs = Jobs::parse("[one]\nrw=read\nsize=1m\nbs=4kk\n").expect("valid jobs");
    assert_eq!(jobs.notes()[0].line, Some(4), "{:?}", jobs.notes());
    assert_eq!(Jobs::parse("[one]\nsize=1m\n").expect("valid jobs").notes(), []);
    let JobsError { mistakes } = Jobs::parse("[one]\nrw=reed\nsize=1m\n").expect_err("a mistake");
    assert_eq!(mistakes[0].line, Some(2), "{mistakes:?}");
    let error = Jobs::read(Path::new("-missing.fio")).map_err(Error::from).expect_err("there is none");
    assert!(matches!(&error, Error::Jobs(_)) && error.to_string().contains("-missing.fio"), "{error}");
    let engine = Jobs::parse("[one]\nioengine=external:/missing.so\nsize=1m\n").expect_err("there is none");
    assert!(engine.to_string().contains("/missing.so"), "{engine}");
}

fn a_result_can_be_read_again(runner: &Runner) {
    let directory = scratch();
    let outcome = finished(runner, "[one]\nioengine=null\nsize=1m\nrw=read\n");
    let path = directory.path().join("result.json");
    std::fs::write(&path, &outcome.document).expect("it is written");
    let read = fathom::read(&path).expect("a result");
    assert_eq!(read.jobs, outcome.result.jobs);
    let error =
        fathom::read(&directory.path().join("missing")).map_err(Error::from).expect_err("there is none");
    assert!(matches!(error, Error::Read(_)), "{error}");
}

fn the_page_shows_the_example(_: &Runner) {
    let page = include_str!("../../../docs/rust.md");
    let [comment, code] = ["//! ", "use fathom"].map(|start| {
        let example = include_str!("../examples/measure.rs");
        &example[example.find(start).expect("a part")..]
    });
    let comment = comment.split("#!").next().expect("a comment");
    assert!(page.contains(comment) && page.contains(code), "docs/rust.md shows another example");
}
