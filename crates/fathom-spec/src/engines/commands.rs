//! Which commands `io_uring_cmd` sends: the values of its options.

use crate::definition::{OptionDef, choices};
use crate::value::{OptionValue, ParseContext, ValueError};
use serde::{Deserialize, Serialize};
use std::fmt;

choices! {
    /// Command for writes.
    pub enum WriteMode {
        /// Write
        Write = "write",
        /// Write Uncorrectable
        Uncorrectable = "uncor",
        /// Write Zeroes
        Zeroes = "zeroes",
        /// Verify
        Verify = "verify",
        /// Zone Append
        ZoneAppend = "zone_append",
    }
}

choices! {
    /// Command for the verify phase.
    pub enum VerifyCommand {
        /// Read and compare in fathom
        Read = "read",
        /// The device compares
        Compare = "compare",
    }
}

choices! {
    /// Type of pass-through.
    pub enum CommandType {
        /// NVMe
        Nvme = "nvme",
        /// SCSI through bsg
        Bsg = "bsg",
    }
}

choices! {
    /// Length of SCSI commands.
    pub enum CdbLength {
        /// As short as addresses allow
        Auto = "0",
        /// 10 bytes
        Ten = "10",
        /// 16 bytes
        Sixteen = "16",
        /// 32 bytes
        ThirtyTwo = "32",
    }
}

choices! {
    /// BYTCHK field of VERIFY.
    pub enum VerifyBytchk {
        /// Medium check only
        Zero = "0",
        /// Compare with the data sent
        One = "1",
        /// Compare with one block sent
        Three = "3",
    }
}

choices! {
    /// Command for reads.
    pub enum ReadMode {
        /// Read
        Read = "read",
        /// Pre-fetch into the cache of the device
        Prefetch = "prefetch",
    }
}

choices! {
    /// A field of protection information to check.
    pub enum PiCheck {
        /// Guard
        Guard = "GUARD",
        /// Reference tag
        RefTag = "REFTAG",
        /// Application tag
        AppTag = "APPTAG",
    }
}

/// `write_mode`: one command, or several with their shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteModes(pub Vec<(WriteMode, u32)>);

impl WriteModes {
    /// True if nothing but Zone Append comes.
    pub fn only_appends(&self) -> bool {
        self.0.iter().all(|(mode, _)| *mode == WriteMode::ZoneAppend)
    }

    /// True if some writes do not write the data of their buffers.
    pub fn loses_data(&self) -> bool {
        self.0.iter().any(|(mode, _)| !matches!(mode, WriteMode::Write | WriteMode::ZoneAppend))
    }
}

impl fmt::Display for WriteModes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = match &self.0[..] {
            [(mode, _)] => vec![mode.name().to_owned()],
            several => several.iter().map(|(mode, percent)| format!("{}/{percent}", mode.name())).collect(),
        };
        formatter.write_str(&parts.join(":"))
    }
}

impl OptionValue for WriteModes {
    fn unset() -> Self {
        WriteModes(vec![(WriteMode::Write, 100)])
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let expected = "one of write, uncor, zeroes, verify, zone_append, or several with their shares: write/50:zeroes/50";
        let Some(modes) = modes_of(text) else {
            context.complain(format!("fio: invalid write_mode value: {text}"));
            return Err(ValueError::new(expected));
        };
        let sum: u32 = modes.iter().fold(0, |sum, (_, percent)| sum.saturating_add(*percent));
        if sum != 100 {
            if sum > 100 {
                context.complain("fio: write_mode percentages exceed 100%".to_owned());
            }
            return Err(ValueError::new("shares that make 100 percent together"));
        }
        self.0 = modes;
        Ok(())
    }
}

fn modes_of(text: &str) -> Option<Vec<(WriteMode, u32)>> {
    if let Some(mode) = WriteMode::from_name(text) {
        return Some(vec![(mode, 100)]);
    }
    let part = |part: &str| {
        let (word, percent) = part.split_once('/')?;
        Some((WriteMode::from_name(word.trim())?, percent.trim().parse().ok()?))
    };
    let modes: Vec<_> = text.split(':').map(part).collect::<Option<_>>()?;
    (modes.len() > 1).then_some(modes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::testing::parse;

    #[test]
    fn modes_have_shares() {
        for text in ["write", "zone_append", "write/50:zeroes/50", "write/1:uncor/2:verify/97"] {
            assert_eq!(parse::<WriteModes>(text).map(|modes| modes.to_string()), Ok(text.to_owned()));
        }
        for text in
            ["", "foo", "write/50", "zeroes/100", "write/50:zeroes/60", "write/50:zeroes/40", "write:zeroes"]
        {
            assert!(parse::<WriteModes>(text).is_err(), "{text}");
        }
    }
}
