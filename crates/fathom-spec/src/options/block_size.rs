//! How large each I/O is.

use crate::definition::{Bounds, options};
use crate::value::{BlockSizeSplit, PerDir, SizeRange};

options! {
    /// How large each I/O is.
    pub struct BlockSizeOptions at job.block_size, in BlockSize, table TABLE;

    /// Block size
    ///
    /// One value each for reads, writes and trims; a missing trim value is that of writes.
    Built Int bs: PerDir<u64> = "4096", {
        aliases: &["blocksize"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Alignment of random offsets
    ///
    /// Usually the smallest block size, and to say so changes nothing; anything else turns the map of blocks off.
    Built Int ba: PerDir<Option<u64>>, {
        aliases: &["blockalign"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Range that block sizes are drawn from, in multiples of its lower end
    ///
    /// One range each for reads, writes and trims.
    Built Range bsrange: Option<PerDir<SizeRange>>, {
        aliases: &["blocksize_range"],
        bounds: Bounds::at_least(1.0),
        parent: Some("rw"),
    };

    /// Block sizes and the share of I/Os that each gets, in percent
    ///
    /// size/percent:size/percent, directions separated by commas; blank shares divide what is left.
    Built Text bssplit: Option<BlockSizeSplit>, { parent: Some("rw") };

    /// Draw any number of bytes from bsrange, not only multiples
    Built Flag bs_unaligned: bool, { aliases: &["blocksize_unaligned"], parent: Some("rw") };

    /// Use the first block size for sequential and the second for random I/O
    Built Bool bs_is_seq_rand: bool = "0", { parent: Some("bs"), unlisted: true };
}
