//! Builds the rule for blocks whose errors are tracked (`block_error_percentiles`).

use super::Subject;
use crate::plan::PlanError;
use crate::plan::model::lengths::LengthRule;
use fathom_stats::Direction;

/// Block size in bytes: the length of a trim. The error explains why trims have no single length.
pub(super) fn block_bytes(subject: &Subject<'_>) -> Result<Option<u64>, PlanError> {
    if !subject.job.measurement.block_error_percentiles {
        return Ok(None);
    }
    let refused = |reason| Err(PlanError::NoBlocks { job: subject.job.name.clone(), reason });
    if subject.log.is_some() {
        return refused("the I/Os of read_iolog= may be anywhere and of any length");
    }
    if subject.job.engine.num_range > 1 {
        return refused("a trim of several ranges (num_range=) does not say which of them failed");
    }
    if subject.engine.metadata.is_some() || subject.engine.background_load(subject.job).is_some() {
        return refused("this ioengine= has no blocks to trim or write");
    }
    match subject.targets.lengths[Direction::Trim] {
        LengthRule::Fixed(bytes) => Ok(Some(bytes.max(1))),
        _ => refused(
            "trims of several lengths (bsrange=, bssplit=) have no size to divide a file by; set one bs= for trims",
        ),
    }
}
