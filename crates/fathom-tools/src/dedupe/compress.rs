//! Compressed size of an individual chunk.

use fathom_command::Failure;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Compression level, the usual default.
const LEVEL: u32 = 6;

/// A deflate encoder, reused for each chunk: its tables are many times larger than a chunk.
pub(super) struct Compressor {
    encoder: Compress,
    output: Vec<u8>,
}

impl Compressor {
    /// An encoder for chunks of this many bytes.
    pub(super) fn new(chunk_bytes: u64) -> Compressor {
        let output = Vec::with_capacity(chunk_bytes as usize);
        Compressor { encoder: Compress::new(Compression::new(LEVEL), false), output }
    }

    /// Returns the size of the chunk as a deflate stream. A chunk that does not shrink counts with its own
    /// size.
    pub(super) fn size_of(&mut self, chunk: &[u8]) -> Result<u64, Failure> {
        self.encoder.reset();
        self.output.clear();
        let done = self.encoder.compress_vec(chunk, &mut self.output, FlushCompress::Finish);
        match done.map_err(|error| Failure::new(format!("compression failed: {error}")))? {
            Status::StreamEnd => Ok(self.output.len().min(chunk.len()) as u64),
            // The output buffer is as large as the chunk, so a full buffer means that the chunk does not
            // shrink.
            Status::Ok | Status::BufError => Ok(chunk.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_do_not_affect_each_other() {
        let noise: Vec<u8> = (0..256u32).flat_map(|number| fast_md5::digest(&number.to_le_bytes())).collect();
        let mut compressor = Compressor::new(4096);
        for _ in 0..3 {
            assert_eq!(compressor.size_of(&noise).expect("it works"), 4096);
            let zeros = compressor.size_of(&[0; 4096]).expect("it works");
            assert!((10..40).contains(&zeros), "{zeros}");
        }
    }
}
