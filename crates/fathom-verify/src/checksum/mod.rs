//! Checksums over the data of an interval: how they are stored, and which stored values are valid.

mod fio_fields;
mod together;

use crate::header::HeaderFormat;
use crate::method::Method;

pub use crate::sum::{Checksum, LONGEST};
pub(crate) use fio_fields::is_weak;
pub(crate) use together::{checksums, is_faster_together};

impl Checksum {
    /// True if `field` holds this checksum of this method. SHA-1 and SHA-2 are valid in native byte order and
    /// in the order of their standard. Every byte of the field is checked: the bytes after the checksum must
    /// equal those of fio, which `usual` holds, or be zeros, as in earlier versions of fathom.
    pub fn is_stored_as(&self, method: Method, field: &[u8], usual: &[u8]) -> bool {
        let (stored, rest) = field.split_at(self.bytes().len().min(field.len()));
        if rest.iter().any(|&byte| byte != 0) && usual.get(stored.len()..) != Some(rest) {
            return false;
        }
        stored == self.bytes()
            || turned_word(method).is_some_and(|word| stored == self.with_turned_words(word).bytes())
    }
}

/// Fills the checksum field after a header of this layout. Bytes beyond the checksum are zero. `known` is the
/// precomputed checksum of the data.
pub fn store(method: Method, format: HeaderFormat, data: &[u8], known: Option<&Checksum>, place: &mut [u8]) {
    let sum = || known.copied().unwrap_or_else(|| checksum(method, data));
    if !fio_fields::store(method, format, data, sum, place) {
        let sum = sum();
        place.fill(0);
        place[..sum.bytes().len()].copy_from_slice(sum.bytes());
    }
}

/// Returns the size of the words in which the bytes may be swapped: SHA-1 and SHA-2 are calculated with such
/// words.
fn turned_word(method: Method) -> Option<usize> {
    match method {
        Method::Sha1 | Method::Sha256 => Some(4),
        Method::Sha512 => Some(8),
        _ => None,
    }
}

/// True for methods with more than one stored form in [`Checksum::is_stored_as`].
pub(crate) fn may_be_stored_otherwise(method: Method) -> bool {
    turned_word(method).is_some()
}

/// True if the field holds only a SHA-2 digest, which earlier versions of fathom stored.
pub fn is_mere_digest(method: Method, format: HeaderFormat, place: &[u8]) -> bool {
    let digest = match method {
        Method::Sha256 => 32,
        Method::Sha512 => 64,
        _ => return false,
    };
    format == HeaderFormat::Current
        && place.get(digest..).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
}

/// Returns the checksum of `data`; empty for methods without a checksum.
pub fn checksum(method: Method, data: &[u8]) -> Checksum {
    method.function().map_or(Checksum::NONE, |function| function(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the values of fio 3.33 for 4096 bytes of 0x5a, without its 40-byte header and the checksum
    /// itself.
    #[test]
    fn values_of_fio() {
        let cases: [(Method, &str); 14] = [
            (Method::Xxhash, "6e29dcaf"),
            (Method::Md5, "ac0fb384396f0373b4d2290f1eb2e197"),
            (Method::Crc64, "61b46f765ac1cabd"),
            (Method::Crc32, "aac0c6e4"),
            (Method::Crc32c, "93537037"),
            (Method::Crc16, "f254"),
            (Method::Crc7, "5b"),
            (Method::Sha1, "69f12a47b9ec7a528ea6768e426811e6971c4c86"),
            (Method::Sha3_224, "5c4427eb25cf9fcd5ae002e3faa5185b3f5c21a2395f39ba033beb90"),
            (Method::Sha3_256, "55140e33cd69ffdc3b991c29d143eb714dbccc1e216da702aa90c269779bdb83"),
            (
                Method::Sha3_384,
                "e2e8f992d15a22b70d66da2763a4ef59e1e7a3f5b3e6f8e656f6f19f3a641f5cd5cf2edb624bd92080fb0354e7430608",
            ),
            (
                Method::Sha3_512,
                "176e9964bcb196d918bb7d23d4646434de0164c5c63e2a7f6edf99de315176458ac17c7229ec6aed86ce3068de70e63b\
                 d2b640b27cc97a4ed2810c68f6fb3fb1",
            ),
            // This is the value of the standard, which fio 3.33 does not store.
            (Method::Sha256, "99bb5da052127ddb17c120f68108013bb7d5f18cece3e4c0c45553fed116f547"),
            (
                Method::Sha512,
                "306e71d6e9f8f25d5972f86401f7a79c226538a2e06e8eac89b1559e9f5107ee60c51959ca4caf34b538eb084d50c0e6\
                 72b8358c80a2e91d6b51e49c6a792e7b",
            ),
        ];
        for (method, expected) in cases {
            let data = vec![0x5a; 4096 - 40 - method.checksum_room()];
            let hex: String =
                checksum(method, &data).bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{method:?}");
        }
    }

    #[test]
    fn either_order_of_words_is_right() {
        let digest = checksum(Method::Sha256, b"abc");
        let (mut stored, usual) = ([0; 64], [7; 64]);
        stored[..32].copy_from_slice(digest.bytes());
        assert!(digest.is_stored_as(Method::Sha256, &stored, &usual));
        stored[..32].copy_from_slice(digest.with_turned_words(4).bytes());
        assert!(digest.is_stored_as(Method::Sha256, &stored, &usual));
        stored[40] = 1;
        assert!(!digest.is_stored_as(Method::Sha256, &stored, &usual), "neither zeros nor what is usual");
        stored[32..].fill(7);
        assert!(digest.is_stored_as(Method::Sha256, &stored, &usual));
        stored[3] ^= 1;
        assert!(!digest.is_stored_as(Method::Sha256, &stored, &usual));
        assert!(!checksum(Method::Md5, b"abc").is_stored_as(Method::Md5, &[0; 16], &[0; 16]));
    }
}
