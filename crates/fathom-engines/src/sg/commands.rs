//! SCSI commands as bytes (SBC-4, SPC-5).

/// A command block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    bytes: [u8; 32],
    length: u8,
}

/// A command on blocks, by its operation codes with 32-bit and with 64-bit addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    short: u8,
    long: u8,
    /// Service action of the 32-byte form, if the command has this form.
    service: Option<u8>,
}

pub(crate) const READ: Operation = Operation { short: 0x28, long: 0x88, service: Some(0x09) };
pub(crate) const WRITE: Operation = Operation { short: 0x2a, long: 0x8a, service: Some(0x0b) };
pub(crate) const WRITE_AND_VERIFY: Operation = Operation { short: 0x2e, long: 0x8e, service: Some(0x0c) };
pub(crate) const VERIFY: Operation = Operation { short: 0x2f, long: 0x8f, service: Some(0x0a) };
pub(crate) const WRITE_SAME: Operation = Operation { short: 0x41, long: 0x93, service: Some(0x0d) };

pub(crate) const PRE_FETCH: Operation = Operation { short: 0x34, long: 0x90, service: None };

/// Bit in byte 1: force unit access.
pub(crate) const FUA: u8 = 1 << 3;
/// Bits in byte 1 of VERIFY: compare with all blocks that are sent, or with the only one.
pub(crate) const BYTCHK_ALL: u8 = 1 << 1;
pub(crate) const BYTCHK_ONE: u8 = 3 << 1;
/// Bit in byte 1 of WRITE SAME(16): no block is sent.
const NDOB: u8 = 1;

/// Size of UNMAP's parameter list for a single range, in bytes.
pub(crate) const UNMAP_LIST: usize = unmap_bytes(1);
/// Sizes of the data returned by READ CAPACITY(10) and (16) and STREAM CONTROL, in bytes.
pub(crate) const CAPACITY_10: usize = 8;
pub(crate) const CAPACITY_16: usize = 32;
pub(crate) const STREAM_ANSWER: usize = 8;
/// Number of bytes that an INQUIRY requests.
pub(crate) const INQUIRY_ANSWER: usize = 64;
/// Number of the page about zones (ZBC-2, "zoned block device characteristics").
pub(crate) const ZONED_PAGE: u8 = 0xb6;
/// Actions of ZONE ACTIONS OUT.
pub(crate) const FINISH_ZONE: u8 = 2;
pub(crate) const RESET_WRITE_POINTER: u8 = 4;

impl Command {
    fn new(start: &[u8], length: u8) -> Command {
        let mut bytes = [0; 32];
        bytes[..start.len()].copy_from_slice(start);
        Command { bytes, length }
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// A command on blocks, in the short form if address and count fit.
    #[inline(always)]
    pub(crate) fn on_blocks(operation: Operation, flags: u8, address: u64, blocks: u32) -> Command {
        match (u32::try_from(address), u16::try_from(blocks)) {
            (Ok(address), Ok(blocks)) => {
                let mut bytes = [0; 32];
                (bytes[0], bytes[1]) = (operation.short, flags);
                bytes[2..6].copy_from_slice(&address.to_be_bytes());
                bytes[7..9].copy_from_slice(&blocks.to_be_bytes());
                Command { bytes, length: 10 }
            }
            _ => Command::on_far_blocks(operation.long, flags, address, blocks),
        }
    }

    /// A command on blocks in the form with this number of bytes: 10, 16 or 32. `None` if address or count do
    /// not fit into the form, or if the command does not have it.
    #[inline(always)]
    pub(crate) fn on_blocks_in(
        bytes: u8,
        operation: Operation,
        flags: u8,
        address: u64,
        blocks: u32,
    ) -> Option<Command> {
        let command = match bytes {
            10 => Command::on_blocks(operation, flags, address, blocks),
            16 => Command::on_blocks_anywhere(operation, flags, address, blocks),
            _ => Command::on_blocks_in_32(operation.service?, flags, address, blocks),
        };
        (command.length == bytes).then_some(command)
    }

    /// A command in the variable-length form, which has a service action instead of an operation code.
    fn on_blocks_in_32(service: u8, flags: u8, address: u64, blocks: u32) -> Command {
        const VARIABLE_LENGTH: u8 = 0x7f;
        const BYTES_AFTER_THE_FIRST_8: u8 = 24;
        let mut bytes = [0; 32];
        (bytes[0], bytes[7], bytes[9], bytes[10]) =
            (VARIABLE_LENGTH, BYTES_AFTER_THE_FIRST_8, service, flags);
        bytes[12..20].copy_from_slice(&address.to_be_bytes());
        bytes[28..32].copy_from_slice(&blocks.to_be_bytes());
        Command { bytes, length: 32 }
    }

    /// A command on blocks, always with a 64-bit address.
    pub(crate) fn on_blocks_anywhere(operation: Operation, flags: u8, address: u64, blocks: u32) -> Command {
        Command::on_far_blocks(operation.long, flags, address, blocks)
    }

    fn on_far_blocks(operation: u8, flags: u8, address: u64, blocks: u32) -> Command {
        let mut bytes = [0; 32];
        (bytes[0], bytes[1]) = (operation, flags);
        bytes[2..10].copy_from_slice(&address.to_be_bytes());
        bytes[10..14].copy_from_slice(&blocks.to_be_bytes());
        Command { bytes, length: 16 }
    }

    /// WRITE SAME(16) with zeroes, without a data block.
    pub(crate) fn write_same_without_data(address: u64, blocks: u32) -> Command {
        Command::on_far_blocks(WRITE_SAME.long, NDOB, address, blocks)
    }

    /// WRITE STREAM(16), for at most 65,535 blocks.
    pub(crate) fn write_stream(flags: u8, stream: u16, address: u64, blocks: u16) -> Command {
        let mut command = Command::on_far_blocks(0x9a, flags, address, 0);
        command.bytes[10..12].copy_from_slice(&stream.to_be_bytes());
        command.bytes[12..14].copy_from_slice(&blocks.to_be_bytes());
        command
    }

    /// STREAM CONTROL that opens a stream.
    pub(crate) fn open_stream() -> Command {
        let mut command = Command::new(&[0x9e, 1 << 5 | 0x14], 16);
        command.bytes[13] = STREAM_ANSWER as u8;
        command
    }

    /// STREAM CONTROL that closes a stream.
    pub(crate) fn close_stream(stream: u16) -> Command {
        let mut command = Command::new(&[0x9e, 2 << 5 | 0x14], 16);
        command.bytes[4..6].copy_from_slice(&stream.to_be_bytes());
        command.bytes[13] = STREAM_ANSWER as u8;
        command
    }

    /// SYNCHRONIZE CACHE(10), for the whole device.
    pub(crate) fn synchronize_cache() -> Command {
        Command::new(&[0x35], 10)
    }

    /// UNMAP with an [`unmap_list`].
    pub(crate) fn unmap() -> Command {
        Command::unmap_of(UNMAP_LIST as u16)
    }

    /// UNMAP with a list of [`unmap_ranges`] that has this number of bytes.
    pub(crate) fn unmap_of(bytes: u16) -> Command {
        let mut command = Command::new(&[0x42], 10);
        command.bytes[7..9].copy_from_slice(&bytes.to_be_bytes());
        command
    }

    /// ZONE ACTIONS OUT: an action on the zone that begins at an address.
    pub(super) fn zone_action(action: u8, address: u64) -> Command {
        let mut command = Command::new(&[0x94, action], 16);
        command.bytes[2..10].copy_from_slice(&address.to_be_bytes());
        command
    }

    /// REPORT ZONES, which lists as many zones as fit into the buffer, starting at the zone with this address.
    pub(super) fn report_zones(address: u64, room: u32) -> Command {
        let mut command = Command::new(&[0x95], 16);
        command.bytes[2..10].copy_from_slice(&address.to_be_bytes());
        command.bytes[10..14].copy_from_slice(&room.to_be_bytes());
        // The option asks for all zones; the device returns as many as fit.
        command.bytes[14] = 1 << 7;
        command
    }

    /// INQUIRY for the standard data, or for one page.
    pub(super) fn inquiry(page: Option<u8>) -> Command {
        let mut command = Command::new(&[0x12, u8::from(page.is_some()), page.unwrap_or(0)], 6);
        command.bytes[4] = INQUIRY_ANSWER as u8;
        command
    }

    /// READ CAPACITY(10).
    pub(crate) fn read_capacity_10() -> Command {
        Command::new(&[0x25], 10)
    }

    /// READ CAPACITY(16).
    pub(crate) fn read_capacity_16() -> Command {
        let mut command = Command::new(&[0x9e, 0x10], 16);
        command.bytes[13] = CAPACITY_16 as u8;
        command
    }
}

/// UNMAP's parameter list for one range.
pub(crate) fn unmap_list(address: u64, blocks: u32) -> [u8; UNMAP_LIST] {
    let mut list = [0; UNMAP_LIST];
    unmap_ranges(&mut list, std::iter::once((address, blocks)));
    list
}

/// Size of UNMAP's parameter list for several ranges, in bytes.
pub(crate) const fn unmap_bytes(ranges: usize) -> usize {
    8 + 16 * ranges
}

/// Writes UNMAP's parameter list for several ranges of addresses and blocks to `list`; returns its length.
pub(crate) fn unmap_ranges(list: &mut [u8], ranges: impl Iterator<Item = (u64, u32)>) -> u16 {
    let mut bytes = 8;
    for (place, (address, blocks)) in list[8..].chunks_exact_mut(16).zip(ranges) {
        place.fill(0);
        place[..8].copy_from_slice(&address.to_be_bytes());
        place[8..12].copy_from_slice(&blocks.to_be_bytes());
        bytes += 16;
    }
    list[..8].fill(0);
    list[..2].copy_from_slice(&(bytes - 2_u16).to_be_bytes());
    list[2..4].copy_from_slice(&(bytes - 8).to_be_bytes());
    bytes
}

/// Number of blocks and bytes per block, from the data of READ CAPACITY(10); `None` if the device is too large
/// for this command.
pub(crate) fn capacity_10(answer: &[u8; CAPACITY_10]) -> Option<(u64, u32)> {
    let last = u32::from_be_bytes([answer[0], answer[1], answer[2], answer[3]]);
    let size = u32::from_be_bytes([answer[4], answer[5], answer[6], answer[7]]);
    (last != u32::MAX).then_some((u64::from(last) + 1, size))
}

/// Number of blocks and bytes per block, from the data of READ CAPACITY(16).
pub(crate) fn capacity_16(answer: &[u8; CAPACITY_16]) -> (u64, u32) {
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
    fn each_length_has_its_form() {
        let long = Command::on_blocks_in(32, WRITE, FUA, 5, 8).map(hex);
        let wanted =
            "7f 00 00 00 00 00 00 18 00 0b 08 00 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00 08";
        assert_eq!(long.as_deref(), Some(wanted));
        let sixteen = "88 00 00 00 00 00 00 00 00 05 00 00 00 08 00 00";
        assert_eq!(Command::on_blocks_in(16, READ, 0, 5, 8).map(hex).as_deref(), Some(sixteen));
        assert_eq!(Command::on_blocks_in(10, READ, 0, 5, 8), Some(Command::on_blocks(READ, 0, 5, 8)));
        assert_eq!(Command::on_blocks_in(10, READ, 0, 1 << 32, 8), None);
        assert_eq!(Command::on_blocks_in(32, PRE_FETCH, 0, 0, 8), None);
    }

    #[test]
    fn several_ranges_are_given_back_at_once() {
        let mut list = vec![0xff; unmap_bytes(3)];
        assert_eq!(unmap_ranges(&mut list, [(5, 8)].into_iter()), UNMAP_LIST as u16);
        assert_eq!(list[..UNMAP_LIST], unmap_list(5, 8));
        let bytes = unmap_ranges(&mut list, [(5, 8), (1 << 33, 1)].into_iter());
        assert_eq!((bytes, list[1], list[3]), (40, 38, 32));
        assert_eq!(list[24..36], [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(hex(Command::unmap_of(bytes)), "42 00 00 00 00 00 00 00 28 00");
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
        /// In every form, a device decodes the intended address and count.
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
