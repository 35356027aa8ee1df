//! Input files; `-` is standard input.

use fathom_command::Failure;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Opens a file for reading from its start.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// All bytes of a file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|error| Failure::file(path, &error))?;
    Ok(bytes)
}

/// Passes each non-blank line to `take`, with its number from 1; errors of `take` are reported with both.
pub(crate) fn lines<E: Display>(
    path: &Path,
    reader: &mut dyn BufRead,
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(|error| Failure::file(path, &error))?;
        if length == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            take(text.trim())
                .map_err(|wrong| Failure::new(format!("{}, line {number}: {wrong}", path.display())))?;
        }
    }
    Ok(())
}
