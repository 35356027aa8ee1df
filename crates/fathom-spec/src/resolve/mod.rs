//! Rules across options: combinations that are wrong, that imply other options, or that deserve a note. The
//! rules run once for each job when it is complete, in a fixed order.

mod block_size;
mod buffers;
mod depth;
mod direct;
mod groups;
mod hosts;
pub(crate) mod inverse;
mod latency;
mod logs;
mod measurement;
mod placement;
mod precondition;
mod rate;
mod replay;
mod steady_state;
mod time;
pub(crate) mod tree;
mod verification;
mod wait;
mod zones;

use crate::diagnostic::{Diagnostic, Rejected};
use crate::engines::{Engines, Review, Rule};
use crate::hosts::HostPlace;
use crate::message::Message;
use crate::spec::JobSpec;

/// Rules for each job, in the order in which they run. They all run even if one refuses the job, so that all
/// errors are reported together.
const RULES: &[Rule] = &[
    tree::shape_tree,
    wait::check_waitee,
    rate::check_exclusive,
    rate::check_minimum,
    rate::check_open_loop,
    zones::check_zones,
    zones::check_zone_mode,
    block_size::alignment_turns_map_off,
    block_size::distribution_turns_map_off,
    verification::warn_without_map,
    block_size::warn_unaligned_direct,
    time::drop_time_based_without_runtime,
    rules_of_the_engine,
    precondition::check_precondition,
    block_size::check_longest,
    block_size::check_size,
    block_size::note_size_of_trimmed,
    depth::cap_synchronous,
    depth::clamp_batches,
    depth::check_command_priorities,
    depth::check_offload,
    placement::check_placement,
    direct::check_atomic,
    direct::check_syncfs,
    direct::check_ranges,
    direct::check_unlink_each_loop,
    hosts::note_unique_filename,
    hosts::check_split,
    hosts::check_rotation,
    direct::drop_pre_read,
    buffers::check_working_set,
    buffers::note_overruled,
    replay::check_replay,
    replay::check_merge,
    verification::check_pattern,
    verification::check_ledger,
    verification::check_appended,
    verification::fit_interval,
    verification::check_header_place,
    verification::turn_checks_off,
    verification::warn_of_trouble,
    measurement::ignore_error_continues,
    steady_state::check_window,
];

/// Rules that check valid jobs against the limits of a run, in the order in which they run.
const RULES_OF_THE_RUN: &[Rule] = &[
    logs::check_issue_time,
    logs::check_epoch_clock,
    logs::note_idle_options,
    groups::check_latency_percentiles,
    latency::check_window,
    steady_state::check_group,
    groups::check_job_count,
    groups::check_amounts,
];

/// Requirements that an engine has for its jobs.
fn rules_of_the_engine(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let rules = review.engine_of(job).map_or(&[][..], |engine| engine.rules);
    hold_against(rules, job, review)
}

/// Runs all rules, even if one refuses the job, so that all errors are reported together.
fn hold_against(rules: &[Rule], job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let mut verdict = Ok(());
    for rule in rules {
        verdict = rule(job, review).and(verdict);
    }
    verdict
}

/// Checks a complete job against all rules.
pub(crate) fn review(
    job: &mut JobSpec,
    earlier: &[JobSpec],
    (engines, host): (Engines<'_>, Option<&HostPlace>),
    warnings_fatal: bool,
    messages: &mut Vec<Message>,
) -> Result<(), Rejected> {
    let first = messages.len();
    let mut review = Review { earlier, engines, host, messages, warned: false };
    hold_against(RULES, job, &mut review)?;
    for rule in RULES_OF_THE_RUN {
        rule(job, &mut review)?;
    }
    if review.warned && warnings_fatal {
        let problem = format!("job {}: the warning above is an error because of --warnings-fatal", job.name);
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    messages[first..].iter_mut().for_each(|message| message.job = Some(earlier.len()));
    Ok(())
}

/// Helpers for the tests of the rules.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::testing::MemorySource;
    use crate::{Outcome, parse};

    /// The last job of a command line, and the lines printed while it was parsed.
    pub(crate) fn job(arguments: &str) -> (Option<JobSpec>, Vec<String>) {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let texts = |messages: Vec<Message>| messages.into_iter().map(|message| message.text).collect();
        match parse("fio", &arguments, &MemorySource::default()) {
            Outcome::Run(mut run) => (run.jobs.pop(), texts(run.messages)),
            Outcome::Exit(reply) => {
                assert_eq!(reply.exit, 1);
                (None, texts(reply.messages))
            }
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    /// The job of a command line that must be accepted silently.
    pub(crate) fn quiet_job(arguments: &str) -> JobSpec {
        let (job, lines) = job(arguments);
        assert_eq!(lines, Vec::<String>::new());
        job.unwrap()
    }

    /// The first line printed for a command line that must be refused.
    pub(crate) fn refusal(arguments: &str) -> String {
        let (job, lines) = job(arguments);
        assert!(job.is_none(), "{arguments} was accepted");
        assert!(lines.last().is_some_and(|line| line.starts_with("fathom: ")), "{lines:?}");
        lines[0].clone()
    }
}
