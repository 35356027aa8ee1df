//! Jobs that keep a processor busy instead of doing I/O (`ioengine=cpuio`).

use super::Review;
use crate::assign::Rejected;
use crate::engines::{self, Data};
use crate::spec::JobSpec;
use crate::value::{Rw, SizeSpec};
use std::time::Duration;

/// Gives such a job what follows from its load: the pauses between its stretches of work, and no end of its own.
pub(super) fn turn_load_into_pauses(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if engines::of(job).is_none_or(|engine| engine.data != Data::Absent) {
        return Ok(());
    }
    let options = &job.private.cpuio;
    let load = match options.cpuload {
        Some(load) if load > 0 => load.min(100),
        _ => {
            return Err(review.refuse(
                &job.origin,
                "fio: cpu thread needs rate (cpuload=)",
                format!("job {}: cpuload=50 keeps a CPU busy half of the time", job.name),
            ));
        }
    };
    if options.cpuchunks == 0 {
        return Err(review.refuse(
            &job.origin,
            "cpuchunks: min value out of range: 0 (1 min)",
            format!("job {}: cpuchunks=50000 is the default", job.name),
        ));
    }
    let pause_us = u64::from(options.cpuchunks) * u64::from(100 - load) / u64::from(load);
    job.rate.thinktime = Duration::from_micros(pause_us);
    job.rate.thinktime_blocks = 1;
    job.io_type.rw.rw = Rw::Read;
    // The stretches have no bytes, so that no size is ever reached; it only has to satisfy the rules for sizes.
    job.size.size = Some(SizeSpec::Bytes(1 << 40));
    job.time.time_based = true;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};
    use std::time::Duration;

    #[test]
    fn pauses_make_the_load() {
        let pause = |words: &str| quiet_job(&format!("--name=a --ioengine=cpuio {words}")).rate.thinktime;
        assert_eq!(pause("--cpuload=50"), Duration::from_millis(50));
        assert_eq!(pause("--cpuload=20 --cpuchunks=1000"), Duration::from_millis(4));
        assert_eq!(pause("--cpuload=100"), Duration::ZERO);
        assert_eq!(pause("--cpuload=400"), Duration::ZERO);
    }

    #[test]
    fn a_load_is_needed() {
        let line = "fio: cpu thread needs rate (cpuload=)";
        assert_eq!(refusal("--name=a --ioengine=cpuio"), line);
        assert_eq!(refusal("--name=a --ioengine=cpuio --cpuload=0"), line);
    }
}
