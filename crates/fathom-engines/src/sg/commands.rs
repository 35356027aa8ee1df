//! SCSI commands as bytes (SBC-4, SPC-5).

/// A command block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    bytes: [u8; 16],
    length: u8,
}

/// Commands that address blocks: their operation codes with 32-bit and with 64-bit addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    short: u8,
    long: u8,
}

pub(super) const READ: Operation = Operation { short: 0x28, long: 0x88 };
pub(super) const WRITE: Operation = Operation { short: 0x2a, long: 0x8a };
pub(super) const WRITE_AND_VERIFY: Operation = Operation { short: 0x2e, long: 0x8e };
pub(super) const VERIFY: Operation = Operation { short: 0x2f, long: 0x8f };
pub(super) const WRITE_SAME: Operation = Operation { short: 0x41, long: 0x93 };

/// Byte 1: past the device's cache.
pub(super) const FUA: u8 = 1 << 3;
/// Byte 1 of VERIFY: compare with all blocks that were sent, or with the one that was.
pub(super) const BYTCHK_ALL: u8 = 1 << 1;
pub(super) const BYTCHK_ONE: u8 = 3 << 1;
/// Byte 1 of WRITE SAME(16): no block is sent.
const NDOB: u8 = 1;

/// Bytes of what UNMAP takes for one range.
pub(super) const UNMAP_LIST: usize = 24;
/// Bytes that READ CAPACITY(10) and (16) and STREAM CONTROL answer.
pub(super) const CAPACITY_10: usize = 8;
pub(super) const CAPACITY_16: usize = 32;
pub(super) const STREAM_ANSWER: usize = 8;
/// Bytes that are asked of an INQUIRY.
pub(super) const INQUIRY_ANSWER: usize = 64;
/// The page about zones (ZBC-2, "zoned block device characteristics").
pub(super) const ZONED_PAGE: u8 = 0xb6;
/// Actions of ZONE ACTIONS OUT.
pub(super) const FINISH_ZONE: u8 = 2;
pub(super) const RESET_WRITE_POINTER: u8 = 4;

impl Command {
    fn new(start: &[u8], length: u8) -> Command {
        let mut bytes = [0; 16];
        bytes[..start.len()].copy_from_slice(start);
        Command { bytes, length }
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// A command on blocks, in the short form where addresses and counts fit.
    #[inline(always)]
    pub(super) fn on_blocks(operation: Operation, flags: u8, address: u64, blocks: u32) -> Command {
        match (u32::try_from(address), u16::try_from(blocks)) {
            (Ok(address), Ok(blocks)) => {
                let mut bytes = [0; 16];
                (bytes[0], bytes[1]) = (operation.short, flags);
                bytes[2..6].copy_from_slice(&address.to_be_bytes());
                bytes[7..9].copy_from_slice(&blocks.to_be_bytes());
                Command { bytes, length: 10 }
            }
            _ => Command::on_far_blocks(operation.long, flags, address, blocks),
        }
    }

    /// The same with a 64-bit address, whatever it is.
    pub(super) fn on_blocks_anywhere(operation: Operation, flags: u8, address: u64, blocks: u32) -> Command {
        Command::on_far_blocks(operation.long, flags, address, blocks)
    }

    fn on_far_blocks(operation: u8, flags: u8, address: u64, blocks: u32) -> Command {
        let mut bytes = [0; 16];
        (bytes[0], bytes[1]) = (operation, flags);
        bytes[2..10].copy_from_slice(&address.to_be_bytes());
        bytes[10..14].copy_from_slice(&blocks.to_be_bytes());
        Command { bytes, length: 16 }
    }

    /// WRITE SAME(16) of zeroes, without sending any.
    pub(super) fn write_same_without_data(address: u64, blocks: u32) -> Command {
        Command::on_far_blocks(WRITE_SAME.long, NDOB, address, blocks)
    }

    /// WRITE STREAM(16), of at most 65,535 blocks.
    pub(super) fn write_stream(flags: u8, stream: u16, address: u64, blocks: u16) -> Command {
        let mut command = Command::on_far_blocks(0x9a, flags, address, 0);
        command.bytes[10..12].copy_from_slice(&stream.to_be_bytes());
        command.bytes[12..14].copy_from_slice(&blocks.to_be_bytes());
        command
    }

    /// STREAM CONTROL: opens a stream.
    pub(super) fn open_stream() -> Command {
        let mut command = Command::new(&[0x9e, 1 << 5 | 0x14], 16);
        command.bytes[13] = STREAM_ANSWER as u8;
        command
    }

    /// STREAM CONTROL: closes a stream.
    pub(super) fn close_stream(stream: u16) -> Command {
        let mut command = Command::new(&[0x9e, 2 << 5 | 0x14], 16);
        command.bytes[4..6].copy_from_slice(&stream.to_be_bytes());
        command.bytes[13] = STREAM_ANSWER as u8;
        command
    }

    /// SYNCHRONIZE CACHE(10), of the whole device.
    pub(super) fn synchronize_cache() -> Command {
        Command::new(&[0x35], 10)
    }

    /// UNMAP, of what an [`unmap_list`] says.
    pub(super) fn unmap() -> Command {
        let mut command = Command::new(&[0x42], 10);
        command.bytes[8] = UNMAP_LIST as u8;
        command
    }

    /// ZONE ACTIONS OUT: what is done to the zone that begins at an address.
    pub(super) fn zone_action(action: u8, address: u64) -> Command {
        let mut command = Command::new(&[0x94, action], 16);
        command.bytes[2..10].copy_from_slice(&address.to_be_bytes());
        command
    }

    /// REPORT ZONES: from the zone with this address on, as many as the answer has room for.
    pub(super) fn report_zones(address: u64, room: u32) -> Command {
        let mut command = Command::new(&[0x95], 16);
        command.bytes[2..10].copy_from_slice(&address.to_be_bytes());
        command.bytes[10..14].copy_from_slice(&room.to_be_bytes());
        // All zones, and only those that fit are counted.
        command.bytes[14] = 1 << 7;
        command
    }

    /// INQUIRY: what the device is, or one page about it.
    pub(super) fn inquiry(page: Option<u8>) -> Command {
        let mut command = Command::new(&[0x12, u8::from(page.is_some()), page.unwrap_or(0)], 6);
        command.bytes[4] = INQUIRY_ANSWER as u8;
        command
    }

    /// READ CAPACITY(10).
    pub(super) fn read_capacity_10() -> Command {
        Command::new(&[0x25], 10)
    }

    /// READ CAPACITY(16).
    pub(super) fn read_capacity_16() -> Command {
        let mut command = Command::new(&[0x9e, 0x10], 16);
        command.bytes[13] = CAPACITY_16 as u8;
        command
    }
}

/// What UNMAP takes for one range.
pub(super) fn unmap_list(address: u64, blocks: u32) -> [u8; UNMAP_LIST] {
    let mut list = [0; UNMAP_LIST];
    list[..2].copy_from_slice(&(UNMAP_LIST as u16 - 2).to_be_bytes());
    list[2..4].copy_from_slice(&16_u16.to_be_bytes());
    list[8..16].copy_from_slice(&address.to_be_bytes());
    list[16..20].copy_from_slice(&blocks.to_be_bytes());
    list
}

/// Number of blocks and bytes of one, from the answer to READ CAPACITY(10); `None` where the device is too large for it.
pub(super) fn capacity_10(answer: &[u8; CAPACITY_10]) -> Option<(u64, u32)> {
    let last = u32::from_be_bytes([answer[0], answer[1], answer[2], answer[3]]);
    let size = u32::from_be_bytes([answer[4], answer[5], answer[6], answer[7]]);
    (last != u32::MAX).then_some((u64::from(last) + 1, size))
}

/// The same from the answer to READ CAPACITY(16).
pub(super) fn capacity_16(answer: &[u8; CAPACITY_16]) -> (u64, u32) {
    let mut last = [0; 8];
    last.copy_from_slice(&answer[..8]);
    let size = u32::from_be_bytes([answer[8], answer[9], answer[10], answer[11]]);
    (u64::from_be_bytes(last).saturating_add(1), size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hex(command: Command) -> String {
        command.bytes().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn commands_are_those_of_the_standard() {
        assert_eq!(hex(Command::on_blocks(READ, 0, 0x1234, 8)), "28 00 00 00 12 34 00 00 08 00");
        assert_eq!(hex(Command::on_blocks(WRITE, FUA, 1, 2)), "2a 08 00 00 00 01 00 00 02 00");
        let far = "8a 00 00 00 00 01 00 00 00 00 00 00 00 01 00 00";
        assert_eq!(hex(Command::on_blocks(WRITE, 0, 1 << 32, 1)), far);
        let long = "88 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00";
        assert_eq!(hex(Command::on_blocks(READ, 0, 0, 65_536)), long);
        assert_eq!(hex(Command::on_blocks(VERIFY, BYTCHK_ALL, 0, 1)), "2f 02 00 00 00 00 00 00 01 00");
        assert_eq!(hex(Command::on_blocks(VERIFY, BYTCHK_ONE, 0, 1)), "2f 06 00 00 00 00 00 00 01 00");
        let same = "93 01 00 00 00 00 00 00 00 05 00 00 00 08 00 00";
        assert_eq!(hex(Command::write_same_without_data(5, 8)), same);
        let stream = "9a 00 00 00 00 00 00 00 00 05 00 07 00 08 00 00";
        assert_eq!(hex(Command::write_stream(0, 7, 5, 8)), stream);
        assert_eq!(hex(Command::open_stream()), "9e 34 00 00 00 00 00 00 00 00 00 00 00 08 00 00");
        assert_eq!(hex(Command::close_stream(9)), "9e 54 00 00 00 09 00 00 00 00 00 00 00 08 00 00");
        assert_eq!(hex(Command::synchronize_cache()), "35 00 00 00 00 00 00 00 00 00");
        assert_eq!(hex(Command::unmap()), "42 00 00 00 00 00 00 00 18 00");
        let near = "88 00 00 00 00 00 00 00 12 34 00 00 00 08 00 00";
        assert_eq!(hex(Command::on_blocks_anywhere(READ, 0, 0x1234, 8)), near);
        let reset = "94 04 00 00 00 00 00 00 20 00 00 00 00 00 00 00";
        assert_eq!(hex(Command::zone_action(RESET_WRITE_POINTER, 8192)), reset);
        let report = "95 00 00 00 00 00 00 00 20 00 00 00 10 00 80 00";
        assert_eq!(hex(Command::report_zones(8192, 4096)), report);
        assert_eq!(hex(Command::inquiry(None)), "12 00 00 00 40 00");
        assert_eq!(hex(Command::inquiry(Some(ZONED_PAGE))), "12 01 b6 00 40 00");
    }

    #[test]
    fn capacities_are_read() {
        assert_eq!(capacity_10(&[0, 7, 0xff, 0xff, 0, 0, 2, 0]), Some((1 << 19, 512)));
        assert_eq!(capacity_10(&[0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]), None);
        let mut large = [0; CAPACITY_16];
        large[3] = 1;
        large[10] = 16;
        assert_eq!(capacity_16(&large), ((1 << 32) + 1, 4096));
    }

    proptest! {
        /// Whatever the form, a device finds the address and the count that were meant.
        #[test]
        fn no_address_is_cut_off(address in 0..u64::MAX, blocks in 1..u32::MAX) {
            let command = Command::on_blocks(WRITE, 0, address, blocks);
            let bytes = command.bytes();
            let number = |range: std::ops::Range<usize>| bytes[range].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            let found = match bytes.len() {
                10 => (number(2..6), number(7..9)),
                _ => (number(2..10), number(10..14)),
            };
            prop_assert_eq!(found, (address, u64::from(blocks)));
            let list = unmap_list(address, blocks);
            prop_assert_eq!(&list[8..16], &address.to_be_bytes());
            prop_assert_eq!(&list[16..20], &blocks.to_be_bytes());
        }
    }
}
