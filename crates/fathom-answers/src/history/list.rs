//! `fathom history list`: runs, the newest first.

use super::{condition, failed, open, tags, time};
use crate::columns;
use crate::output;
use crate::table::{Align, FORMATS, Format, Table, print_as};
use fathom_command::{Failure, Streams, arguments};
use fathom_history::{Access, Listed, Page};
use lexopt::Arg::Long;
use lexopt::Parser;

/// Length of the list unless the user asks for another one.
const USUAL: u64 = 50;

pub(super) fn run(mut parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut conditions, mut store, mut format) = (Vec::new(), None, Format::Text);
    let (mut limit, mut skip) = (USUAL, 0);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("where") => conditions.push(condition(&mut parser)?),
            Long("store") => store = Some(parser.value()?),
            Long("limit") => limit = arguments::number(&mut parser, "--limit", 1)?,
            Long("skip") => skip = arguments::number(&mut parser, "--skip", 0)?,
            Long("format") => format = arguments::choice(&mut parser, "--format", &FORMATS)?,
            other => return Err(other.unexpected().into()),
        }
    }
    let page = open(store.as_ref(), Access::Read)?.list(&conditions, limit, skip).map_err(failed)?;
    match format {
        Format::Json => print_as(format, streams, &output::json(&page)?)?,
        Format::Csv => print_as(format, streams, &table(&page.runs).csv())?,
        Format::Markdown => print_as(format, streams, &table(&page.runs).markdown())?,
        Format::Text => {
            let rows = table(&page.runs).text(0, columns::of_terminal());
            output::print_long(streams, &(rows + &rest(&page, skip)))?;
        }
    }
    Ok(0)
}

/// The rows of the runs.
pub(super) fn table(runs: &[Listed]) -> Table {
    let mut table = Table::new(&[
        ("run", Align::Right),
        ("begun", Align::Left),
        ("verdict", Align::Left),
        ("host", Align::Name),
        ("device", Align::Left),
        ("model", Align::Name),
        ("jobs", Align::Name),
        ("tags", Align::Name),
    ]);
    for run in runs {
        table.row(vec![
            run.id.to_string(),
            time(run.begun_ms),
            run.verdict.clone(),
            run.host.clone(),
            run.device.clone(),
            run.model.clone(),
            run.jobs.join(" "),
            tags(&run.tags),
        ]);
    }
    table
}

/// What follows the table if it is not all there is.
fn rest(page: &Page, skip: u64) -> String {
    let shown = skip + page.runs.len() as u64;
    match (page.total, page.runs.len()) {
        (0, _) => "no run meets the conditions\n".to_owned(),
        (total, 0) => format!("there are {total} runs; --skip={skip} leaves none\n"),
        (total, _) if shown < total => format!("{} more: --skip={shown}\n", total - shown),
        _ => String::new(),
    }
}
