//! Verify state files: which writes a job had issued and which were in flight when it stopped.
//!
//! Little endian. A header (version 7, size of the rest, CRC-32C of the rest) is followed by one job.

/// Version that is written.
pub const VERSION: u64 = 7;
/// Marks a place of the list of writes in flight that is free.
const FREE: u64 = u64::MAX;
const HEADER: usize = 24;
const NAME: usize = 64;
const GENERATOR: usize = 48;
const BODY: usize = 4 + 4 + 8 + 8 + 8 + GENERATOR + NAME;

/// What a job left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// I/Os in flight at most.
    pub depth: u32,
    /// Writes issued; those from this number on were not.
    pub writes: u64,
    /// Number of the clone among those of its job.
    pub index: u64,
    /// The generator of offsets has 64 bits.
    pub is_64_bit: bool,
    /// Words of the generator of offsets.
    pub generator: Vec<u64>,
    /// Name of the job.
    pub name: String,
    /// Numbers of the writes that were in flight.
    pub in_flight: Vec<u64>,
}

impl SavedState {
    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut rest = Vec::with_capacity(BODY + self.depth as usize * 8);
        rest.extend_from_slice(&self.depth.to_le_bytes());
        rest.extend_from_slice(&0u32.to_le_bytes());
        rest.extend_from_slice(&self.writes.to_le_bytes());
        rest.extend_from_slice(&self.index.to_le_bytes());
        rest.extend_from_slice(&u64::from(self.is_64_bit).to_le_bytes());
        let mut generator = [0; GENERATOR];
        let words: Vec<u8> = match self.is_64_bit {
            true => self.generator.iter().flat_map(|word| word.to_le_bytes()).collect(),
            false => self.generator.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect(),
        };
        let kept = words.len().min(GENERATOR);
        generator[..kept].copy_from_slice(&words[..kept]);
        rest.extend_from_slice(&generator);
        let mut name = [0; NAME];
        // The last byte stays 0, as readers in C expect.
        let kept = self.name.len().min(NAME - 1);
        name[..kept].copy_from_slice(&self.name.as_bytes()[..kept]);
        rest.extend_from_slice(&name);
        let places = self.in_flight.iter().copied().chain(std::iter::repeat(FREE));
        rest.extend(places.take(self.depth as usize).flat_map(u64::to_le_bytes));
        let checksum = !crc32c::crc32c(&rest);
        let mut bytes = Vec::with_capacity(HEADER + rest.len());
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(rest.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&u64::from(checksum).to_le_bytes());
        bytes.append(&mut rest);
        bytes
    }

    /// Reads the bytes of a file; the error says what is wrong with them.
    pub fn decode(bytes: &[u8]) -> Result<SavedState, String> {
        if bytes.is_empty() {
            return Err("the file is empty".to_owned());
        }
        let u64_at = |bytes: &[u8], at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        let short = || "the file ends too early".to_owned();
        let version = u64_at(bytes, 0).ok_or_else(short)?;
        if version != VERSION {
            return Err(format!("the file has version {version}; version {VERSION} can be read"));
        }
        let size = u64_at(bytes, 8).ok_or_else(short)?;
        let checksum = u64_at(bytes, 16).ok_or_else(short)?;
        let rest = &bytes[HEADER..];
        if rest.len() as u64 != size || rest.len() < BODY {
            return Err(format!("the file holds {} bytes where its header says {size}", rest.len()));
        }
        let sum = crc32c::crc32c(rest);
        if checksum != u64::from(!sum) && checksum != u64::from(sum) {
            return Err("the checksum is wrong".to_owned());
        }
        let depth = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
        let is_64_bit = u64_at(rest, 24).ok_or_else(short)? != 0;
        let generator = &rest[32..32 + GENERATOR];
        let generator = match is_64_bit {
            true => generator.chunks_exact(8).take(5).map(|word| u64_at(word, 0).unwrap_or(0)).collect(),
            false => generator
                .chunks_exact(4)
                .take(3)
                .map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
                .collect(),
        };
        let name = &rest[80..80 + NAME];
        let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(NAME)];
        let in_flight = rest[BODY..].chunks_exact(8).take(depth as usize);
        Ok(SavedState {
            depth,
            writes: u64_at(rest, 8).ok_or_else(short)?,
            index: u64_at(rest, 16).ok_or_else(short)?,
            is_64_bit,
            generator,
            name: String::from_utf8_lossy(name).into_owned(),
            in_flight: in_flight
                .filter_map(|word| u64_at(word, 0))
                .filter(|&number| number != FREE)
                .collect(),
        })
    }
}
