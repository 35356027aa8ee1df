//! Values given separately for reads, writes and trims.

use fathom_stats::{Direction, PerDirection};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::{Kind, OptionDef};

/// A value that can be part of a list of up to three.
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

/// Splits a value into its parts. Whole numbers are also split at `-` and `:`; a `-` at the start of a part is
/// its sign.
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

/// Fills the three slots from up to three parts: an empty part keeps the previous value, a missing third part
/// repeats the second, and a single part applies to all.
pub(crate) fn spread<T: Clone>(
    slots: &mut PerDirection<T>,
    parts: &[&str],
    mut parse: impl FnMut(&str) -> Result<T, ValueError>,
) -> Result<(), ValueError> {
    let mut filled = slots.clone();
    let mut any = false;
    for (slot, part) in filled.values_mut().zip(parts) {
        if !part.trim().is_empty() {
            *slot = parse(part)?;
            any = true;
        }
    }
    if !any {
        return Err(ValueError::new("at least one value"));
    }
    match parts.len() {
        1 => filled = PerDirection::all(filled[Direction::Read].clone()),
        2 => filled[Direction::Trim] = filled[Direction::Write].clone(),
        _ => {}
    }
    *slots = filled;
    Ok(())
}

impl<T: Element> OptionValue for PerDirection<T> {
    fn unset() -> Self {
        PerDirection::all(T::unset_element())
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let parts = split_values(text, definition.kind);
        spread(self, &parts, |part| T::parse_element(part, definition, context))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse_as;
    use super::*;

    fn parse(text: &str) -> Option<[u64; 3]> {
        let definition = OptionDef { name: "bs", kind: Kind::Int, default: Some("1"), ..OptionDef::BLANK };
        parse_as::<PerDirection<u64>>(text, &definition).0.ok().map(Into::into)
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
