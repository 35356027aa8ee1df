//! Protection information: additional bytes in a block that reveal changes of its content or location. With
//! `pi_act=1` the controller generates it; with `pi_act=0` this module generates and checks it.

use crc_fast::CrcAlgorithm;
use fathom_spec::engines::io_uring::{IoUringOptions, PiCheck};
use thiserror::Error;

/// A block whose protection information is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{part} compare error: LBA: {block} Expected={wanted:x}, Actual={found:x}")]
pub(crate) struct Mismatch {
    /// The field that differs: `GUARD`, `APPTAG` or `REFTAG`.
    part: &'static str,
    block: u64,
    wanted: u64,
    found: u64,
}

/// The error with the name of the device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{device}: {mismatch}")]
pub(crate) struct ProtectionError {
    device: String,
    mismatch: Mismatch,
}

impl Mismatch {
    pub(crate) fn on(self, device: &str) -> ProtectionError {
        ProtectionError { device: device.to_owned(), mismatch: self }
    }
}

/// Kind of checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// T10's 16-bit CRC, in 8 bytes of protection information.
    Bits16,
    /// A 32-bit CRC, in 16 bytes. Devices check it, but fathom does not generate it.
    Bits32,
    /// A 64-bit CRC, in 16 bytes.
    Bits64,
}

impl Guard {
    /// Size of the protection information per block in bytes.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Guard::Bits16 => 8,
            Guard::Bits32 | Guard::Bits64 => 16,
        }
    }
}

/// The protection information that a job requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) guard: bool,
    pub(crate) reference: bool,
    pub(crate) application: bool,
    pub(crate) tag: u16,
    pub(crate) mask: u16,
}

impl Wanted {
    pub(crate) fn of(options: &IoUringOptions) -> Wanted {
        let asked = |check| options.pi_chk.as_ref().is_some_and(|list| list.0.contains(&check));
        Wanted {
            guard: asked(PiCheck::Guard),
            reference: asked(PiCheck::RefTag),
            application: asked(PiCheck::AppTag),
            tag: options.apptag as u16,
            mask: options.apptag_mask as u16,
        }
    }
}

/// Layout of protection information in I/O buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    guard: Guard,
    is_type_3: bool,
    /// Distance in bytes from the data of one block to that of the next.
    data_stride: usize,
    /// Number of data bytes of a block.
    data: usize,
    /// True if the metadata of a block follows its data; otherwise it is in a separate buffer.
    is_extended: bool,
    /// Number of metadata bytes of a block.
    metadata: usize,
    /// Offset of the protection information within the metadata.
    offset: usize,
}

/// The protection information of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuple {
    guard: u64,
    application: u16,
    reference: u64,
}

impl Layout {
    /// Layout of blocks with `data` bytes of data and `metadata` bytes of metadata, whose protection
    /// information begins `offset` bytes into the metadata.
    pub(crate) fn new(guard: Guard, data: u32, metadata: u32, offset: u32) -> Layout {
        let (data, metadata, offset) = (data as usize, metadata as usize, offset as usize);
        Layout { guard, is_type_3: false, data_stride: data, data, is_extended: false, metadata, offset }
    }

    /// The layout in which a block's metadata follows its data.
    pub(crate) fn extended(self) -> Layout {
        Layout { is_extended: true, data_stride: self.data + self.metadata, ..self }
    }

    /// The layout for protection type 3, in which reference tags are not block numbers.
    pub(crate) fn of_type_3(self) -> Layout {
        Layout { is_type_3: true, ..self }
    }

    /// Writes protection information into the metadata of blocks, starting with the block at this address;
    /// parts that the job does not request are left unchanged. `separate` is the metadata buffer, empty for
    /// extended blocks.
    pub(crate) fn make(&self, wanted: &Wanted, address: u64, data: &mut [u8], separate: &mut [u8]) {
        for index in 0..data.len() / self.data_stride {
            let guard = if wanted.guard { self.guard_of(index, data, separate) } else { 0 };
            let mut tuple = self.tuple(index, data, separate);
            if wanted.guard {
                tuple.guard = guard;
            }
            if wanted.application {
                tuple.application = wanted.tag;
            }
            if wanted.reference {
                tuple.reference = self.reference_of(address + index as u64);
            }
            let bytes = self.encode(&tuple);
            let place = self.place(index, data, separate);
            place[..bytes.1].copy_from_slice(&bytes.0[..bytes.1]);
        }
    }

    /// Checks the requested parts; the error names the wrong block and its fields.
    pub(crate) fn check(
        &self,
        wanted: &Wanted,
        address: u64,
        data: &mut [u8],
        separate: &mut [u8],
    ) -> Result<(), Mismatch> {
        for index in 0..data.len() / self.data_stride {
            let found = self.tuple(index, data, separate);
            let block = address + index as u64;
            // The escape values mark blocks that were never written, which are not checked.
            let is_escaped = found.application == u16::MAX
                && (!self.is_type_3 || found.reference == self.reference_mask());
            if is_escaped {
                continue;
            }
            if wanted.guard {
                expect("GUARD", block, self.guard_of(index, data, separate), found.guard)?;
            }
            if wanted.application {
                let (tag, mask) = (wanted.tag & wanted.mask, wanted.mask);
                expect("APPTAG", block, tag.into(), (found.application & mask).into())?;
            }
            if wanted.reference && !self.is_type_3 {
                expect("REFTAG", block, self.reference_of(block), found.reference)?;
            }
        }
        Ok(())
    }

    /// Checksum of a block, over its data and the metadata before the protection information.
    fn guard_of(&self, index: usize, data: &[u8], separate: &[u8]) -> u64 {
        let start = index * self.data_stride;
        let before = match self.is_extended {
            true => &[],
            false => {
                separate.get(index * self.metadata..).and_then(|rest| rest.get(..self.offset)).unwrap_or(&[])
            }
        };
        let own = match self.is_extended {
            true => &data[start..start + self.data + self.offset],
            false => &data[start..start + self.data],
        };
        let algorithm = match self.guard {
            Guard::Bits16 => CrcAlgorithm::Crc16T10Dif,
            Guard::Bits32 | Guard::Bits64 => CrcAlgorithm::Crc64Nvme,
        };
        if before.is_empty() {
            return crc_fast::checksum(algorithm, own);
        }
        let mut digest = crc_fast::Digest::new(algorithm);
        digest.update(own);
        digest.update(before);
        digest.finalize()
    }

    /// The bytes of the protection information of a block.
    fn place<'a>(&self, index: usize, data: &'a mut [u8], separate: &'a mut [u8]) -> &'a mut [u8] {
        match self.is_extended {
            true => &mut data[index * self.data_stride + self.data + self.offset..],
            false => &mut separate[index * self.metadata + self.offset..],
        }
    }

    fn tuple(&self, index: usize, data: &mut [u8], separate: &mut [u8]) -> Tuple {
        let place = self.place(index, data, separate);
        let number = |range: std::ops::Range<usize>| {
            place[range].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        match self.guard {
            Guard::Bits16 => {
                Tuple { guard: number(0..2), application: number(2..4) as u16, reference: number(4..8) }
            }
            Guard::Bits32 | Guard::Bits64 => {
                Tuple { guard: number(0..8), application: number(8..10) as u16, reference: number(10..16) }
            }
        }
    }

    /// The protection information as bytes, and their number.
    fn encode(&self, tuple: &Tuple) -> ([u8; 16], usize) {
        let mut bytes = [0; 16];
        match self.guard {
            Guard::Bits16 => {
                bytes[..2].copy_from_slice(&(tuple.guard as u16).to_be_bytes());
                bytes[2..4].copy_from_slice(&tuple.application.to_be_bytes());
                bytes[4..8].copy_from_slice(&(tuple.reference as u32).to_be_bytes());
                (bytes, 8)
            }
            Guard::Bits32 | Guard::Bits64 => {
                bytes[..8].copy_from_slice(&tuple.guard.to_be_bytes());
                bytes[8..10].copy_from_slice(&tuple.application.to_be_bytes());
                bytes[10..16].copy_from_slice(&tuple.reference.to_be_bytes()[2..]);
                (bytes, 16)
            }
        }
    }

    fn reference_mask(&self) -> u64 {
        match self.guard {
            Guard::Bits16 => u64::from(u32::MAX),
            Guard::Bits32 | Guard::Bits64 => (1 << 48) - 1,
        }
    }

    fn reference_of(&self, address: u64) -> u64 {
        address & self.reference_mask()
    }
}

fn expect(part: &'static str, block: u64, wanted: u64, found: u64) -> Result<(), Mismatch> {
    if wanted == found {
        return Ok(());
    }
    Err(Mismatch { part, block, wanted, found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: Wanted = Wanted { guard: true, reference: true, application: true, tag: 0x1234, mask: 0xffff };

    /// The expected values are the check value of CRC-16/T10-DIF for `123456789`, and the tuple in T10's
    /// format.
    #[test]
    fn tuples_are_those_of_the_standard() {
        assert_eq!(crc_fast::checksum(CrcAlgorithm::Crc16T10Dif, b"123456789"), 0xd0db);
        assert_eq!(crc_fast::checksum(CrcAlgorithm::Crc64Nvme, b"123456789"), 0xae8b_1486_0a79_9888);
        let layout = Layout::new(Guard::Bits16, 512, 8, 0);
        let (mut data, mut metadata) = (vec![0; 1024], vec![0; 16]);
        layout.make(&ALL, 7, &mut data, &mut metadata);
        assert_eq!(metadata, [0, 0, 0x12, 0x34, 0, 0, 0, 7, 0, 0, 0x12, 0x34, 0, 0, 0, 8]);
        // Only the parts that the job requests are checked.
        let mut metadata = vec![0xee; 16];
        layout.make(&Wanted { guard: false, reference: false, ..ALL }, 7, &mut data, &mut metadata);
        assert_eq!(metadata[..8], [0xee, 0xee, 0x12, 0x34, 0xee, 0xee, 0xee, 0xee]);
    }

    #[test]
    fn what_was_never_written_is_not_checked() {
        let layout = Layout::new(Guard::Bits16, 512, 8, 0);
        let (mut data, mut metadata) = (vec![1; 512], vec![0xff; 8]);
        assert_eq!(layout.check(&ALL, 0, &mut data, &mut metadata), Ok(()));
        metadata[2] = 0;
        let told = layout.check(&ALL, 0, &mut data, &mut metadata).expect_err("wrong").to_string();
        assert!(told.starts_with("GUARD compare error: LBA: 0 "), "{told}");
    }

    proptest! {
        /// Any change of data, metadata or location is detected.
        #[test]
        fn every_change_is_found(
            is_extended: bool, wide: bool, comes_first: bool, more in 0_u32..2, at in 0_usize..2048, bit in 0_u32..8, address in 0_u64..1 << 33
        ) {
            let guard = if wide { Guard::Bits64 } else { Guard::Bits16 };
            let bytes = if wide { 16 } else { 8 };
            let metadata = bytes + more * 24;
            let plain = Layout::new(guard, 512, metadata, if comes_first { 0 } else { metadata - bytes });
            let layout = if is_extended { plain.extended() } else { plain };
            let mut data: Vec<u8> = (0..4 * layout.data_stride).map(|at| (at * 7) as u8).collect();
            let mut separate = vec![3; if is_extended { 0 } else { 4 * layout.metadata }];
            layout.make(&ALL, address, &mut data, &mut separate);
            prop_assert_eq!(layout.check(&ALL, address, &mut data, &mut separate), Ok(()));
            prop_assert!(layout.check(&ALL, address + 1, &mut data, &mut separate).is_err());
            let other = Wanted { tag: 0x1235, ..ALL };
            prop_assert!(layout.check(&other, address, &mut data, &mut separate).is_err());
            let masked = Wanted { mask: 0xfff0, ..other };
            prop_assert!(layout.check(&masked, address, &mut data, &mut separate).is_ok());
            data[at] ^= 1 << bit;
            // Bytes after the protection information are not covered by the checksum.
            let in_block = at % layout.data_stride;
            let is_guarded = in_block < layout.data + if is_extended { layout.offset + bytes as usize } else { 0 };
            prop_assert_eq!(layout.check(&ALL, address, &mut data, &mut separate).is_err(), is_guarded);
        }
    }
}
