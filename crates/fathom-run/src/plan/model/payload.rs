//! Content of writes.

use fathom_verify::content::Pattern;
use serde::{Deserialize, Serialize};

/// The rule for buffer content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PayloadRule {
    /// Zeros.
    Zero,
    /// Random bytes, filled once; `refill` regenerates them for every write, `scramble` changes a few bytes in
    /// every 512 instead.
    Random {
        /// True if every write gets new content.
        refill: bool,
        /// True if a few bytes in every 512 change for every write.
        scramble: bool,
    },
    /// A pattern, repeated.
    Pattern(Pattern),
    /// Random bytes that are partly compressible or repeated.
    Shaped(ShapedRule),
}

/// Parameters of compressible and repeated content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapedRule {
    /// Share of each segment that has fixed content, in percent.
    pub compress_percent: u32,
    /// Length of a segment in bytes.
    pub segment: usize,
    /// Content of the fixed parts; zeros if `None`.
    pub fixed: Option<Pattern>,
    /// Which writes repeat another buffer, if any do.
    pub duplicates: Option<Duplicates>,
}

/// Which writes repeat another buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicates {
    /// Share of writes that repeat another buffer, in percent.
    pub percent: u32,
    /// Their source.
    pub source: DuplicateSource,
}

/// Source of duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DuplicateSource {
    /// The next buffer, which will also be written itself.
    Neighbour,
    /// Any page of a working set, to which every clone that shares the set contributes.
    WorkingSet(Vec<SetPart>),
}

/// The first buffers that a clone writes, as pages of a working set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetPart {
    /// Seed of the content of the clone that contributes these pages; `None` for this clone.
    pub seed: Option<u64>,
    /// Number of pages.
    pub pages: SetSize,
    /// Segments per page.
    pub segments_per_page: u64,
}

/// Number of pages contributed by this clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetSize {
    /// A number.
    Pages(u64),
    /// A share that is proportional to the bytes of the clone.
    Share {
        /// Percent.
        percent: u32,
        /// Bytes per page.
        page: u64,
    },
}
