//! Ledgers of verified writes: checks the content of the storage after a crash, shows the records, and receives
//! ledgers from other hosts.

mod broken;
mod check;
mod receive;
mod show;

use crate::{Tool, input};
use fathom_command::{Failure, Streams};
use fathom_verify::ledger::Account;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Exit code of a check that found broken promises.
const BROKEN: u8 = 1;
/// Exit code if nothing could be checked.
const UNUSABLE: u8 = 2;
/// Exit code of a check without any promise.
const NOTHING_PROMISED: u8 = 3;

pub(crate) const TOOL: Tool = Tool {
    name: "ledger",
    summary: "Report durability promises that storage broke in a crash, from a verify job's ledger",
    help: "\
Usage: fathom ledger check [--after=power-cut|kill] [--until=NS] [--file=RECORDED=ACTUAL] [--format=text|json] LEDGER...
       fathom ledger show LEDGER...
       fathom ledger receive --listen=HOST:PORT [--clones=N] FILE

A job with verify= and verify_ledger= records the writes it issues, and which are acknowledged and synced.

check reads the files that the job wrote and reports the writes that the storage promised but lost. Ledgers that
name the same file are checked together. Exit status 0: all promises were kept; 1: some were broken; 2: nothing could
be checked; 3: nothing was promised, so that there was nothing to check.
  --after=WHAT            power-cut: synced writes must be there (default); kill: only the process ended, so
                          acknowledged writes must be there
  --until=NS              time of the crash on the monotonic clock: later records do not count
  --file=RECORDED=ACTUAL  a file is elsewhere now; may be repeated
  --format=text|json      default text

show prints the records, one per line.

receive collects ledgers from jobs with verify_ledger=tcp:HOST:PORT, and ends with the last of them.
  --listen=HOST:PORT      where to listen
  --clones=N              number of clones that send; each gets its own file, FILE.1, FILE.2, ...; default 1: FILE
",
    run,
    fio_programs: &[],
};

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let done = match words.split_first() {
        Some((word, rest)) if word == "check" => check::run(rest, streams),
        Some((word, rest)) if word == "show" => show::run(rest, streams),
        Some((word, rest)) if word == "receive" => receive::run(rest, streams),
        _ => Err(Failure::new("choose check, show or receive; --help explains them")),
    };
    match done {
        Err(failure @ (Failure::Message(_) | Failure::UnknownOption(_))) => {
            writeln!(streams.err, "fathom ledger: {failure}")?;
            Ok(UNUSABLE)
        }
        done => done,
    }
}

/// Reads a ledger.
fn account(path: &Path) -> Result<Account, Failure> {
    Account::read(&input::bytes(path)?)
        .map_err(|reason| Failure::new(format!("{}: {reason}", path.display())))
}

/// Reads all ledgers.
fn accounts(paths: &[PathBuf]) -> Result<Vec<Account>, Failure> {
    paths.iter().map(|path| account(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> (u8, String) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code =
            run(&words, &mut Streams { out: &mut out, err: &mut err }).expect("streams take everything");
        (code, String::from_utf8(err).expect("text"))
    }

    #[test]
    fn unusable_input_is_told_and_is_no_broken_promise() {
        let no_ledger = tempfile::NamedTempFile::new().expect("a temporary file");
        let path = no_ledger.path().to_str().expect("text");
        for (words, reason) in [
            (&[][..], "choose check, show or receive"),
            (&["check"], "no file given"),
            (&["check", path], "not a ledger"),
            (&["check", "--after=lunch", path], "`lunch` is not one of power-cut, kill"),
            (&["check", "--file=nothing", path], "--file"),
            (&["show", "/no/such/ledger"], "/no/such/ledger: No such file"),
            (&["receive", "--listen=nowhere", "/tmp/x"], "--listen=nowhere"),
        ] {
            let (code, message) = told(words);
            assert_eq!(code, UNUSABLE, "{words:?}: {message}");
            assert!(message.contains(reason), "{words:?}: {message}");
        }
    }
}
