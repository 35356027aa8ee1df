//! Values given separately for reads, writes and trims.

use std::fmt;

use fathom_stats::Direction;
use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::{Kind, OptionDef};

/// One value each for reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PerDir<T>(pub [T; 3]);

impl<T> PerDir<T> {
    /// The value of a direction.
    pub fn get(&self, direction: Direction) -> &T {
        &self.0[direction.index()]
    }
}

impl<T: Clone> PerDir<T> {
    /// The same value for all directions.
    pub fn all(value: T) -> Self {
        PerDir([value.clone(), value.clone(), value])
    }
}

impl<T: fmt::Display> fmt::Display for PerDir<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{},{},{}", self.0[0], self.0[1], self.0[2])
    }
}

/// A value that can stand in a list of up to three.
pub(crate) trait Element: Clone + PartialEq {
    fn unset_element() -> Self;
    fn parse_element(
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<Self, ValueError>;
}

impl<T: Element> Element for Option<T> {
    fn unset_element() -> Self {
        None
    }

    fn parse_element(
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<Self, ValueError> {
        T::parse_element(text, definition, context).map(Some)
    }
}

/// Cuts a value into its parts. Options that take whole numbers are also separated by `-`
/// and `:`; a `-` at the start of a part is its sign.
pub(crate) fn split_values(text: &str, kind: Kind) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            '-' if text[start..at].trim().is_empty() => {}
            '-' | ':' if kind == Kind::Int => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Fills the three slots from up to three parts: a part left blank keeps what was there, a
/// missing third takes the second's, a single one counts for all.
pub(crate) fn spread<T: Clone>(
    slots: &mut [T; 3],
    parts: &[&str],
    mut parse: impl FnMut(&str) -> Result<T, ValueError>,
) -> Result<(), ValueError> {
    let mut filled = slots.clone();
    let mut any = false;
    for (slot, part) in filled.iter_mut().zip(parts) {
        if !part.trim().is_empty() {
            *slot = parse(part)?;
            any = true;
        }
    }
    if !any {
        return Err(ValueError::new("at least one value"));
    }
    match parts.len() {
        1 => filled = [filled[0].clone(), filled[0].clone(), filled[0].clone()],
        2 => filled[2] = filled[1].clone(),
        _ => {}
    }
    *slots = filled;
    Ok(())
}

impl<T: Element> OptionValue for PerDir<T> {
    fn unset() -> Self {
        PerDir([T::unset_element(), T::unset_element(), T::unset_element()])
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let parts = split_values(text, definition.kind);
        spread(&mut self.0, &parts, |part| T::parse_element(part, definition, context))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse_as;
    use super::*;

    fn parse(text: &str) -> Option<[u64; 3]> {
        let definition = OptionDef { name: "bs", kind: Kind::Int, default: Some("1"), ..OptionDef::BLANK };
        parse_as::<PerDir<u64>>(text, &definition).0.ok().map(|value| value.0)
    }

    #[test]
    fn one_value_counts_for_all_directions() {
        assert_eq!(parse("4k"), Some([4096; 3]));
    }

    #[test]
    fn the_last_of_two_values_also_counts_for_trims() {
        assert_eq!(parse("1k,4k"), Some([1024, 4096, 4096]));
        assert_eq!(parse("1k-4k"), Some([1024, 4096, 4096]));
        assert_eq!(parse("1k:4k"), Some([1024, 4096, 4096]));
    }

    #[test]
    fn a_blank_keeps_the_value() {
        assert_eq!(parse(",8k"), Some([0, 8192, 8192]));
        assert_eq!(parse("1,,3"), Some([1, 0, 3]));
        assert_eq!(parse(","), None);
    }

    #[test]
    fn further_values_are_ignored() {
        assert_eq!(parse("1,2,3,4"), Some([1, 2, 3]));
    }

    #[test]
    fn parentheses_protect_separators() {
        assert_eq!(parse("(4-2),(1+2)"), Some([2, 3, 3]));
    }
}
