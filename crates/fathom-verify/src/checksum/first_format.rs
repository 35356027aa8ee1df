//! What fio 3.33 stores for SHA-256 and SHA-512 in headers of the first layout.
//!
//! Both are seen to be wrong. For SHA-256 it appends the length of the message with its bytes in the wrong order, and keeps the
//! lowest byte of each of the eight words of the result, in front of the last 64 bytes that were hashed. For SHA-512 it keeps
//! no result at all but the end of the data. So that data can go both ways, the same bytes are made and compared here; the
//! current layout has the real digests.

use crate::method::Method;

/// Fills `room`, the place of the checksum, for `data`; false for the methods that are right in the first layout too.
pub fn store(method: Method, data: &[u8], room: &mut [u8]) -> bool {
    match method {
        Method::Sha256 => sha256(data, room),
        Method::Sha512 => sha512(data, room),
        _ => return false,
    }
    true
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

/// The end of the data that is no whole block of 128 bytes, in front of what the first block has in the places behind it.
fn sha512(data: &[u8], room: &mut [u8]) {
    const BLOCK: usize = 128;
    let rest = data.len() % BLOCK;
    if data.len() >= BLOCK {
        room[rest..BLOCK].copy_from_slice(&data[rest..BLOCK]);
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
    use crate::content::fill_random;

    /// The first block that fio 3.33 writes with verify=sha256 and 4 KiB blocks.
    #[test]
    fn sha256_of_fio_3_33() {
        let mut block = vec![0; 4096];
        fill_random(&mut block, 46_386_204_153_304_124);
        let mut room = [0; 64];
        assert!(store(Method::Sha256, &block[104..], &mut room));
        let hex: String = room.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "099714fd9f195b801c1501ba9d310a358478ace006a8bbad80000000000000000000000000000000000000000000000000000000\
             00000000c07c000000000000"
        );
    }

    /// The same with verify=sha512.
    #[test]
    fn sha512_of_fio_3_33() {
        let mut block = vec![0; 4096];
        fill_random(&mut block, 46_386_204_153_304_124);
        let mut room = [0; 128];
        assert!(store(Method::Sha512, &block[168..], &mut room));
        let hex: String = room.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "a892adf26f23f5affc5b04ec27b5ef07a4eeb1de97d8e4b71ccc14a4779c10b838982948ef38217054643eec66d531288cfc6734\
             560e5398b4b1559334bb58bc6863ab266976b1781c1501ba9d310a358478ace006a8bbadbc4ad519e68284f57895aa33cc0509eb\
             34e07f4db2888de0ac752a817e8e96cb94cef5b205a98b1d"
        );
    }
}
