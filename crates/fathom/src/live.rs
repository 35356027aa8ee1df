//! `--live`: whether the run can be shown on a whole terminal, and the terminal for it.

use crate::refusal::Refusal;
use fathom_live::{LiveTerminal, Look};
use fathom_spec::{Eta, ProgramOptions};
use std::io::IsTerminal;

/// Why the run cannot be shown so, and what to do.
fn refusal(program: &ProgramOptions) -> Option<&'static str> {
    if !std::io::stdout().is_terminal() {
        return Some(
            "standard output is not a terminal; --eta=always shows a progress line there, --status-interval=time prints \
             reports during the run",
        );
    }
    if program.eta != Eta::Auto || program.eta_newline.is_some() {
        return Some("it takes the place of the progress line; leave --eta and --eta-newline out, or --live");
    }
    None
}

/// Says whether `--live` can be had, before anything is printed.
pub(crate) fn check(program: &ProgramOptions) -> Result<(), Refusal> {
    match refusal(program).filter(|_| program.live) {
        Some(reason) => Err(Refusal::because("--live", reason)),
        None => Ok(()),
    }
}

/// The terminal, taken over, where `--live` asks for it.
pub(crate) fn take_over(program: &ProgramOptions) -> Result<Option<LiveTerminal>, Refusal> {
    if !program.live {
        return Ok(None);
    }
    let look = Look::of_environment(|name| std::env::var(name).ok());
    LiveTerminal::take_over(look).map(Some).map_err(|errno| {
        Refusal::new(format!(
            "fathom: --live: the terminal cannot be taken over: {errno}; without --live the run needs none"
        ))
    })
}
