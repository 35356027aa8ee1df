//! Recordings of what programs ask of their files.

use super::call_tally::CallTally;
use super::moment::Moment;
use super::parts::Files;
use super::session::{Recording, Spent, Summary};
use fathom_command::Failure;
use fathom_record::files::{FileOutput, FileRecorder, FileWishes, Target};
use fathom_stats::counted;
use fathom_trace::files::{Begin, End, Item, VERSION};
use std::os::fd::RawFd;
use std::time::Duration;

/// Files are looked up by their descriptors, so events should not wait for long.
const LONGEST_ROUND: Duration = Duration::from_millis(20);

/// A recording of files.
pub(super) struct Calls {
    recorder: FileRecorder,
    output: FileOutput,
    subject: String,
    ample: u64,
    items: Vec<Item>,
    tally: CallTally,
    /// The sums at the last status line.
    told: CallTally,
}

impl Calls {
    /// Begins to record, and opens the trace.
    pub(super) fn start(wishes: &FileWishes, subject: String, files: &mut Files) -> Result<Calls, Failure> {
        let recorder = FileRecorder::start(wishes).map_err(Failure::because)?;
        let output = FileOutput::open(files, begin_of(wishes)).map_err(Failure::because)?;
        Ok(Calls {
            recorder,
            output,
            subject,
            ample: wishes.buffer_kib * 1024 / 4,
            items: Vec::new(),
            tally: CallTally::default(),
            told: CallTally::default(),
        })
    }

    fn sums(&self, spent: Spent) -> Result<End, Failure> {
        let sums = self.recorder.sums().map_err(Failure::because)?;
        let time_ns = spent.time.as_nanos() as u64;
        Ok(End { time_ns, recorder_us: spent.recorder_us, ..sums })
    }
}

impl Recording for Calls {
    fn ample(&self) -> u64 {
        self.ample
    }

    fn longest_round(&self) -> Duration {
        LONGEST_ROUND
    }

    fn urgent(&self) -> Vec<RawFd> {
        self.recorder.descriptors()
    }

    fn look(&mut self) -> Result<(), Failure> {
        self.recorder.look().map_err(Failure::because)
    }

    fn drain(&mut self) -> Result<u64, Failure> {
        let held = self.recorder.drain(&mut self.items).map_err(Failure::because)?;
        self.items.iter().for_each(|item| self.tally.add(item));
        self.output.write(&mut self.items).map_err(Failure::because)?;
        Ok(held)
    }

    fn next_part(&mut self, files: &mut Files, spent: Spent) -> Result<(), Failure> {
        self.output.next_part(files, self.sums(spent)?).map_err(Failure::because)
    }

    fn is_over(&self) -> bool {
        self.recorder.is_over()
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.recorder.stop().map_err(Failure::because)
    }

    fn finish(&mut self, spent: Spent) -> Result<Summary, Failure> {
        let end = self.sums(spent)?;
        self.output.finish(end).map_err(Failure::because)?;
        Ok(Summary {
            sums: self.tally.sums(),
            records: (end.calls, "call"),
            bytes: self.output.bytes(),
            path: self.output.path().to_owned(),
            parts: self.output.parts(),
            missing: missing(&end, self.recorder.losses().gaps),
        })
    }

    fn subject(&self) -> String {
        self.subject.clone()
    }

    fn rates(&mut self, seconds: f64) -> String {
        let rates = self.tally.rates(&self.told, seconds);
        self.told = self.tally.clone();
        match self.recorder.losses().events {
            0 => rates,
            lost => format!("{rates}, {} lost", counted(lost, "event")),
        }
    }
}

/// What is not in the trace, one line each.
fn missing(end: &End, gaps: u64) -> Vec<String> {
    let mut told = Vec::new();
    if end.lost > 0 || gaps > 0 {
        told.push(format!(
            "{} lost because a buffer was full; the trace says where, and a larger --buffer loses fewer",
            counted(end.lost, "event")
        ));
    }
    let mut tell = |count: u64, what: &str, rest: &str| {
        if count > 0 {
            told.push(format!("{}{rest}", counted(count, what)));
        }
    };
    tell(end.mapped, "mapping", " of files to memory: what is read and written through memory is not seen");
    tell(
        end.unknown_files,
        "file",
        " closed too soon after the open to be looked up: the calls are in the trace, as those of unknown files",
    );
    tell(
        end.unresolved,
        "call",
        " not in the trace: the descriptor was closed before it could be looked up (it may have been a socket or a pipe)",
    );
    tell(
        end.unplaced,
        "call",
        " read or write at an unknown offset: the kernel does not say where some requests of io_uring and copies go",
    );
    tell(end.unseen, "request", " of libaio (io_submit) not in the trace: they are in memory of the program");
    tell(end.unfinished, "call", " without an end: it came after the recording, or was lost");
    told
}

fn begin_of(wishes: &FileWishes) -> Begin {
    let now = Moment::now();
    let target = match &wishes.target {
        Target::Command(_) => "command",
        Target::Process(_) => "pid",
        Target::Group(_) => "cgroup",
    };
    Begin {
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: now.kernel,
        clock: "mono".to_owned(),
        wall_ns: now.wall_ns,
        clock_ns: now.clock_ns,
        part: 1,
        target: target.to_owned(),
        names: wishes.names,
    }
}
