//! Comma-separated lists of words.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, Word, parse_choice};
use crate::definition::OptionDef;

/// Words from a fixed list, in the order written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WordList<T>(pub Vec<T>);

impl<T: fmt::Display> fmt::Display for WordList<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(T::to_string).collect();
        formatter.write_str(&words.join(","))
    }
}

impl<T: Word + PartialEq> OptionValue for WordList<T> {
    fn unset() -> Self {
        WordList(Vec::new())
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let words: Result<Vec<T>, ValueError> =
            text.split(',').map(|word| parse_choice(word.trim(), definition, context)).collect();
        self.0 = words?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::MemoryKind;
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn lists_keep_their_order_and_print_back() {
        let list = WordList(vec![MemoryKind::Shm, MemoryKind::Malloc]);
        assert_eq!(parse("shm, malloc"), Ok(list.clone()));
        assert_eq!(parse(&list.to_string()), Ok(list));
        assert!(parse::<WordList<MemoryKind>>("shm,foo").is_err());
    }
}
