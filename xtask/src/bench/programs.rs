//! The two programs under test, and how to run them.

use super::Interrupt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// A program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Program {
    /// The installed fio.
    Fio,
    /// The fathom that goes into packages, built with the profile `dist` in the same target directory.
    Fathom,
}

/// One figure per program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Of fio.
    pub(crate) fio: f64,
    /// Of fathom.
    pub(crate) fathom: f64,
}

/// Both programs, and a scratch directory for their files.
pub(crate) struct Programs {
    fio: PathBuf,
    fathom: PathBuf,
    scratch: TempDir,
    interrupt: Interrupt,
}

impl Programs {
    /// Finds both programs; the error names the missing one. fathom is the `dist` build unless a path is
    /// given; fio is needed only if it is `compared` with.
    pub(crate) fn find(
        interrupt: Interrupt,
        path: Option<PathBuf>,
        compared: bool,
    ) -> Result<Programs, String> {
        let own = std::env::current_exe().map_err(|error| format!("the path of xtask: {error}"))?;
        let packaged = || own.parent().unwrap_or(Path::new(".")).join("../dist/fathom");
        // Absolute, because runs start in another directory.
        let fathom = std::path::absolute(path.unwrap_or_else(packaged))
            .map_err(|error| format!("the path of fathom: {error}"))?;
        if !fathom.is_file() {
            let wanted = fathom.display();
            return Err(format!(
                "{wanted} is missing: `make bench` builds it, or cargo build --profile dist -p fathom-io"
            ));
        }
        let scratch = tempfile::Builder::new()
            .prefix("fathom-bench.")
            .tempdir()
            .map_err(|error| format!("a temporary directory: {error}"))?;
        let programs = Programs { fio: "fio".into(), fathom, scratch, interrupt };
        if compared && !programs.version(Program::Fio).starts_with("fio-") {
            return Err(
                "fio is not installed, so there is nothing to compare with (Debian: apt-get install fio)"
                    .to_owned(),
            );
        }
        Ok(programs)
    }

    /// The program's version output; empty if it cannot be run.
    pub(crate) fn version(&self, program: Program) -> String {
        let told = self.command(program, &[]).arg("--version").output();
        told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned()).unwrap_or_default()
    }

    /// Path of the fathom under test.
    pub(crate) fn fathom_program(&self) -> PathBuf {
        self.fathom.clone()
    }

    /// The fio programs to search for an engine: first the tests' reference fio if there is one, then the
    /// installed one.
    pub(crate) fn fios(&self) -> Vec<PathBuf> {
        reference().into_iter().chain([self.fio.clone()]).collect()
    }

    /// The same programs, but with the tests' reference fio if there is one.
    pub(crate) fn with_reference(self) -> Programs {
        Programs { fio: reference().unwrap_or(self.fio), ..self }
    }

    /// An error if the user has interrupted the benchmark.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.interrupt.check()
    }

    /// The scratch directory.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The program as a command in the scratch directory, prefixed with these words (such as `nice`).
    pub(crate) fn command(&self, program: Program, before: &[&str]) -> Command {
        let path = match program {
            Program::Fio => &self.fio,
            Program::Fathom => &self.fathom,
        };
        let mut command = match before.split_first() {
            None => Command::new(path),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(path);
                command
            }
        };
        command.current_dir(self.scratch.path()).stdin(Stdio::null());
        command
    }

    /// I/Os per second of all jobs together, in all directions.
    pub(crate) fn rate(&self, program: Program, job: &[String]) -> Result<f64, String> {
        let mut command = self.command(program, &[]);
        command.args(job).arg("--output-format=json");
        let text = self.finish(program, command)?;
        rate_in(&text).map_err(|error| format!("{program:?}: {error}"))
    }

    /// I/Os per second of a job that writes and then reads back, over the time of both.
    pub(crate) fn phased_rate(&self, program: Program, job: &[String]) -> Result<f64, String> {
        let mut command = self.command(program, &[]);
        command.args(job).arg("--output-format=json");
        let text = self.finish(program, command)?;
        phased_rate_in(&text).map_err(|error| format!("{program:?}: {error}"))
    }

    /// The rate of a job as a percentage of that of another job, which runs right before it.
    pub(crate) fn rate_share(&self, program: Program, job: &[String], of: &[String]) -> Result<f64, String> {
        let whole = self.rate(program, of)?;
        Ok(self.rate(program, job)? / whole * 100.0)
    }

    /// Milliseconds from start to exit.
    pub(crate) fn wall_ms(&self, program: Program, job: &[String]) -> Result<f64, String> {
        let mut command = self.command(program, &[]);
        command.args(job);
        let start = Instant::now();
        self.finish(program, command)?;
        Ok(start.elapsed().as_secs_f64() * 1000.0)
    }

    /// Time that additional arguments add to a job of this many I/Os, in nanoseconds per I/O, measured from
    /// start to exit.
    pub(crate) fn added_ns(
        &self,
        program: Program,
        job: &[String],
        more: &[String],
        ios: u32,
    ) -> Result<f64, String> {
        let plain = self.wall_ms(program, job)?;
        let whole: Vec<String> = job.iter().chain(more).cloned().collect();
        let added = self.wall_ms(program, &whole)? - plain;
        Ok(added * 1e6 / f64::from(ios))
    }

    /// Runs to completion and returns the output; a failed run is an error.
    pub(crate) fn finish(&self, program: Program, mut command: Command) -> Result<String, String> {
        self.interrupt.check()?;
        let ended = command.output().map_err(|error| format!("{program:?} cannot be run: {error}"))?;
        self.interrupt.check()?;
        match ended.status.success() {
            true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
            false => {
                let told = String::from_utf8_lossy(&ended.stderr).into_owned();
                let first = told.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
                Err(format!("{program:?} failed: {first}"))
            }
        }
    }

    /// Measures both programs alternately, so that drift of the machine affects both, and returns the medians.
    pub(crate) fn in_turns(
        &self,
        rounds: usize,
        measure: impl Fn(Program) -> Result<f64, String>,
    ) -> Result<Pair, String> {
        let (mut fio, mut fathom) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            fio.push(measure(Program::Fio)?);
            fathom.push(measure(Program::Fathom)?);
        }
        Ok(Pair { fio: median(&mut fio), fathom: median(&mut fathom) })
    }
}

fn reference() -> Option<PathBuf> {
    std::env::var_os("FATHOM_TEST_FIO").map(PathBuf::from)
}

/// The middle value, or the mean of the two in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => f64::NAN,
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// The rate in a JSON report, which messages may precede.
fn rate_in(text: &str) -> Result<f64, String> {
    let jobs = jobs_in(text)?;
    some_rate(jobs.iter().flat_map(|job| of_directions(job, "iops")).sum())
}

/// The rate when directions run one after another: all I/Os divided by the sum of their run times.
fn phased_rate_in(text: &str) -> Result<f64, String> {
    let jobs = jobs_in(text)?;
    let total = |key| jobs.iter().flat_map(|job| of_directions(job, key)).sum::<f64>();
    some_rate(total("total_ios") * 1000.0 / total("runtime"))
}

pub(super) fn jobs_in(text: &str) -> Result<Vec<Value>, String> {
    let begin = text.find('{').ok_or("the output contains no JSON")?;
    let report: Value = serde_json::from_str(&text[begin..])
        .map_err(|error| format!("invalid JSON in the output: {error}"))?;
    report["jobs"].as_array().cloned().ok_or_else(|| "the report contains no jobs".to_owned())
}

pub(super) fn of_directions(job: &Value, key: &str) -> Vec<f64> {
    ["read", "write", "trim"].iter().filter_map(|direction| job[direction][key].as_f64()).collect()
}

fn some_rate(rate: f64) -> Result<f64, String> {
    if rate > 0.0 { Ok(rate) } else { Err("the report contains no I/O".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn rates_of_all_jobs_and_directions_add_up() {
        let text = r#"note: something
            {"jobs": [{"read": {"iops": 10.5}, "write": {"iops": 2}}, {"read": {"iops": 1}}]}"#;
        assert_eq!(rate_in(text), Ok(13.5));
    }

    #[test]
    fn a_report_without_io_is_no_measurement() {
        for text in ["", "{", "{}", r#"{"jobs": []}"#, r#"{"jobs": [{"read": {"iops": 0}}]}"#] {
            assert!(rate_in(text).is_err(), "{text}");
        }
    }
}
