//! Numbers as people read them: three significant figures and a unit.

/// `0`, `7.42`, `42.0`, `842`, `12400`: three significant figures, no exponent.
pub(crate) fn three_figures(value: f64) -> String {
    significant(value, 3)
}

/// `0`, `7.4`, `42`, `840`: two significant figures, for sentences.
pub(crate) fn two_figures(value: f64) -> String {
    significant(value, 2)
}

fn significant(value: f64, digits: i32) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    // Rounding may carry into another digit: 9.996 is 10.0.
    let exponent = size.log10().floor() as i32;
    let factor = 10f64.powi(digits - 1 - exponent);
    let rounded = (value * factor).round() / factor;
    let exponent = rounded.abs().log10().floor() as i32;
    format!("{rounded:.*}", (digits - 1 - exponent).clamp(0, 9) as usize)
}

/// A duration with the unit that leaves one to three digits before the point: `412 ns`, `84.0 µs`, `1.25 ms`, `3.10 s`.
pub(crate) fn duration(ns: f64) -> String {
    // The limits are where three figures round up to a thousand.
    let (divisor, unit) = match ns.abs() {
        size if size < 999.5 => (1.0, "ns"),
        size if size < 999_500.0 => (1e3, "µs"),
        size if size < 999_500_000.0 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", three_figures(ns / divisor))
}

/// A rate in MB/s (millions of bytes): `842 MB/s`.
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} MB/s", three_figures(bytes_per_second / 1e6))
}

/// A count with a letter for thousands, millions and billions: `842`, `84.2k`, `1.25M`.
pub(crate) fn count(value: f64) -> String {
    let (divisor, letter) = match value.abs() {
        size if size < 999.5 => (1.0, ""),
        size if size < 999_500.0 => (1e3, "k"),
        size if size < 999_500_000.0 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let value = value / divisor;
    match letter.is_empty() && value.fract() == 0.0 {
        true => format!("{value}"),
        false => format!("{}{letter}", three_figures(value)),
    }
}

/// An amount of bytes in powers of 1024: `4 KiB`, `1.50 GiB`.
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
