//! `fathom explain`: explains a result in plain words, with a verdict on the bottleneck, or explains a term.

mod brief;
mod hosts;
mod job;
mod pages;
mod story;
mod terms;
mod verdict;
mod word;

use crate::Command;
use crate::columns;
use crate::curve::record::RecordedCurve;
use crate::evidence::Evidence;
use crate::output;
use crate::pts::record::RecordedTest;
use crate::rehearse::record::RecordedRehearsal;
use crate::results_file::is_results;
use crate::runner::Runner;
use crate::sweep::record::RecordedSweep;
use fathom_command::{Failure, Streams};
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::Path;

/// A verdict on a job, for use in other views of a result.
pub(crate) struct Judgement {
    /// Its limit.
    pub(crate) headline: &'static str,
    /// Sentences with the figures on which the verdict is based.
    pub(crate) reasons: Vec<String>,
}

/// The bottleneck of a job, with reasons.
pub(crate) fn verdict_of(evidence: &Evidence<'_>) -> Judgement {
    let found = verdict::of(evidence);
    let doubts = story::doubts_of(evidence).map(|doubt| format!("Doubtful: {doubt}."));
    Judgement {
        headline: found.bottleneck.headline(),
        reasons: found.reasons.into_iter().chain(doubts).collect(),
    }
}

pub(crate) use hosts::shared as verdicts_of_hosts;
pub(crate) use verdict::is_memory_device;

/// A sentence that describes a job.
pub(crate) fn sentence_of(evidence: &Evidence<'_>) -> String {
    job::sentence(evidence)
}

pub(crate) const COMMAND: Command = Command {
    name: "explain",
    arguments: "RESULT|TERM",
    summary: "What does this result, option or line mean?",
    help: "\
Usage: fathom explain [--all] RESULT
       fathom explain TERM...

With a file: explains a result (JSON, JSON+ or JSONL, of fathom or fio) in plain words and names the bottleneck: the device,
the CPU, the queue depth, the file system, a cache, a rate limit, or the job itself. - is standard input. The result
of three jobs or more fits a screen: one verdict on the figures and a line per job.

With a term: explains an option (iodepth), an option with a value (rw=randrw), an engine (libaio), a line of a report
('clat percentiles', 'IO depths', 'cpu : usr=1.20%'), a figure (p99) or a finding of the verdict (reads-missing). If a file has
that name, explain reads the file.

  --all   everything that there is to say of a result, however many jobs it has
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, _: &mut dyn Runner) -> Result<u8, Failure> {
    let (mut given, mut all) = (Vec::new(), false);
    let mut parser = lexopt::Parser::from_args(words);
    // An option pasted from a job begins with dashes, but is not an option of this command.
    let pasted =
        words.first().is_some_and(|word| word != "--all" && word.to_string_lossy().starts_with("--"));
    if pasted {
        given.extend(words.iter().map(|word| word.to_string_lossy().into_owned()));
    } else {
        while let Some(argument) = parser.next()? {
            match argument {
                Long("all") => all = true,
                Value(word) => given.push(word.to_string_lossy().into_owned()),
                other => return Err(other.unexpected().into()),
            }
        }
    }
    let text = given.join(" ");
    let path = Path::new(given.first().map_or("", String::as_str));
    if text.is_empty() {
        return Err(Failure::new("nothing to explain: give a result, or a term such as iodepth"));
    }
    let shown = match given.len() == 1 && is_result(path) {
        true => {
            refuse_many(path)?;
            let result = fathom_results::read(path).map_err(|error| Failure::new(error.to_string()))?;
            let columns = columns::of_text();
            match all {
                true => story::tell(&result, columns),
                false => brief::tell(&result, columns).unwrap_or_else(|| story::tell(&result, columns)),
            }
        }
        false if given.len() == 1 && path.is_dir() && !word::is_known(&text) => {
            return Err(Failure::new(format!(
                "{0}: this is a directory; name a result in it, or compare two such directories: fathom compare {0} OTHER",
                path.display()
            )));
        }
        false => word::explain(&text)?,
    };
    output::print_long(streams, &columns::wrapped(&shown, columns::of_text()))?;
    Ok(0)
}

/// Refuses the results file of a command that makes many runs, because it holds one result per run instead of a
/// single result.
fn refuse_many(path: &Path) -> Result<(), Failure> {
    let (what, command) = match () {
        () if is_results::<RecordedSweep>(path) => ("the file of a sweep", "sweep"),
        () if is_results::<RecordedCurve>(path) => ("the file of curves", "curve"),
        () if is_results::<RecordedTest>(path) => ("the file of a PTS test", "pts"),
        () if is_results::<RecordedRehearsal>(path) => ("the file of a rehearsal", "rehearse"),

        () => return Ok(()),
    };
    Err(Failure::new(format!(
        "{0}: this is {what}, not a result of one run: fathom {command} {0} prints it, fathom report {0} -o FILE draws it",
        path.display()
    )))
}

/// True for readable paths, including pipes that the shell provides, and for arguments that can only be file
/// names.
fn is_result(path: &Path) -> bool {
    let is_there = path.exists() && !path.is_dir();
    let begins = |lead: &str| path.to_string_lossy().starts_with(lead);
    let ends = |end: &str| path.extension().is_some_and(|own| own == end);
    let is_meant = ["/", "./", "../"].into_iter().any(begins) || ["json", "jsonl"].into_iter().any(ends);
    // A pasted line, or an option that contains a path, is not a file name.
    let is_word = path.to_string_lossy().contains(['=', ' ']);
    path == Path::new("-") || is_there || (is_meant && !is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_words() {
        for file in ["-", "/dev/null", "/", "./missing", "missing.json"] {
            assert!(is_result(Path::new(file)), "{file}");
        }
        for word in ["iodepth", "--filename=/dev/sdb", "clat (nsec): min=1/2", "MiB/s", "src"] {
            assert!(!is_result(Path::new(word)), "{word}");
        }
    }
}
