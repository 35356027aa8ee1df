//! Decompresses logs and traces: zstd and gzip, recognised by their first bytes.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader};

const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Size of the decompression buffer in bytes.
const BUFFER: usize = 256 << 10;

/// Returns the content of a log or trace, decompressed if necessary. If several compressed pieces follow one
/// another, their content is joined.
pub fn plain(mut reader: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let begin = reader.fill_buf()?;
    if begin.starts_with(&ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER, decoder)));
    }
    if begin.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(reader))));
    }
    Ok(Box::new(reader))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Cursor, Read, Write};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("in memory");
        encoder.finish().expect("in memory")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 1).expect("in memory")
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        plain(Cursor::new(bytes))?.read_to_end(&mut content)?;
        Ok(content)
    }

    proptest! {
        #[test]
        fn content_is_the_same_compressed_or_not(
            pieces in prop::collection::vec(prop::collection::vec(32u8..127, 1..300), 1..4),
        ) {
            let whole = pieces.concat();
            for compress in [gzip as fn(&[u8]) -> Vec<u8>, zstd, |bytes| bytes.to_vec()] {
                let bytes = pieces.iter().flat_map(|piece| compress(piece)).collect();
                prop_assert_eq!(read(bytes).expect("whole"), whole.clone());
            }
        }

        #[test]
        fn what_is_cut_off_is_an_error(bytes in prop::collection::vec(any::<u8>(), 50..300), cut in 1usize..20) {
            for mut compressed in [gzip(&bytes), zstd(&bytes)] {
                compressed.truncate(compressed.len() - cut);
                prop_assert!(read(compressed).is_err());
            }
        }
    }
}
