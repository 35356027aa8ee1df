//! Serialization that differs from the types: objects with keys from data, whole numbers, one point per line.

use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::to_raw_value;

/// Pairs as the members of an object, in order.
pub(crate) fn pairs<S: Serializer, K: Serialize, V: Serialize>(
    pairs: &[(K, V)],
    output: S,
) -> Result<S::Ok, S::Error> {
    output.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// The same with values that are whole numbers.
pub(crate) fn counts<S: Serializer>(pairs: &[(String, f64)], output: S) -> Result<S::Ok, S::Error> {
    output.collect_map(pairs.iter().map(|(key, count)| (key, *count as u64)))
}

/// Percentiles as an object from percent to ns.
pub(crate) fn percentiles<S: Serializer>(list: &[(f64, u64)], output: S) -> Result<S::Ok, S::Error> {
    let mut map = output.serialize_map(Some(list.len()))?;
    for (percent, ns) in list {
        map.serialize_entry(&format!("{percent:.6}"), ns)?;
    }
    map.end()
}

/// A number without its fraction.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "The name is serde's.")]
pub(crate) fn whole<S: Serializer>(number: &f64, output: S) -> Result<S::Ok, S::Error> {
    output.serialize_u64(*number as u64)
}

/// Writes each item on one line in every layout, because there are many items.
pub(crate) fn lines<S: Serializer, T: Serialize>(items: &[T], output: S) -> Result<S::Ok, S::Error> {
    let mut list = output.serialize_seq(Some(items.len()))?;
    for item in items {
        list.serialize_element(&to_raw_value(item).map_err(Error::custom)?)?;
    }
    list.end()
}

/// The same for a number that is not `None`.
pub(crate) fn some_whole<S: Serializer>(number: &Option<f64>, output: S) -> Result<S::Ok, S::Error> {
    number.map(|number| number as u64).serialize(output)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// From this value on, a number is less precise than the decimals that are written.
const COARSE_FROM: f64 = (1u64 << 53) as f64 / 1e6;

/// A number rounded to the six decimals that are written, so that a result in memory and one read from its
/// text are equal. JSON cannot represent infinity or NaN; they become 0.
pub fn figure(number: f64) -> f64 {
    match number.is_finite() {
        true if number.abs() < COARSE_FROM => (millionths(number.abs()) / 1e6).copysign(number),
        true => number,
        false => 0.0,
    }
}

/// The nearest whole number of millionths, ties to even, as in the formatted text.
fn millionths(number: f64) -> f64 {
    let product = number * 1e6;
    // The rounding error of the product decides close to a tie.
    let rest = number.mul_add(1e6, -product);
    let below = product.floor();
    match (product - below - 0.5) + rest {
        above if above > 0.0 => below + 1.0,
        above if above < 0.0 => below,
        _ => below + below % 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn figures_are_what_is_read_of_their_text(
            bits in any::<u64>(), small in -1e6..1e6f64, whole in any::<u32>(), shift in 0..24u32, middle in 0u64..1 << 50, away in 0..4u64,
        ) {
            // Numbers with few significant bits are exact ties; others are close to one.
            let between = ((middle as f64 + 0.5) / 1e6).to_bits();
            let few_bits = f64::from(whole) / f64::from(1u32 << shift);
            for number in [f64::from_bits(bits), small, few_bits, f64::from_bits(between + away), f64::from_bits(between - away)] {
                let (found, text) = (figure(number), format!("{number:.6}"));
                prop_assert_eq!(format!("{found:.6}").parse::<f64>().ok(), Some(found), "{}", number);
                if number.is_finite() {
                    prop_assert_eq!(format!("{found:.6}"), text);
                }
            }
        }
    }
}
