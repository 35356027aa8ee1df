//! The `sg` engine and its options.

use crate::definition::{choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "sg";

/// `ioengine=sg`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "SCSI generic").synchronous().with_options(TABLE);

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
    pub struct SgOptions at job.private.sg, in Engine, table TABLE;

    /// Polled completions
    Later Flag hipri: bool, { engine: ENGINE };

    /// FUA on reads
    Later Bool readfua: bool = "0", { engine: ENGINE };

    /// FUA on writes
    Later Bool writefua: bool = "0", { engine: ENGINE };

    /// Kind of write command
    Later Choice sg_write_mode: SgWriteMode = "write", { choices: SgWriteMode::CHOICES, engine: ENGINE };

    /// Stream for WRITE STREAM, 0 opens one
    Later Int stream_id: u32 = "0", { engine: ENGINE };
}
