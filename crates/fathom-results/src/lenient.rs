//! Values that differ between programs and versions: numbers with and without decimals, objects with numeric keys.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// The largest plausible count. Counters that underflowed are near 2^64, and their sums would overflow.
const MOST: u64 = 1 << 53;
/// The same limit for a histogram bin, of which there are thousands.
const MOST_OF_A_BIN: u64 = 1 << 45;

/// A whole number that may be written with decimals; at most [`MOST`].
pub(crate) fn whole<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    struct Whole;
    impl Visitor<'_> for Whole {
        type Value = u64;
        fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
            text.write_str("a number")
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
            Ok(value.min(MOST))
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
            Ok(value.max(0) as u64)
        }
        fn visit_f64<E: de::Error>(self, value: f64) -> Result<u64, E> {
            Ok((value.max(0.0) as u64).min(MOST))
        }
    }
    input.deserialize_any(Whole)
}

/// The largest plausible number with decimals: as ns, it exceeds 30 years.
const MOST_OF_NUMBERS: f64 = 1e18;

/// A number from 0 to [`MOST_OF_NUMBERS`]: rates, times and shares are never negative.
pub(crate) fn number<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    f64::deserialize(input).map(believed)
}

fn believed(value: f64) -> f64 {
    // NaN becomes 0.
    if value > 0.0 { value.min(MOST_OF_NUMBERS) } else { 0.0 }
}

/// The members of an object, in order.
pub(crate) fn pairs<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
    input: D,
) -> Result<Vec<(String, V)>, D::Error> {
    struct Pairs<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
        type Value = Vec<(String, V)>;
        fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
            text.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    input.deserialize_map(Pairs(PhantomData))
}

/// An object from percentiles to ns, ascending.
pub(crate) fn percentiles<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(f64, u64)>, D::Error> {
    let mut list: Vec<(f64, u64)> = pairs::<D, f64>(input)?
        .into_iter()
        .filter_map(|(key, value)| Some((percent(&key)?, believed(value) as u64)))
        .collect();
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(list)
}

/// Parses the percentile in a key, which may be arbitrary text.
fn percent(key: &str) -> Option<f64> {
    key.trim().parse().ok().filter(|percent| (0.0..=100.0).contains(percent))
}

/// An object from latencies in ns to counts.
pub(crate) fn bins<'de, D: Deserializer<'de>>(input: D) -> Result<BTreeMap<u64, u64>, D::Error> {
    let list = pairs::<D, u64>(input)?;
    Ok(list
        .into_iter()
        .filter_map(|(key, count)| Some((key.parse().ok()?, count.min(MOST_OF_A_BIN))))
        .collect())
}

/// Options; a flag may have `null` for a value.
pub(crate) fn options<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(String, String)>, D::Error> {
    let list = pairs::<D, serde_json::Value>(input)?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    Ok(list.into_iter().map(|(key, value)| (key, text(value))).collect())
}

/// Global options; a client of several servers lists them per server; those that are the same for all are
/// kept.
pub(crate) fn global_options<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(String, String)>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct OfServer(#[serde(deserialize_with = "options")] Vec<(String, String)>);

    struct OneOrMore;
    impl<'de> Visitor<'de> for OneOrMore {
        type Value = Vec<(String, String)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object of options, or one for each server")
        }

        fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
            options(MapAccessDeserializer::new(map))
        }

        fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
            let Some(OfServer(mut common)) = list.next_element()? else { return Ok(Vec::new()) };
            common.retain(|(key, _)| key != "hostname" && key != "port");
            while let Some(OfServer(other)) = list.next_element()? {
                common.retain(|option| other.contains(option));
            }
            Ok(common)
        }
    }
    input.deserialize_any(OneOrMore)
}

/// Shares in percent by their keys, in the order of the document.
pub(crate) fn shares<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<(String, f64)>, D::Error> {
    let list = pairs::<D, f64>(input)?;
    Ok(list.into_iter().map(|(key, share)| (key, believed(share))).collect())
}

/// Deserializes a member that other versions and programs may write in another form, in which case it is left
/// out.
pub(crate) fn part<'de, D: Deserializer<'de>, T: de::DeserializeOwned>(
    input: D,
) -> Result<Option<T>, D::Error> {
    serde_json::Value::deserialize(input).map(|value| T::deserialize(value).ok())
}

/// A list of such members.
pub(crate) fn parts<'de, D: Deserializer<'de>, T: de::DeserializeOwned>(
    input: D,
) -> Result<Vec<T>, D::Error> {
    part(input).map(Option::unwrap_or_default)
}

/// An optional whole number.
pub(crate) fn some_whole<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    whole(input).map(Some)
}

/// An optional number.
pub(crate) fn some_number<'de, D: Deserializer<'de>>(input: D) -> Result<Option<f64>, D::Error> {
    number(input).map(Some)
}
