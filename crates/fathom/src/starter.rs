//! Ties a run to the process that started it, so that it ends when that process does. Otherwise a killed Python
//! process would leave behind a run that writes for hours.

use crate::output::Output;
use crate::refusal::Refusal;
use fathom_sys::process::{self, Relation};

/// The environment variable: the process ID of the parent. Indirect descendants inherit it, but it does not
/// apply to them.
const VARIABLE: &str = "FATHOM_END_WITH_PARENT";

/// From here on, the end of the parent interrupts the run, if the parent requested it.
pub(crate) fn follow() -> Result<(), Refusal> {
    let Some(named) = std::env::var_os(VARIABLE) else { return Ok(()) };
    let named = named.to_string_lossy();
    let failed = |why: &str| Err(Refusal::because(format_args!("{VARIABLE}={named}"), why));
    match named.parse().ok().filter(|id: &u32| *id > 0).map(process::interrupt_with_parent) {
        None => failed("not a process id; name the process that starts fathom, or unset the variable"),
        Some(Ok(Relation::Parent | Relation::Stranger)) => Ok(()),
        Some(Ok(Relation::Gone)) => failed("this process has ended, so nothing is run for it"),
        // The caller cannot change the system, and the run is still wanted.
        Some(Err(error)) => {
            let why = format!("cannot watch the parent process ({error}); the run will continue if it exits");
            Output::terminal().error_line(&format!("fathom: {VARIABLE}={named}: {why}"));
            Ok(())
        }
    }
}
