//! The `libzbc` engine. It has no engine options.

use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review, refuse_appending};
use crate::options::file::ZoneMode;
use crate::spec::JobSpec;
use crate::value::Rw;

/// `ioengine=libzbc`
pub const DEFINITION: EngineDef =
    EngineDef::new("libzbc", "zoned SCSI disks: block devices and their generic devices (SG_IO)")
        .built()
        .synchronous()
        .on_media()
        .with_rules(&[check]);

/// Requires whole zones for trims, and zone rules, which determine the boundaries of zones.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    refuse_appending(job, review, "on a device")?;
    let trims = matches!(job.io_type.rw.rw, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite);
    if !trims || job.file.zonemode == ZoneMode::Zbd {
        return Ok(());
    }
    let line = format!("job {}: ioengine=libzbc trims whole zones: add zonemode=zbd", job.name);
    Err(review.refuse_in_our_words(&job.origin, line))
}
