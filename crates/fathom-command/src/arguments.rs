//! Parses option values: numbers, sizes, times, lists, choices. lexopt splits the arguments themselves.

use crate::Failure;
use lexopt::Parser;
use std::path::PathBuf;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Human-readable text.
    Text,
    /// For spreadsheets.
    Csv,
    /// Machine-readable.
    Json,
}

/// The value of the option as text.
pub fn text(parser: &mut Parser, option: &str) -> Result<String, Failure> {
    let value = parser.value()?;
    value.into_string().map_err(|value| Failure::new(format!("{option}: {value:?} is not valid UTF-8")))
}

/// The value as a whole number of at least `least`.
pub fn number(parser: &mut Parser, option: &str, least: u64) -> Result<u64, Failure> {
    let value = text(parser, option)?;
    value
        .trim()
        .parse()
        .ok()
        .filter(|number| *number >= least)
        .ok_or_else(|| Failure::new(format!("{option}: `{value}` is not a whole number of at least {least}")))
}

/// The value as a number.
pub fn fraction(parser: &mut Parser, option: &str) -> Result<f64, Failure> {
    let value = text(parser, option)?;
    parse_fraction(&value).ok_or_else(|| Failure::new(format!("{option}: `{value}` is not a number")))
}

fn parse_fraction(value: &str) -> Option<f64> {
    value.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// The value as a size in bytes: digits, optionally with k, m, g, t (powers of 1024), with or without `iB`.
pub fn size(parser: &mut Parser, option: &str) -> Result<u64, Failure> {
    let value = text(parser, option)?;
    parse_size(&value).ok_or_else(|| {
        Failure::new(format!("{option}: `{value}` is not a size; write bytes, or for example 4k, 512m, 10g"))
    })
}

fn parse_size(value: &str) -> Option<u64> {
    let lower = value.trim().to_ascii_lowercase();
    let end = lower.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, suffix) = lower.split_at(end);
    let shift = match suffix {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The value as a positive time in milliseconds: a number with `us`, `ms`, `s`, `m` or `h`; seconds without a unit.
pub fn milliseconds(parser: &mut Parser, option: &str) -> Result<f64, Failure> {
    let value = text(parser, option)?;
    parse_milliseconds(&value).filter(|time| *time > 0.0).ok_or_else(|| {
        Failure::new(format!(
            "{option}: `{value}` is not a time above zero; write seconds, or a number with us, ms, s, m or h, such as 500ms"
        ))
    })
}

/// A time in milliseconds from text; may be zero or negative.
pub fn parse_milliseconds(value: &str) -> Option<f64> {
    let value = value.trim();
    // `us` and `ms` are tried before `s`, because they end in it.
    for (suffix, factor) in [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3600e3)] {
        if let Some(number) = value.strip_suffix(suffix) {
            return parse_fraction(number).map(|number| number * factor);
        }
    }
    parse_fraction(value).map(|number| number * 1e3)
}

/// The value as percentiles, separated by commas or colons; sorted in ascending order.
pub fn percentiles(parser: &mut Parser, option: &str) -> Result<Vec<f64>, Failure> {
    let value = text(parser, option)?;
    parse_percentiles(value.split([',', ':'])).ok_or_else(|| {
        Failure::new(format!(
            "{option}: `{value}` is not a list of percentiles (0 to 100), such as 50,99,99.9"
        ))
    })
}

/// Percentiles from text.
pub fn parse_percentiles<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
    let mut list: Vec<f64> = words
        .map(|word| parse_fraction(word).filter(|number| (0.0..=100.0).contains(number)))
        .collect::<Option<_>>()?;
    list.sort_by(f64::total_cmp);
    list.dedup();
    (!list.is_empty()).then_some(list)
}

/// The value as one of the `offered` formats.
pub fn format(parser: &mut Parser, offered: &[Format]) -> Result<Format, Failure> {
    let choices: Vec<(&str, Format)> = offered
        .iter()
        .map(|format| match format {
            Format::Text => ("text", Format::Text),
            Format::Csv => ("csv", Format::Csv),
            Format::Json => ("json", Format::Json),
        })
        .collect();
    choice(parser, "--format", &choices)
}

/// The value as one of the words in `choices`.
pub fn choice<T: Copy>(parser: &mut Parser, option: &str, choices: &[(&str, T)]) -> Result<T, Failure> {
    let value = text(parser, option)?;
    choices.iter().find(|(word, _)| *word == value).map(|(_, chosen)| *chosen).ok_or_else(|| {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        Failure::new(format!("{option}: `{value}` is not one of {}", words.join(", ")))
    })
}

/// The given files; at least one is required.
pub fn some_files(files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    match files.is_empty() {
        true => Err(Failure::new("no file given; name one or more, or - for standard input")),
        false => Ok(files),
    }
}

/// The one file given.
pub fn one_file(files: Vec<PathBuf>) -> Result<PathBuf, Failure> {
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(file),
        Err(files) => Err(Failure::new(format!("{} files given; this tool takes one", files.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(parse_size("4096"), Some(4096));
        assert_eq!(parse_size("4k"), Some(4096));
        assert_eq!(parse_size("1MiB"), Some(1 << 20));
        assert_eq!(parse_size("2g"), Some(2 << 30));
        for broken in ["", "k", "-1", "4q", "1.5k", "99999999999t"] {
            assert_eq!(parse_size(broken), None, "{broken}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_milliseconds("500ms"), Some(500.0));
        assert_eq!(parse_milliseconds("500us"), Some(0.5));
        assert_eq!(parse_milliseconds("1.5"), Some(1500.0));
        assert_eq!(parse_milliseconds("2m"), Some(120_000.0));
        assert_eq!(parse_milliseconds("s"), None);
        assert_eq!(parse_milliseconds("inf"), None);
    }

    #[test]
    fn percentiles_come_in_order() {
        assert_eq!(parse_percentiles(["99", "50", "99"].into_iter()), Some(vec![50.0, 99.0]));
        assert_eq!(parse_percentiles(["101"].into_iter()), None);
        assert_eq!(parse_percentiles([""].into_iter()), None);
    }
}
