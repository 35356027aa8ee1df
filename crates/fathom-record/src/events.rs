//! The kernel's events of block devices, and the records of a trace that they become.

use crate::RecordError;
use crate::format::{Field, Format};
use crate::instance::Instance;
use fathom_trace::Device;
use fathom_trace::blktrace::{Event, SECTOR, code};

/// An event that is recorded.
struct Kind {
    /// Its name in tracefs, below `events/block`.
    name: &'static str,
    code: u32,
    /// Older kernels may lack it.
    is_optional: bool,
}

const fn kind(name: &'static str, code: u32, is_optional: bool) -> Kind {
    Kind { name, code, is_optional }
}

/// All of them. A device completes requests, or units smaller than requests (bios) if it has no queue of requests, never both.
const KINDS: [Kind; 9] = [
    kind("block_bio_queue", code::QUEUE, false),
    kind("block_bio_backmerge", code::BACK_MERGE, false),
    kind("block_bio_frontmerge", code::FRONT_MERGE, false),
    kind("block_split", code::SPLIT, true),
    kind("block_rq_insert", code::INSERT, false),
    kind("block_rq_issue", code::ISSUE, false),
    kind("block_rq_requeue", code::REQUEUE, false),
    kind("block_rq_complete", code::COMPLETE, false),
    kind("block_bio_complete", code::COMPLETE, false),
];

/// Where the fields of an event are.
struct Decoder {
    code: u32,
    id: u16,
    /// Offsets of numbers of 32 bits, and of the sector of 64.
    pid: usize,
    device: usize,
    sector: usize,
    sectors: Sectors,
    kind_of_request: Field,
    error: Option<usize>,
    program: Option<Field>,
}

/// Where an event has its length.
enum Sectors {
    /// A number of sectors, of 32 bits.
    Number(usize),
    /// The first sector of the second part of a split, of 64 bits.
    End(usize),
}

/// Turns events of tracefs into events of a trace.
pub(crate) struct Events {
    decoders: Vec<Decoder>,
    /// Offset of an event's number, of 16 bits.
    id: usize,
    /// The directory of each event, and whether it has a number of sectors.
    enabled: Vec<(String, bool)>,
}

/// One event, and where the name of the program that caused it is, if the kernel says so.
pub(crate) struct Decoded {
    pub(crate) event: Event,
    pub(crate) program: Option<Field>,
}

impl Events {
    /// Reads the layouts of all events, and enables them with this filter. The instance does not trace yet.
    pub(crate) fn enable(
        instance: &Instance,
        filter: impl Fn(bool) -> String,
    ) -> Result<Events, RecordError> {
        let (mut decoders, mut enabled) = (Vec::new(), Vec::new());
        let mut id = None;
        for kind in &KINDS {
            let directory = format!("events/block/{}", kind.name);
            let text = match instance.read(&format!("{directory}/format")) {
                Err(RecordError::Refused { error, .. })
                    if kind.is_optional && error.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                text => text?,
            };
            let format = Format::parse(&text);
            let unknown = || RecordError::Layout(format!("{directory}/format"));
            decoders.push(Decoder::of(kind, &format).ok_or_else(unknown)?);
            id = format.field("common_type").filter(|field| field.size == 2).map(|field| field.offset);
            let has_sectors = format.field("nr_sector").is_some();
            instance.write(&format!("{directory}/filter"), &filter(has_sectors))?;
            instance.write(&format!("{directory}/enable"), "1")?;
            enabled.push((directory, has_sectors));
        }
        let id = id.ok_or_else(|| RecordError::Layout("events/block".to_owned()))?;
        Ok(Events { decoders, id, enabled })
    }

    /// Replaces the filter of all events.
    pub(crate) fn refilter(
        &self,
        instance: &Instance,
        filter: impl Fn(bool) -> String,
    ) -> Result<(), RecordError> {
        let write = |(directory, has_sectors): &(String, bool)| {
            instance.write(&format!("{directory}/filter"), &filter(*has_sectors))
        };
        self.enabled.iter().try_for_each(write)
    }

    /// The event in these bytes; `None` if it is not one of ours.
    #[inline]
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<Decoded> {
        let id = u16::from_ne_bytes(*bytes.get(self.id..)?.first_chunk()?);
        self.decoders.iter().find(|decoder| decoder.id == id)?.decode(bytes)
    }
}

impl Decoder {
    fn of(kind: &Kind, format: &Format) -> Option<Decoder> {
        let of_size = |name: &str, size: usize| {
            format.field(name).filter(|field| field.size == size).map(|field| field.offset)
        };
        let sectors = match of_size("nr_sector", 4) {
            Some(offset) => Sectors::Number(offset),
            None => Sectors::End(of_size("new_sector", 8)?),
        };
        Some(Decoder {
            code: kind.code,
            id: format.id?,
            pid: of_size("common_pid", 4)?,
            device: of_size("dev", 4)?,
            sector: of_size("sector", 8)?,
            sectors,
            kind_of_request: format.field("rwbs")?,
            error: of_size("error", 4),
            program: format.field("comm"),
        })
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Option<Decoded> {
        let device = small(bytes, self.device)?;
        let sector = large(bytes, self.sector)?;
        let sectors = match self.sectors {
            Sectors::Number(offset) => u64::from(small(bytes, offset)?),
            Sectors::End(offset) => large(bytes, offset)?.saturating_sub(sector),
        };
        let error = self.error.and_then(|error| small(bytes, error)).unwrap_or(0) as i32;
        let event = Event {
            // The request that only flushes has no place.
            sector: if sectors == 0 && sector == u64::MAX { 0 } else { sector },
            bytes: u32::try_from(sectors.saturating_mul(SECTOR)).unwrap_or(u32::MAX),
            pid: small(bytes, self.pid)?,
            device: Device { major: device >> 20, minor: device & 0xf_ffff },
            error: u16::try_from(error.unsigned_abs()).unwrap_or(u16::MAX),
            ..Event::of_code(self.code | code::categories(self.kind_of_request.bytes(bytes)))
        };
        Some(Decoded { event, program: self.program })
    }
}

/// The number of 32 bits at an offset.
#[inline]
fn small(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|number| u32::from_ne_bytes(*number))
}

/// The number of 64 bits at an offset.
#[inline]
fn large(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|number| u64::from_ne_bytes(*number))
}
