//! Formats numbers for people, with three significant figures and a unit.

/// Units of a time in ns, each a thousand times as large as the previous one.
const TIMES: [&str; 4] = [" ns", " µs", " ms", " s"];
/// Letters for thousands, millions and billions.
const LETTERS: [&str; 4] = ["", "k", "M", "G"];

/// A number with three significant figures and no exponent, such as `0`, `7.42`, `42.0`, `842`, `12400`.
pub(crate) fn three_figures(value: f64) -> String {
    significant(value, 3)
}

/// The value rounded to this number of significant figures.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let factor = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    (value * factor).round() / factor
}

fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding may carry into another digit, as when 9.996 becomes 10.0.
    let rounded = rounded(value, digits);
    let exponent = rounded.abs().log10().floor() as i32;
    format!("{rounded:.*}", (digits - 1 - exponent).clamp(0, 9) as usize)
}

/// The value in the first unit in which it is below a thousand after rounding. Each unit is a thousand times as
/// large as the previous one.
fn scaled<'u>(value: f64, digits: i32, units: &[&'u str]) -> (f64, &'u str) {
    let mut scaled = value;
    for unit in &units[..units.len() - 1] {
        if rounded(scaled, digits).abs() < 1000.0 {
            return (scaled, unit);
        }
        scaled /= 1000.0;
    }
    (scaled, units[units.len() - 1])
}

/// A duration with the unit that leaves one to three digits before the point: `412 ns`, `84.0 µs`, `1.25 ms`, `3.10 s`.
pub(crate) fn duration(ns: f64) -> String {
    let (value, unit) = scaled(ns, 3, &TIMES);
    format!("{}{unit}", three_figures(value))
}

/// A rate in MB/s (millions of bytes): `842 MB/s`.
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} MB/s", three_figures(bytes_per_second / 1e6))
}

/// A count with a letter for thousands, millions and billions: `842`, `84.2k`, `1.25M`.
pub(crate) fn count(value: f64) -> String {
    let (value, letter) = scaled(value, 3, &LETTERS);
    match letter.is_empty() && value.fract() == 0.0 {
        true => format!("{value}"),
        false => format!("{}{letter}", three_figures(value)),
    }
}

/// Figures with two significant digits, for sentences: `84 µs`, `2.3 GB/s`, `85k`.
pub(crate) mod roughly {
    use super::{LETTERS, TIMES, scaled, significant};

    fn told(value: f64, units: &[&str]) -> String {
        let (value, unit) = scaled(value, 2, units);
        format!("{}{unit}", significant(value, 2))
    }

    /// A duration in ns.
    pub(crate) fn duration(ns: f64) -> String {
        told(ns, &TIMES)
    }

    /// A rate in bytes per second, with a unit in powers of 1000.
    pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
        told(bytes_per_second, &[" B/s", " kB/s", " MB/s", " GB/s"])
    }

    /// A count.
    pub(crate) fn count(value: f64) -> String {
        told(value, &LETTERS)
    }
}

/// An amount of bytes with a unit in powers of 1024: `4 KiB`, `1.50 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    match value.fract() == 0.0 {
        true => format!("{value} {unit}"),
        false => format!("{} {unit}", three_figures(value)),
    }
}

/// A share: `12.5 %`, `100 %`.
pub(crate) fn percent(value: f64) -> String {
    match value {
        value if value.abs() >= 99.95 => format!("{value:.0} %"),
        value => format!("{value:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_are_three() {
        for (value, text) in [
            (0.0, "0"),
            (7.4242, "7.42"),
            (9.996, "10.0"),
            (42.0, "42.0"),
            (999.4, "999"),
            (12_449.0, "12400"),
            (0.01234, "0.0123"),
            (-3.2159, "-3.22"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(three_figures(value), text);
        }
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!(duration(412.0), "412 ns");
        assert_eq!(duration(999.7), "1.00 µs");
        assert_eq!(duration(1_250_000.0), "1.25 ms");
        assert_eq!(duration(3.1e9), "3.10 s");
        assert_eq!(bandwidth(842.4e6), "842 MB/s");
        assert_eq!(
            (count(842.0).as_str(), count(84_210.0).as_str(), count(0.5).as_str()),
            ("842", "84.2k", "0.500")
        );
        assert_eq!(
            (size(4096).as_str(), size(3 << 29).as_str(), size(0).as_str()),
            ("4 KiB", "1.50 GiB", "0 B")
        );
        assert_eq!((percent(12.54).as_str(), percent(99.97).as_str()), ("12.5 %", "100 %"));
    }
}
