//! Content of a simulated device.

use crate::behaviour::Damage;
use fathom_run::engine::{Io, OpenFile};
use fathom_run::random::Taus88;
use fathom_run::unit::Operation;

/// The content of all files of a job.
pub(crate) struct Store {
    files: Vec<Vec<u8>>,
}

impl Store {
    /// Random initial content for all files of the job.
    pub(crate) fn new(files: &[OpenFile], random: &mut Taus88) -> Store {
        let mut file_of = |file: &OpenFile| -> Vec<u8> {
            let words = (file.start + file.size).div_ceil(4);
            let mut bytes: Vec<u8> = (0..words).flat_map(|_| random.next_u32().to_le_bytes()).collect();
            bytes.truncate((file.start + file.size) as usize);
            bytes
        };
        Store { files: files.iter().map(&mut file_of).collect() }
    }

    /// Number of bytes from the start of this I/O to the end of its file, at most its length.
    pub(crate) fn room(&self, io: &Io) -> u32 {
        let left = (self.files[io.file() as usize].len() as u64).saturating_sub(io.offset());
        left.min(u64::from(io.length())) as u32
    }

    /// Moves the first bytes of an I/O.
    pub(crate) fn perform(&mut self, io: &Io, moved: u32, damage: Option<Damage>) {
        let (start, moved) = (io.offset() as usize, moved as usize);
        let file = &mut self.files[io.file() as usize];
        match io.operation() {
            Operation::Read => {
                // SAFETY: the loop passes a buffer of at least `length` bytes, which belongs to the engine
                // until the I/O has completed.
                let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer(), moved) };
                buffer.copy_from_slice(&file[start..start + moved]);
            }
            Operation::Write => {
                // SAFETY: as above.
                let buffer = unsafe { std::slice::from_raw_parts(io.buffer(), moved) };
                write(file, start, buffer, damage);
            }
            Operation::Trim => file[start..start + moved].fill(0),
            Operation::Sync | Operation::DataSync | Operation::RangeSync => {}
        }
    }
}

fn write(file: &mut [u8], start: usize, data: &[u8], damage: Option<Damage>) {
    let length = data.len();
    match damage {
        None => file[start..start + length].copy_from_slice(data),
        Some(Damage::Dropped) => {}
        Some(Damage::Torn) => file[start..start + length / 2].copy_from_slice(&data[..length / 2]),
        Some(Damage::BitFlipped) => {
            file[start..start + length].copy_from_slice(data);
            file[start + length / 2] ^= 1;
        }
        Some(Damage::Misplaced) => {
            // No space follows the last block of a file.
            let (from, to) = ((start + length).min(file.len()), (start + 2 * length).min(file.len()));
            file[from..to].copy_from_slice(&data[..to - from]);
        }
    }
}
