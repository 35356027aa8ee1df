//! Arguments of the commands that run loads.

use super::objective::Objective;
use fathom_command::{Failure, arguments};
use lexopt::Parser;

/// The limits of `--slo`.
pub(crate) fn objectives(parser: &mut Parser) -> Result<Vec<Objective>, Failure> {
    arguments::text(parser, "--slo")?.split(',').map(Objective::parse).collect()
}

/// The percentage of `--precision`.
pub(crate) fn precision(parser: &mut Parser) -> Result<f64, Failure> {
    let percent = arguments::fraction(parser, "--precision")?;
    match (0.1..=100.0).contains(&percent) {
        true => Ok(percent),
        false => Err(Failure::new("--precision: a number of percent from 0.1 to 100")),
    }
}

/// The number of `--most-runs`.
pub(crate) fn most_runs(parser: &mut Parser) -> Result<u32, Failure> {
    let most = arguments::number(parser, "--most-runs", 1)?;
    let most = u32::try_from(most).ok().filter(|most| *most <= 1000);
    most.ok_or_else(|| Failure::new("--most-runs: at most 1000"))
}
