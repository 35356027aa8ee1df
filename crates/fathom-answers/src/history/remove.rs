//! `fathom history rm`: removes runs by their numbers, all or none.

use super::{failed, list, open, run_numbers};
use crate::{columns, output};
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_history::Access;
use lexopt::Arg::{Long, Value};
use lexopt::Parser;

pub(super) fn run(mut parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut words, mut store, mut format) = (Vec::new(), None, Format::Text);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("store") => store = Some(parser.value()?),
            Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
            Value(word) => words.push(word),
            other => return Err(other.unexpected().into()),
        }
    }
    let ids = run_numbers(&words)?;
    // Reading does not create a store in which there is nothing to remove.
    let removed = open(store.as_ref(), Access::Read)?.remove(&ids).map_err(failed)?;
    match format {
        Format::Json => streams.out.write_all(output::json(&removed)?.as_bytes())?,
        _ => {
            let table = list::table(&removed).text(0, columns::of_terminal());
            output::print(streams, &format!("removed:\n{table}"))?;
        }
    }
    Ok(0)
}
