//! Rates.

use super::Review;
use crate::diagnostic::{Diagnostic, Rejected};
use crate::message::Message;
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use fathom_stats::Direction;

/// Refuses to limit a direction both in bytes and in I/Os per second.
pub(super) fn check_exclusive(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let rate = &job.rate;
    if Direction::ALL.iter().any(|&direction| rate.rate[direction] > 0 && rate.rate_iops[direction] > 0) {
        return Err(review.refuse(
            &job.origin,
            "fio: rate and rate_iops are mutually exclusive",
            format!("job {}: give either rate or rate_iops", job.name),
        ));
    }
    Ok(())
}

/// Refuses a minimum rate above the limit, which can never be reached.
pub(super) fn check_minimum(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let rate = &job.rate;
    let above = |minimum: u64, cap: u64| minimum > 0 && cap > 0 && minimum > cap;
    let mut wrong = false;
    for direction in Direction::ALL {
        if above(rate.rate_min[direction], rate.rate[direction])
            || above(rate.rate_iops_min[direction], rate.rate_iops[direction])
        {
            let line = format!("fio: minimum rate exceeds rate, ddir {}", direction.index());
            review.messages.push(Message::stderr(line));
            wrong = true;
        }
    }
    if wrong {
        let problem = format!("job {}: the minimum rate must not exceed the rate", job.name);
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    Ok(())
}

/// Checks the requirements of an open loop, and options that need one.
pub(super) fn check_open_loop(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let name = job.name.clone();
    if !job.rate.open_loop {
        if !job.rate.rate_process.is_of_fio() {
            let problem = format!(
                "job {name}: rate_process={} needs open_loop=1: these arrivals do not wait for the device",
                job.rate.rate_process
            );
            return Err(review.refuse_in_our_words(&job.origin, problem));
        }
        if job.is_set("open_loop_spin") {
            review.note(format!("fathom: job {name}: open_loop_spin has no effect without open_loop"));
        }
        return Ok(());
    }
    let options = &job.rate;
    let is_replay = job.replay.read_iolog.is_some();
    let rw = job.io_type.rw.rw;
    let uses = |direction: Direction| match direction {
        Direction::Read => rw.reads(),
        Direction::Write => rw.writes(),
        Direction::Trim => rw.trims(),
    };
    let has_rate = |direction: Direction| options.rate[direction] > 0 || options.rate_iops[direction] > 0;
    let unfit = [
        (
            !is_replay
                && !Direction::ALL.into_iter().all(|direction| !uses(direction) || has_rate(direction)),
            "needs rate= or rate_iops= for each direction of the job, or a log to replay (read_iolog)",
        ),
        (
            !options.thinktime.is_zero(),
            "thinktime would hold arrivals back; a pause is rate_process=onoff:BUSY:IDLE",
        ),
        (options.thinkcycles > 0, "thinkcycles would hold arrivals back"),
        (
            job.is_set("latency_target"),
            "latency_target would change the depth, which an open loop keeps constant",
        ),
        (job.is_set("flow"), "flow would hold arrivals back"),
        (
            job.verification.verify != VerifyMethod::None && job.verification.do_verify,
            "verify= would add read-backs between arrivals; write with do_verify=0, and verify in a separate job",
        ),
        (is_replay && job.replay.replay_no_stall, "replay_no_stall=1 ignores the times of the log"),
    ];
    if let Some((_, reason)) = unfit.iter().find(|(is_so, _)| *is_so) {
        let problem = format!("job {name}: open_loop=1: {reason}");
        return Err(review.refuse_in_our_words(&job.origin, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};
    use fathom_stats::PerDirection;

    #[test]
    fn bytes_and_ios_exclude_each_other() {
        let line = "fio: rate and rate_iops are mutually exclusive";
        assert_eq!(refusal("--name=a --rate=1m --rate_iops=10"), line);
        assert_eq!(quiet_job("--name=a --rate=1m").rate.rate, PerDirection::all(1 << 20));
    }

    #[test]
    fn every_direction_with_a_wrong_minimum_is_named() {
        let (refused, lines) = job("--name=a --rate=1m,4m,1m --rate_min=2m");
        assert!(refused.is_none());
        assert_eq!(
            lines[..2],
            ["fio: minimum rate exceeds rate, ddir 0", "fio: minimum rate exceeds rate, ddir 2"]
        );
        refusal("--name=a --rate_iops=10 --rate_iops_min=20");
        quiet_job("--name=a --rate_iops=20 --rate_iops_min=10");
    }

    #[test]
    fn an_open_loop_has_a_schedule_and_nothing_that_moves_it() {
        quiet_job("--name=a --open_loop=1 --rate_iops=100 --rate_process=gamma:2");
        for wrong in [
            "--open_loop=1",
            "--open_loop=1 --rate=1m --thinktime=10",
            "--open_loop=1 --rate=1m --latency_target=1ms",
            "--rate=1m --rate_process=onoff:1s:1s",
        ] {
            refusal(&format!("--name=a {wrong}"));
        }
    }
}
