//! Builds the rule for buffer content from options.

use crate::plan::PlanError;
use crate::plan::model::payload::{DuplicateSource, Duplicates, PayloadRule, SetPart, SetSize, ShapedRule};
use crate::plan::model::{Plan, WorkerPlan};
use crate::random::SeedUse;
use fathom_spec::JobSpec;
use fathom_spec::options::buffers::DedupeMode;
use fathom_spec::value::{PatternPart, SizeSpec};
use fathom_verify::content::Pattern;

/// The payload rule of a job whose writes have at least `shortest_write` bytes.
pub(super) fn payload_rule(job: &JobSpec, shortest_write: u64) -> PayloadRule {
    let buffers = &job.buffers;
    let pattern = job.buffers.buffer_pattern.as_ref().map(assembled);
    let compress_percent = buffers.buffer_compress_percentage.unwrap_or(0);
    // Blocks must differ to be deduplicated at the requested rate, so the pattern fills only their compressible
    // part.
    match (compress_percent, duplicates(job, shortest_write), pattern) {
        (0, None, Some(pattern)) | (100, _, Some(pattern)) => PayloadRule::Pattern(pattern),
        (100, _, None) => PayloadRule::Zero,
        (0, None, None) if buffers.buffer_compress_percentage.is_some() => {
            PayloadRule::Random { refill: true, scramble: false }
        }
        (0, None, None) if buffers.zero_buffers => PayloadRule::Zero,
        (0, None, None) => {
            PayloadRule::Random { refill: buffers.refill_buffers, scramble: buffers.scramble_buffers }
        }
        (compress_percent, duplicates, fixed) => PayloadRule::Shaped(ShapedRule {
            compress_percent,
            segment: segment(job, shortest_write),
            fixed,
            duplicates,
        }),
    }
}

/// Bytes in an independently compressible segment: the requested chunk, or a whole write if that is shorter.
fn segment(job: &JobSpec, shortest_write: u64) -> usize {
    match job.buffers.buffer_compress_chunk {
        0 => shortest_write as usize,
        chunk => u64::from(chunk).min(shortest_write) as usize,
    }
}

fn duplicates(job: &JobSpec, shortest_write: u64) -> Option<Duplicates> {
    let buffers = &job.buffers;
    let percent = buffers.repeated_percentage()?;
    let source = match buffers.dedupe_mode {
        DedupeMode::Repeat => DuplicateSource::Neighbour,
        DedupeMode::WorkingSet => DuplicateSource::WorkingSet(vec![SetPart {
            seed: None,
            pages: SetSize::Share { percent: buffers.dedupe_working_set_percentage, page: shortest_write },
            segments_per_page: shortest_write.div_ceil(segment(job, shortest_write) as u64),
        }]),
    };
    Some(Duplicates { percent, source })
}

/// Concatenates the parts of a pattern into its bytes.
pub(super) fn assembled(given: &fathom_spec::value::Pattern) -> Pattern {
    let (mut bytes, mut offset_places) = (Vec::new(), Vec::new());
    for part in &given.0 {
        match part {
            PatternPart::Bytes(more) => bytes.extend_from_slice(more),
            PatternPart::Offset => {
                offset_places.push(bytes.len());
                bytes.extend_from_slice(&[0; 8]);
            }
            PatternPart::File { bytes: content, .. } => bytes.extend_from_slice(content),
        }
    }
    Pattern { bytes, offset_places }
}

/// `dedupe_global`: one working set for all clones that request it. Each contributes the share of its pages that one clone has in the run, so the set does not grow with the number of clones.
pub(super) fn share_working_sets(plan: &mut Plan) -> Result<(), PlanError> {
    let clones = plan.workers.len() as u64;
    let mut shared = Vec::new();
    for worker in &plan.workers {
        let job = plan.job_of(worker);
        if let Some(SetPart { pages: SetSize::Share { percent, page }, segments_per_page, .. }) =
            global_part(worker, job)
        {
            let Some(SizeSpec::Bytes(bytes)) = job.size.size else {
                return Err(PlanError::UnknownWorkingSet { job: job.name.clone() });
            };
            let pages = bytes * u64::from(*percent) / 100 / (*page).max(1) / clones;
            let seed = worker.seeds.get(SeedUse::Buffer);
            shared.push(SetPart {
                seed: Some(seed),
                pages: SetSize::Pages(pages),
                segments_per_page: *segments_per_page,
            });
        }
    }
    let Plan { jobs, workers, .. } = plan;
    for worker in workers.iter_mut().filter(|worker| global_part(worker, &jobs[worker.job]).is_some()) {
        if let PayloadRule::Shaped(ShapedRule { duplicates: Some(duplicates), .. }) = &mut worker.payload {
            duplicates.source = DuplicateSource::WorkingSet(shared.clone());
        }
    }
    Ok(())
}

/// The clone's own working set, if it is shared.
fn global_part<'a>(worker: &'a WorkerPlan, job: &JobSpec) -> Option<&'a SetPart> {
    let PayloadRule::Shaped(ShapedRule { duplicates: Some(duplicates), .. }) = &worker.payload else {
        return None;
    };
    match &duplicates.source {
        DuplicateSource::WorkingSet(parts) if job.buffers.dedupe_global => parts.first(),
        _ => None,
    }
}
