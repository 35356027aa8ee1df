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
        /// New content for every write.
        refill: bool,
        /// Change parts of every block for every write.
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
    /// Fixed part of each segment, in percent.
    pub compress_percent: u32,
    /// Bytes of a segment.
    pub segment: usize,
    /// Content of the fixed parts; zeros by default.
    pub fixed: Option<Pattern>,
    /// Which writes repeat another buffer.
    pub duplicates: Option<Duplicates>,
}

/// Which writes repeat another buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicates {
    /// Their share in percent.
    pub percent: u32,
    /// Their source.
    pub source: DuplicateSource,
}

/// Source of duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DuplicateSource {
    /// The next buffer, which is then written as well.
    Neighbour,
    /// Any page of a working set, to which all clones that share it contribute.
    WorkingSet(Vec<SetPart>),
}

/// The first buffers that a clone writes, as pages of a working set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetPart {
    /// Seed of the contributing clone's content; `None` for this clone.
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
    /// Share relative to the clone's own bytes.
    Share {
        /// Percent.
        percent: u32,
        /// Bytes per page.
        page: u64,
    },
}
