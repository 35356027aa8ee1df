//! Human-readable numbers: `842MiB/s`, `16.0MiB`, `32.0k`. A number is divided by 1000 or 1024 until its
//! integer part has no more digits than requested; the remaining digits are decimals, and the decimal point
//! counts as a digit.

/// The step between two prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Steps of 1024, with prefixes `Ki`, `Mi`, ...
    Binary,
    /// 1000, prefixes `k`, `M`, ...
    Decimal,
}

impl Base {
    /// Returns the divisor of one step.
    pub fn factor(self) -> u128 {
        match self {
            Base::Binary => 1024,
            Base::Decimal => 1000,
        }
    }

    /// Returns the other of the two bases.
    pub fn other(self) -> Base {
        match self {
            Base::Binary => Base::Decimal,
            Base::Decimal => Base::Binary,
        }
    }

    fn prefixes(self) -> [&'static str; 7] {
        match self {
            Base::Binary => ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
            Base::Decimal => ["", "k", "M", "G", "T", "P", "E"],
        }
    }
}

/// Formats `value` in at most `figures` digits, with prefix and `unit`.
pub fn scaled(value: u128, figures: u32, base: Base, unit: &str) -> String {
    let factor = base.factor();
    let prefixes = base.prefixes();
    let mut integer = value;
    let mut remainder = 0;
    let mut steps = 0;
    while digits(integer) > figures && steps + 1 < prefixes.len() {
        remainder = integer % factor;
        integer /= factor;
        steps += 1;
    }
    let prefix = prefixes[steps];
    if steps == 0 {
        return format!("{integer}{unit}");
    }
    // Only the last remainder determines the decimals, because readers compare these texts with fio's. fio
    // writes 64.05 MiB as `64.0MiB` if only the part below one KiB raises it above the half.
    let decimals = i64::from(figures) - i64::from(digits(integer)) - 1;
    if decimals <= 0 {
        let rounded = integer + u128::from(remainder * 2 >= factor);
        return format!("{rounded}{prefix}{unit}");
    }
    // Three digits suffice for a remainder below 1024.
    let decimals = decimals.min(3) as usize;
    // The fraction is rounded on its own, as in fio, because the result differs: in binary, 0.95 is below the
    // half, but 1105.95 is above it.
    let fraction = format!("{:.decimals$}", remainder as f64 / factor as f64);
    let carried = integer + u128::from(fraction.starts_with('1'));
    format!("{carried}{}{prefix}{unit}", &fraction[1..])
}

fn digits(value: u128) -> u32 {
    value.checked_ilog10().unwrap_or(0) + 1
}

/// How a job or group formats its amounts and rates.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The base of the first figure.
    pub base: Base,
    /// True if rates are shown in bits rather than bytes.
    pub bits: bool,
    /// Significant digits.
    pub figures: u32,
}

impl Scale {
    /// From `kb_base`, `unit_base` and `significant_figures`.
    pub fn new(kb_base: u32, unit_base: u32, significant_figures: u32) -> Scale {
        Scale {
            base: if kb_base == 1000 { Base::Decimal } else { Base::Binary },
            bits: unit_base == 1,
            figures: if significant_figures == 0 { 4 } else { significant_figures },
        }
    }

    /// Formats a plain count, such as IOPS.
    pub fn count(&self, value: u64) -> String {
        scaled(u128::from(value), self.figures, Base::Decimal, "")
    }

    /// Formats a number of bytes in the first base.
    pub fn size(&self, bytes: u64) -> String {
        self.size_in(self.base, bytes)
    }

    /// Formats a number of bytes in the base in parentheses.
    pub fn other_size(&self, bytes: u64) -> String {
        self.size_in(self.base.other(), bytes)
    }

    /// Formats bytes per second in the first base.
    pub fn rate(&self, bytes_per_second: u64) -> String {
        self.rate_in(self.base, bytes_per_second)
    }

    /// Formats bytes per second in the base in parentheses.
    pub fn other_rate(&self, bytes_per_second: u64) -> String {
        self.rate_in(self.base.other(), bytes_per_second)
    }

    fn size_in(&self, base: Base, bytes: u64) -> String {
        scaled(u128::from(bytes), self.figures, base, "B")
    }

    fn rate_in(&self, base: Base, bytes_per_second: u64) -> String {
        let bytes = u128::from(bytes_per_second);
        match self.bits {
            true => scaled(bytes * 8, self.figures, base, "bit/s"),
            false => scaled(bytes, self.figures, base, "B/s"),
        }
    }
}

/// Formats a latency as in `min` and `max`, with six digits, so that whole numbers up to 999999 remain whole.
pub fn latency_figure(value: u64) -> String {
    scaled(u128::from(value), 6, Base::Decimal, "")
}

/// Formats a time in the largest unit that fits, with two decimals: `0.00ns`, `10.00ms`.
pub fn duration(nanoseconds: u64) -> String {
    let (divisor, unit) = match nanoseconds {
        0..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{:.2}{unit}", nanoseconds as f64 / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_examples() {
        let binary = Scale::new(1024, 8, 4);
        assert_eq!(binary.size(4096), "4096B");
        assert_eq!(binary.size(4095 * 1024), "4095KiB");
        assert_eq!(binary.size(10_475_274), "9.99MiB");
        assert_eq!(binary.size(65536), "64.0KiB");
        assert_eq!(binary.size(1000 << 20), "1000MiB");
        assert_eq!(binary.size(100 << 20), "100MiB");
        assert_eq!(binary.size(20_830_591_385), "19.4GiB");
        assert_eq!(binary.size(10240), "10.0KiB");
        assert_eq!(binary.count(32_000), "32.0k");
        assert_eq!(binary.count(256_000), "256k");
        assert_eq!(binary.count(1000), "1000");
        let six = Scale::new(1024, 8, 6);
        assert_eq!(six.count(256_000), "256000");
        assert_eq!(six.size(1000 << 20), "1000.0MiB");
        assert_eq!(six.other_rate(1_048_576_000), "1048.6MB/s");
    }

    #[test]
    fn observed_roundings() {
        let at = |figures| Scale::new(1024, 8, figures);
        assert_eq!(at(4).size(67_162_088), "64.0MiB");
        assert_eq!(at(4).size(68_132_864), "65.0MiB");
        assert_eq!(at(4).size(10_485_759), "10.00MiB");
        assert_eq!(at(4).size(10_239_700), "10000KiB");
        assert_eq!(at(5).size(67_162_088), "65588KiB");
        assert_eq!(at(6).size(10_239_999), "10000.0KiB");
        assert_eq!(at(6).size(10_239_700), "9999.7KiB");
        assert_eq!(at(5).size(105_381_000), "100.5MiB");
        assert_eq!(at(6).rate(1_073_000_000_000), "999.31GiB/s");
        assert_eq!(at(6).other_rate(1_073_000_000_000), "1073.0GB/s");
        // Values halfway between two decimals, as fio 3.41 writes them with kb_base=1000.
        for (bytes, shown) in [
            (1_105_050, "1105.1kB"),
            (1_105_150, "1105.1kB"),
            (1_105_250, "1105.2kB"),
            (1_105_450, "1105.5kB"),
            (1_105_550, "1105.6kB"),
            (1_105_850, "1105.8kB"),
            (1_105_950, "1105.9kB"),
            (1_105_960, "1106.0kB"),
            (2_047_950, "2047.9kB"),
        ] {
            assert_eq!(Scale::new(1000, 8, 6).size(bytes), shown);
        }
    }

    #[test]
    fn bits_and_decimal_thousands() {
        let scale = Scale::new(1000, 1, 4);
        assert_eq!(scale.rate(1_003_421), "8027kbit/s");
        assert_eq!(scale.other_rate(1_003_421), "7839Kibit/s");
        assert_eq!((scale.size(1_048_576), scale.other_size(1_048_576)), ("1049kB".into(), "1024KiB".into()));
    }

    #[test]
    fn latencies_and_durations() {
        assert_eq!(latency_figure(999_999), "999999");
        assert_eq!(latency_figure(4_556_123), "4556.1k");
        assert_eq!(duration(0), "0.00ns");
        assert_eq!(duration(10_000_000), "10.00ms");
        assert_eq!(duration(1_500), "1.50us");
        assert_eq!(duration(2_000_000_000), "2.00s");
    }

    proptest! {
        /// The printed value is off by at most half of its last digit, plus the step below, which is truncated.
        #[test]
        fn scaling_keeps_its_precision(value in any::<u64>(), figures in 1u32..12, decimal in any::<bool>()) {
            let base = if decimal { Base::Decimal } else { Base::Binary };
            let text = scaled(u128::from(value), figures, base, "B");
            let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let prefix = &text[number.len()..text.len() - 1];
            let steps = base.prefixes().iter().position(|p| *p == prefix).expect("a known prefix");
            let unit = (base.factor() as f64).powi(steps as i32);
            let decimals = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            let shown: f64 = number.parse::<f64>().expect("a number") * unit;
            let cut_off = if steps == 0 { 0.0 } else { unit / base.factor() as f64 };
            let half_digit = if steps == 0 { 0.0 } else { 0.5 * unit / 10f64.powi(decimals as i32) };
            let tolerance = half_digit + cut_off + value as f64 * 1e-12;
            prop_assert!((shown - value as f64).abs() <= tolerance, "{} for {}", text, value);
            let integer = number.split('.').next().expect("digits").parse::<u128>().expect("digits");
            // Rounding may carry into one more digit, and beyond the last prefix the number cannot be
            // shortened.
            prop_assert!(digits(integer) <= figures + 1 || steps == 6);
        }
    }
}
