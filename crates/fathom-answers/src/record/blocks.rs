//! Recordings of block devices.

use super::moment::Moment;
use super::names_of;
use super::parts::Files;
use super::session::{Recording, Spent, Summary};
use super::tally::Tally;
use fathom_command::Failure;
use fathom_record::{Batch, Output, Recorder, Wishes};
use fathom_stats::counted;
use fathom_trace::side::{Begin, End, VERSION};

/// A recording of block devices.
pub(super) struct Blocks {
    recorder: Recorder,
    output: Output,
    subject: String,
    ample: u64,
    batch: Batch,
    tally: Tally,
    /// The sums at the last status line.
    told: Tally,
}

impl Blocks {
    /// Begins to record, and opens the trace.
    pub(super) fn start(wishes: &Wishes, files: &mut Files) -> Result<Blocks, Failure> {
        let recorder = Recorder::start(wishes).map_err(Failure::because)?;
        let output = Output::open(files, begin_of(wishes)).map_err(Failure::because)?;
        Ok(Blocks {
            recorder,
            output,
            subject: names_of(&wishes.devices),
            ample: wishes.buffer_kib * 1024 / 4,
            batch: Batch::default(),
            tally: Tally::default(),
            told: Tally::default(),
        })
    }

    fn sums(&self, lost: u64, spent: Spent) -> End {
        End {
            events: self.tally.events,
            lost: lost.max(self.recorder.losses().events),
            late: self.recorder.late(),
            time_ns: spent.time.as_nanos() as u64,
            recorder_us: spent.recorder_us,
        }
    }
}

impl Recording for Blocks {
    fn ample(&self) -> u64 {
        self.ample
    }

    fn drain(&mut self) -> Result<u64, Failure> {
        let held = self.recorder.drain(&mut self.batch).map_err(Failure::because)?;
        self.batch.events.iter().for_each(|event| self.tally.add(event));
        self.output.write(&mut self.batch).map_err(Failure::because)?;
        Ok(held)
    }

    fn next_part(&mut self, files: &mut Files, spent: Spent) -> Result<(), Failure> {
        self.output.next_part(files, self.sums(0, spent)).map_err(Failure::because)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.recorder.stop().map_err(Failure::because)
    }

    fn finish(&mut self, spent: Spent) -> Result<Summary, Failure> {
        let losses = self.recorder.losses();
        let lost = self.recorder.lost_in_all().map_err(Failure::because)?.max(losses.events);
        let end = self.sums(lost, spent);
        self.output.finish(end).map_err(Failure::because)?;
        let missing = (lost > 0 || losses.gaps > 0).then(|| {
            format!(
                "{} lost because a buffer was full; the trace says where, and a larger --buffer loses fewer",
                counted(lost, "event")
            )
        });
        Ok(Summary {
            sums: self.tally.sums(),
            records: (end.events, "event"),
            bytes: self.output.bytes(),
            path: self.output.path().to_owned(),
            parts: self.output.parts(),
            missing: missing.into_iter().collect(),
        })
    }

    fn subject(&self) -> String {
        self.subject.clone()
    }

    fn rates(&mut self, seconds: f64) -> String {
        let rates = self.tally.rates(&self.told, seconds);
        self.told = self.tally;
        match self.recorder.losses().events {
            0 => rates,
            lost => format!("{rates}, {} lost", counted(lost, "event")),
        }
    }
}

fn begin_of(wishes: &Wishes) -> Begin {
    let now = Moment::now();
    Begin {
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: now.kernel,
        clock: "mono".to_owned(),
        wall_ns: now.wall_ns,
        clock_ns: now.clock_ns,
        part: 1,
        devices: wishes.devices.clone(),
    }
}
