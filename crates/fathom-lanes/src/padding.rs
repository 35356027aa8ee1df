//! Merkle–Damgård padding, as MD5 and SHA-2 define it.

/// The final one or two blocks of a message: its tail, the padding and its length.
pub(crate) struct Ending<const BLOCK: usize> {
    blocks: [[u8; BLOCK]; 2],
    count: usize,
}

impl<const BLOCK: usize> Ending<BLOCK> {
    /// `length` is the encoded message length in bits.
    pub(crate) fn of(message: &[u8], length: &[u8]) -> Ending<BLOCK> {
        let (_, rest) = message.as_chunks::<BLOCK>();
        let mut blocks = [[0; BLOCK]; 2];
        blocks[0][..rest.len()].copy_from_slice(rest);
        blocks[0][rest.len()] = 0x80;
        let count = if rest.len() + 1 + length.len() > BLOCK { 2 } else { 1 };
        blocks[count - 1][BLOCK - length.len()..].copy_from_slice(length);
        Ending { blocks, count }
    }

    /// The padded blocks.
    pub(crate) fn blocks(&self) -> &[[u8; BLOCK]] {
        &self.blocks[..self.count]
    }
}

/// The blocks of all messages in step: row N holds block N of every message.
pub(crate) fn rows<'a, const BLOCK: usize, const LANES: usize>(
    messages: [&'a [u8]; LANES],
    endings: &'a [Ending<BLOCK>; LANES],
) -> impl Iterator<Item = [&'a [u8; BLOCK]; LANES]> {
    let length = messages[0].len();
    assert!(messages.iter().all(|message| message.len() == length), "messages of several lengths");
    let whole = messages.map(|message| message.as_chunks::<BLOCK>().0);
    let last = endings.each_ref().map(Ending::blocks);
    let rows_of = |blocks: [&'a [[u8; BLOCK]]; LANES]| {
        (0..blocks[0].len()).map(move |row| blocks.map(|blocks| &blocks[row]))
    };
    rows_of(whole).chain(rows_of(last))
}
