//! The values that fio stores for SHA-256 and SHA-512, which are not the digests.
//!
//! For SHA-256, fio appends the length of the message with its bytes in the wrong order, and keeps the lowest
//! byte of each of the eight words of the result, before the last 64 bytes that were hashed. For SHA-512 the
//! current layout has the digest, followed by the second half of the last 128 bytes that were hashed; the first
//! layout (fio 3.33) contains no digest, but the end of the data. To exchange data in both directions, the same
//! bytes are generated and compared here.

use crate::header::HeaderFormat;
use crate::method::Method;
use crate::sum::Checksum;

/// Fills `room`, the checksum field, for `data`, whose checksum `sum` computes. Returns false for methods that
/// store their checksum unchanged.
pub(super) fn store(
    method: Method,
    format: HeaderFormat,
    data: &[u8],
    sum: impl Fn() -> Checksum,
    room: &mut [u8],
) -> bool {
    match (method, format) {
        (Method::Sha256, _) => sha256(data, room),
        (Method::Sha512, HeaderFormat::Current) => sha512(data, &sum(), room),
        (Method::Sha512, HeaderFormat::First) => end_of_data(data, room),
        _ => return false,
    }
    true
}

/// True if the stored bytes depend only slightly on the data.
pub(crate) fn is_weak(method: Method, format: HeaderFormat) -> bool {
    format == HeaderFormat::First && matches!(method, Method::Sha256 | Method::Sha512)
}

/// Stores the digest, followed by the second half of the last hashed block.
fn sha512(data: &[u8], digest: &Checksum, room: &mut [u8]) {
    const BLOCK: usize = 128;
    const LENGTH_AT: usize = 112;
    let rest = data.len() % BLOCK;
    let mut last = [0; BLOCK];
    // If the remainder leaves no space for the length, the length goes into a separate block.
    if rest < LENGTH_AT {
        last[..rest].copy_from_slice(&data[data.len() - rest..]);
        last[rest] = 0x80;
    }
    last[LENGTH_AT..].copy_from_slice(&((data.len() as u128) * 8).to_be_bytes());
    room[..64].copy_from_slice(digest.bytes());
    room[64..].copy_from_slice(&last[64..]);
}

fn sha256(data: &[u8], room: &mut [u8]) {
    const BLOCK: usize = 64;
    const LENGTH_AT: usize = 56;
    let (whole, rest) = data.split_at(data.len() / BLOCK * BLOCK);
    let mut state = sha2_initial_state();
    compress(&mut state, whole);
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= LENGTH_AT {
        compress(&mut state, &last);
        last = [0; BLOCK];
    }
    last[LENGTH_AT..].copy_from_slice(&((data.len() as u64) * 8).to_le_bytes());
    compress(&mut state, &last);
    room[..BLOCK].copy_from_slice(&last);
    for (byte, word) in room.iter_mut().zip(state) {
        *byte = word as u8;
    }
}

/// Stores the end of the data that does not fill a block of 128 bytes, padded with bytes of the first block.
fn end_of_data(data: &[u8], room: &mut [u8]) {
    const BLOCK: usize = 128;
    let rest = data.len() % BLOCK;
    match data.get(rest..BLOCK) {
        Some(behind) => room[rest..BLOCK].copy_from_slice(behind),
        // The data is shorter than a block, so it is padded with zeros.
        None => room[rest..BLOCK].fill(0),
    }
    room[..rest].copy_from_slice(&data[data.len() - rest..]);
}

fn sha2_initial_state() -> [u32; 8] {
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19]
}

fn compress(state: &mut [u32; 8], blocks: &[u8]) {
    let (blocks, _) = blocks.as_chunks::<64>();
    sha2::block_api::compress256(state, blocks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::checksum;
    use crate::content::fill_random;

    fn no_sum() -> Checksum {
        unreachable!("this field has no digest")
    }

    /// Checks the first block that fio 3.33 writes with verify=sha256 and 4 KiB blocks.
    #[test]
    fn sha256_of_fio_3_33() {
        let mut block = vec![0; 4096];
        fill_random(&mut block, 46_386_204_153_304_124);
        let mut room = [0; 64];
        assert!(store(Method::Sha256, HeaderFormat::First, &block[104..], no_sum, &mut room));
        let hex: String = room.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "099714fd9f195b801c1501ba9d310a358478ace006a8bbad80000000000000000000000000000000000000000000000000000000\
             00000000c07c000000000000"
        );
    }

    /// Checks the first blocks that fio 3.41 writes, of 512 and of 4096 bytes.
    #[test]
    fn fields_of_the_current_layout() {
        let rows = [
            (
                Method::Sha256,
                512,
                "e2027979aef5e5838413b2de5c020f908000000000000000000000000000000000000000000000000000000000000000\
                 0000000000000000800c000000000000",
            ),
            (
                Method::Sha256,
                4096,
                "a2d02f08fc8b85018478ace006a8bbad8000000000000000000000000000000000000000000000000000000000000000\
                 0000000000000000807c000000000000",
            ),
            (
                Method::Sha512,
                512,
                "0451cc352f8db88c817d9e4bb0724aa7e6ff355cba761269cfc33c62422eb59108ad6bdf153aa0582210881cd4eb820c\
                 13a5fce86e0027f09a7e432a4264bc291c7204ec6a0109f08413b2de5c020f9080000000000000000000000000000000\
                 0000000000000000000000000000000000000000000000000000000000000a80",
            ),
            (
                Method::Sha512,
                4096,
                "2cd8e7051ecea68bd20fb01011548404cc59fa13ae9d01b37079c581bc0e93c4ca190a87b971e8d1c56fa57be64363ce\
                 23391fec433e26b9581b23af261c3be41c1501ba9d310a358478ace006a8bbad80000000000000000000000000000000\
                 0000000000000000000000000000000000000000000000000000000000007a80",
            ),
        ];
        for (method, length, expected) in rows {
            let mut block = vec![0; length];
            fill_random(&mut block, 46_386_204_153_304_124);
            let mut room = vec![0xff; method.checksum_room()];
            let data = &block[HeaderFormat::Current.length() + room.len()..];
            assert!(store(method, HeaderFormat::Current, data, || checksum(method, data), &mut room));
            let hex: String = room.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{method:?} {length}");
        }
    }

    /// Checks that the length is in a separate block if the remainder leaves no space for it.
    #[test]
    fn any_length_has_its_field() {
        for length in 0..300usize {
            let data = vec![0x5a; length];
            let mut room = [0xff; 128];
            let digest = checksum(Method::Sha512, &data);
            sha512(&data, &digest, &mut room);
            assert_eq!(room[..64], *digest.bytes());
            let mut padded = data.clone();
            padded.push(0x80);
            while padded.len() % 128 != 112 {
                padded.push(0);
            }
            padded.extend((length as u128 * 8).to_be_bytes());
            assert_eq!(room[64..], padded[padded.len() - 64..], "{length}");
        }
    }

    /// Checks that the previous content of the field has no effect: a check begins with zeros, and a write with
    /// the block's content.
    #[test]
    fn short_data_fills_the_whole_field() {
        for length in 0..300 {
            let data = vec![7; length];
            let (mut on_zeros, mut on_others) = (vec![0; 128], vec![0xee; 128]);
            assert!(store(Method::Sha512, HeaderFormat::First, &data, no_sum, &mut on_zeros));
            assert!(store(Method::Sha512, HeaderFormat::First, &data, no_sum, &mut on_others));
            assert_eq!(on_zeros, on_others, "{length} bytes");
        }
    }

    /// Checks the first block that fio 3.33 writes with verify=sha512.
    #[test]
    fn sha512_of_fio_3_33() {
        let mut block = vec![0; 4096];
        fill_random(&mut block, 46_386_204_153_304_124);
        let mut room = [0; 128];
        assert!(store(Method::Sha512, HeaderFormat::First, &block[168..], no_sum, &mut room));
        let hex: String = room.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "a892adf26f23f5affc5b04ec27b5ef07a4eeb1de97d8e4b71ccc14a4779c10b838982948ef38217054643eec66d531288cfc6734\
             560e5398b4b1559334bb58bc6863ab266976b1781c1501ba9d310a358478ace006a8bbadbc4ad519e68284f57895aa33cc0509eb\
             34e07f4db2888de0ac752a817e8e96cb94cef5b205a98b1d"
        );
    }
}
