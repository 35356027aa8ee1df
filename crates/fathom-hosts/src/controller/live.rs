//! Live state of a run, added up over all hosts.

use super::member::{Member, Standing};
use fathom_stats::PerDirection;
use fathom_stats::hosts::HostEnd;
use fathom_stats::live::{LiveDetails, LiveHost, LiveTick, RunState};

/// The live state of a run: the sum of the hosts' latest ticks, with details if the hosts send them.
pub(super) fn moment(members: &[Member], now_ns: u64, with_details: bool) -> (LiveTick, Option<LiveDetails>) {
    let mut tick = LiveTick::default();
    let mut details = LiveDetails::default();
    for member in members {
        let silent_ms = now_ns.saturating_sub(member.heard_ns) / 1_000_000;
        let (own, own_details) = of_member(member);
        let mut row = LiveHost::of(&member.entry.name, &own, &own_details, silent_ms);
        if let Some(word) = word(member) {
            word.clone_into(&mut row.state);
        }
        if member.is_over() {
            row.silent_ms = 0;
        }
        tick.merge(&own);
        details.merge(&own_details.of_host(&member.entry.name));
        details.hosts.push(row);
    }
    (tick, with_details.then_some(details))
}

/// The last tick of a host. A finished host counts as idle.
fn of_member(member: &Member) -> (LiveTick, LiveDetails) {
    let (mut tick, details) = member.tick.clone().unwrap_or_default();
    let mut details = details.unwrap_or_default();
    if member.is_live() {
        return (tick, details);
    }
    let end = if member.end == HostEnd::Whole { RunState::Reaped } else { RunState::Killed };
    tick.states.iter_mut().for_each(|state| *state = end);
    tick.running = 0;
    tick.open_files = 0;
    tick.bytes_per_second = PerDirection::default();
    tick.iops = PerDirection::default();
    for job in &mut details.jobs {
        job.states.iter_mut().for_each(|state| *state = end);
        job.bytes_per_second = PerDirection::default();
        job.iops = PerDirection::default();
        job.in_flight = 0;
    }
    details.disks.clear();
    (tick, details)
}

/// State of a host whose workers do not report one.
fn word(member: &Member) -> Option<&'static str> {
    match (&member.standing, &member.end) {
        (Standing::Connecting, _) => Some("connecting"),
        (Standing::Over, HostEnd::Lost { .. }) => Some("lost"),
        (Standing::Over, HostEnd::NeverBegan { .. }) => Some("never began"),
        (Standing::Reached(_) | Standing::Ready(_), _) => Some("ready"),
        _ => None,
    }
}
