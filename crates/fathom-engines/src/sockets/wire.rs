//! Protocol messages in addition to the data, compatible with fio: 8 bytes, which are two 32-bit numbers. A
//! sender of datagrams begins with [`HELLO`]. A side that is done sends [`GOODBYE`], over streams and datagrams
//! alike. As observed on the wire, [`HELLO`] is in network order and [`GOODBYE`] in the sender's byte order.

/// The first datagram of a sender.
pub(crate) const HELLO: [u8; 8] = *b"link\x00\x00\x00\x98";
/// The last bytes of a stream, or the last datagram.
pub(crate) const GOODBYE: [u8; 8] = two_words(0x6c69_6e6b, 137);

const fn two_words(magic: u32, number: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (magic.to_ne_bytes(), number.to_ne_bytes());
    [a, b, c, d, e, f, g, h]
}

/// The two numbers of an invalid [`HELLO`], as shown in messages.
pub(crate) fn shown(bytes: [u8; 8]) -> String {
    let [a, b, c, d, e, f, g, h] = bytes;
    format!("{:x}/{:x}", u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_network_order() {
        assert_eq!(shown(*b"xxxxyyyy"), "78787878/79797979");
        assert_eq!(shown(HELLO), "6c696e6b/98");
    }
}
