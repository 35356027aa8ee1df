//! Runs with a defect: an engine that violates an assumption of the run loop ends only its job, as a process
//! and as a thread, with an error that names the violation; the other jobs continue.

use fathom_run::EngineEntry;
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::message::Message;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{self, Observer, Options};
use fathom_spec::engines::EngineDef;
use fathom_spec::{Outcome, RunSpec, SystemSource, parse};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::Errno;
use fathom_sys::clock::Calibration;
use std::process::Command;
use std::time::Duration;

/// An engine that moves no data, and fails after a few I/Os in the way that its job's name selects.
struct Faulty {
    fault: String,
    queued: Vec<(u32, u32)>,
    taken: usize,
    ended: u32,
}

static DEFINITION: EngineDef =
    EngineDef::new("faulty", "an engine with a defect").built().without_files().queues_from(2);

impl EngineType for Faulty {
    const DEFINITION: &'static EngineDef = &DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Faulty, SetupError> {
        Ok(Faulty { fault: setup.job.name.clone(), queued: Vec::new(), taken: 0, ended: 0 })
    }
}

impl Engine for Faulty {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        self.queued.push((slot, io.length()));
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        let fresh = self.queued.len() - std::mem::replace(&mut self.taken, self.queued.len());
        let one_more = self.fault == "takes" && self.ended > 10;
        Ok(fresh as u32 + u32::from(one_more))
    }

    fn reap(&mut self, _min: u32, out: &mut Completions) -> Result<(), Errno> {
        for (slot, length) in self.queued.drain(..) {
            self.ended += 1;
            let is_late = self.ended > 10;
            match self.fault.as_str() {
                "twice" if is_late => {
                    out.push(slot, i64::from(length));
                    out.push(slot, i64::from(length));
                }
                "nowhere" if is_late => out.push(99, i64::from(length)),
                "moves" if is_late => out.push(slot, i64::from(length) + 1),
                "panics" if is_late => panic!("the engine is lost"),
                _ => out.push(slot, i64::from(length)),
            }
        }
        self.taken = 0;
        Ok(())
    }
}

/// The defects, with the job's expected error and message for each.
const FAULTS: &[(&str, &str)] = &[
    ("twice", "no more I/Os end than were handed over"),
    ("nowhere", "what ends is in flight"),
    ("moves", "an I/O moves no more bytes than it asks for"),
    ("takes", "no more I/Os are handed over than were queued"),
    ("panics", "internal error"),
];

/// Environment variable that selects how the jobs of a run in a separate process run.
const HOW: &str = "FATHOM_DEFECTS_AS";

#[test]
fn a_defect_ends_its_job_by_name() {
    if let Ok(how) = std::env::var(HOW) {
        return run_jobs(&how);
    }
    // A run forks, so it gets a process without other tests.
    for how in ["--thread=0", "--thread=1"] {
        let program = std::env::current_exe().expect("the test has a file");
        let run = Command::new(program)
            .args(["--exact", "a_defect_ends_its_job_by_name", "--nocapture", "--test-threads=1"])
            .env(HOW, how)
            .output()
            .expect("the test can be started");
        let said = [String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr)].concat();
        assert!(run.status.success(), "{how}: {said}");
    }
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Observer for Lines {
    fn message(&mut self, message: &Message) {
        if let Message::Error(text) | Message::Failure(text) = message {
            self.0.push(text.clone());
        }
    }

    fn tick(&mut self, _: &LiveTick, _: Option<&LiveDetails>) {}

    fn interim_report(&mut self, _: &RunReport) {}
}

fn run_jobs(how: &str) {
    let jobs: String =
        FAULTS.iter().map(|(name, _)| *name).chain(["sound"]).map(|name| format!(" --name={name}")).collect();
    let words = format!("--ioengine=faulty {how} --rw=read --bs=4k --size=1m --iodepth=4");
    let words: Vec<String> = jobs
        .split_whitespace()
        .flat_map(|job| [job, &words])
        .collect::<Vec<_>>()
        .join(" ")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let plan = Plan::new(&spec(&words), |name| (name == "faulty").then_some(DEFINITION))
        .unwrap_or_else(|problem| panic!("{words:?}: {problem}"));
    let entry = EngineEntry::direct::<Faulty>();
    let mut lines = Lines::default();
    let engines = vec![entry; plan.jobs.len()];
    let ended = supervisor::run(&plan, engines, Calibration::start().finish(), options(), &mut lines);
    let outcome = ended.unwrap_or_else(|error| panic!("not started: {error:?}"));
    assert!(outcome.is_broken);
    assert_eq!(outcome.failed_jobs as usize, FAULTS.len(), "{:?}", lines.0);
    for (name, error) in FAULTS {
        let job = outcome.report.jobs.iter().find(|job| job.name == *name).expect("a job has a report");
        let stored = job.error.as_ref().unwrap_or_else(|| panic!("{name}: no error, {:?}", lines.0));
        assert!(stored.text.contains(error), "{name}: {}", stored.text);
        let line = format!("fathom: job {name}: ");
        let said = lines.0.iter().find(|said| said.starts_with(&line));
        let said = said.unwrap_or_else(|| panic!("{name}: {:?}", lines.0));
        assert!(said.contains(error) && said.contains("cannot be trusted"), "{said}");
    }
    let sound = outcome.report.jobs.iter().find(|job| job.name == "sound").expect("a job has a report");
    assert_eq!(sound.error, None);
    assert_eq!(sound.directions.values().map(|direction| direction.total_ios).sum::<u64>(), 256);
}

fn spec(words: &[String]) -> RunSpec {
    match parse("fathom", words, &SystemSource::new(4096).with_engines(&[&DEFINITION])) {
        Outcome::Run(spec) => *spec,
        _ => panic!("no job: {words:?}"),
    }
}

fn options() -> Options {
    Options {
        tick: None,
        live_view: false,
        status_interval: None,
        snapshot: None,
        idleness: None,
        slices: None,
        timeline: false,
        patience: Some(Duration::from_secs(30)),
        report_alone: false,
        version: "fathom",
    }
}
