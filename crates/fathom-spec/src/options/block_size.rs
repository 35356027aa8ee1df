//! Block sizes.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::value::{BlockSizeSplit, SizeRange};
use fathom_stats::PerDirection;

options! {
    /// Block sizes.
    pub struct BlockSizeOptions in BlockSize, table TABLE;

    /// Block size
    ///
    /// One value each for reads, writes and trims; trims default to the write size.
    Built Int bs: PerDirection<u64> = "4096", {
        aliases: &["blocksize"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Alignment of random offsets
    ///
    /// The default is the smallest block size. Any other value turns the random map off.
    Built Int ba: PerDirection<Option<u64>>, {
        aliases: &["blockalign"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Range of random block sizes, in multiples of the lower bound
    ///
    /// One range each for reads, writes and trims.
    Built Range bsrange: Option<PerDirection<SizeRange>>, {
        aliases: &["blocksize_range"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Mix of block sizes, each with its share of I/Os in percent
    ///
    /// size/percent:size/percent, directions separated by commas; sizes without a share split the rest.
    Built Text bssplit: Option<BlockSizeSplit>, { names: Names::Nothing, parent: Some("rw") };

    /// Allow any byte size within bsrange, not only multiples
    Built Flag bs_unaligned: bool, { aliases: &["blocksize_unaligned"], parent: Some("rw") };

    /// Use the first block size for sequential and the second for random I/O
    Built Bool bs_is_seq_rand: bool = "0", { parent: Some("bs"), unlisted: true };
}
