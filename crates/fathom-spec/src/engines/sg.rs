//! The `sg` engine and its options.

use crate::declare::{choices, options};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review, refuse_appending};
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "sg";

/// `ioengine=sg`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "SCSI commands to block devices and their generic devices (SG_IO)")
        .built()
        .synchronous()
        .on_media()
        .with_options(TABLE)
        .with_rules(&[refuse_what_cannot_be_checked]);

choices! {
    /// Kind of write command.
    pub enum SgWriteMode {
        /// Write
        Write = "write",
        /// Write and verify
        WriteAndVerify = "write_and_verify",
        /// Verify
        Verify = "verify",
        /// Write same
        WriteSame = "write_same" | "same",
        /// Write same without data
        WriteSameNdob = "write_same_ndob",
        /// Verify with BYTCHK 00
        VerifyBytchk00 = "verify_bytchk_00",
        /// Verify with BYTCHK 01
        VerifyBytchk01 = "verify_bytchk_01",
        /// Verify with BYTCHK 11
        VerifyBytchk11 = "verify_bytchk_11",
        /// Write stream
        WriteStream = "write_stream",
    }
}

options! {
    /// Options of the `sg` engine.
    pub struct SgOptions in Engine, table TABLE;

    /// Polled completions
    Built Flag hipri: bool, { engine: ENGINE };

    /// FUA on reads
    Built Bool readfua: bool = "0", { engine: ENGINE };

    /// FUA on writes
    Built Bool writefua: bool = "0", { engine: ENGINE };

    /// Kind of write command
    Built Choice sg_write_mode: SgWriteMode = "write", { choices: SgWriteMode::CHOICES, engine: ENGINE };

    /// Stream for WRITE STREAM, 0 opens one
    Built Int stream_id: u32 = "0", { engine: ENGINE };
}

impl SgWriteMode {
    /// True if the device contains the job's data after the command.
    pub fn writes_the_data(self) -> bool {
        matches!(self, Self::Write | Self::WriteAndVerify | Self::Verify | Self::WriteStream)
    }
}

/// Refuses to verify commands that write no data, or one sector repeatedly.
fn refuse_what_cannot_be_checked(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let mode = job.private.sg.sg_write_mode;
    refuse_appending(job, review, "on a device")?;
    if mode.writes_the_data() || job.verification.verify == VerifyMethod::None || !job.io_type.rw.rw.writes()
    {
        return Ok(());
    }
    Err(review.refuse(
        &job.origin,
        format!("fathom: what sg_write_mode={mode} writes cannot be verified"),
        format!(
            "job {}: the device then does not contain the job's data; leave out verify= or sg_write_mode=",
            job.name
        ),
    ))
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{quiet_job, refusal};

    #[test]
    fn only_data_that_is_written_is_verified() {
        let words = "--name=a --ioengine=sg --filename=/dev/sg0 --rw=write --verify=crc32c";
        let line = "fathom: what sg_write_mode=write_same writes cannot be verified";
        assert_eq!(refusal(&format!("{words} --sg_write_mode=same")), line);
        for mode in ["write", "verify", "write_and_verify", "write_stream"] {
            quiet_job(&format!("{words} --sg_write_mode={mode}"));
        }
    }
}
