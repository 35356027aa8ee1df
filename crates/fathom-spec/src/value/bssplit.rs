//! `bssplit`: block sizes with the share of I/Os that each gets.

use std::fmt;

use fathom_stats::{Direction, PerDirection};
use serde::{Deserialize, Serialize};

use super::per_direction::spread;
use super::range::split_outside_parentheses;
use super::{OptionValue, ParseContext, ValueError, parse_whole};
use crate::definition::OptionDef;

/// Maximum number of sizes for one direction.
const MOST_SHARES: usize = 64;

/// One block size of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BsShare {
    /// Block size in bytes.
    pub size: u64,
    /// Percentage of the I/Os; if empty or 0, the size gets an equal share of what the others leave.
    pub percent: Option<u32>,
}

/// The splits of the three directions; an empty list means no split.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BlockSizeSplit(pub PerDirection<Vec<BsShare>>);

impl BlockSizeSplit {
    /// The split of a direction with every percentage filled in. If the sum is below 100, the remainder goes to
    /// the largest size.
    pub fn resolved(&self, direction: Direction) -> Vec<(u64, u32)> {
        let shares = &self.0[direction];
        let given: u32 = shares.iter().filter_map(|share| share.percent).sum();
        let blanks = shares.iter().filter(|share| share.percent.is_none()).count();
        let each = u32::try_from(blanks).map_or(0, |blanks| 100u32.saturating_sub(given) / blanks.max(1));
        shares.iter().map(|share| (share.size, share.percent.unwrap_or(each))).collect()
    }
}

impl fmt::Display for BlockSizeSplit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, shares) in self.0.values().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            for (index, share) in shares.iter().enumerate() {
                let separator = if index > 0 { ":" } else { "" };
                write!(formatter, "{separator}{}/", share.size)?;
                if let Some(percent) = share.percent {
                    write!(formatter, "{percent}")?;
                }
            }
        }
        Ok(())
    }
}

fn conversion_failed(context: &mut ParseContext<'_>) -> ValueError {
    context.complain("fio: split conversion failed");
    ValueError::new("block sizes with percentages such as 4k/60:64k/40, directions separated by commas")
}

fn parse_share(text: &str, context: &mut ParseContext<'_>) -> Result<BsShare, ValueError> {
    let parts = split_outside_parentheses(text, &['/']);
    let size = parse_whole(parts[0], context.kb_base).and_then(|whole| u64::try_from(whole.value).ok());
    let size = size.filter(|size| *size > 0).ok_or_else(|| conversion_failed(context))?;
    let percent = match parts.get(1).map(|percent| percent.trim()) {
        None | Some("") => None,
        Some(percent) => {
            let (digits, rest) =
                percent.split_at(percent.find(|c: char| !c.is_ascii_digit()).unwrap_or(percent.len()));
            // All numbers above 100 have the same meaning.
            let number: u32 = digits.parse().unwrap_or(if digits.is_empty() { 0 } else { 100 });
            if !matches!(rest, "" | "%") {
                if digits.is_empty() {
                    return Err(conversion_failed(context));
                }
                context.remark(format!("{} is read as {digits} percent; is a colon missing?", text.trim()));
            }
            (number > 0).then_some(number.min(100))
        }
    };
    if let Some(rest) = parts.get(2) {
        context.remark(format!("\"/{rest}\" in {} has no effect; is a colon missing?", text.trim()));
    }
    Ok(BsShare { size, percent })
}

fn parse_shares(text: &str, context: &mut ParseContext<'_>) -> Result<Vec<BsShare>, ValueError> {
    let parts = split_outside_parentheses(text, &[':']);
    let shares: Vec<BsShare> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .map(|part| parse_share(part, context))
        .collect::<Result<_, _>>()?;
    if shares.len() > MOST_SHARES {
        return Err(ValueError::new(format!("at most {MOST_SHARES} block sizes for a direction")));
    }
    let sum: u32 = shares.iter().filter_map(|share| share.percent).sum();
    let blanks = shares.iter().filter(|share| share.percent.is_none()).count();
    if sum > 100 && blanks > 1 {
        context.complain("fio: bssplit percentages add to more than 100%");
        return Err(ValueError::new("percentages that add up to at most 100"));
    }
    if sum > 100 {
        context.remark(format!("the percentages add up to {sum}: the excess over 100 has no effect"));
    } else if let Some(largest) =
        shares.iter().max_by_key(|share| share.percent).filter(|_| sum < 100 && blanks == 0)
    {
        context.remark(format!(
            "the percentages add up to {sum}: blocks of {} bytes get the rest",
            largest.size
        ));
    }
    Ok(shares)
}

impl OptionValue for BlockSizeSplit {
    fn unset() -> Self {
        BlockSizeSplit::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut splits = PerDirection::default();
        spread(&mut splits, &split_outside_parentheses(text, &[',']), |part| parse_shares(part, context))?;
        *self = BlockSizeSplit(splits);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn blank_shares_divide_the_rest() {
        let split: BlockSizeSplit = parse("4k/50:8k:16k/").unwrap();
        assert_eq!(split.resolved(Direction::Write), [(4096, 50), (8192, 25), (16384, 25)]);
    }

    #[test]
    fn directions_are_separate() {
        let split: BlockSizeSplit = parse("1k/100,2k/40:4k/60").unwrap();
        assert_eq!(split.resolved(Direction::Read), [(1024, 100)]);
        assert_eq!(split.resolved(Direction::Trim), [(2048, 40), (4096, 60)]);
    }

    #[test]
    fn too_much_is_refused_only_when_blanks_get_nothing() {
        assert!(parse::<BlockSizeSplit>("4k/60:8k/60").is_ok());
        let (result, notes) = parse_noting::<BlockSizeSplit>("4k/60:8k/60:1k:2k");
        assert!(result.is_err());
        assert_eq!(notes, ["fio: bssplit percentages add to more than 100%"]);
    }

    proptest! {
        #[test]
        fn printing_parses_back(
            shares in proptest::collection::vec((1u64..1 << 40, proptest::option::of(1u32..30)), 1..4)
        ) {
            let shares: Vec<BsShare> =
                shares.into_iter().map(|(size, percent)| BsShare { size, percent }).collect();
            let split = BlockSizeSplit(PerDirection::all(shares));
            prop_assert_eq!(parse(&split.to_string()), Ok(split));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            if let Ok(split) = parse::<BlockSizeSplit>(&text) {
                split.resolved(Direction::Read);
            }
        }
    }
}
