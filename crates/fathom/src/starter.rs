//! A program that starts this one can have its runs end with it, however it ends. A Python that is killed would otherwise leave a run that
//! writes for hours, with nobody to stop it.

use crate::output::Output;
use crate::refusal::Refusal;
use fathom_sys::process::{self, Relation};

/// The environment variable: the id of the process that starts this one. Those started further below inherit the variable, and it means
/// nothing to them.
const VARIABLE: &str = "FATHOM_END_WITH_PARENT";

/// From here on, the end of the parent is an interrupt, if the parent asks for it.
pub(crate) fn follow() -> Result<(), Refusal> {
    let Some(named) = std::env::var_os(VARIABLE) else { return Ok(()) };
    let named = named.to_string_lossy();
    let failed = |why: &str| Err(Refusal::because(format_args!("{VARIABLE}={named}"), why));
    match named.parse().ok().filter(|id: &u32| *id > 0).map(process::interrupt_with_parent) {
        None => failed("not a process id; name the process that starts fathom, or unset the variable"),
        Some(Ok(Relation::Parent | Relation::Stranger)) => Ok(()),
        Some(Ok(Relation::Gone)) => failed("this process has ended, so nothing is run for it"),
        // Whoever set the variable cannot do anything about the system, and wants its run all the same.
        Some(Err(error)) => {
            let why = format!("the system does not tell of its end ({error}), so runs outlive it");
            Output::terminal().error_line(&format!("fathom: {VARIABLE}={named}: {why}"));
            Ok(())
        }
    }
}
