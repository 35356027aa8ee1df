//! `http`: objects on WebDAV, S3 and Swift servers. `objects.rs` maps an I/O to requests, `client.rs` sends
//! them, `endpoint.rs` manages connections, `upload.rs` multipart uploads, `sign.rs` and `credentials.rs`
//! authentication, `storage.rs` the objects created before a run. Every I/O is a task in a runtime that belongs
//! to the job, so the queue depth determines how many are in progress.

mod body;
mod client;
mod credentials;
mod endpoint;
mod environment;
mod objects;
mod sign;
mod storage;
mod tally;
mod upload;
mod wire;

use crate::net::library::refused;
use crate::net::refusal::Refusal;
use crate::net::tasks::{Driver, Tasks};
use client::Client;
use endpoint::Failure;
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_spec::JobSpec;
use fathom_spec::engines::http::{HttpMode, HttpObjectMode};
use fathom_spec::engines::{self, EngineDef};
use fathom_stats::engine_figures::EngineFigures;
use fathom_sys::Errno;
use objects::Objects;
use std::rc::Rc;
use std::time::Duration;
use storage::Bucket;

/// Maximum time for which the end of a job waits for uploads to be aborted.
const FAREWELL: Duration = Duration::from_secs(2);

/// The engine.
pub(crate) struct Http {
    tasks: Tasks,
    objects: Rc<Objects>,
    remarks: Vec<String>,
    job: String,
    acknowledges_at_once: bool,
}

impl EngineType for Http {
    const DEFINITION: &'static EngineDef = &engines::http::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Bucket::new(environment::completed(job)))
    }

    fn new(setup: &Setup<'_>) -> Result<Http, SetupError> {
        let failed = |failure: Failure| refused(failure.errno, "connect", failure.sentence);
        let options = environment::completed(setup.job);
        let options = &options.map_err(|error| failed(Failure::new(libc::EINVAL, error.to_string())))?;
        let driver = Driver::new().map_err(|refusal| failed(refusal.into()))?;
        let client = Rc::new(Client::new(options).map_err(failed)?);
        let files: Vec<(String, u64)> =
            setup.files.iter().map(|file| (file.name.clone(), file.start + file.size)).collect();
        check_ranges(setup).map_err(failed)?;
        let block = setup.buffers.length() as u64;
        let objects = Objects::new(Rc::clone(&client), options, files, block).map_err(failed)?;
        driver.wait_for(client.open()).map_err(failed)?;
        let mut remarks = client.tally.take_trace();
        if options.http_reads != "get" || options.http_writes != "put" {
            remarks.push(format!(
                "fathom: job {}: requests that move no data count as blocks in the bandwidth; the lines of the engine have each kind",
                setup.job.name
            ));
        }
        let (tasks, job) = (Tasks::new(driver, setup.depth), setup.job.name.clone());
        let acknowledges_at_once = options.http_quickack;
        Ok(Http { tasks, objects: Rc::new(objects), remarks, job, acknowledges_at_once })
    }
}

impl Engine for Http {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if io.operation().is_sync() {
            // A sync has nothing to do, because an object is durable once the response to its upload has
            // arrived.
            return Queued::Done(0);
        }
        // SAFETY: the task does not use it after its completion, which is also the I/O's.
        let (objects, io) = (Rc::clone(&self.objects), unsafe { io.keep() });
        self.tasks.begin(slot, async move { objects.perform(&io).await.map_err(Refusal::from) })
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(self.tasks.commit())
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.tasks.reap(min, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.tasks.reap_within(span, out)
    }

    /// Does nothing, because an object is durable once the response to its upload has arrived.
    fn sync_now(&mut self, _: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        Some(Ok(()))
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.tasks.explanation(slot)
    }

    fn remarks(&mut self) -> Vec<String> {
        let mut remarks = std::mem::take(&mut self.remarks);
        remarks.extend(self.given_up());
        let tally = &self.objects.client.tally;
        remarks.extend(tally.take_trace());
        remarks.extend(
            held_back(&tally.figures())
                .filter(|_| !self.acknowledges_at_once)
                .map(|sentence| format!("fathom: job {}: {sentence}", self.job)),
        );
        remarks
    }

    fn figures(&mut self) -> EngineFigures {
        self.objects.client.tally.figures()
    }

    fn features(&self) -> Vec<&'static str> {
        if self.objects.client.has_several_connections() { vec!["several connections"] } else { Vec::new() }
    }
}

impl Http {
    /// Aborts incomplete uploads; returns a message for each.
    fn given_up(&mut self) -> Vec<String> {
        if self.tasks.in_flight() > 0 {
            return Vec::new();
        }
        let objects = Rc::clone(&self.objects);
        // If an upload is not aborted in time, the server keeps its parts until its own rules remove them.
        let names =
            self.tasks.wait_for(async { tokio::time::timeout(FAREWELL, objects.abort_uploads()).await });
        let line = |name| {
            format!(
                "fathom: job {}: {name}: not all of its blocks were written, so the object does not exist",
                self.job
            )
        };
        names.unwrap_or_default().into_iter().map(line).collect()
    }
}

/// A remark if responses take as long as this machine delays acknowledgements. A server that sends a response
/// in two pieces without TCP_NODELAY delays the second one until the first is acknowledged. If the first piece
/// already takes this long, the delay has another reason.
fn held_back(figures: &EngineFigures) -> Option<String> {
    const DELAY_NS: std::ops::Range<u64> = 38_000_000..48_000_000;
    const MANY: f64 = 1.0 / 3.0;
    let share = |name: &str| {
        let times = figures.times.get(name).filter(|times| times.count >= 3)?;
        let delayed: u64 =
            times.histogram.values().filter(|(ns, _)| DELAY_NS.contains(ns)).map(|(_, count)| count).sum();
        Some(delayed as f64 / times.count as f64)
    };
    let delayed = share("get")?;
    (delayed >= MANY && share("first byte").unwrap_or(0.0) < delayed / 2.0).then(|| {
        format!(
            "{:.0} % of the reads took about 40 ms, which is how long this machine delays acknowledgements: \
            the server seems to wait for them before it sends the end of its answers (it lacks TCP_NODELAY); \
            http_quickack=1 shows its speed without that",
            100.0 * delayed
        )
    })
}

/// Refuses writes of ranges that a multipart upload could not combine into an object.
fn check_ranges(setup: &Setup<'_>) -> Result<(), Failure> {
    let options = &setup.job.private.http;
    if options.http_object_mode != HttpObjectMode::Range || !setup.writes {
        return Ok(());
    }
    let block = setup.buffers.length() as u64;
    for file in setup.files {
        let (name, size) = (&file.name, file.start + file.size);
        if size == block {
            continue;
        }
        let whole = "http_object_mode=block, or bs= as large as the object, writes whole objects";
        let refused = |why: &str| {
            let sentence = format!("{name}: {why}; {whole}");
            Err(Failure::new(libc::EINVAL, sentence))
        };
        if options.http_mode != HttpMode::S3 {
            return refused("an object cannot be changed in part, and only S3 has multipart uploads");
        }
        if file.start != 0 {
            return refused("a multipart upload begins with the first byte of the object, not at offset=");
        }
        if size.div_ceil(block) > upload::MOST_PARTS {
            return refused("an upload has at most 10,000 parts, and each block is one");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_wait_for_acknowledgements_are_told_from_far_servers() {
        let told = |quick: u64, delayed: u64, first_byte_ms: u64| {
            let mut figures = EngineFigures::default();
            (0..quick).for_each(|_| figures.record("get", 300_000));
            (0..delayed).for_each(|_| figures.record("get", 41_000_000));
            (0..quick + delayed).for_each(|_| figures.record("first byte", first_byte_ms * 1_000_000));
            held_back(&figures)
        };
        assert!(told(60, 40, 1).expect("two of five").starts_with("40 % of the reads took about 40 ms"));
        assert!(told(0, 9, 1).is_some());
        assert_eq!((told(80, 20, 1), told(0, 2, 1), told(0, 0, 1)), (None, None, None));
        assert_eq!(told(0, 50, 41), None, "the server is 40 ms away");
    }
}
