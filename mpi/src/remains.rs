//! `--report-of=DIR`: the report from a directory of snapshots. It needs neither MPI nor the ranks.

use crate::results::Sum;
use crate::snapshots::{RUN, RankFile, RunFile, rank_file};
use fathom_hosts::frames;
use fathom_local::exit;
use fathom_local::output::Output;
use fathom_report::Chosen;
use fathom_spec::Source;
use fathom_stats::hosts::{HostEnd, HostRunReport};
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::path::Path;
use std::process::ExitCode;

/// Prints the report.
pub fn report(directory: &Path, words: &[String], source: &dyn Source) -> ExitCode {
    let program = match fathom_spec::program_options("fathom-mpi", words, source) {
        Ok(program) => program,
        Err(reply) => {
            let mut output = Output::terminal();
            reply.messages.iter().for_each(|message| output.say(message));
            return ExitCode::from(reply.exit);
        }
    };
    let mut output = match program.output.as_deref().map_or_else(|| Ok(Output::terminal()), Output::file) {
        Ok(output) => output,
        Err(error) => {
            Output::terminal()
                .error_line(&format!("fathom-mpi: cannot write to the file of --output: {error}"));
            return ExitCode::from(exit::SETUP_FAILED);
        }
    };
    let mut formats = Chosen::new(&program.formats, program.terse_version);
    output.only_report(!formats.are_for_people());
    let signals = match SignalQueue::new(&OF_USERS) {
        Ok(signals) => signals,
        Err(errno) => {
            output.error_line(&format!("fathom-mpi: it cannot wait for signals: {errno}"));
            return ExitCode::from(exit::SETUP_FAILED);
        }
    };
    let (sum, lines) = match read(directory) {
        Ok(read) => read,
        Err(line) => {
            output.error_line(&line);
            return ExitCode::from(exit::SETUP_FAILED);
        }
    };
    lines.iter().for_each(|line| output.error_line(line));
    let outcome = sum.outcome();
    for bytes in formats.write(&outcome.report) {
        output.bytes(&bytes);
    }
    let asked = output.finish(&signals);
    match output.report_lost() || outcome.lost_logs {
        true => ExitCode::from(exit::SETUP_FAILED),
        false => exit::code(&outcome, asked.is_some()),
    }
}

/// The results found, and a line for each rank without one. The error is also a line.
fn read(directory: &Path) -> Result<(Sum, Vec<String>), String> {
    let path = directory.join(RUN);
    let bytes = std::fs::read(&path)
        .map_err(|error| format!("fathom-mpi: {}: no run has left files here: {error}", path.display()))?;
    let run: RunFile = frames::read(&bytes)
        .map_err(|mistake| format!("fathom-mpi: {}: not a snapshot: {mistake}", path.display()))?;
    let (mut sum, mut lines) = (Sum::default(), Vec::new());
    for rank in 0..run.places.names.len() {
        let mut result = match taken(&run, &rank_file(directory, rank)) {
            Ok((file, _)) if file.is_whole => file.result,
            Ok((mut file, age)) => {
                file.result.host.end = HostEnd::Lost {
                    reason: format!("it left no result; its last snapshot is {age} s old"),
                    snapshot_ms: file.taken_ms,
                };
                file.result
            }
            Err(reason) => {
                let mut result = crate::results::RankResult::default();
                result.host.end = HostEnd::Lost { reason, snapshot_ms: None };
                result
            }
        };
        name(&mut result.host, &run, rank);
        if let HostEnd::Lost { reason, .. } = &result.host.end {
            lines.push(format!("fathom-mpi: rank {rank} ({}) is lost: {reason}", result.host.name));
        }
        sum.add(result);
    }
    Ok((sum, lines))
}

fn name(host: &mut HostRunReport, run: &RunFile, rank: usize) {
    let place = run.places.of_rank(rank);
    host.name = place.name().to_owned();
    host.groups = run.places.groups_of(rank);
    host.host_name = run.places.nodes.get(rank).cloned().unwrap_or_default();
    crate::run::TRANSPORT.clone_into(&mut host.transport);
}

/// A rank's file and its age in seconds, or the reason why there is none.
fn taken(run: &RunFile, path: &Path) -> Result<(RankFile, u64), String> {
    let missing = || "it left no snapshot".to_owned();
    let bytes = std::fs::read(path).map_err(|_| missing())?;
    let file: RankFile =
        frames::read(&bytes).map_err(|mistake| format!("its snapshot cannot be read: {mistake}"))?;
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    let age = written.ok().and_then(|written| written.elapsed().ok()).unwrap_or_default();
    if file.run == run.run { Ok((file, age.as_secs())) } else { Err(missing()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::{Orders, Places, written};
    use crate::results::RankResult;
    use crate::snapshots::{self, Snapshots};
    use fathom_stats::report::{JobReport, RunReport};

    fn result() -> RankResult {
        let job = JobReport { name: "a".into(), clones: 1, ..JobReport::default() };
        let report = RunReport { jobs: vec![job], ..RunReport::default() };
        let host = HostRunReport { report: Some(Box::new(report)), ..HostRunReport::default() };
        RankResult { host, ..RankResult::default() }
    }

    #[test]
    fn what_is_missing_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(read(directory.path()).expect_err("nothing").contains("no run has left files"));
        let nodes = ["x", "x", "y", "z"].map(str::to_owned).to_vec();
        let orders = Orders {
            places: Places::of(nodes),
            snapshots: Some(directory.path().into()),
            run: 7,
            ..Orders::default()
        };
        // This file is from a different run.
        let old = RankFile { run: 6, result: result(), is_whole: true, taken_ms: None };
        snapshots::begin(&orders).expect("it can be used");
        std::fs::write(rank_file(directory.path(), 2), written(&old)).expect("a file");
        std::fs::write(rank_file(directory.path(), 3), b"torn").expect("a file");
        for (rank, is_whole) in [(0, true), (1, false)] {
            let mut own = Snapshots::of(&orders, rank).expect("asked for");
            assert_eq!(own.write(result(), is_whole, Some(2500)), None);
        }
        let (sum, lines) = read(directory.path()).expect("a run");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("fathom-mpi: rank 1 (x.1) is lost: it left no result"), "{lines:?}");
        assert!(lines[1].ends_with("rank 2 (y) is lost: it left no snapshot"), "{lines:?}");
        assert!(lines[2].contains("(z) is lost: its snapshot cannot be read"), "{lines:?}");
        let outcome = sum.outcome();
        assert_eq!((outcome.failed_jobs, outcome.report.jobs[0].clones), (3, 2));
        assert!(outcome.report.notes[0].contains("the first 2.5 s"), "{:?}", outcome.report.notes);
        // The next run starts with an empty directory.
        snapshots::begin(&orders).expect("it can be used");
        assert_eq!(read(directory.path()).expect("a run").1.len(), 4);
    }
}
