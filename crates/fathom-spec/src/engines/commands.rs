//! The commands that `io_uring_cmd` sends: values of its options.

use crate::declare::choices;
use crate::definition::OptionDef;
use crate::diagnostic::Rejected;
use crate::engines::Review;
use crate::spec::JobSpec;
use crate::value::{OptionValue, ParseContext, ValueError};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

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
    /// Command in the verify phase.
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
    /// A protection information field to check.
    pub enum PiCheck {
        /// Guard
        Guard = "GUARD",
        /// Reference tag
        RefTag = "REFTAG",
        /// Application tag
        AppTag = "APPTAG",
    }
}

/// Refuses to verify writes of zeroes by another run, because only that run knows which writes were zeroes.
pub(super) fn refuse_zeroes_of_others(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let verification = &job.verification;
    let asked = [
        (verification.verify_only, "verify_only"),
        (verification.experimental_verify, "experimental_verify"),
        (verification.verify_ledger.is_some(), "verify_ledger"),
    ];
    let Some((_, option)) = asked.into_iter().find(|(is_asked, _)| *is_asked) else { return Ok(()) };
    Err(review.refuse(
        &job.origin,
        format!("fathom: {option} does not know which blocks are zeroes"),
        format!(
            "job {}: only the run that writes them with write_mode=zeroes can verify them; leave one of the two out",
            job.name
        ),
    ))
}

/// `write_mode`: one command, or several with shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteModes(pub Vec<(WriteMode, u32)>);

impl WriteModes {
    /// True if all writes are Zone Append.
    pub fn only_appends(&self) -> bool {
        self.0.iter().all(|(mode, _)| *mode == WriteMode::ZoneAppend)
    }

    /// True if some writes leave unknown data.
    pub fn loses_data(&self) -> bool {
        self.0.iter().any(|(mode, _)| matches!(mode, WriteMode::Uncorrectable | WriteMode::Verify))
    }

    /// True if some writes write zeroes.
    pub fn writes_zeroes(&self) -> bool {
        self.0.iter().any(|(mode, _)| *mode == WriteMode::Zeroes)
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
        self.0 = modes_of(text).map_err(|error| {
            context.complain(error.to_string());
            ValueError::new(
                "one of write, uncor, zeroes, verify, zone_append, or several with shares that add up to 100 percent: write/50:zeroes/50",
            )
        })?;
        Ok(())
    }
}

/// Why the shares of commands are invalid, in fio's words.
#[derive(Debug, Error)]
enum SharesError {
    #[error("fio: invalid write_mode value: {0}")]
    Invalid(String),
    #[error("fio: write_mode percentages should add up to 100%")]
    NotWhole,
}

/// Parses commands with their shares; commands without a share divide the rest equally.
fn modes_of(text: &str) -> Result<Vec<(WriteMode, u32)>, SharesError> {
    if let Some(mode) = WriteMode::from_name(text) {
        return Ok(vec![(mode, 100)]);
    }
    let mut modes = Vec::new();
    for part in text.split(':') {
        let invalid = || SharesError::Invalid(part.split('/').next().unwrap_or(part).to_owned());
        let (word, percent) = part.split_once('/').ok_or_else(invalid)?;
        let mode = WriteMode::from_name(word.trim()).ok_or_else(invalid)?;
        let percent = match percent.trim() {
            "" => None,
            digits => Some(digits.parse::<u32>().map_err(|_| invalid())?),
        };
        modes.push((mode, percent));
    }
    let given = modes.iter().filter_map(|(_, percent)| *percent).fold(0, u32::saturating_add);
    let blanks = modes.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
    if given > 100 || (blanks == 0 && given != 100) {
        return Err(SharesError::NotWhole);
    }
    let (mut left, mut sharers) = (100 - given, blanks);
    let mut share = || {
        let own = left.div_ceil(sharers);
        (left, sharers) = (left - own, sharers - 1);
        own
    };
    Ok(modes.into_iter().map(|(mode, percent)| (mode, percent.unwrap_or_else(&mut share))).collect())
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
        for text in [
            "",
            "foo",
            "write/50",
            "write/50:zeroes/60",
            "write/50:zeroes/40",
            "write:zeroes",
            "write/50:bogus/50",
        ] {
            assert!(parse::<WriteModes>(text).is_err(), "{text}");
        }
        for (text, shares) in [
            ("write/50:zeroes/:verify/", "write/50:zeroes/25:verify/25"),
            ("uncor/:write/:zeroes/", "uncor/34:write/33:zeroes/33"),
        ] {
            assert_eq!(parse::<WriteModes>(text).map(|modes| modes.to_string()), Ok(shares.to_owned()));
        }
    }
}
