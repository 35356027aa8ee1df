//! Output for people: in characters that the terminal supports, and through a pager if the text is longer than
//! the screen.

use crate::columns;
use fathom_command::printer::{Letters, in_letters};
use fathom_command::{Failure, Streams};
use serde::Serialize;
use std::io::Write;
use std::process::{Command, Stdio};

/// Default options of `less`: text that fits is printed without paging, and stays on the screen afterwards.
const LESS: &str = "FRX";

/// Prints text for people. Output for programs goes to `streams.out` unchanged.
pub(crate) fn print(streams: &mut Streams<'_>, text: &str) -> Result<(), Failure> {
    Ok(streams.out.write_all(in_letters(text, Letters::of_environment()).as_bytes())?)
}

/// Like `print`, through a pager if the text does not fit the terminal.
pub(crate) fn print_long(streams: &mut Streams<'_>, text: &str) -> Result<(), Failure> {
    let is_long = || columns::rows_of_terminal().is_some_and(|rows| text.lines().count() >= rows);
    if streams.out.is_read() && is_long() && through_pager(&in_letters(text, Letters::of_environment())) {
        return Ok(());
    }
    print(streams, text)
}

/// A document for programs. Sums of squares have 128 bits, which only a typed document can hold.
pub(crate) fn json(document: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    text.map(|text| text + "\n").map_err(|error| Failure::new(format!("the JSON cannot be written: {error}")))
}

/// Returns false if the pager is missing or disabled.
fn through_pager(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if matches!(pager.trim(), "" | "cat") {
        return false;
    }
    // While the pager runs, it has the keyboard and handles Ctrl-C, so the signal must not end this program.
    let Ok(_signals) = crate::runner::signals() else { return false };
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("command -v {} >/dev/null && exec {pager}", first_word(&pager))])
        .stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    // A pager that the user quits early stops reading, which is not an error.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(text.as_bytes()));
    let ended = child.wait().map(|status| status.code());
    // With these exit codes, the pager could not start and has shown nothing.
    !matches!(ended, Ok(Some(1 | 126 | 127)) | Err(_))
}

fn first_word(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or_default()
}
