//! Numbers in the lines of text traces.

/// A whole number.
pub(super) fn number(text: &str) -> Option<u64> {
    // The digits are checked because `parse` would accept a sign.
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Converts a decimal number of units to ns: `decimal("1.25", 1_000_000)` is 1.25 ms. Digits below 1 ns are
/// ignored.
pub(super) fn decimal(text: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = number(whole)?.checked_mul(unit_ns)?;
    if fraction.is_empty() {
        return Some(whole);
    }
    let digits = fraction.len().min(18);
    let part = u128::from(number(fraction.get(..digits)?)?) * u128::from(unit_ns) / 10u128.pow(digits as u32);
    number(fraction.get(digits..)?).or((fraction.len() == digits).then_some(0))?;
    whole.checked_add(u64::try_from(part).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_or_have_a_point() {
        assert_eq!([number("0"), number("17"), number("+1"), number("")], [Some(0), Some(17), None, None]);
        let second = |text| decimal(text, 1_000_000_000);
        assert_eq!(second("0.004001"), Some(4_001_000));
        assert_eq!(second("12"), Some(12_000_000_000));
        assert_eq!(second("1.0000000019"), Some(1_000_000_001));
        assert_eq!(second("1.00000000000000000000000001"), Some(1_000_000_000));
        assert_eq!(decimal("0.74", 1_000_000), Some(740_000));
        for bad in
            ["", "-1", "1e3", "1.x", "x.1", ".", "1.2.3", "99999999999999999999", "1.000000000000000000x"]
        {
            assert_eq!(second(bad), None, "{bad}");
        }
    }
}
