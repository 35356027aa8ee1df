//! From a trace to a profile.

use fathom_command::Failure;
use fathom_trace::events::{Events, FileSums, Keep, Losses};
use fathom_trace::{Complaints, TraceError};
use fathom_workload::{Characterizer, DeviceProfile, Profile};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Bytes read at a time.
const BUFFER: usize = 256 << 10;

/// A trace that was read.
pub(crate) struct Characterized {
    /// Name of the trace.
    pub(crate) name: String,
    pub(crate) profile: Profile,
    pub(crate) losses: Losses,
    /// What a recording of files has in addition; `None` for a trace of devices.
    pub(crate) files: Option<FileSums>,
    pub(crate) complaints: Complaints,
    /// Why the trace ends early.
    pub(crate) cut_off: Option<String>,
}

/// Reads a trace to its end.
pub(crate) fn characterize(path: &Path) -> Result<Characterized, Failure> {
    characterize_with(path, Characterizer::default(), None)
}

/// The same with a characterizer that leaves something out, or looks for more; of a recording of files, only those that `keep` keeps.
pub(crate) fn characterize_with(
    path: &Path,
    mut characterizer: Characterizer,
    keep: Option<Keep>,
) -> Result<Characterized, Failure> {
    let mut events = events(path)?;
    if let Some(keep) = keep {
        events.keep_files(keep);
    }
    let name = name_of(path);
    let cut_off = loop {
        match events.next() {
            Ok(Some(event)) => characterizer.add(&event, events.message()),
            Ok(None) => break None,
            Err(broken) => break Some(format!("after {} records: {broken}", events.records())),
        }
    };
    let mut profile = characterizer.finish();
    for device in &mut profile.devices {
        let volume = device.device.and_then(|number| events.volume(number));
        device.name = volume.map_or_else(|| std::mem::take(&mut device.name), str::to_owned);
        name_file(device, &events);
    }
    let files = events.files().cloned();
    let complaints = events.take_complaints();
    if profile.requests == 0 && profile.flushes.flushes == 0 {
        let needs = match files {
            Some(_) => "no file was read, written or synced at a known place",
            None => "a trace needs the events of requests when they are queued (Q)",
        };
        let why = cut_off.map(|why| format!(" ({why})")).unwrap_or_default();
        return Err(Failure::new(format!("{name}: there are no requests in it{why}; {needs}")));
    }
    Ok(Characterized { name, profile, losses: events.lost(), files, complaints, cut_off })
}

/// Name of a trace in messages.
fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Starts to read a trace.
pub(crate) fn events(path: &Path) -> Result<Events<impl BufRead>, Failure> {
    let name = name_of(path);
    let unreadable = |error: TraceError| match error {
        TraceError::Io(error) => Failure::file(path, &error),
        TraceError::OldVersion => Failure::new(format!(
            "{name}: not a block trace: neither binary (fathom record, blktrace, blkparse -d) nor text of a format that fathom reads"
        )),
        other => Failure::new(format!("{name}: {other}")),
    };
    let reader = open(path).and_then(fathom_trace::plain).map_err(|error| Failure::file(path, &error))?;
    Events::open(reader).map_err(unreadable)
}

/// The file that a device of a recording of files stands for.
fn name_file<R: BufRead>(device: &mut DeviceProfile, events: &Events<R>) {
    let (Some(number), Some(_)) = (device.device, events.files()) else { return };
    let file = events.file(number);
    let name = file.map(|file| String::from_utf8_lossy(&file.name).into_owned()).unwrap_or_default();
    device.name = match (name.is_empty(), number.minor) {
        (false, _) => name,
        (true, u32::MAX) => "all other files".to_owned(),
        (true, number) => format!("file {number}"),
    };
    device.size = file.map_or(0, |file| file.size);
}

/// Opens a trace, or standard input.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, io::stdin())));
    }
    let file = File::open(path)?;
    match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(Box::new(BufReader::with_capacity(BUFFER, file))),
    }
}
