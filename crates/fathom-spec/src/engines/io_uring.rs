//! The `io_uring` engine and its options, which `io_uring_cmd` shares.

pub use super::commands::{
    CdbLength, CommandType, PiCheck, ReadMode, VerifyBytchk, VerifyCommand, WriteModes,
};
use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review, priorities};
use crate::spec::JobSpec;
use crate::value::{PriorityShares, WordList};
use fathom_stats::PerDirection;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "io_uring";

/// `ioengine=io_uring`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Linux io_uring: asynchronous I/O through shared rings")
        .built()
        .atomic_writes()
        .one_thread()
        .with_options(TABLE)
        .with_rules(&[note_options_of_commands, check_protection])
        .with_priorities(priorities!(io_uring));

options! {
    /// Options of the `io_uring` and `io_uring_cmd` engines.
    pub struct IoUringOptions in Engine, table TABLE;

    /// Poll the device for completions
    Built Flag hipri: bool, { engine: ENGINE };

    /// FUA on reads (io_uring_cmd)
    Built Bool readfua: bool = "0", { engine: ENGINE };

    /// FUA on writes (io_uring_cmd)
    Built Bool writefua: bool = "0", { engine: ENGINE };

    /// Write command, or a mix mode/pct:mode/pct (io_uring_cmd): write uncor zeroes verify zone_append
    Built Choice write_mode: WriteModes = "write", { engine: ENGINE };

    /// Read or Compare in the verify phase (io_uring_cmd)
    Built Choice verify_mode: VerifyCommand = "read", { choices: VerifyCommand::CHOICES, engine: ENGINE };

    /// Register the buffers with the kernel
    Built Flag fixedbufs: bool, { engine: ENGINE };

    /// Register the files with the kernel
    Built Flag registerfiles: bool, { engine: ENGINE };

    /// Let a kernel thread submit the I/Os
    Built Flag sqthread_poll: bool, { engine: ENGINE };

    /// CPU for the kernel's submission thread
    Built Int sqthread_poll_cpu: Option<u32>, { engine: ENGINE };

    /// Use READ and WRITE instead of READV and WRITEV; -1 uses what the kernel supports
    Built Int nonvectored: i32 = "-1", { engine: ENGINE };

    /// Drop the pages of each buffered I/O from the page cache (RWF_DONTCACHE)
    Built Int uncached: Option<u32>, { engine: ENGINE };

    /// Fail an I/O instead of waiting for locks (RWF_NOWAIT)
    Built Bool nowait: bool, { engine: ENGINE };

    /// Hand every Nth request directly to a kernel worker (IOSQE_ASYNC)
    Built Int force_async: Option<u32>, { engine: ENGINE };

    /// Pass-through type (io_uring_cmd)
    Built Choice cmd_type: CommandType = "nvme", { choices: CommandType::CHOICES, engine: ENGINE };

    /// SCSI CDB length; 0 is automatic (io_uring_cmd bsg)
    Built Choice cdb_len: CdbLength = "0", { choices: CdbLength::CHOICES, engine: ENGINE };

    /// BYTCHK of VERIFY (io_uring_cmd bsg)
    Built Choice verify_bytchk: VerifyBytchk = "0", { choices: VerifyBytchk::CHOICES, engine: ENGINE };

    /// Read or Pre-Fetch (io_uring_cmd bsg)
    Built Choice read_mode: ReadMode = "read", { choices: ReadMode::CHOICES, engine: ENGINE };

    /// Metadata bytes per I/O
    Built Int md_per_io_size: u32 = "0", { engine: ENGINE };

    /// PRACT bit
    Built Bool pi_act: bool = "1", { engine: ENGINE };

    /// Fields to check, separated by commas: GUARD, REFTAG, APPTAG
    Built Choice pi_chk: Option<WordList<PiCheck>>, { choices: PiCheck::CHOICES, engine: ENGINE };

    /// Application tag
    Built Int apptag: u32 = "0x1234", { bounds: Bounds::at_most(65535.0), engine: ENGINE };

    /// Application tag mask
    Built Int apptag_mask: u32 = "0xffff", { bounds: Bounds::at_most(65535.0), engine: ENGINE };

    /// DEAC bit on write zeroes (io_uring_cmd)
    Built Bool deac: bool = "0", { engine: ENGINE };

    /// Share of I/Os that get cmdprio, in percent, for reads and writes
    Built Int cmdprio_percentage: PerDirection<u32> = "0", {
        bounds: Bounds::between(0.0, 100.0),
        engine: ENGINE,
    };

    /// Priority class of these I/Os
    Built Int cmdprio_class: PerDirection<u32> = "1", { bounds: Bounds::between(1.0, 3.0), engine: ENGINE };

    /// Priority hint of these I/Os
    Built Int cmdprio_hint: PerDirection<u32> = "0", { bounds: Bounds::between(0.0, 1023.0), engine: ENGINE };

    /// Priority level of these I/Os
    Built Int cmdprio: PerDirection<u32> = "0", { bounds: Bounds::between(0.0, 7.0), engine: ENGINE };

    /// Share of I/Os that get a priority, per block size: size/percent[/class/level[/hint]]
    Built Text cmdprio_bssplit: PriorityShares, { names: Names::Nothing, engine: ENGINE };
}

/// Prints notes about options that apply only to commands, and about protection information options for targets
/// without it.
fn note_options_of_commands(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    const COMMANDS: [&str; 9] = [
        "readfua",
        "writefua",
        "write_mode",
        "verify_mode",
        "cmd_type",
        "cdb_len",
        "verify_bytchk",
        "read_mode",
        "deac",
    ];
    for option in COMMANDS {
        if job.is_set(option) {
            let name = &job.name;
            review.note(format!(
                "fathom: job {name}: {option} has no effect with ioengine=io_uring, but with io_uring_cmd"
            ));
        }
    }
    Ok(())
}

/// Requires direct I/O for protection information. Unless the job generates it, the kernel does.
fn check_protection(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.private.io_uring;
    let needed = match () {
        () if options.md_per_io_size == 0 => "md_per_io_size",
        () if options.pi_act => "pi_act=0: the kernel generates and checks protection information itself",
        () if !job.io_type.direct => {
            return Err(review.refuse(
                &job.origin,
                "fio: md_per_io_size needs direct=1",
                format!("job {}: protection information requires direct I/O to a block device", job.name),
            ));
        }
        () => return Ok(()),
    };
    for option in ["pi_chk", "apptag", "apptag_mask"] {
        if job.is_set(option) {
            review.note(format!("fathom: job {}: {option} has no effect without {needed}", job.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{job, quiet_job, refusal};

    #[test]
    fn protection_information_goes_with_direct_io() {
        let start = "--name=a --ioengine=io_uring --md_per_io_size=64";
        assert_eq!(refusal(&format!("{start} --pi_act=0")), "fio: md_per_io_size needs direct=1");
        quiet_job(&format!("{start} --pi_act=0 --pi_chk=GUARD,REFTAG --apptag=1 --direct=1"));
        let note = "fathom: job a: pi_chk has no effect without pi_act=0: the kernel generates and checks protection information itself";
        assert_eq!(job(&format!("{start} --pi_chk=GUARD --direct=1")).1, [note]);
        let note = "fathom: job a: apptag has no effect without md_per_io_size";
        assert_eq!(job("--name=a --ioengine=io_uring --apptag=1").1, [note]);
    }

    #[test]
    fn options_of_commands_have_no_effect() {
        let note = "fathom: job a: readfua has no effect with ioengine=io_uring, but with io_uring_cmd";
        assert_eq!(job("--name=a --ioengine=io_uring --readfua=1").1, [note]);
    }
}
