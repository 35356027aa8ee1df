//! A number that must be a power of two.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// A power of two; suffixes are those of other sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerOfTwo(pub u32);

impl fmt::Display for PowerOfTwo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl OptionValue for PowerOfTwo {
    fn unset() -> Self {
        PowerOfTwo(1)
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut number = 0u32;
        number.assign(text, definition, context)?;
        if !number.is_power_of_two() {
            context.complain(format!("{}: must be a power-of-2", definition.name));
            return Err(ValueError::new("a power of two such as 4096"));
        }
        *self = PowerOfTwo(number);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn only_powers_of_two() {
        assert_eq!(parse("4k"), Ok(PowerOfTwo(4096)));
        assert_eq!(parse("1"), Ok(PowerOfTwo(1)));
        assert!(parse::<PowerOfTwo>("3").is_err() && parse::<PowerOfTwo>("0").is_err());
    }
}
