//! `cmdprio_bssplit`: for each block size, the share of I/Os with a different priority.

use std::fmt;

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

use super::per_direction::spread;
use super::range::split_outside_parentheses;
use super::{OptionValue, ParseContext, ValueError, parse_whole};
use crate::definition::OptionDef;

/// The priority of a share, with class, level and hint, if it differs from the other `cmdprio` options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnPriority {
    /// 1 real time, 2 best effort, 3 idle.
    pub class: u32,
    /// 0 to 7.
    pub level: u32,
    /// Hint to the device; `None` uses `cmdprio_hint`.
    pub hint: Option<u32>,
}

/// One share of one block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    /// Block size in bytes.
    pub size: u64,
    /// Percentage of the I/Os of this size.
    pub percent: u32,
    /// Priority of the share, if it differs from the other `cmdprio` options.
    pub priority: Option<OwnPriority>,
}

/// The shares of reads and writes (and, unused, trims).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PriorityShares(pub PerDirection<Vec<PriorityShare>>);

impl fmt::Display for PriorityShares {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, shares) in self.0.values().take(2).enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            for (index, share) in shares.iter().enumerate() {
                let separator = if index > 0 { ":" } else { "" };
                write!(formatter, "{separator}{}/{}", share.size, share.percent)?;
                if let Some(own) = share.priority {
                    write!(formatter, "/{}/{}", own.class, own.level)?;
                    if let Some(hint) = own.hint {
                        write!(formatter, "/{hint}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn expected() -> ValueError {
    ValueError::new(
        "block sizes with a percentage, and maybe class (1 to 3), level (0 to 7) and hint (0 to 1023), such as \
         4k/20/2/3:64k/10, directions separated by a comma",
    )
}

fn parse_share(text: &str, context: &ParseContext<'_>) -> Result<PriorityShare, ValueError> {
    let fields = split_outside_parentheses(text, &['/']);
    let [size, percent, own @ ..] = fields.as_slice() else { return Err(expected()) };
    let whole =
        |text: &str, base: u32| parse_whole(text, base).and_then(|whole| u64::try_from(whole.value).ok());
    let size = whole(size, context.kb_base).filter(|size| *size > 0).ok_or_else(expected)?;
    let number = |text: &str, most: u64| match whole(text, 1024) {
        Some(value) if value <= most => Ok(value as u32),
        _ => Err(expected()),
    };
    let priority = match own {
        [] => None,
        [class, level] => {
            Some(OwnPriority { class: number(class, 3)?, level: number(level, 7)?, hint: None })
        }
        [class, level, hint] => {
            let hint = Some(number(hint, 1023)?);
            Some(OwnPriority { class: number(class, 3)?, level: number(level, 7)?, hint })
        }
        _ => return Err(expected()),
    };
    if priority.is_some_and(|own| own.class == 0) {
        return Err(expected());
    }
    Ok(PriorityShare { size, percent: number(percent, 100)?, priority })
}

fn parse_shares(text: &str, context: &ParseContext<'_>) -> Result<Vec<PriorityShare>, ValueError> {
    let parts = split_outside_parentheses(text, &[':']);
    let shares: Vec<PriorityShare> =
        parts.into_iter().map(|part| parse_share(part, context)).collect::<Result<_, _>>()?;
    let sum_of =
        |size: u64| shares.iter().filter(|share| share.size == size).map(|share| share.percent).sum::<u32>();
    if shares.iter().any(|share| sum_of(share.size) > 100) {
        return Err(ValueError::new("percentages of a block size that add up to at most 100"));
    }
    Ok(shares)
}

impl OptionValue for PriorityShares {
    fn unset() -> Self {
        PriorityShares::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut directions = PerDirection::default();
        let parts = split_outside_parentheses(text, &[',']);
        if parts.len() > 2 {
            return Err(ValueError::new("shares for reads, and after a comma for writes; trims have none"));
        }
        spread(&mut directions, &parts, |part| parse_shares(part, context))?;
        *self = PriorityShares(directions);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;
    use fathom_stats::Direction;
    use proptest::prelude::*;

    #[test]
    fn shares_have_sizes_percentages_and_maybe_priorities() {
        let shares: PriorityShares = parse("4k/20/2/3:8k/60/1/1/5:8k/10,64k/50").unwrap();
        let own = |class, level, hint| Some(OwnPriority { class, level, hint });
        let share = |size, percent, priority| PriorityShare { size, percent, priority };
        assert_eq!(
            shares.0[Direction::Read],
            [share(4096, 20, own(2, 3, None)), share(8192, 60, own(1, 1, Some(5))), share(8192, 10, None)]
        );
        assert_eq!(shares.0[Direction::Write], [share(65536, 50, None)]);
        assert_eq!(parse(&shares.to_string()), Ok(shares));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in
            ["4k", "4k/101", "4k/50/4/1", "4k/50/0/1", "4k/50/1", "4k/60:4k/60", "4k/1,4k/1,4k/1", "x/1"]
        {
            assert!(parse::<PriorityShares>(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse::<PriorityShares>(&text);
        }
    }
}
