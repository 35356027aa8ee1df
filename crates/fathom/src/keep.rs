//! `--history`: the store to which results are added.

use crate::output::Output;
use crate::refusal::Refusal;
use fathom_answers::Keeper;
use fathom_spec::ProgramOptions;
use fathom_stats::report::RunReport;
use std::ffi::OsStr;

/// The store, if it is asked for and there will be a result.
pub(crate) fn begin(program: &ProgramOptions) -> Result<Option<Keeper>, Refusal> {
    let named = program.history.as_ref().filter(|_| !program.parse_only && !program.merge_blktrace_only);
    let keeper = named.map(|named| Keeper::begin(Some(OsStr::new(named)))).transpose();
    keeper.map_err(|failure| Refusal::new(format!("fathom: {failure}")))
}

/// Adds a result; false if it is not in the store.
pub(crate) fn add(
    keeper: Option<&Keeper>,
    report: &RunReport,
    program: &ProgramOptions,
    output: &mut Output,
) -> bool {
    let done = keeper.map_or(Ok(()), |keeper| keeper.add(report, program.output.as_deref()));
    if let Err(failure) = &done {
        output.error_line(&format!("fathom: {failure}"));
    }
    done.is_ok()
}
