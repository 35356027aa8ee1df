//! `verify`: one of fathom-verify's methods, selected by name, or none.

use super::{OptionValue, ParseContext, ValueError, Word, parse_choice};
use crate::definition::{Choice, OptionDef};
use fathom_verify::method::Method;

/// How data is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum VerifyMethod {
    /// Not at all.
    None,
    /// By a method.
    By(Method),
}

/// The word for [`Method::Crc32c`] in old job files, which is listed first.
const INTEL: Choice = Choice { name: "crc32c-intel", help: "CRC32C; for old job files" };

impl VerifyMethod {
    /// The words for this value, with their meaning.
    pub const CHOICES: &'static [Choice] = &{
        let mut choices = [Choice { name: "0", help: "Not at all" }; Method::ALL.len() + 2];
        let (mut index, mut place) = (0, 1);
        while index < Method::ALL.len() {
            let method = Method::ALL[index];
            if matches!(method, Method::Crc32c) {
                choices[place] = INTEL;
                place += 1;
            }
            choices[place] = Choice { name: method.word(), help: method.about() };
            (index, place) = (index + 1, place + 1);
        }
        choices
    };
}

impl Word for VerifyMethod {
    const FIRST: Self = VerifyMethod::None;

    fn parse_word(word: &str) -> Option<Self> {
        match word {
            "0" => Some(VerifyMethod::None),
            _ if word == INTEL.name => Some(VerifyMethod::By(Method::Crc32c)),
            _ => Method::of_word(word).map(VerifyMethod::By),
        }
    }
}

impl OptionValue for VerifyMethod {
    fn unset() -> Self {
        Self::FIRST
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        *self = parse_choice(text, definition, context)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_a_value() {
        for choice in VerifyMethod::CHOICES {
            assert!(VerifyMethod::parse_word(choice.name).is_some(), "{}", choice.name);
        }
        assert_eq!(VerifyMethod::parse_word("crc32c-intel"), VerifyMethod::parse_word("crc32c"));
        assert_eq!(VerifyMethod::parse_word("crc33"), None);
    }
}
