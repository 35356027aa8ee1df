//! The content of writes.

use fathom_verify::content::Pattern;
use serde::{Deserialize, Serialize};

/// The rule for buffer content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PayloadRule {
    /// Zeros.
    Zero,
    /// Random bytes, filled once; `refill` makes them anew for every write, `scramble` changes a few places of
    /// every 512 bytes instead.
    Random {
        /// New content for every write.
        refill: bool,
        /// Change parts of every block for every write.
        scramble: bool,
    },
    /// A pattern, repeated.
    Pattern(Pattern),
    /// Random bytes that compress, or repeat, to some degree.
    Shaped(ShapedRule),
}

/// The rule for such content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapedRule {
    /// Share of each segment that is fixed, in percent.
    pub compress_percent: u32,
    /// Bytes of a segment.
    pub segment: usize,
    /// What fixed parts hold; zeros without.
    pub fixed: Option<Pattern>,
    /// Which writes repeat another buffer.
    pub duplicates: Option<Duplicates>,
}

/// Which writes repeat another buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicates {
    /// Their share in percent.
    pub percent: u32,
    /// What they repeat.
    pub source: DuplicateSource,
}

/// What a duplicate is a copy of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DuplicateSource {
    /// The buffer whose turn it is, which stays the next one.
    Neighbour,
    /// Any page of a set, whose parts come from the clones that share it.
    WorkingSet(Vec<SetPart>),
}

/// The first buffers that a clone writes, as pages of a working set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetPart {
    /// Seed of the clone's content; none means the clone's own.
    pub seed: Option<u64>,
    /// How many pages.
    pub pages: SetSize,
    /// Segments of a page.
    pub segments_per_page: u64,
}

/// How many pages a part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetSize {
    /// This many.
    Pages(u64),
    /// This share of the clone's own bytes, in pages of so many bytes.
    Share {
        /// Percent.
        percent: u32,
        /// Bytes of a page.
        page: u64,
    },
}
