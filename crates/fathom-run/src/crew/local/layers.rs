//! The recorder of layers: a process that starts before the first worker and ends after the last.

use super::LocalCrew;
use super::spawn::become_child;
use crate::crew::{LayerKeeper, Stage};
use crate::layers::recorder::LayerRecorder;
use crate::message::Message;
use crate::worker::files;
use fathom_stats::layers::LayerRun;
use fathom_sys::process::{self, Fork};
use fathom_sys::signal;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long the kernel may take to enable its events.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long a start waits for the recorder to know the devices: it then misses the first I/Os.
const WATCH_PATIENCE: Duration = Duration::from_secs(5);
/// How long the recorder may take to count what is left after the run.
const END_PATIENCE: Duration = Duration::from_secs(30);
/// What the process says once it records.
const READY: &[u8] = b"ready";

impl LayerKeeper for LocalCrew<'_> {
    fn begin_layers(&mut self) -> Result<(), String> {
        let Some(layers) = self.region.layers() else { return Ok(()) };
        let no_process = |errno| format!("needs a process: {errno}");
        let (answers, answer) = signal::pipe().map_err(no_process)?;
        // SAFETY: the owner of a crew promises to have a single thread.
        match unsafe { process::fork() }.map_err(no_process)? {
            Fork::Child => {
                drop(answers);
                become_child(&self.blocked_signals);
                let worked = catch_unwind(AssertUnwindSafe(|| self.record_layers(&mut File::from(answer))));
                layers.end(worked.is_err());
                process::exit_now(0);
            }
            Fork::Parent(pid) => self.layer_process = Some(pid),
        }
        drop(answer);
        signal::wait_readable(&[answers.as_raw_fd()], START_PATIENCE);
        let mut text = [0; 2048];
        // The recorder's own helper holds the other end, so the end of the pipe is not awaited.
        let length = File::from(answers).read(&mut text).unwrap_or(0);
        match &text[..length] {
            READY => Ok(()),
            b"" => Err("the recorder did not start".to_owned()),
            error => Err(String::from_utf8_lossy(error).into_owned()),
        }
    }

    fn watch_layers(&mut self) {
        if let Some(layers) = self.region.layers() {
            layers.watch(WATCH_PATIENCE);
        }
    }

    fn finish_layers(&mut self) {
        if let Some(layers) = self.region.layers() {
            layers.finish(END_PATIENCE);
        }
    }

    fn layer_sums(&self, worker: usize) -> Option<[u64; 4]> {
        let samples = self.region.layers()?.samples(worker)?;
        Some(samples.values().fold([0; 4], |all, direction| {
            let own = direction.sums();
            std::array::from_fn(|layer| all[layer] + own[layer])
        }))
    }

    fn layers(&self) -> Option<LayerRun> {
        self.region.layers().map(|layers| layers.report())
    }
}

impl LocalCrew<'_> {
    /// In the process: records until all workers have ended.
    fn record_layers(&self, answer: &mut File) {
        let Some(layers) = self.region.layers() else { return };
        let recorder = match LayerRecorder::start(self.plan, layers, &self.sender) {
            Ok(recorder) => recorder,
            Err(error) => {
                let _ = answer.write_all(error.to_string().as_bytes());
                return layers.end(true);
            }
        };
        if answer.write_all(READY).is_err() {
            return;
        }
        let files_of = |index: usize| {
            let worker = self.region.worker(index);
            let has_opened = worker.stage() >= Stage::Ready;
            has_opened.then(|| (worker.thread_id.load(Relaxed), files::paths(&self.context(index))))
        };
        if let Err(error) = recorder.run(&files_of) {
            let line = format!("fathom: --layers: {error}; the layers are incomplete");
            self.sender.send(&Message::Error(line));
            layers.end(true);
        }
    }

    /// The recorder has ended, perhaps before it was told to.
    pub(super) fn layers_ended(&mut self) {
        self.layer_process = None;
        if let Some(layers) = self.region.layers() {
            layers.end(true);
        }
    }
}
