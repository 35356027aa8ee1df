//! Placement of writes: reclaim unit handles (FDP) or streams.

use super::error::SchemeError;
use fathom_run::engine::{OpenFile, Setup, SetupError};
use fathom_run::random::Taus88;
use fathom_spec::options::engine::{DataPlacement, PlacementSelect};
use fathom_sys::Errno;
use fathom_sys::nvme::{self, Command};

/// The command I/O Management Receive, and its report of reclaim unit handles.
const MANAGEMENT_RECEIVE: u8 = 0x12;
const HANDLE_STATUS: u32 = 1;
/// Size of the report's header, and of each handle in it, in bytes.
const HEADER: usize = 16;
const HANDLE: usize = 32;
/// Directive types that writes may have.
const STREAMS: u32 = 1;
const PLACEMENT: u32 = 2;

/// The placement identifiers of one file.
#[derive(Debug)]
pub(super) struct Placement {
    directive: u32,
    identifiers: Vec<u16>,
    choice: Choice,
    next: usize,
}

#[derive(Debug)]
enum Choice {
    RoundRobin,
    Random(Taus88),
    /// Ranges of a scheme: first byte, end, identifier.
    Scheme(Vec<(u64, u64, u16)>),
}

impl Placement {
    /// The placement of writes to a target, if the job sets one.
    pub(super) fn of(
        setup: &Setup<'_>,
        file: &OpenFile,
        namespace: u32,
    ) -> Result<Option<Placement>, SetupError> {
        let options = &setup.job.engine;
        let directive = match options.dataplacement {
            DataPlacement::None => return Ok(None),
            DataPlacement::Fdp => PLACEMENT,
            DataPlacement::Streams => STREAMS,
        };
        let asked = options.plids.as_ref().map(|plids| {
            let mut list = plids.0.clone();
            list.sort_unstable();
            list
        });
        // Identifiers that the device reports. Streams need none, because their numbers are agreed between host
        // and device.
        let handles = match options.dataplacement {
            DataPlacement::Fdp => Some(handles(file, namespace)?),
            _ => None,
        };
        let identifier = |index: u32| match &handles {
            None => Ok(index as u16),
            Some(handles) => handles.get(index as usize).copied().ok_or_else(|| {
                refused(format!(
                    "fio: for {} PID index {index} must be smaller than {}",
                    file.name,
                    handles.len()
                ))
            }),
        };
        let identifiers = match (&asked, &handles) {
            (Some(asked), _) => asked.iter().map(|&index| identifier(index)).collect::<Result<_, _>>()?,
            (None, Some(handles)) => handles.clone(),
            (None, None) => Vec::new(),
        };
        let choice = match options.plid_select {
            PlacementSelect::RoundRobin => Choice::RoundRobin,
            PlacementSelect::Random => Choice::Random(Taus88::new(setup.job.io_type.randseed)),
            PlacementSelect::Scheme => {
                let path = options.dp_scheme.as_deref().unwrap_or_default();
                let scheme = read_scheme(path).map_err(|error| refused(error.to_string()))?;
                // The indices in a scheme refer to the job's list of identifiers or, without one, to the
                // device's.
                let known = |index: u32| match &asked {
                    None => identifier(index),
                    Some(_) => identifiers.get(index as usize).copied().ok_or_else(|| {
                        refused(format!(
                            "{path}: index {index} must be smaller than the number of plids, {}",
                            identifiers.len()
                        ))
                    }),
                };
                let lines = scheme.into_iter().map(|(start, end, index)| Ok((start, end, known(index)?)));
                Choice::Scheme(lines.collect::<Result<_, SetupError>>()?)
            }
        };
        Ok(Some(Placement { directive, identifiers, choice, next: 0 }))
    }

    /// Values of command words 12 and 13 for a write at this offset.
    #[inline(always)]
    pub(super) fn words(&mut self, offset: u64) -> (u32, u32) {
        let identifier = match &mut self.choice {
            Choice::Scheme(lines) => {
                lines.iter().find(|(start, end, _)| (*start..*end).contains(&offset)).map_or(0, |line| line.2)
            }
            Choice::RoundRobin => {
                let identifier = self.identifiers.get(self.next).copied().unwrap_or(0);
                self.next = if self.next + 1 < self.identifiers.len() { self.next + 1 } else { 0 };
                identifier
            }
            Choice::Random(generator) => {
                let index = generator.below(self.identifiers.len().max(1) as u64) as usize;
                self.identifiers.get(index).copied().unwrap_or(0)
            }
        };
        (self.directive << 20, u32::from(identifier) << 16)
    }
}

fn refused(advice: impl Into<String>) -> SetupError {
    SetupError::new(Errno(libc::EINVAL), "dataplacement").with_advice(advice)
}

/// The placement identifiers of a namespace; the report states their number first.
fn handles(file: &OpenFile, namespace: u32) -> Result<Vec<u16>, SetupError> {
    let fd = file.handle.descriptor();
    let receive = |answer: &mut [u8]| {
        let words = [HANDLE_STATUS, answer.len() as u32 / 4 - 1, 0, 0, 0, 0];
        let command =
            Command { opcode: MANAGEMENT_RECEIVE, namespace, words_10_15: words, ..Command::default() };
        nvme::ask(fd, command, answer).map_err(|refusal| {
            let why = super::describe_refusal(refusal);
            SetupError::new(Errno(libc::EOPNOTSUPP), "fdp").with_advice(format!(
                "{}: the device does not report where data can be placed: {why}",
                file.name
            ))
        })
    };
    let mut header = [0; HEADER];
    receive(&mut header)?;
    let count = usize::from(u16::from_le_bytes([header[14], header[15]]));
    let mut answer = vec![0; HEADER + count * HANDLE];
    receive(&mut answer)?;
    let handles = answer[HEADER..].chunks_exact(HANDLE);
    Ok(handles.map(|handle| u16::from_le_bytes([handle[0], handle[1]])).collect())
}

/// Parses the lines of a scheme, `start,end,index`; the end is exclusive.
fn read_scheme(path: &str) -> Result<Vec<(u64, u64, u32)>, SchemeError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| SchemeError::Unreadable { path: path.to_owned(), error })?;
    let mut ranges = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let parsed = match fields[..] {
            [start, end, index] => start.parse().ok().zip(end.parse().ok()).zip(index.parse().ok()),
            _ => None,
        };
        let Some(((start, end), index)) = parsed else {
            let (path, line) = (path.to_owned(), line.to_owned());
            return Err(SchemeError::NoRange { path, number: number + 1, line });
        };
        ranges.push((start, end, index));
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(choice: Choice) -> Placement {
        Placement { directive: PLACEMENT, identifiers: vec![3, 5, 9], choice, next: 0 }
    }

    #[test]
    fn identifiers_take_turns() {
        let mut placement = placement(Choice::RoundRobin);
        let given: Vec<u32> = (0..4).map(|_| placement.words(0).1 >> 16).collect();
        assert_eq!(given, [3, 5, 9, 3]);
        assert_eq!(placement.words(0).0, 0x20 << 16);
    }

    #[test]
    fn random_ones_are_all_used() {
        let mut placement = placement(Choice::Random(Taus88::new(1)));
        let mut given: Vec<u32> = (0..100).map(|_| placement.words(0).1 >> 16).collect();
        given.sort_unstable();
        given.dedup();
        assert_eq!(given, [3, 5, 9]);
    }

    #[test]
    fn a_scheme_goes_by_offsets() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("scheme");
        let name = path.to_str().expect("a name");
        std::fs::write(&path, "0, 4096, 1\n\n4096,8192,2\n").expect("written");
        assert_eq!(read_scheme(name).expect("two lines"), [(0, 4096, 1), (4096, 8192, 2)]);
        let mut placement = placement(Choice::Scheme(vec![(0, 4096, 1), (4096, 8192, 2)]));
        let given: Vec<u32> = [0, 4095, 4096, 8192].iter().map(|&at| placement.words(at).1 >> 16).collect();
        assert_eq!(given, [1, 1, 2, 0]);
        for wrong in ["0,16k,1", "0,16384", "foo", "1,2,3,4"] {
            std::fs::write(&path, wrong).expect("written");
            assert!(read_scheme(name).is_err_and(|why| why.to_string().contains("line 1")), "{wrong}");
        }
    }
}
