//! The `e4defrag` engine and its options.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review};
use crate::spec::JobSpec;
use crate::value::Rw;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "e4defrag";

/// `ioengine=e4defrag`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "moves ext4 extents")
    .built()
    .synchronous()
    .discards_data()
    .with_options(TABLE)
    .with_rules(&[check]);

options! {
    /// Options of the `e4defrag` engine.
    pub struct E4defragOptions in Engine, table TABLE;

    /// Donor file, required: its content is lost
    Built Text donorname: Option<String>, { names: Names::File, engine: ENGINE };

    /// 0 preallocate donor once, 1 per event
    Built Int inplace: Option<u32>, { bounds: Bounds::between(0.0, 1.0), engine: ENGINE };
}

/// Refuses a job without a donor, or without blocks to exchange.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.private.e4defrag.donorname.is_none() {
        let advice = format!("job {}: a file that gives its blocks, and loses what it holds", job.name);
        return Err(review.refuse(&job.origin, "'donorname' options required", advice));
    }
    if matches!(job.io_type.rw.rw, Rw::Write | Rw::RandWrite) {
        return Ok(());
    }
    let problem = format!(
        "job {}: ioengine=e4defrag exchanges the blocks of files, which only writes do; use rw=write or rw=randwrite",
        job.name
    );
    Err(review.refuse_in_our_words(&job.origin, problem))
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{quiet_job, refusal};

    #[test]
    fn a_donor_and_writes_are_needed() {
        let words = "--name=a --ioengine=e4defrag --size=1m";
        quiet_job(&format!("{words} --rw=write --donorname=d --inplace=1"));
        assert_eq!(refusal(&format!("{words} --rw=write")), "'donorname' options required");
        assert!(refusal(&format!("{words} --donorname=d")).contains("only writes do"));
    }
}
