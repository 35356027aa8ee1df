//! `random_distribution`: which offsets random I/O prefers.

use std::fmt;

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

use super::per_direction::spread;
use super::range::split_outside_parentheses;
use super::{OptionValue, ParseContext, ValueError, no_such_choice, parse_float, parse_whole};
use crate::definition::{Choice, OptionDef};

/// Maximum number of zones for one direction.
const MOST_ZONES: usize = 64;

/// A zone that gets a share of the I/Os, with its size as a share of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Percentage of I/Os.
    pub access: u32,
    /// Percentage of the range.
    pub size: u32,
}

/// A zone that gets a share of the I/Os, with its size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsoluteZone {
    /// Percentage of I/Os.
    pub access: u32,
    /// Length of the zone in bytes.
    pub size: u64,
}

/// The distribution of random offsets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// All blocks are equally likely.
    Random,
    /// Few blocks get most of the I/O, by Zipf's law.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Position of the most frequently used blocks, as a fraction of the range.
        center: Option<f64>,
    },
    /// Few blocks get most of the I/O, by Pareto's law.
    Pareto {
        /// Skew between 0 and 1.
        h: f64,
        /// Position of the most used blocks, as a fraction of the range.
        center: Option<f64>,
    },
    /// A bell curve.
    Normal {
        /// Deviation in percent.
        deviation: f64,
        /// Position of the most used blocks, as a fraction of the range.
        center: Option<f64>,
    },
    /// Shares of I/O for shares of the range.
    Zoned(PerDirection<Vec<Zone>>),
    /// Shares of I/O for lengths of the range.
    ZonedAbs(PerDirection<Vec<AbsoluteZone>>),
    /// The listed block numbers, in order.
    Sequence(Vec<u64>),
}

impl Distribution {
    /// The words the option begins with.
    pub const CHOICES: &'static [Choice] = &[
        Choice { name: "random", help: "All blocks equally likely" },
        Choice { name: "zipf", help: "Zipf distribution, zipf:theta[:center]" },
        Choice { name: "pareto", help: "Pareto distribution, pareto:h[:center]" },
        Choice { name: "normal", help: "Bell curve, normal:deviation[:center]" },
        Choice { name: "zoned", help: "Shares of I/O for shares of the range, zoned:60/10:40/90" },
        Choice { name: "zoned_abs", help: "Shares of I/O for lengths, zoned_abs:60/20G:40/80G" },
        Choice { name: "sequence", help: "Block numbers in order, sequence:2,0,1" },
    ];
}

impl fmt::Display for Distribution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, first, center) = match self {
            Distribution::Random => return formatter.write_str("random"),
            Distribution::Zipf { theta, center } => ("zipf", theta, center),
            Distribution::Pareto { h, center } => ("pareto", h, center),
            Distribution::Normal { deviation, center } => ("normal", deviation, center),
            Distribution::Zoned(zones) => {
                return write_zones(formatter, "zoned", zones, |zone| (zone.access, u64::from(zone.size)));
            }
            Distribution::ZonedAbs(zones) => {
                return write_zones(formatter, "zoned_abs", zones, |zone| (zone.access, zone.size));
            }
            Distribution::Sequence(blocks) => {
                let blocks: Vec<String> = blocks.iter().map(u64::to_string).collect();
                return write!(formatter, "sequence:{}", blocks.join(","));
            }
        };
        write!(formatter, "{name}:{first}")?;
        center.map_or(Ok(()), |center| write!(formatter, ":{center}"))
    }
}

fn write_zones<T>(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    zones: &PerDirection<Vec<T>>,
    parts: impl Fn(&T) -> (u32, u64),
) -> fmt::Result {
    write!(formatter, "{name}:")?;
    for (index, list) in zones.values().enumerate() {
        let list: Vec<String> =
            list.iter().map(&parts).map(|(access, size)| format!("{access}/{size}")).collect();
        write!(formatter, "{}{}", if index > 0 { "," } else { "" }, list.join(":"))?;
    }
    Ok(())
}

impl OptionValue for Distribution {
    fn unset() -> Self {
        Distribution::Random
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let (name, arguments) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        *self = match name {
            "random" => Distribution::Random,
            "zipf" => parse_zipf(arguments, context)?,
            "pareto" => parse_pareto(arguments, context)?,
            "normal" => parse_normal(arguments, context)?,
            "zoned" => Distribution::Zoned(parse_zoned(arguments.unwrap_or(""), context)?),
            "zoned_abs" => Distribution::ZonedAbs(parse_zoned_abs(arguments.unwrap_or(""), context)?),
            "sequence" => parse_sequence(arguments, context)?,
            other => return Err(no_such_choice(definition, other, context)),
        };
        Ok(())
    }
}

/// Parses `number[:center]`; without arguments, the default number applies.
fn parse_curve(
    arguments: Option<&str>,
    default: f64,
    context: &mut ParseContext<'_>,
) -> Result<(f64, Option<f64>), ValueError> {
    let Some(arguments) = arguments else {
        return Ok((default, None));
    };
    let (first, center) =
        arguments.split_once(':').map_or((arguments, None), |(first, center)| (first, Some(center)));
    let Some(first) = parse_float(first) else {
        context.complain("fio: random postfix parsing failed");
        return Err(ValueError::new("a floating point number after the colon"));
    };
    let Some(center) = center else {
        return Ok((first, None));
    };
    match parse_float(center).filter(|center| (0.0..=1.0).contains(center)) {
        Some(center) => Ok((first, Some(center))),
        None => {
            context.complain("fio: distribution center out of range (0 <= center <= 1.0)");
            Err(ValueError::new("a centre from 0 to 1 after the second colon"))
        }
    }
}

fn parse_zipf(arguments: Option<&str>, context: &mut ParseContext<'_>) -> Result<Distribution, ValueError> {
    let (theta, center) = parse_curve(arguments, 1.1, context)?;
    if theta == 1.0 {
        context.complain("fio: zipf theta must different than 1.0");
        return Err(ValueError::new("a theta other than 1"));
    }
    if theta <= 0.0 {
        context.complain("fio: zipf theta must be greater than 0");
        return Err(ValueError::new("a theta above 0"));
    }
    Ok(Distribution::Zipf { theta, center })
}

fn parse_pareto(arguments: Option<&str>, context: &mut ParseContext<'_>) -> Result<Distribution, ValueError> {
    let (h, center) = parse_curve(arguments, 0.2, context)?;
    if h <= 0.0 || h >= 1.0 {
        context.complain("fio: pareto input out of range (0 < input < 1.0)");
        return Err(ValueError::new("a skew between 0 and 1"));
    }
    Ok(Distribution::Pareto { h, center })
}

fn parse_normal(arguments: Option<&str>, context: &mut ParseContext<'_>) -> Result<Distribution, ValueError> {
    let (deviation, center) = parse_curve(arguments, 0.0, context)?;
    if !(0.0..100.0).contains(&deviation) {
        context.complain("fio: normal deviation out of range (0 <= input < 100.0)");
        return Err(ValueError::new("a deviation from 0 to below 100 percent"));
    }
    Ok(Distribution::Normal { deviation, center })
}

fn expected_zones() -> ValueError {
    ValueError::new("zones such as 60/10:40/90, directions separated by commas")
}

/// The pairs in a zone list; the second value is `None` if it was left empty.
fn parse_pairs(text: &str, kb_base: u32) -> Result<Vec<(u32, Option<u64>)>, ValueError> {
    let mut pairs = Vec::new();
    for part in split_outside_parentheses(text, &[':']) {
        if part.trim().is_empty() {
            continue;
        }
        let sides = split_outside_parentheses(part, &['/']);
        let access = parse_whole(sides[0], 1024).and_then(|whole| u32::try_from(whole.value).ok());
        let size = match sides.get(1).map(|size| size.trim()) {
            None | Some("") => None,
            Some(size) => {
                let size = parse_whole(size, kb_base).and_then(|whole| u64::try_from(whole.value).ok());
                Some(size.ok_or_else(expected_zones)?)
            }
        };
        pairs.push((access.ok_or_else(expected_zones)?, size));
    }
    if pairs.is_empty() || pairs.len() > MOST_ZONES {
        return Err(ValueError::new(format!("1 to {MOST_ZONES} zones for a direction")));
    }
    Ok(pairs)
}

fn check_access(sum: u64, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if sum == 100 {
        return Ok(());
    }
    context.complain(match sum > 100 {
        true => "fio: zone_split percentages add to more than 100%".to_owned(),
        false => {
            format!("fio: access percentage don't add up to 100 for zoned random distribution (got={sum})")
        }
    });
    Err(ValueError::new("access percentages that add up to 100"))
}

fn parse_zoned(text: &str, context: &mut ParseContext<'_>) -> Result<PerDirection<Vec<Zone>>, ValueError> {
    let mut zones = PerDirection::default();
    spread(&mut zones, &split_outside_parentheses(text, &[',']), |part| {
        let pairs = parse_pairs(part, 1024)?;
        check_access(pairs.iter().map(|pair| u64::from(pair.0)).sum(), context)?;
        let given: u64 = pairs.iter().filter_map(|pair| pair.1).fold(0, u64::saturating_add);
        let blanks = pairs.iter().filter(|pair| pair.1.is_none()).count() as u64;
        if given > 100 || (blanks == 0 && given != 100) {
            context.complain("fio: zone_split percentages add to more than 100%");
            return Err(ValueError::new("range percentages that add up to 100"));
        }
        let each = (100 - given) / blanks.max(1);
        let fill = |(access, size): (u32, Option<u64>)| {
            u32::try_from(size.unwrap_or(each)).map(|size| Zone { access, size })
        };
        pairs.into_iter().map(fill).collect::<Result<Vec<Zone>, _>>().map_err(|_| expected_zones())
    })?;
    Ok(zones)
}

fn parse_zoned_abs(
    text: &str,
    context: &mut ParseContext<'_>,
) -> Result<PerDirection<Vec<AbsoluteZone>>, ValueError> {
    let mut zones = PerDirection::default();
    spread(&mut zones, &split_outside_parentheses(text, &[',']), |part| {
        let pairs = parse_pairs(part, context.kb_base)?;
        check_access(pairs.iter().map(|pair| u64::from(pair.0)).sum(), context)?;
        // An empty length stands for all bytes after the other zones; it is stored as 0.
        Ok(pairs.into_iter().map(|(access, size)| AbsoluteZone { access, size: size.unwrap_or(0) }).collect())
    })?;
    Ok(zones)
}

fn parse_sequence(
    arguments: Option<&str>,
    context: &mut ParseContext<'_>,
) -> Result<Distribution, ValueError> {
    let Some(text) = arguments else {
        context.complain("fio: missing pattern in sequence distribution");
        return Err(ValueError::new("block numbers separated by commas"));
    };
    let blocks: Result<Vec<u64>, &str> =
        text.split(',').map(|part| part.trim().parse().map_err(|_| part.trim())).collect();
    blocks.map(Distribution::Sequence).map_err(|part| {
        context.complain(format!("fio: invalid or negative element <{part}> in random_sequence"));
        ValueError::new("block numbers without a suffix, separated by commas")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    fn complaint(text: &str) -> String {
        let (result, notes) = parse_noting::<Distribution>(text);
        assert!(result.is_err(), "{text}");
        notes.join("|")
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(parse("zipf"), Ok(Distribution::Zipf { theta: 1.1, center: None }));
        assert_eq!(parse("zipf:1.2:0.25"), Ok(Distribution::Zipf { theta: 1.2, center: Some(0.25) }));
        assert_eq!(parse("pareto:0.3"), Ok(Distribution::Pareto { h: 0.3, center: None }));
        assert_eq!(parse("normal:20"), Ok(Distribution::Normal { deviation: 20.0, center: None }));
        assert_eq!(parse("sequence:2,0,1"), Ok(Distribution::Sequence(vec![2, 0, 1])));
        let zones = vec![Zone { access: 60, size: 10 }, Zone { access: 40, size: 90 }];
        assert_eq!(parse("zoned:60/10:40/"), Ok(Distribution::Zoned(PerDirection::all(zones))));
        let zones = vec![AbsoluteZone { access: 100, size: 1 << 20 }];
        assert_eq!(parse("zoned_abs:100/1m"), Ok(Distribution::ZonedAbs(PerDirection::all(zones))));
    }

    #[test]
    fn mistakes_have_their_own_messages() {
        assert_eq!(complaint("zipf:1"), "fio: zipf theta must different than 1.0");
        assert_eq!(complaint("zipf:x"), "fio: random postfix parsing failed");
        assert_eq!(complaint("pareto:2"), "fio: pareto input out of range (0 < input < 1.0)");
        assert_eq!(complaint("normal:200"), "fio: normal deviation out of range (0 <= input < 100.0)");
        assert_eq!(complaint("sequence"), "fio: missing pattern in sequence distribution");
        for (text, element) in [("", ""), ("-1,2", "-1"), ("a,b", "a"), ("1k,0", "1k")] {
            let told = format!("fio: invalid or negative element <{element}> in random_sequence");
            assert_eq!(complaint(&format!("sequence:{text}")), told);
        }
        assert_eq!(
            complaint("zoned:50/10"),
            "fio: access percentage don't add up to 100 for zoned random distribution (got=50)"
        );
        assert!(complaint("zipf:1.2:3").contains("center"));
    }

    proptest! {
        #[test]
        fn printing_parses_back(theta in 1.01f64..9.0, center in proptest::option::of(0.0f64..1.0),
                                blocks in proptest::collection::vec(any::<u64>(), 1..9), access in 1u32..99) {
            let zones = |size| vec![Zone { access, size }, Zone { access: 100 - access, size: 100 - size }];
            for value in [
                Distribution::Random,
                Distribution::Zipf { theta, center },
                Distribution::Pareto { h: theta / 10.0, center },
                Distribution::Normal { deviation: theta, center },
                Distribution::Sequence(blocks),
                Distribution::Zoned(PerDirection::new([zones(10), zones(20), zones(30)])),
                Distribution::ZonedAbs(PerDirection::all(vec![AbsoluteZone { access: 100, size: 4096 }])),
            ] {
                prop_assert_eq!(parse(&value.to_string()), Ok(value));
            }
        }

        #[test]
        fn no_text_panics(name in "(zipf|pareto|normal|zoned|zoned_abs|sequence)", text in "[:/,0-9.a-z-]*") {
            let _ = parse::<Distribution>(&format!("{name}:{text}"));
        }
    }
}
