//! `--inflate-log`: a compressed log as text on standard output.

use crate::exit;
use crate::output::Output;
use fathom_errors::plain;
use fathom_logs::compressed::inflate;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

/// Prints the log in this file.
pub(crate) fn run(path: &Path) -> ExitCode {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => {
            let mut output = Output::terminal();
            if error.kind() == ErrorKind::NotFound {
                output.error_line("fopen: No such file or directory");
            }
            output.error_line(&format!(
                "fathom: cannot read the log {}: {error}",
                path.display(),
                error = plain(&error)
            ));
            return ExitCode::from(exit::SETUP_FAILED);
        }
    };
    let mut output = BufWriter::new(io::stdout().lock());
    match inflate(&mut BufReader::new(file), &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has gone away (`| head`) is not an error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            drop(output);
            let text = format!("fathom: cannot inflate {}: {error}", path.display(), error = plain(&error));
            Output::terminal().error_line(&text);
            ExitCode::from(exit::SETUP_FAILED)
        }
    }
}
