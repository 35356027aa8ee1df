//! Parts shared by all commands and tools: argument parsing, output streams, exit codes.

#![forbid(unsafe_code)]

pub mod arguments;
mod failure;
pub mod long_options;
mod new_directory;
mod new_file;
pub mod printer;

pub use failure::{DEFECT, Failure};
pub use new_directory::NewDirectory;
pub use new_file::NewFile;

use printer::Screen;
use std::ffi::OsString;

/// The output streams of a command or tool.
pub struct Streams<'a> {
    /// The requested output.
    pub out: &'a mut dyn Screen,
    /// Progress and warnings.
    pub err: &'a mut dyn Screen,
}

/// Runs a tool or command: prints its help if requested, does the work otherwise, and reports a failure under
/// `name`. Returns the exit code.
pub fn call<'s>(
    name: &str,
    help: Option<&'static str>,
    words: &[OsString],
    streams: &mut Streams<'s>,
    work: impl FnOnce(&[OsString], &mut Streams<'s>) -> Result<u8, Failure>,
) -> u8 {
    let asks_for_help =
        words.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h");
    let done = match help {
        Some(help) if asks_for_help => {
            streams.out.write_all(help.as_bytes()).map_err(Failure::from).map(|()| 0)
        }
        _ => work(words, streams),
    };
    let done = done.and_then(|code| Ok(streams.out.flush().map(|()| code)?));
    match done {
        Ok(code) => code,
        Err(failure) if failure.reader_is_gone() => 0,
        Err(failure) => {
            let hint = match &failure {
                Failure::UnknownOption(option) => long_options::hint(option, help),
                _ => String::new(),
            };
            // If this line cannot be written either, the exit code still reports the failure.
            let _ = writeln!(streams.err, "{name}: {failure}{hint}");
            failure.exit_code()
        }
    }
}
