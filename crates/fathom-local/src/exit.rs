//! Exit codes.

use fathom_run::supervisor::Outcome;
use std::process::ExitCode;

/// The request is invalid, or the run could not be started on this machine.
pub const SETUP_FAILED: u8 = 1;
/// A bug in fathom ended a job, or fathom itself.
pub use fathom_command::DEFECT;
/// The result does not meet `--require`; `git bisect run` treats this as an untestable revision.
pub const REQUIREMENT_UNMET: u8 = fathom_spec::Requirement::UNMET;
/// A signal ended the run.
pub const ENDED_BY_SIGNAL: u8 = 128;

/// 0 on success, the number of failed jobs, or 128 after a signal, even if it arrived after the jobs had ended.
/// 70 takes precedence, because after a bug in fathom the figures cannot be trusted.
pub fn code(outcome: &Outcome, asked_to_end: bool) -> ExitCode {
    ExitCode::from(number(outcome, asked_to_end))
}

/// The exit code as a number.
pub fn number(outcome: &Outcome, asked_to_end: bool) -> u8 {
    if outcome.is_broken {
        return DEFECT;
    }
    if outcome.signal.is_some() || asked_to_end {
        return ENDED_BY_SIGNAL;
    }
    // Shells use 127 and above for other purposes.
    outcome.failed_jobs.min(126) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::report::RunReport;

    #[test]
    fn a_defect_comes_before_everything_else() {
        let report = RunReport::default();
        let mut outcome =
            Outcome { report, failed_jobs: 3, is_broken: false, signal: None, lost_logs: false };
        assert_eq!(number(&outcome, false), 3);
        assert_eq!(number(&outcome, true), ENDED_BY_SIGNAL);
        outcome.is_broken = true;
        assert_eq!((number(&outcome, false), number(&outcome, true)), (DEFECT, DEFECT));
    }
}
