//! Evaluates arithmetic in parentheses, such as `(2g+512k)` or `(4*5m)`.
//!
//! Operators are `+ - * / % ^` with the usual precedence, unary minus and nested
//! parentheses; a suffix belongs to the number before it.

use crate::value::TimeUnit;

/// Suffixes that numbers may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suffixes {
    /// Sizes: k m g t p are powers of 1024, ki mi .. are powers of 1000. The result is a number of bytes or a
    /// count.
    Sizes,
    /// Times: d h m s ms us. The result is in microseconds. The default unit applies if no number has a unit.
    Times(TimeUnit),
}

/// Maximum nesting depth, so that no text can exhaust the stack.
const DEEPEST: usize = 64;

/// The value of an expression that spans the whole text; `None` if it is malformed.
pub(crate) fn evaluate(text: &str, suffixes: Suffixes) -> Option<f64> {
    let mut reader = Reader { text, at: 0, suffixes, unit_seen: false, depth: 0 };
    let value = reader.sum()?;
    reader.skip_blanks();
    if reader.at != text.len() || !value.is_finite() {
        return None;
    }
    match suffixes {
        Suffixes::Times(unit) if !reader.unit_seen => Some(value * default_factor(unit)),
        _ => Some(value),
    }
}

fn default_factor(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Seconds => 1e6,
        TimeUnit::Milliseconds => 1e3,
        TimeUnit::Microseconds => 1.0,
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    suffixes: Suffixes,
    unit_seen: bool,
    depth: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        self.skip_blanks();
        let letter = self.rest().chars().next().filter(|letter| wanted.contains(letter))?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.power()?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let right = self.power()?;
            value = match operator {
                '*' => value * right,
                _ if right == 0.0 => return None,
                '/' => value / right,
                _ => value % right,
            };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.operand()?;
        if self.take(&['^']).is_some() {
            self.descend()?;
            let exponent = self.power()?;
            self.depth -= 1;
            return Some(base.powf(exponent));
        }
        Some(base)
    }

    fn operand(&mut self) -> Option<f64> {
        if self.take(&['-']).is_some() {
            self.descend()?;
            let value = -self.operand()?;
            self.depth -= 1;
            return Some(value);
        }
        if self.take(&['(']).is_some() {
            self.descend()?;
            let value = self.sum()?;
            self.take(&[')'])?;
            self.depth -= 1;
            return Some(value * self.suffix()?);
        }
        let number = self.number()?;
        Some(number * self.suffix()?)
    }

    fn descend(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEEPEST).then_some(())
    }

    fn number(&mut self) -> Option<f64> {
        self.skip_blanks();
        let rest = self.rest();
        if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let end = hex.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(hex.len());
            let value = u64::from_str_radix(&hex[..end], 16).ok()?;
            self.at += 2 + end;
            return Some(value as f64);
        }
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let value = rest[..end].parse::<f64>().ok()?;
        self.at += end;
        Some(value)
    }

    fn suffix(&mut self) -> Option<f64> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        if end == 0 {
            return Some(1.0);
        }
        let word = rest[..end].to_ascii_lowercase();
        self.at += end;
        match self.suffixes {
            Suffixes::Sizes => size_factor(&word),
            Suffixes::Times(_) => {
                self.unit_seen = true;
                time_factor(&word)
            }
        }
    }
}

fn size_factor(word: &str) -> Option<f64> {
    let (power, ending) = match word.as_bytes().first()? {
        b'k' => (1, &word[1..]),
        b'm' => (2, &word[1..]),
        b'g' => (3, &word[1..]),
        b't' => (4, &word[1..]),
        b'p' => (5, &word[1..]),
        b'b' if word == "b" => (0, ""),
        _ => return None,
    };
    match ending {
        "" | "b" => Some(1024f64.powi(power)),
        "i" | "ib" => Some(1000f64.powi(power)),
        _ => None,
    }
}

fn time_factor(word: &str) -> Option<f64> {
    Some(match word {
        "us" | "usec" => 1.0,
        "ms" | "msec" => 1e3,
        "s" | "sec" => 1e6,
        "m" | "min" => 60e6,
        "h" => 3600e6,
        "d" => 86400e6,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(text: &str) -> Option<f64> {
        evaluate(text, Suffixes::Sizes)
    }

    #[test]
    fn precedence_is_the_usual_one() {
        assert_eq!(size("(4+4)"), Some(8.0));
        assert_eq!(size("(2+3*4)"), Some(14.0));
        assert_eq!(size("((2+3)*4)"), Some(20.0));
        assert_eq!(size("(2^3^2)"), Some(512.0));
        assert_eq!(size("(7%4)"), Some(3.0));
        assert_eq!(size("(-2+5)"), Some(3.0));
        assert_eq!(size("(10-2-3)"), Some(5.0));
        assert_eq!(size("(0.5*8)"), Some(4.0));
    }

    #[test]
    fn suffixes_belong_to_their_number() {
        assert_eq!(size("(2g+512k)"), Some(2.0 * 1024f64.powi(3) + 512.0 * 1024.0));
        assert_eq!(size("(1ki)"), Some(1000.0));
        assert_eq!(size("(1+1)k"), Some(2048.0));
        assert_eq!(evaluate("(1m+1)", Suffixes::Times(TimeUnit::Seconds)), Some(60_000_001.0));
        assert_eq!(evaluate("(90)", Suffixes::Times(TimeUnit::Seconds)), Some(90e6));
    }

    #[test]
    fn mistakes_are_noticed() {
        for text in ["(", "()", "(1", "(1+)", "(1/0)", "(1x)", "(1) 2", "", "(1%0)"] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(size(&"(".repeat(100_000)), None);
        assert_eq!(size(&format!("({}1)", "-".repeat(100_000))), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+*/%^()0-9a-z. ]*") {
            let _ = size(&text);
            let _ = evaluate(&text, Suffixes::Times(TimeUnit::Microseconds));
        }

        #[test]
        fn sums_and_products_agree_with_rust(a in 0u32..10_000, b in 0u32..10_000, c in 1u32..10_000) {
            let expected = f64::from(a) + f64::from(b) * f64::from(c);
            prop_assert_eq!(size(&format!("({a}+{b}*{c})")), Some(expected));
        }
    }
}
