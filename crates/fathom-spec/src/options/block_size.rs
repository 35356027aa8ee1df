//! How large each I/O is.

use crate::definition::{Bounds, options};
use crate::value::{BlockSizeSplit, PerDir, SizeRange};

options! {
    /// How large each I/O is.
    pub struct BlockSizeOptions at job.block_size, in BlockSize, table TABLE;

    /// Block size for read,write,trim
    Built Int bs: PerDir<u64> = "4096", {
        aliases: &["blocksize"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Alignment for random offsets for read,write,trim
    Built Int ba: PerDir<Option<u64>>, {
        aliases: &["blockalign"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Block size interval, chosen at random in multiples of the minimum
    Built Range bsrange: Option<PerDir<SizeRange>>, {
        aliases: &["blocksize_range"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Weighted list of block sizes size/percent:size/percent, comma separated per direction
    Built Text bssplit: Option<BlockSizeSplit>, { parent: Some("rw") };

    /// Let random sizes be any byte count in the range
    Built Flag bs_unaligned: bool, { aliases: &["blocksize_unaligned"], parent: Some("rw") };

    /// Use first bs for sequential and second bs for random I/O
    Built Bool bs_is_seq_rand: bool = "0", { parent: Some("bs"), unlisted: true };
}
