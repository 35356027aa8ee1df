//! `fathom history`: keeps results of many runs in one store, finds them again, and says when a figure changed. One file per
//! subcommand.

mod add;
mod changes;
mod check;
mod export;
mod fleet;
mod fleet_page;
mod import;
mod input;
mod list;
pub(crate) mod pages;
mod question;
mod remove;
mod report;
mod runs;
mod show;
mod siblings;

use crate::Command;
use crate::runner::Runner;
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_history::{Access, Condition, Error, Place, Store};
use lexopt::Arg::{Long, Value};
use lexopt::Parser;
use std::ffi::OsString;

pub(crate) const COMMAND: Command = Command {
    name: "history",
    arguments: "add RESULT...",
    summary: "Keep results for years; list, show, export them",
    help: "\
Usage: fathom history add [--tag=NAME=VALUE] RESULT...   put results into a store
       fathom history import DIRECTORY   add all results in it, skip the rest
       fathom history list [--limit=N] [--skip=N]   the runs, newest first
       fathom history show RUN...        all that is kept of a run
       fathom history export [-o FILE]   figures as CSV, or runs as JSON lines
       fathom history rm RUN...          remove runs, by their numbers
       fathom history changes            when did a figure change, by how much?
       fathom history check              are the newest runs a regression?
       fathom history fleet              which drives are not like the others?
       fathom history report [-o FILE]   a page of the figures and their changes

Results are those of fathom and fio. A result is stored once, whatever its name.
Runs, quick, sweep, curve, rehearse, pts and serve store theirs with --history.

  --store=PLACE       a file, or postgres://USER@HOST/DATABASE with the password in
                      ~/.pgpass (default: FATHOM_HISTORY, otherwise
                      ~/.local/share/fathom/history.db)
  --tag=NAME=VALUE    a tag of the runs, for add and import; may be repeated
  --where=NAME=VALUE  only runs with this host, kernel, device, model, firmware,
                      serial, file_system, job, verdict, program, fingerprint
                      or tag; not for add, import, show, rm; may be repeated
  --format=FORMAT     text, json; list and fleet: csv, markdown, too;
                      export: csv, jsonl; check: text, markdown
  --figure=FIGURE     of changes, check, fleet and report, such as bw, lat or
                      read.p99.9 (default: iops and p99); may be repeated
  --smallest=PERCENT  smallest change that counts (2%; fleet: 5%)
  --newest=N          check: number of newest runs (1)
  --by=model|serial|host  fleet: what is compared: drives of one model, all
                      drives, or hosts
  --limit=N --skip=N  length of the list (50), and where it begins
  -o, --output=FILE   where export and report write; --force overwrites it

Exit: 0; 1 if it failed, or no series has enough runs; 2 if check finds a
regression.
",
    run,
};

/// The subcommands.
const SUBCOMMANDS: [(&str, Subcommand); 10] = [
    ("add", add::run),
    ("import", import::run),
    ("list", list::run),
    ("show", show::run),
    ("export", export::run),
    ("rm", remove::run),
    ("changes", changes::run),
    ("check", check::run),
    ("fleet", fleet::run),
    ("report", report::run),
];

/// Entry point of a subcommand: its arguments, and the output.
type Subcommand = fn(Parser, &mut Streams<'_>) -> Result<u8, Failure>;

fn run(words: &[OsString], streams: &mut Streams<'_>, _: &mut dyn Runner) -> Result<u8, Failure> {
    let known = || SUBCOMMANDS.map(|(name, _)| name).join(", ");
    let Some((word, rest)) = words.split_first() else {
        return Err(Failure::new(format!("nothing to do: name one of {}", known())));
    };
    match SUBCOMMANDS.iter().find(|(name, _)| word == name) {
        Some((_, subcommand)) => subcommand(Parser::from_args(rest), streams),
        None => Err(Failure::new(format!(
            "`{}` is not a subcommand; name one of {} first",
            word.to_string_lossy(),
            known()
        ))),
    }
}

/// A failure of the store.
fn failed(error: Error) -> Failure {
    Failure::new(error.to_string())
}

/// Opens the store that was named, or the default one.
fn open(named: Option<&OsString>, access: Access) -> Result<Store, Failure> {
    let place = Place::of_user(named.map(OsString::as_os_str)).map_err(failed)?;
    Store::open(&place, access).map_err(failed)
}

/// The value of `--where`.
fn condition(parser: &mut Parser) -> Result<Condition, Failure> {
    condition_of(&arguments::text(parser, "--where")?)
}

fn condition_of(text: &str) -> Result<Condition, Failure> {
    Condition::parse(text).map_err(|error| Failure::new(format!("--where: {error}")))
}

/// Runs that were named, the store, and the format.
struct Named {
    ids: Vec<i64>,
    store: Option<OsString>,
    format: Format,
}

impl Named {
    /// Reads the arguments of a subcommand that takes numbers of runs.
    fn read(mut parser: Parser) -> Result<Named, Failure> {
        let (mut words, mut store, mut format) = (Vec::new(), None, Format::Text);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("store") => store = Some(parser.value()?),
                Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
                Value(word) => words.push(word),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(Named { ids: run_numbers(&words)?, store, format })
    }
}

/// Numbers of runs.
fn run_numbers(words: &[OsString]) -> Result<Vec<i64>, Failure> {
    let number = |word: &OsString| {
        let text = word.to_string_lossy();
        text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
            Failure::new(format!("`{text}` is not the number of a run; fathom history list shows them"))
        })
    };
    match words.is_empty() {
        true => Err(Failure::new("name the runs by their numbers; fathom history list shows them")),
        false => words.iter().map(number).collect(),
    }
}

/// Start of a run in local time; `None` if it is unknown.
fn local_time(begun_ms: u64, form: &str) -> Option<String> {
    let ms = i64::try_from(begun_ms).ok().filter(|ms| *ms > 0)?;
    let stamp = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(stamp.to_zoned(jiff::tz::TimeZone::system()).strftime(form).to_string())
}

/// Start of a run in local time, to the second.
fn time(begun_ms: u64) -> String {
    local_time(begun_ms, "%Y-%m-%d %H:%M:%S").unwrap_or_else(|| "-".to_owned())
}

/// Tags as `NAME=VALUE`, separated by spaces.
fn tags(tags: &std::collections::BTreeMap<String, String>) -> String {
    tags.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_runs() {
        let parse = |words: &[&str]| run_numbers(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(parse(&["3", "12"]).expect("numbers"), [3, 12]);
        for wrong in [&[][..], &["0"], &["-1"], &["x"], &["1", ""]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn times_that_are_unknown_are_no_times() {
        assert_eq!(time(0), "-");
        assert_eq!(time(u64::MAX), "-");
        assert!(time(1_700_000_000_000).starts_with("2023-11-1"));
    }
}
