//! Turns the arguments into a running test. The target is examined, locked and tried before anything is
//! changed.

use super::endurance::Endurance;
use super::estimate::Estimate;
use super::execute;
use super::jobs;
use super::plan::{FORM, PtsPlan, TargetKind, TestTarget};
use super::record::{self, RecordedTest};
use super::safety::{self, Examined};
use super::words::PtsWishes;
use crate::device::{Claim, refused};
use crate::results_file::{self, Opened, ResultsFile};
use crate::running::{Messages, chance, usable_engine};
use crate::{Runner, runner};
use fathom_command::{Failure, Streams};
use fathom_stats::counted;
use fathom_stats::host::HostReport;
use fathom_stats::report::message_of_line;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Block sizes to try with direct I/O on a file; sizes below the sector size fail.
const SECTORS_OF_FILES: [u64; 2] = [512, 4096];

/// Runs or resumes the test; returns its record, and the exit status if a signal ended it. `None` if only the
/// plan was requested.
pub(super) fn run(
    wishes: &PtsWishes,
    path: &Path,
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<Option<(RecordedTest, Option<u8>)>, Failure> {
    let begun = match results_file::is_results::<RecordedTest>(path) {
        true => Some(results_file::read::<RecordedTest>(path)?),
        false => None,
    };
    let begun = match begun {
        Some(recorded) if !wishes.is_dry_run => match resumable(recorded, wishes, path)? {
            Begun::Finished(recorded) => return Ok(Some((*recorded, None))),
            Begun::Resumed(recorded) => Some(*recorded),
        },
        begun => begun,
    };
    let Examined { target, holds } =
        safety::examine(&wishes.target, begun.as_ref().map(|recorded| &recorded.plan.target), runner)?;
    let mut plan = draft(wishes, target);
    plan.check()?;
    if let Some(begun) = &begun {
        refuse_other_plan(path, &plan, &begun.plan)?;
    }
    if wishes.is_dry_run {
        let mut text = Estimate::of(&plan).text(&plan, &holds, Endurance::of(&plan.target));
        text.push_str(&match begun {
            Some(begun) => {
                format!(
                    "  {} has {} of this test\n",
                    path.display(),
                    counted(begun.steps.len(), "finished step")
                )
            }
            None => String::new(),
        });
        crate::output::print(streams, &text)?;
        return Ok(None);
    }
    // A signal during a step ends the test, but only that step is lost.
    let signals = runner::signals()?;
    let made = MadeFile::of(&mut plan.target)?;
    let claim = claim(&plan.target)?;
    let (mut recorder, is_new) = match begun {
        Some(_) => (reopen(path, &plan)?, false),
        None => {
            try_target(&mut plan, runner)?;
            plan.check()?;
            (begin(path, &plan)?, true)
        }
    };
    made.keep();
    let plan = recorder.recorded().plan.clone();
    let text = match is_new {
        true => Estimate::of(&plan).text(&plan, &holds, Endurance::of(&plan.target)),
        false => format!("{} done\n", counted(recorder.recorded().steps.len(), "step")),
    };
    let _ = writeln!(streams.err, "{text}results in {}", path.display());
    let stopped = execute::execute(&mut recorder, &claim, &signals, streams.err, runner)?;
    let recorded = recorder.into_recorded();
    if recorded.plan.target.kind == TargetKind::Made && recorded.next().is_none() {
        let file = &recorded.plan.target.path;
        std::fs::remove_file(file).map_err(|error| Failure::file(file, &error))?;
    }
    Ok(Some((recorded, stopped)))
}

/// The results file.
pub(super) fn output(wishes: &PtsWishes) -> PathBuf {
    if let Some(path) = &wishes.output {
        return path.clone();
    }
    let target = wishes.target.device.as_ref().or(wishes.target.file.as_ref());
    let name = target.and_then(|path| path.file_name()).unwrap_or_default();
    PathBuf::from(format!("{}-{}.pts.jsonl", wishes.test.word(), name.to_string_lossy()))
}

/// Progress of a test whose results file exists.
enum Begun {
    /// Every step is done.
    Finished(Box<RecordedTest>),
    Resumed(Box<RecordedTest>),
}

fn resumable(recorded: RecordedTest, wishes: &PtsWishes, path: &Path) -> Result<Begun, Failure> {
    let is_finished = recorded.next().is_none();
    match (is_finished, wishes.resumes) {
        (true, true) => Ok(Begun::Finished(Box::new(recorded))),
        (false, true) => Ok(Begun::Resumed(Box::new(recorded))),
        (true, false) => Err(Failure::new(format!(
            "{}: this file has the results of a finished test; name another one with --output",
            path.display()
        ))),
        (false, false) => Err(Failure::new(format!(
            "{}: this file has an unfinished test; resume it with --resume, or name another one with --output",
            path.display()
        ))),
    }
}

fn refuse_other_plan(path: &Path, plan: &PtsPlan, begun: &PtsPlan) -> Result<(), Failure> {
    let differences = plan.differences(begun);
    match differences.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{}: this file has another test ({}); name another file with --output, or repeat the arguments of that test",
            path.display(),
            differences.join("; ")
        ))),
    }
}

/// The plan, as far as it can be derived from the arguments and the target.
fn draft(wishes: &PtsWishes, target: TestTarget) -> PtsPlan {
    PtsPlan {
        form: FORM,
        version: fathom_spec::VERSION.to_owned(),
        test: wishes.test,
        began: record::now(),
        target,
        engine: String::new(),
        direct: true,
        threads: wishes.threads,
        depth: wishes.depth,
        most_rounds: wishes.most_rounds,
        scale: wishes.scale,
        purges: wishes.purges,
        seed: chance() >> 16,
        host: HostReport::default(),
    }
}

/// A file created for the test, which is removed again if the test does not start.
struct MadeFile(Option<PathBuf>);

impl MadeFile {
    /// Creates the file if the target does not exist.
    fn of(target: &mut TestTarget) -> Result<MadeFile, Failure> {
        if target.kind != TargetKind::Made || target.inode != 0 {
            return Ok(MadeFile(None));
        }
        let fail = |error: std::io::Error| Failure::file(&target.path, &error);
        let file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&target.path).map_err(fail)?;
        let made = MadeFile(Some(target.path.clone()));
        file.set_len(target.bytes).map_err(fail)?;
        target.inode = file.metadata().map_err(fail)?.ino();
        Ok(made)
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for MadeFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // A failure is ignored, because the error that ended the test is reported instead.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Locks the target against other commands, and checks that it is writable.
fn claim(target: &TestTarget) -> Result<Claim, Failure> {
    let path = &target.path;
    OpenOptions::new().write(true).open(path).map_err(|error| Failure::file(path, &error))?;
    Claim::of(path, File::open(path).map_err(|error| Failure::file(path, &error))?)
}

fn begin(path: &Path, plan: &PtsPlan) -> Result<ResultsFile<RecordedTest>, Failure> {
    let opened = Opened::new(path)?;
    match opened.found {
        None => record::begin(opened, plan),
        Some(_) => Err(Failure::new(format!("{}: another test has begun this file", path.display()))),
    }
}

fn reopen(path: &Path, plan: &PtsPlan) -> Result<ResultsFile<RecordedTest>, Failure> {
    let mut opened = Opened::<RecordedTest>::new(path)?;
    let Some(recorded) = opened.found.take() else {
        return Err(Failure::new(format!("{}: the file has lost its content", path.display())));
    };
    refuse_other_plan(path, plan, &recorded.plan)?;
    record::resume(opened, recorded)
}

/// Reads a block with each engine to find the best one that works, and gathers the kernel's facts about the
/// machine.
fn try_target(plan: &mut PtsPlan, runner: &mut dyn Runner) -> Result<(), Failure> {
    let target = plan.target.clone();
    let ways: Vec<(bool, u64)> = match target.is_device() {
        true => vec![(true, target.sector)],
        false => {
            let direct = SECTORS_OF_FILES.map(|sector| (true, sector));
            direct.into_iter().chain([(false, SECTORS_OF_FILES[0])]).collect()
        }
    };
    for (direct, sector) in ways {
        let found = usable_engine(runner, |engine| jobs::probe(&target, engine, direct, sector))?;
        if let Some(engine) = found {
            (plan.engine, plan.direct, plan.target.sector) = (engine.to_owned(), direct, sector);
            plan.host = host_of(&jobs::probe(&target, engine, direct, sector), runner)?;
            return Ok(());
        }
    }
    let mut messages = Messages::default();
    let spec =
        runner.parse(&["-".to_owned()], &jobs::probe(&target, "psync", target.is_device(), target.sector))?;
    runner.run(&spec, &mut messages)?;
    let why =
        messages.0.last().map_or_else(|| "no engine can read it".to_owned(), |line| message_of_line(line));
    Err(refused(&target.path, &why))
}

fn host_of(job: &str, runner: &mut dyn Runner) -> Result<HostReport, Failure> {
    let spec = runner.parse(&["-".to_owned()], job)?;
    let ended = runner.run(&spec, &mut Messages::default())?;
    Ok(crate::running::result_of(&ended.report)?.host.unwrap_or_default())
}
