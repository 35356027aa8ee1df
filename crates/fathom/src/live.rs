//! `--live`: whether the run can be shown full-screen, and the terminal for it.

use crate::refusal::Refusal;
use fathom_live::{LiveTerminal, Look};
use fathom_spec::{Eta, ProgramOptions};
use std::io::IsTerminal;

/// Why the run cannot be shown, and what to do instead.
fn refusal(program: &ProgramOptions) -> Option<&'static str> {
    if !std::io::stdout().is_terminal() {
        return Some(
            "standard output is not a terminal; --eta=always shows a progress line there, --status-interval=time prints \
             reports during the run",
        );
    }
    if program.eta != Eta::Auto || program.eta_newline.is_some() {
        return Some("it replaces the progress line; remove --eta and --eta-newline, or --live");
    }
    None
}

/// Reports whether `--live` is possible, before any line is printed.
pub(crate) fn check(program: &ProgramOptions) -> Result<(), Refusal> {
    match refusal(program).filter(|_| program.live) {
        Some(reason) => Err(Refusal::because("--live", reason)),
        None => Ok(()),
    }
}

/// The terminal in full-screen mode, with `--live`.
pub(crate) fn take_over(program: &ProgramOptions) -> Result<Option<LiveTerminal>, Refusal> {
    if !program.live {
        return Ok(None);
    }
    let look = Look::of_environment(|name| std::env::var(name).ok());
    LiveTerminal::take_over(look).map(Some).map_err(|errno| {
        Refusal::new(format!("fathom: --live: cannot use the terminal: {errno}; run without --live"))
    })
}
