//! I/Os drawn before they are due.

/// Number of blocks drawn at a time.
pub(super) const DRAWN: usize = 32;

/// Offset and length of one I/O.
pub(super) struct Extent {
    /// Bytes from the start of the file, or from the start of its used part.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) length: u32,
}

/// I/Os that are drawn together, which keeps the generator's state in registers.
#[derive(Clone, Default)]
pub(super) struct Ahead {
    pub(super) blocks: [u64; DRAWN],
    /// Bytes of each I/O.
    pub(super) lengths: [u32; DRAWN],
    pub(super) used: usize,
    pub(super) count: usize,
    /// Bytes of a block.
    pub(super) unit: u64,
    /// First byte of the first block.
    pub(super) start: u64,
    /// In a mix, a bitmap of the I/Os that are writes; the lowest bit belongs to the first I/O.
    pub(super) writes: u32,
}

impl Ahead {
    /// The next I/O among those drawn ahead.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Extent> {
        if self.is_used_up() {
            return None;
        }
        let place = self.used & (DRAWN - 1);
        self.used += 1;
        Some(Extent { offset: self.start + self.blocks[place] * self.unit, length: self.lengths[place] })
    }

    /// Number of writes among the I/Os of a mix that were drawn ahead and not yet returned.
    pub(super) fn unused_writes(&self) -> usize {
        let given = (1u64 << self.used) - 1;
        (u64::from(self.writes) & !given).count_ones() as usize
    }

    /// Number of I/Os drawn ahead and not yet returned.
    pub(super) fn unused(&self) -> usize {
        self.count - self.used
    }

    /// Sets the length of a block, which is also the length of all I/Os that follow.
    pub(super) fn set_length(&mut self, length: u32) {
        (self.unit, self.lengths) = (length.into(), [length; DRAWN]);
    }

    /// Stores a single I/O, when no others are drawn ahead.
    pub(super) fn set_one(&mut self, extent: Extent) {
        (self.start, self.unit, self.count) = (0, 1, 1);
        (self.blocks[0], self.lengths[0]) = (extent.offset, extent.length);
    }

    #[inline(always)]
    fn is_used_up(&self) -> bool {
        self.used >= self.count
    }

    pub(super) fn clear(&mut self) {
        (self.used, self.count) = (0, 0);
    }
}
