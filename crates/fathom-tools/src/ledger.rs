//! Ledgers of verified writes: checks what the storage kept after a crash, shows their records, and takes them from other hosts.

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
/// Exit code when nothing could be checked.
const UNUSABLE: u8 = 2;

pub(crate) const TOOL: Tool = Tool {
    name: "ledger",
    summary: "Say which promises storage broke in a crash, from the ledger of a verify job",
    help: "\
Usage: fathom ledger check [--after=power-cut|kill] [--until=NS] [--file=RECORDED=ACTUAL] [--format=text|json] LEDGER...
       fathom ledger show LEDGER...
       fathom ledger receive --listen=HOST:PORT [--clones=N] FILE

A job with verify= and verify_ledger= records what it issues, what is acknowledged and what is synced.

check reads the files that the job wrote and says which writes the storage had promised and did not keep. Ledgers that
name the same file are checked together. Exit status 0: all promises were kept; 1: some were broken; 2: nothing could be
checked.
  --after=WHAT            power-cut: what was synced has to be there (default); kill: the process alone ended, and what
                          was acknowledged has to be there
  --until=NS              when it happened, on the monotonic clock: later records do not count
  --file=RECORDED=ACTUAL  a file is elsewhere now; may be repeated
  --format=text|json      default text

show prints the records, a line each.

receive takes what jobs with verify_ledger=tcp:HOST:PORT send, and ends with the last of them.
  --listen=HOST:PORT      where to listen
  --clones=N              so many clones send; each gets a file of its own, FILE.1, FILE.2, ...; default 1: FILE
",
    run,
    fio_programs: &[],
};

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let done = match words.split_first() {
        Some((word, rest)) if word == "check" => check::run(rest, streams),
        Some((word, rest)) if word == "show" => show::run(rest, streams),
        Some((word, rest)) if word == "receive" => receive::run(rest, streams),
        _ => Err(Failure::new("say what to do: check, show or receive; --help explains them")),
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

/// Reads all of them.
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
            (&[][..], "say what to do"),
            (&["check"], "no file given"),
            (&["check", path], "this is no ledger"),
            (&["check", "--after=lunch", path], "`lunch` is none of power-cut, kill"),
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
