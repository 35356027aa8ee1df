//! Number formatting.

/// A floating point number in the format of Python, the language of fio's scripts: the shortest digits that
/// round-trip, always with a point or an exponent; exponents below 1e-4 and from 1e16 on.
pub(crate) fn python_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number:?}")
}

/// Bytes with a unit, at most four digits before it: `12b`, `571KB`, `19MB`; truncated, not rounded.
pub(crate) fn whole_bytes(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes, 0);
    let units = ["b", "KB", "MB", "GB", "TB", "PB"];
    while value >= 1024 && unit + 1 < units.len() {
        value /= 1024;
        unit += 1;
    }
    format!("{value}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_pythons() {
        for (number, text) in [
            (1.0, "1.0"),
            (0.0, "0.0"),
            (0.004032258064516129, "0.004032258064516129"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (1e16, "1e+16"),
            (123456.0, "123456.0"),
        ] {
            assert_eq!(python_float(number), text);
        }
    }

    #[test]
    fn bytes_have_a_unit() {
        assert_eq!(whole_bytes(12), "12b");
        assert_eq!(whole_bytes(143 * 4093), "571KB");
        assert_eq!(whole_bytes(20_000_000), "19MB");
    }
}
