//! Prints the results.

use super::scan::{Found, Method, Options, Target};
use super::table::Hash;
use crate::figures::whole_bytes;
use fathom_command::{Failure, Streams};
use serde_json::json;

/// The output of fio-dedupe.
pub(super) fn text(options: &Options, found: &Found, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let Found { chunks, unique, .. } = found;
    writeln!(streams.out, "Threads({}): {chunks} items processed", options.threads)?;
    for (hash, offsets) in &found.extents {
        writeln!(streams.out, "c hash {}, count {}", hash_words(hash), offsets.len())?;
        for offset in offsets {
            writeln!(streams.out, "\toffset {offset}")?;
        }
    }
    write!(streams.out, "Extents={chunks}, Unique extents={unique}")?;
    if let Some(duplicated) = found.duplicated {
        write!(streams.out, " Duplicated extents={duplicated}")?;
    }
    writeln!(streams.out, "\nDe-dupe ratio: 1:{:.2}", found.ratio())?;
    if let Some(percent) = found.working_set_percent() {
        writeln!(streams.out, "De-dupe working set at least: {percent:2.2}%")?;
    }
    writeln!(streams.out, "Fio setting: dedupe_percentage={}", found.dedupe_percentage())?;
    if let Some(bytes) = found.compressed_bytes {
        writeln!(streams.out, "Unique capacity {}", whole_bytes(bytes))?;
    }
    Ok(())
}

/// The results as a JSON object.
pub(super) fn json(
    target: &Target,
    options: &Options,
    found: &Found,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    let extents: Vec<_> = found
        .extents
        .iter()
        .map(|(hash, offsets)| json!({"md5": format!("{:032x}", u128::from_be_bytes(*hash)), "offsets": offsets}))
        .collect();
    let mut document = json!({
        "file": target.path.display().to_string(),
        "bytes": target.size,
        "block_size": options.block_size,
        "method": match options.method { Method::Exact => "exact", Method::Bloom => "bloom" },
        "extents": found.chunks,
        "unique_extents": found.unique,
        "dedupe_ratio": found.ratio(),
        "dedupe_percentage": found.dedupe_percentage(),
    });
    if let Some(duplicated) = found.duplicated {
        document["duplicated_extents"] = json!(duplicated);
    }
    if let Some(bytes) = found.compressed_bytes {
        document["unique_bytes_compressed"] = json!(bytes);
        let whole = found.unique as f64 * options.block_size as f64;
        document["buffer_compress_percentage"] = json!(((1.0 - bytes as f64 / whole) * 100.0).round() as u64);
    }
    if options.keep_offsets {
        document["list"] = json!(extents);
    }
    Ok(writeln!(streams.out, "{document:#}")?)
}

impl Found {
    /// Chunks per unique chunk.
    fn ratio(&self) -> f64 {
        self.chunks as f64 / self.unique as f64 - 1.0
    }

    /// Share of chunks equal to an earlier one, in whole percent.
    fn dedupe_percentage(&self) -> u64 {
        ((1.0 - self.unique as f64 / self.chunks as f64) * 100.0).round() as u64
    }

    /// Unique chunks that have duplicates, in percent of all chunks; `None` if there are none or if they were not
    /// counted.
    fn working_set_percent(&self) -> Option<f64> {
        let duplicated = self.duplicated.filter(|count| *count > 0)?;
        Some(duplicated as f64 / self.chunks as f64 * 100.0)
    }
}

/// The hash in fio-dedupe's format: four little-endian words in hexadecimal, padded with spaces.
fn hash_words(hash: &Hash) -> String {
    let words: Vec<String> =
        hash.as_chunks::<4>().0.iter().map(|bytes| format!("{:8x}", u32::from_le_bytes(*bytes))).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded() {
        let found = Found { chunks: 256, unique: 143, duplicated: Some(79), ..Found::default() };
        assert_eq!(found.dedupe_percentage(), 44);
        assert_eq!(format!("{:.2}", found.ratio()), "0.79");
        assert_eq!(
            found.working_set_percent().map(|percent| format!("{percent:.2}")),
            Some("30.86".to_owned())
        );
    }
}
