//! Takes snapshots of a run and delivers them to all destinations in [`Settings`]. Each destination has its own
//! thread, so that a destination that hangs does not delay the others. The exporter is a separate process,
//! because the supervisor of a run forks and must have only one thread.

use crate::endpoint::EndpointError;
use crate::figures::families;
use crate::influx::Influx;
use crate::otlp::{Otlp, OtlpError};
use crate::post::PostError;
use crate::settings::Settings;
use crate::shared::{Shared, State};
use crate::textfile::TextFileError;
use crate::{Snapshot, endpoint, prometheus, textfile};
use fathom_errors::plain;
use std::fmt::Display;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Interval between two versions of a text file, which is short enough for a collector that reads it every 15 s.
const FILE_EVERY: Duration = Duration::from_secs(5);

/// Interval between two points of each series in InfluxDB.
const INFLUX_EVERY: Duration = Duration::from_secs(5);

/// Receives one sentence per failure.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Why metrics cannot be delivered.
#[derive(Debug, Error)]
pub enum ExportError {
    /// A Prometheus endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A file for node_exporter.
    #[error(transparent)]
    TextFile(#[from] TextFileError),
    /// An OpenTelemetry collector.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// An InfluxDB.
    #[error(transparent)]
    Influx(#[from] PostError),
    /// No thread can be started.
    #[error("cannot start a thread for metrics: {error}", error = plain(.0))]
    NoThread(io::Error),
}

/// Threads that deliver snapshots.
pub struct Exporter {
    shared: Arc<Shared>,
    regular: Vec<JoinHandle<()>>,
    has_endpoint: bool,
    linger: Duration,
    chosen: Vec<SocketAddr>,
}

impl Exporter {
    /// Addresses with the ports that the system chose for port 0.
    pub fn chosen(&self) -> &[SocketAddr] {
        &self.chosen
    }

    /// Binds the addresses and checks the files before any job starts.
    pub fn start(settings: Settings, tell: Tell) -> Result<Exporter, ExportError> {
        let listeners: Result<Vec<TcpListener>, EndpointError> =
            settings.endpoints.iter().map(|address| endpoint::listen(*address)).collect();
        let listeners = listeners?;
        settings.files.iter().try_for_each(|path| textfile::check(path))?;
        let otlp =
            settings.otlp.map(|otlp| Ok::<_, ExportError>((otlp.interval, Otlp::new(otlp)?))).transpose()?;
        let influx = settings.influx.map(Influx::new).transpose()?;
        let state = Mutex::new(State::default());
        let shared = Arc::new(Shared {
            state,
            changed: Condvar::new(),
            version: settings.version,
            repeats: settings.repeats,
        });
        let has_endpoint = !listeners.is_empty();
        let mut chosen = Vec::new();
        for (listener, asked) in listeners.into_iter().zip(&settings.endpoints) {
            if asked.port() == 0 {
                chosen.extend(listener.local_addr().ok());
            }
            let (shared, tell) = (Arc::clone(&shared), Arc::clone(&tell));
            spawn("endpoint", move || {
                if let Err(problem) = endpoint::serve(listener, shared) {
                    tell(&problem.to_string());
                }
            })?;
        }
        let mut regular = Vec::new();
        for path in settings.files {
            regular.push(regularly("text file", &shared, &tell, FILE_EVERY, to_file(path))?);
        }
        if let Some((interval, mut otlp)) = otlp {
            regular.push(regularly("otlp", &shared, &tell, interval, move |snapshot| otlp.send(snapshot))?);
        }
        if let Some(influx) = influx {
            let send = move |snapshot: &Snapshot| influx.send(snapshot);
            regular.push(regularly("influx", &shared, &tell, INFLUX_EVERY, send)?);
        }
        Ok(Exporter { shared, regular, has_endpoint, linger: settings.linger, chosen })
    }

    /// Replaces the previous snapshot.
    pub fn offer(&self, snapshot: Snapshot) {
        let mut state = self.shared.state();
        state.snapshot = Some(Arc::new(snapshot));
        state.number += 1;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Ends the exporter of a repeated run after the newest figures have been delivered.
    pub fn close(self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        join(self.regular);
    }

    /// Waits until the last figures have been delivered; endpoints wait until clients have read them
    /// [`LAST_READS`] times or the time in the settings has elapsed.
    pub fn finish(self) {
        join(self.regular);
        if !self.has_endpoint {
            return;
        }
        let until = Instant::now() + self.linger;
        let mut state = self.shared.state();
        while state.reads_at_end < LAST_READS {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        // The last response may still be in transmission.
        thread::sleep(ANSWER);
    }
}

/// Joins the threads. A thread that has panicked has already reported it.
fn join(threads: Vec<JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

/// Number of times that the last figures must be read before an endpoint closes. A series with a single sample
/// becomes stale in Prometheus when the next scrape fails, which is too early for an alert and invisible in a
/// graph.
const LAST_READS: u32 = 3;

/// Time to finish a response that is being written.
const ANSWER: Duration = Duration::from_millis(200);

fn to_file(path: PathBuf) -> impl FnMut(&Snapshot) -> Result<(), TextFileError> + Send + 'static {
    move |snapshot| textfile::write(&path, &prometheus::text(&families(snapshot)))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ExportError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(ExportError::NoThread)
}

/// Starts a thread that delivers the newest snapshot at intervals, and the last one at the end.
fn regularly<E: Display>(
    name: &str,
    shared: &Arc<Shared>,
    tell: &Tell,
    every: Duration,
    mut bring: impl FnMut(&Snapshot) -> Result<(), E> + Send + 'static,
) -> Result<JoinHandle<()>, ExportError> {
    let (shared, tell) = (Arc::clone(shared), Arc::clone(tell));
    spawn(name, move || {
        let (mut brought, mut due) = (0, Instant::now());
        let mut has_failed = false;
        loop {
            let Some(snapshot) = next(&shared, &mut brought, due) else { return };
            due = Instant::now() + every;
            match bring(&snapshot) {
                // A failure is reported once, and again only after a success.
                Err(problem) if !has_failed || snapshot.is_last => {
                    has_failed = true;
                    tell(&problem.to_string());
                }
                Err(_) => {}
                Ok(()) => has_failed = false,
            }
            if snapshot.is_last && !shared.repeats {
                return;
            }
        }
    })
}

/// Waits for a snapshot that has not been delivered, and until delivery is due. The last snapshot of a run is
/// returned immediately. `None` if no snapshot follows.
fn next(shared: &Shared, brought: &mut u64, due: Instant) -> Option<Arc<Snapshot>> {
    let mut state = shared.state();
    loop {
        let now = Instant::now();
        if let Some(snapshot) = state.snapshot.clone().filter(|_| state.number > *brought)
            && (snapshot.is_last || state.closed || now >= due)
        {
            *brought = state.number;
            return Some(snapshot);
        }
        if state.closed {
            return None;
        }
        let left = due.saturating_duration_since(now);
        // Once delivery is due, the thread waits only for a new snapshot.
        state = match left.is_zero() {
            true => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            false => shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn shared(repeats: bool) -> Arc<Shared> {
        let state = Mutex::new(State::default());
        Arc::new(Shared { state, changed: Condvar::new(), version: "1".to_owned(), repeats })
    }

    fn offer(shared: &Shared, taken_ns: u64, is_last: bool) {
        let mut state = shared.state();
        state.snapshot = Some(Arc::new(Snapshot { taken_ns, is_last, ..Snapshot::default() }));
        state.number += 1;
        shared.changed.notify_all();
    }

    #[test]
    fn the_last_snapshot_is_brought_even_if_it_is_not_due() {
        let shared = shared(false);
        let (sender, brought) = mpsc::channel();
        let tell: Tell = Arc::new(|_| {});
        let bring =
            move |snapshot: &Snapshot| sender.send(snapshot.taken_ns).map_err(|error| error.to_string());
        let thread = regularly("test", &shared, &tell, Duration::from_secs(3600), bring).expect("a thread");
        offer(&shared, 1, false);
        assert_eq!(brought.recv(), Ok(1), "the first one is due immediately");
        offer(&shared, 2, false);
        offer(&shared, 3, true);
        thread.join().expect("no panic");
        assert_eq!(brought.try_iter().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn figures_of_one_run_follow_those_of_another_until_it_is_closed() {
        let shared = shared(true);
        let (sender, brought) = mpsc::channel();
        let tell: Tell = Arc::new(|_| {});
        let bring =
            move |snapshot: &Snapshot| sender.send(snapshot.taken_ns).map_err(|error| error.to_string());
        let thread = regularly("test", &shared, &tell, Duration::from_secs(3600), bring).expect("a thread");
        offer(&shared, 1, true);
        assert_eq!(brought.recv(), Ok(1));
        offer(&shared, 2, true);
        assert_eq!(brought.recv(), Ok(2), "the next run goes on");
        offer(&shared, 3, false);
        shared.state().closed = true;
        shared.changed.notify_all();
        thread.join().expect("no panic");
        assert_eq!(brought.try_iter().collect::<Vec<_>>(), [3], "what is not due is brought at the end");
    }

    #[test]
    fn a_place_that_fails_is_told_of_once_and_at_the_end() {
        let shared = shared(false);
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell: Tell = {
            let told = Arc::clone(&told);
            Arc::new(move |problem| told.lock().expect("unpoisoned").push(problem.to_owned()))
        };
        let (sender, tried) = mpsc::channel();
        let bring = move |snapshot: &Snapshot| {
            sender.send(()).map_err(|error| error.to_string())?;
            Err(format!("no {}", snapshot.taken_ns))
        };
        let thread = regularly("test", &shared, &tell, Duration::ZERO, bring).expect("a thread");
        for number in 1..=3 {
            offer(&shared, number, number == 3);
            tried.recv().expect("it is tried");
        }
        thread.join().expect("no panic");
        assert_eq!(*told.lock().expect("unpoisoned"), ["no 1", "no 3"]);
    }
}
