//! The objects of the verdict on a result, and of the facts that it rests on.

use super::layout::{Object, list, object};
use fathom_stats::facts::{ClockFacts, DeviceFacts, HoleFacts, MemoryFacts, RunFacts, StopFacts};
use fathom_stats::verdict::{Finding, Severity, VerdictReport};

pub(super) fn object(verdict: &VerdictReport) -> Object {
    object! {
        "verdict": verdict.word(),
        "wrong": verdict.count(Severity::Wrong) as u64,
        "doubtful": verdict.count(Severity::Doubtful) as u64,
        "findings": list(&verdict.findings, finding),
        "not_checked": &verdict.not_checked,
    }
}

fn finding(finding: &Finding) -> Object {
    let evidence: Object = finding.evidence.iter().map(|(name, value)| (name, *value)).collect();
    object! {
        "code": &finding.code,
        "severity": finding.severity.word(),
        "job": finding.job.as_ref(),
        "direction": finding.direction.as_ref(),
        "hosts": (!finding.hosts.is_empty()).then_some(&finding.hosts),
        "entries": finding.entries,
        "text": &finding.text,
        "advice": (!finding.advice.is_empty()).then_some(&finding.advice),
        "evidence": evidence,
    }
}

/// What surrounded the run. The keys are the names of the fields.
pub(super) fn facts(facts: &RunFacts) -> Object {
    object! {
        "span_ms": facts.span_ms,
        "looks": facts.looks,
        "latest_look_ms": facts.latest_look_ms,
        "clock": clock(&facts.clock),
        "slowed_by_heat": facts.slowed_by_heat,
        "memory": memory(&facts.memory),
        "devices": list(&facts.devices, device),
        "stops": (!facts.stops.is_empty()).then(|| list(&facts.stops, stop)),
        "holes": (!facts.holes.is_empty()).then(|| list(&facts.holes, hole)),
    }
}

fn stop(stop: &StopFacts) -> Object {
    object! {
        "job": &stop.job,
        "begin_ms": stop.begin_ms,
        "length_ms": stop.length_ms,
    }
}

fn hole(hole: &HoleFacts) -> Object {
    object! {
        "job": &hole.job,
        "device": &hole.device,
        "part_bytes": hole.part_bytes,
        "hole_bytes": hole.hole_bytes,
    }
}

fn clock(clock: &ClockFacts) -> Object {
    object! {
        "source": &clock.source,
        "source_after": &clock.source_after,
        "lost_source": clock.lost_source,
        "drift_ppm": clock.drift_ppm,
        "wall_jump_ms": clock.wall_jump_ms,
        "suspended_ms": clock.suspended_ms,
    }
}

fn memory(memory: &MemoryFacts) -> Object {
    object! {
        "dirty_before_bytes": memory.dirty_before_bytes,
        "dirty_after_bytes": memory.dirty_after_bytes,
        "swapped_pages": memory.swapped_pages,
    }
}

fn device(device: &DeviceFacts) -> Object {
    object! {
        "name": &device.name,
        "counts_io": device.counts_io,
        "flushes": device.flushes,
        "trimmed_bytes": device.trimmed_bytes,
        "read_below_bytes": device.read_below_bytes,
    }
}
