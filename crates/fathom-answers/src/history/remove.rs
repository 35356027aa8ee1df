//! `fathom history rm`: removes runs by their numbers, all or none.

use super::{Named, failed, list, open};
use crate::{columns, output};
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams};
use fathom_history::Access;
use lexopt::Parser;

pub(super) fn run(parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let Named { ids, store, format } = Named::read(parser)?;
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
