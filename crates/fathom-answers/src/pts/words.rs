//! The arguments of the command.

use super::plan::{PtsTest, TESTS};
use super::safety::GivenTarget;
use crate::table::{FORMATS, Format};
use fathom_command::{Failure, arguments};
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Maximum number of rounds that the specification allows.
pub(super) const USUAL_ROUNDS: usize = 25;
const MOST_ROUNDS: u64 = 1000;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    Run(Box<PtsWishes>),
    /// Print the report of a results file.
    Show(PathBuf),
}

/// A test to run.
#[derive(Debug, PartialEq)]
pub(super) struct PtsWishes {
    pub(super) test: PtsTest,
    pub(super) target: GivenTarget,
    pub(super) threads: u32,
    pub(super) depth: u32,
    pub(super) most_rounds: usize,
    pub(super) scale: f64,
    pub(super) purges: bool,
    pub(super) output: Option<PathBuf>,
    /// The store to which the test is added, if it is asked for; without a name, the usual one.
    pub(super) history: Option<Option<OsString>>,
    pub(super) resumes: bool,
    pub(super) is_dry_run: bool,
}

/// The parsed arguments.
#[derive(Debug, PartialEq)]
pub(super) struct PtsOptions {
    pub(super) what: What,
    pub(super) format: Format,
}

/// The arguments as written.
#[derive(Default)]
struct Words {
    values: Vec<PathBuf>,
    target: GivenTarget,
    threads: Option<u32>,
    depth: Option<u32>,
    rounds: Option<u64>,
    scale: Option<f64>,
    no_purge: bool,
    output: Option<PathBuf>,
    history: Option<Option<OsString>>,
    resumes: bool,
    is_dry_run: bool,
    /// A given option that applies only to runs, for a message.
    of_runs: Option<String>,
}

/// Parses them.
pub(super) fn read(words: &[OsString]) -> Result<PtsOptions, Failure> {
    let (mut found, mut format) = (Words::default(), Format::Text);
    let mut parser = lexopt::Parser::from_args(words.iter().cloned());
    while let Some(argument) = parser.next()? {
        if let Long(name) = argument
            && name != "format"
        {
            found.of_runs.get_or_insert_with(|| name.to_owned());
        }
        match argument {
            Long("destroy") => found.target.destroy = Some(PathBuf::from(parser.value()?)),
            Long("file") => found.target.file = Some(PathBuf::from(parser.value()?)),
            Long("size") => found.target.size = Some(arguments::size(&mut parser, "--size")?),
            Long("threads") => found.threads = Some(count(&mut parser, "--threads", 256)?),
            Long("depth") => found.depth = Some(count(&mut parser, "--depth", 65_536)?),
            Long("rounds") => found.rounds = Some(arguments::number(&mut parser, "--rounds", 1)?),
            Long("scale") => found.scale = Some(scale(&mut parser)?),
            Long("no-purge") => found.no_purge = true,
            Long("output") => found.output = Some(PathBuf::from(parser.value()?)),
            Long("history") => found.history = Some(parser.optional_value()),
            Long("resume") => found.resumes = true,
            Long("dry-run") => found.is_dry_run = true,
            Long("format") => format = arguments::choice(&mut parser, "--format", &FORMATS)?,
            Value(value) => found.values.push(PathBuf::from(value)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(PtsOptions { what: found.what()?, format })
}

fn count(parser: &mut lexopt::Parser, option: &str, most: u32) -> Result<u32, Failure> {
    let number = arguments::number(parser, option, 1)?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| Failure::new(format!("{option}: at most {most}")))
}

fn scale(parser: &mut lexopt::Parser) -> Result<f64, Failure> {
    let scale = arguments::fraction(parser, "--scale")?;
    match scale > 0.0 && scale <= 1.0 {
        true => Ok(scale),
        false => Err(Failure::new("--scale: a share above 0 and up to 1, such as 0.01")),
    }
}

impl Words {
    fn what(mut self) -> Result<What, Failure> {
        let tests: Vec<&str> = TESTS.iter().map(|(word, _)| *word).collect();
        if self.values.is_empty() {
            return Err(Failure::new(format!(
                "no test given; name one of {}, or a results file",
                tests.join(", ")
            )));
        }
        let first = self.values.remove(0);
        let Some((_, test)) = TESTS.iter().find(|(word, _)| Path::new(word) == first) else {
            return self.show(first, &tests);
        };
        if self.values.len() > 1 {
            return Err(Failure::new(format!("{} devices given; a test has one", self.values.len())));
        }
        self.target.device = self.values.pop();
        let definition = test.definition();
        if definition.has_fixed_load && (self.threads.is_some() || self.depth.is_some()) {
            return Err(Failure::new(
                "the latency test has one I/O at a time; leave out --threads and --depth",
            ));
        }
        let rounds = self.rounds.unwrap_or(USUAL_ROUNDS as u64);
        if rounds > MOST_ROUNDS {
            return Err(Failure::new(format!("--rounds: at most {MOST_ROUNDS}")));
        }
        Ok(What::Run(Box::new(PtsWishes {
            test: *test,
            target: self.target,
            threads: self.threads.unwrap_or(definition.usual_load.0),
            depth: self.depth.unwrap_or(definition.usual_load.1),
            most_rounds: rounds as usize,
            scale: self.scale.unwrap_or(1.0),
            purges: !self.no_purge,
            output: self.output,
            history: self.history,
            resumes: self.resumes,
            is_dry_run: self.is_dry_run,
        })))
    }

    fn show(self, path: PathBuf, tests: &[&str]) -> Result<What, Failure> {
        if !path.exists() {
            return Err(Failure::new(format!(
                "{}: neither one of the tests ({}) nor a results file",
                path.display(),
                tests.join(", ")
            )));
        }
        match (self.values.is_empty(), self.of_runs) {
            (true, None) => Ok(What::Show(path)),
            (true, Some(option)) => Err(Failure::new(format!(
                "{}: this is a results file, so only its report is printed; --{option} has no effect",
                path.display()
            ))),
            (false, _) => Err(Failure::new("a results file must be the only argument")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &str) -> Result<PtsOptions, Failure> {
        read(&words.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_test_and_its_target() {
        let options = read_words("iops /dev/sdz --destroy /dev/sdz --scale=0.1 --no-purge --format=json")
            .expect("reads");
        let What::Run(wishes) = options.what else { panic!("a test") };
        assert_eq!(
            (wishes.test, wishes.threads, wishes.depth, wishes.most_rounds),
            (PtsTest::Iops, 4, 32, 25)
        );
        assert_eq!((wishes.scale, wishes.purges, options.format), (0.1, false, Format::Json));
        assert_eq!(wishes.target.device, wishes.target.destroy);
        for (wrong, what) in [
            ("", "no test given; name one of iops, throughput, latency, saturation"),
            ("speed /dev/sdz", "neither one of the tests"),
            ("iops a b", "2 devices given"),
            ("iops a --threads=0", "--threads"),
            ("iops a --threads=257", "at most 256"),
            ("iops a --depth=70000", "at most 65536"),
            ("iops a --rounds=1001", "at most 1000"),
            ("iops a --scale=0", "a share above 0"),
            ("iops a --scale=1.5", "a share above 0"),
            ("latency a --depth=2", "one I/O at a time"),
            ("/dev/null --scale=0.1", "--scale has no effect"),
            ("/dev/null b", "must be the only argument"),
        ] {
            let told = read_words(wrong).err().map(|failure| failure.to_string()).unwrap_or_default();
            assert!(told.contains(what), "{wrong}: {told}");
        }
    }
}
