//! The `cpuio` engine and its options.

use crate::declare::{choices, options};
use crate::diagnostic::Rejected;
use crate::engines::{BackgroundLoad, EngineDef, Review, have_no_end};
use crate::spec::JobSpec;
use std::time::Duration;

/// The engine to which these options belong.
pub(crate) const ENGINE: &str = "cpuio";

/// `ioengine=cpuio`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "burns CPU time")
    .built()
    .synchronous()
    .without_files()
    .background(load)
    .with_options(TABLE)
    .with_rules(&[turn_load_into_pauses]);

choices! {
    /// How to keep the CPU busy.
    pub enum CpuMode {
        /// Counting
        Noop = "noop",
        /// Sorting
        Qsort = "qsort",
    }
}

options! {
    /// Options of the `cpuio` engine.
    pub struct CpuioOptions in Engine, table TABLE;

    /// CPU load in percent (required)
    Built Int cpuload: Option<u32>, { engine: ENGINE };

    /// Kind of CPU stress
    Built Choice cpumode: CpuMode = "noop", { choices: CpuMode::CHOICES, engine: ENGINE };

    /// Length of a burn cycle in microseconds
    Built Int cpuchunks: u32 = "50000", { parent: Some("cpuload"), engine: ENGINE };

    /// Stop when all jobs that do I/O have ended
    Built Bool exit_on_io_done: bool = "0", { engine: ENGINE };
}

fn load(job: &JobSpec) -> BackgroundLoad {
    let options = &job.private.cpuio;
    let (load, stretch) = (options.cpuload.unwrap_or(0).min(100), options.cpuchunks);
    let header =
        format!("{} ({}): ioengine=cpuio, cpuload={load}, cpucycle={stretch}", job.name, options.cpumode);
    BackgroundLoad { header, follows_io: options.exit_on_io_done }
}

/// Derives settings from the job's load: pauses between bursts of work, and an unlimited run time.
fn turn_load_into_pauses(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
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
    have_no_end(job);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{quiet_job, refusal};
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
