//! Engines without options.

use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review};
use crate::spec::JobSpec;
use crate::value::Rw;

/// `ioengine=sync`
pub const SYNC: EngineDef = EngineDef::new("sync", "lseek(2), then read(2) or write(2)")
    .built()
    .synchronous()
    .syncfs()
    .keeps_position();

/// `ioengine=psync`
pub const PSYNC: EngineDef =
    EngineDef::new("psync", "pread(2) and pwrite(2); the default").built().synchronous().syncfs();

/// `ioengine=vsync`
pub const VSYNC: EngineDef = EngineDef::new("vsync", "readv(2) and writev(2) over adjacent blocks")
    .built()
    .synchronous()
    .syncfs()
    .queues_from(1)
    .keeps_position();

/// `ioengine=pvsync`
pub const PVSYNC: EngineDef =
    EngineDef::new("pvsync", "preadv(2) and pwritev(2)").built().synchronous().syncfs();

/// `ioengine=posixaio`
pub const POSIXAIO: EngineDef =
    EngineDef::new("posixaio", "POSIX asynchronous I/O").built().syncfs().hands_to_threads();

/// `ioengine=null`
pub const NULL: EngineDef = EngineDef::new("null", "no I/O at all; completes immediately")
    .built()
    .without_files()
    .queues_from(2)
    .discards_data();

/// `ioengine=splice`
pub const SPLICE: EngineDef =
    EngineDef::new("splice", "splice(2) and vmsplice(2) through a pipe").built().synchronous().syncfs();

/// `ioengine=falloc`
pub const FALLOC: EngineDef = EngineDef::new("falloc", "fallocate(2): reserves, allocates and frees space")
    .built()
    .synchronous()
    .syncfs()
    .discards_data()
    .always_changes();

/// `ioengine=ftruncate`
pub const FTRUNCATE: EngineDef =
    EngineDef::new("ftruncate", "ftruncate(2): sets the file's length to the offset")
        .built()
        .synchronous()
        .discards_data()
        .with_rules(&[demand_writes]);

/// `ioengine=page_fault`
pub const PAGE_FAULT: EngineDef =
    EngineDef::new("page_fault", "copies to and from anonymous memory on first access")
        .built()
        .synchronous()
        .without_files()
        // Another thread would have its own instance of the engine, and thus other memory.
        .one_thread();

/// Refuses reads and trims, which the engine cannot perform; fio fails with the first such I/O.
fn demand_writes(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if matches!(job.io_type.rw.rw, Rw::Write | Rw::RandWrite) {
        return Ok(());
    }
    let problem = format!(
        "job {}: ioengine=ftruncate sets the length of files, which only writes do; use rw=write or rw=randwrite",
        job.name
    );
    Err(review.refuse_in_our_words(&job.origin, problem))
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{quiet_job, refusal};

    #[test]
    fn lengths_are_set_by_writes() {
        quiet_job("--name=a --ioengine=ftruncate --rw=randwrite --size=1m");
        for rw in ["read", "rw", "randtrim"] {
            let line = refusal(&format!("--name=a --ioengine=ftruncate --size=1m --rw={rw}"));
            assert!(line.contains("only writes do"), "{rw}: {line}");
        }
    }
}
