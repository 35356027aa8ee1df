//! `rw`: direction and pattern of the I/O, with an optional postfix.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, list_choices, parse_choice, parse_whole};
use crate::declare::choices;
use crate::definition::OptionDef;
use crate::help;

choices! {
    /// Direction and pattern of the I/O.
    pub enum Rw {
        /// Sequential reads
        Read = "read",
        /// Sequential writes
        Write = "write",
        /// Sequential trims
        Trim = "trim",
        /// Random reads
        RandRead = "randread",
        /// Random writes
        RandWrite = "randwrite",
        /// Random trims
        RandTrim = "randtrim",
        /// Sequential reads and writes, mixed
        ReadWrite = "rw" | "readwrite",
        /// Random reads and writes, mixed
        RandRw = "randrw",
        /// Trim a block, then write it, in sequence
        TrimWrite = "trimwrite",
        /// Trim a random block, then write it
        RandTrimWrite = "randtrimwrite",
    }
}

impl Rw {
    /// True if offsets are drawn at random.
    pub fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandRw | Rw::RandTrimWrite)
    }

    /// True if the job reads.
    pub fn reads(self) -> bool {
        matches!(self, Rw::Read | Rw::RandRead | Rw::ReadWrite | Rw::RandRw)
    }

    /// Whether the job writes.
    pub fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead | Rw::Trim | Rw::RandTrim)
    }

    /// True if the job trims.
    pub fn trims(self) -> bool {
        matches!(self, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite)
    }

    /// True if reads and writes are mixed by percentage.
    pub fn is_mixed(self) -> bool {
        matches!(self, Rw::ReadWrite | Rw::RandRw)
    }
}

/// The `rw` option: the direction and pattern, and the number after the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RwMode {
    /// Direction and pattern.
    pub rw: Rw,
    /// For sequential patterns, the bytes added to the offset after each block, possibly negative; for random
    /// patterns, the number of I/Os per random offset.
    pub postfix: Option<i64>,
}

impl fmt::Display for RwMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.postfix {
            Some(postfix) => write!(formatter, "{}:{postfix}", self.rw),
            None => write!(formatter, "{}", self.rw),
        }
    }
}

impl OptionValue for RwMode {
    fn unset() -> Self {
        RwMode { rw: Rw::Read, postfix: None }
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let rw: Rw = parse_choice(text, definition, context)?;
        let postfix = match text.split_once(':') {
            Some((_, postfix)) => Some(parse_postfix(rw, postfix, context)?),
            None => None,
        };
        *self = RwMode { rw, postfix };
        Ok(())
    }
}

/// Refuses a direction because of `--readonly`. An exception for `verify_only` is possible only when the job is
/// complete.
pub(crate) fn refuse_readonly(definition: &OptionDef, context: &mut ParseContext<'_>) -> ValueError {
    context.complain(format!(
        "fio: job <{}> has write or trim bit set, but fio is in read-only mode",
        context.job_name
    ));
    context.complain("Correct format for offending option");
    context.complain(help::option_head(definition));
    list_choices(definition, context);
    ValueError::new("a read-only direction, because of --readonly, or verify_only=1, which only reads")
}

fn parse_postfix(rw: Rw, text: &str, context: &mut ParseContext<'_>) -> Result<i64, ValueError> {
    let number = parse_whole(text, context.kb_base).and_then(|whole| i64::try_from(whole.value).ok());
    if rw.is_random() {
        let expected = || ValueError::new("a number of I/Os per random offset after the colon, at least 1");
        let Some(number) = number else {
            context.complain("fio: randrw postfix parsing failed");
            return Err(expected());
        };
        if number < 1 || number > i64::from(u32::MAX) {
            context.complain("fio: randrw postfix parsing out of range");
            return Err(expected());
        }
        return Ok(number);
    }
    number.ok_or_else(|| {
        context.complain("fio: rw postfix parsing failed");
        ValueError::new("a number of bytes after the colon, such as 8k or -8k, to add after each block")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn postfixes_are_bytes_or_counts() {
        assert_eq!(parse("read:8k"), Ok(RwMode { rw: Rw::Read, postfix: Some(8192) }));
        assert_eq!(parse("read:-8k"), Ok(RwMode { rw: Rw::Read, postfix: Some(-8192) }));
        assert_eq!(parse("randread:4"), Ok(RwMode { rw: Rw::RandRead, postfix: Some(4) }));
        assert_eq!(parse("readwrite"), Ok(RwMode { rw: Rw::ReadWrite, postfix: None }));
    }

    #[test]
    fn wrong_postfixes_get_different_errors() {
        assert_eq!(parse_noting::<RwMode>("read:x").1, ["fio: rw postfix parsing failed"]);
        assert_eq!(parse_noting::<RwMode>("randread:x").1, ["fio: randrw postfix parsing failed"]);
        assert_eq!(parse_noting::<RwMode>("randread:0").1, ["fio: randrw postfix parsing out of range"]);
        assert!(parse::<RwMode>("foo").is_err());
    }

    #[test]
    fn every_mode_does_something() {
        for choice in Rw::CHOICES {
            let mode = Rw::from_name(choice.name).unwrap();
            assert!(mode.reads() || mode.writes() || mode.trims(), "{}", choice.name);
        }
    }

    proptest! {
        #[test]
        fn printing_parses_back(index in 0usize..11, postfix in proptest::option::of(1i64..1 << 32)) {
            let mode = RwMode { rw: Rw::from_name(Rw::CHOICES[index].name).unwrap(), postfix };
            prop_assume!(postfix.is_none_or(|value| value <= i64::from(u32::MAX)));
            prop_assert_eq!(parse(&mode.to_string()), Ok(mode));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse::<RwMode>(&text);
        }
    }
}
