//! `file_service_type`: the choice of the file for the next I/O.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, no_such_choice, parse_float, parse_whole};
use crate::definition::{Choice, OptionDef};

/// How the next file is chosen, and for how many I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum FileService {
    /// All files in turn.
    RoundRobin {
        /// Number of I/Os on a file before the next one.
        hold: u32,
    },
    /// One file until it is done, then the next.
    Sequential {
        /// Number of I/Os on a file before the next choice.
        hold: u32,
    },
    /// All files are equally likely.
    Random {
        /// Number of I/Os on a file before the next draw.
        hold: u32,
    },
    /// Few files get most of the I/O, by Zipf's law.
    Zipf {
        /// Exponent.
        theta: f64,
    },
    /// Few files get most of the I/O, by Pareto's law.
    Pareto {
        /// Skew between 0 and 1.
        h: f64,
    },
    /// A bell curve over the files.
    Normal {
        /// Deviation in percent.
        deviation: f64,
    },
}

impl FileService {
    /// The words the option begins with.
    pub const CHOICES: &'static [Choice] = &[
        Choice { name: "random", help: "Draw a file, all equally likely" },
        Choice { name: "zipf", help: "Draw a file by Zipf's law" },
        Choice { name: "pareto", help: "Draw a file by Pareto's law" },
        Choice { name: "normal", help: "Draw a file from a bell curve" },
        Choice { name: "gauss", help: "Same as normal" },
        Choice { name: "roundrobin", help: "One file after the other" },
        Choice { name: "sequential", help: "Finish a file before starting the next" },
    ];
}

impl fmt::Display for FileService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileService::RoundRobin { hold } => write!(formatter, "roundrobin:{hold}"),
            FileService::Sequential { hold } => write!(formatter, "sequential:{hold}"),
            FileService::Random { hold } => write!(formatter, "random:{hold}"),
            FileService::Zipf { theta } => write!(formatter, "zipf:{theta}"),
            FileService::Pareto { h } => write!(formatter, "pareto:{h}"),
            FileService::Normal { deviation } => write!(formatter, "normal:{deviation}"),
        }
    }
}

impl OptionValue for FileService {
    fn unset() -> Self {
        FileService::RoundRobin { hold: 1 }
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let (name, argument) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        *self = match name {
            "roundrobin" => FileService::RoundRobin { hold: parse_hold(argument)? },
            "sequential" => FileService::Sequential { hold: parse_hold(argument)? },
            "random" => FileService::Random { hold: parse_hold(argument)? },
            "zipf" => {
                let theta = parse_parameter(argument, 1.1, context)?;
                check(theta > 0.0 && theta != 1.0, "fio: zipf theta must be different than 1.0", context)?;
                FileService::Zipf { theta }
            }
            "pareto" => {
                let h = parse_parameter(argument, 0.2, context)?;
                check(h > 0.0 && h < 1.0, "fio: pareto input out of range (0 < input < 1.0)", context)?;
                FileService::Pareto { h }
            }
            "normal" | "gauss" => {
                let deviation = parse_parameter(argument, 0.0, context)?;
                let in_range = (0.0..100.0).contains(&deviation);
                check(in_range, "fio: normal deviation out of range (0 <= input < 100.0)", context)?;
                FileService::Normal { deviation }
            }
            other => return Err(no_such_choice(definition, other, context)),
        };
        Ok(())
    }
}

fn parse_hold(argument: Option<&str>) -> Result<u32, ValueError> {
    let Some(argument) = argument else {
        return Ok(1);
    };
    parse_whole(argument, 1024)
        .and_then(|whole| u32::try_from(whole.value).ok())
        .filter(|hold| *hold > 0)
        .ok_or_else(|| ValueError::new("a number of I/Os per file after the colon, at least 1"))
}

fn parse_parameter(
    argument: Option<&str>,
    default: f64,
    context: &mut ParseContext<'_>,
) -> Result<f64, ValueError> {
    let Some(argument) = argument else {
        return Ok(default);
    };
    parse_float(argument).ok_or_else(|| {
        context.complain("fio: file service type random postfix parsing failed");
        ValueError::new("a floating point number after the colon")
    })
}

fn check(holds: bool, complaint: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if holds {
        return Ok(());
    }
    context.complain(complaint);
    Err(ValueError::new("a parameter in the range of the distribution"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn every_form_is_understood() {
        assert_eq!(parse("roundrobin"), Ok(FileService::RoundRobin { hold: 1 }));
        assert_eq!(parse("random:8"), Ok(FileService::Random { hold: 8 }));
        assert_eq!(parse("gauss:10"), Ok(FileService::Normal { deviation: 10.0 }));
        assert!(parse::<FileService>("random:0").is_err());
        assert_eq!(
            parse_noting::<FileService>("zipf:x").1,
            ["fio: file service type random postfix parsing failed"]
        );
    }

    proptest! {
        #[test]
        fn printing_parses_back(hold in 1u32.., number in 1.01f64..99.0) {
            for value in [
                FileService::RoundRobin { hold },
                FileService::Sequential { hold },
                FileService::Random { hold },
                FileService::Zipf { theta: number },
                FileService::Pareto { h: number / 100.0 },
                FileService::Normal { deviation: number },
            ] {
                prop_assert_eq!(parse(&value.to_string()), Ok(value));
            }
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse::<FileService>(&text);
        }
    }
}
