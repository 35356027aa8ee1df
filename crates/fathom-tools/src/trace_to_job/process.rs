//! I/O of each process in a trace.

use fathom_stats::Direction;
use fathom_trace::Device;
use fathom_trace::blktrace::{Event, SECTOR, TraceAction};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum length of a request that is searched for front merges: 64 MiB.
const LONGEST_REQUEST: u64 = 1 << 17;

/// The requests of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Requests {
    /// Queued.
    pub(super) ios: u64,
    /// Merged into another that was in flight.
    pub(super) merges: u64,
    /// Number queued where the previous one ended; the first request counts too.
    pub(super) sequential: u64,
    /// Completed.
    pub(super) bytes: u64,
    /// Number queued per size in bytes.
    pub(super) sizes: BTreeMap<u64, u64>,
    /// Sector after the last one.
    end: Option<u64>,
}

/// A process, or several similar ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Process {
    pub(super) pids: Vec<u32>,
    /// Reads, writes, trims.
    pub(super) requests: [Requests; 3],
    /// Maximum number of requests in flight.
    pub(super) depth: u64,
    pub(super) devices: BTreeSet<Device>,
    /// First request and last event.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    in_flight: u64,
}

impl Process {
    pub(super) fn ios(&self) -> u64 {
        self.requests.iter().map(|requests| requests.ios).sum()
    }

    pub(super) fn run_time_us(&self) -> u64 {
        (self.end_ns - self.start_ns) / 1000
    }

    /// KiB/s over whole milliseconds, as in the original.
    pub(super) fn rate_kib(&self, direction: Direction) -> u64 {
        let milliseconds = (self.run_time_us() / 1000).max(1);
        self.requests[direction as usize].bytes / 1024 * 1000 / milliseconds
    }

    /// Share of requests that are not sequential.
    pub(super) fn random_percent(&self, direction: Direction) -> f64 {
        let Requests { ios, sequential, .. } = self.requests[direction as usize];
        if ios == 0 { 0.0 } else { 100.0 - sequential as f64 / ios as f64 * 100.0 }
    }

    pub(super) fn directions(&self) -> impl Iterator<Item = Direction> + '_ {
        Direction::ALL.into_iter().filter(|direction| self.requests[*direction as usize].ios > 0)
    }

    /// True if one job can represent both: the same directions and devices, and about the same depth and
    /// randomness.
    fn is_like(&self, other: &Process, depth_difference: u64, random_difference: f64) -> bool {
        self.directions().eq(other.directions())
            && self.devices == other.devices
            && self.depth.abs_diff(other.depth) <= depth_difference
            && self.directions().all(|direction| {
                let difference = self.random_percent(direction) - other.random_percent(direction);
                difference.abs() <= random_difference
            })
    }

    fn absorb(&mut self, other: Process) {
        self.pids.extend(other.pids);
        for (requests, others) in self.requests.iter_mut().zip(other.requests) {
            requests.ios += others.ios;
            requests.merges += others.merges;
            requests.sequential += others.sequential;
            requests.bytes += others.bytes;
            others
                .sizes
                .into_iter()
                .for_each(|(size, count)| *requests.sizes.entry(size).or_default() += count);
        }
        self.depth = self.depth.max(other.depth);
        // Both are assumed to start with the new process, which is as long as the longer one.
        let longest = (self.end_ns - self.start_ns).max(other.end_ns - other.start_ns);
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.start_ns + longest;
    }
}

/// Merges similar processes; the first of them keeps its position.
pub(super) fn collapse(
    processes: Vec<Process>,
    depth_difference: u64,
    random_difference: f64,
) -> Vec<Process> {
    let mut kept: Vec<Process> = Vec::new();
    for process in processes {
        match kept.iter_mut().find(|other| other.is_like(&process, depth_difference, random_difference)) {
            Some(other) => other.absorb(process),
            None => kept.push(process),
        }
    }
    kept
}

/// Follows requests from the queue to their completion.
#[derive(Default)]
pub(super) struct Tracker {
    /// In order of their first request.
    processes: Vec<Process>,
    /// Index in `processes`.
    places: HashMap<u32, usize>,
    /// Requests in flight by device and end sector.
    in_flight: BTreeMap<(Device, u64), Vec<InFlight>>,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    process: usize,
    direction: Direction,
    start: u64,
}

impl Tracker {
    /// Processes an event.
    pub(super) fn add(&mut self, event: &Event) {
        if event.action == TraceAction::Note {
            return;
        }
        if let Some(place) = self.places.get(&event.pid) {
            let process = &mut self.processes[*place];
            process.end_ns = process.end_ns.max(event.time_ns);
        }
        // A flush has no data, so it is ignored.
        if event.bytes == 0 {
            return;
        }
        match event.action {
            TraceAction::Queue => self.queue(event),
            TraceAction::BackMerge | TraceAction::FrontMerge => self.merge(event),
            TraceAction::Complete => self.complete(event),
            _ => {}
        }
    }

    /// All processes that queued requests.
    pub(super) fn into_processes(self) -> Vec<Process> {
        self.processes
    }

    fn queue(&mut self, event: &Event) {
        let processes = &mut self.processes;
        let place = *self.places.entry(event.pid).or_insert_with(|| {
            processes.push(Process {
                pids: vec![event.pid],
                start_ns: event.time_ns,
                end_ns: event.time_ns,
                ..Process::default()
            });
            processes.len() - 1
        });
        let process = &mut self.processes[place];
        process.devices.insert(event.device);
        process.in_flight += 1;
        process.depth = process.depth.max(process.in_flight);
        let requests = &mut process.requests[event.direction as usize];
        requests.ios += 1;
        requests.sequential += u64::from(requests.end.is_none_or(|end| end == event.sector));
        requests.end = Some(end_of(event));
        *requests.sizes.entry(u64::from(event.bytes)).or_default() += 1;
        let request = InFlight { process: place, direction: event.direction, start: event.sector };
        self.in_flight.entry((event.device, end_of(event))).or_default().push(request);
    }

    /// Merges the queued request into another.
    fn merge(&mut self, event: &Event) {
        let Some(merged) = self.take(event.device, end_of(event), Some(event.sector)) else { return };
        self.processes[merged.process].in_flight -= 1;
        let front = event.action == TraceAction::FrontMerge;
        let end = match front {
            false => Some(event.sector),
            true => self.end_of_request_from(event.device, end_of(event)),
        };
        let start = front.then_some(end_of(event));
        let Some((end, mut request)) = end.and_then(|end| Some((end, self.take(event.device, end, start)?)))
        else {
            return;
        };
        let end = if front { end } else { end_of(event) };
        request.start = request.start.min(event.sector);
        self.in_flight.entry((event.device, end)).or_default().push(request);
        self.processes[merged.process].requests[merged.direction as usize].merges += 1;
    }

    fn complete(&mut self, event: &Event) {
        let Some(request) = self.take(event.device, end_of(event), None) else { return };
        let process = &mut self.processes[request.process];
        process.in_flight -= 1;
        process.requests[request.direction as usize].bytes += u64::from(event.bytes);
    }

    /// Removes the oldest request that ends there, and begins at `start` if given.
    fn take(&mut self, device: Device, end: u64, start: Option<u64>) -> Option<InFlight> {
        let requests = self.in_flight.get_mut(&(device, end))?;
        let place = requests.iter().position(|request| start.is_none_or(|start| start == request.start))?;
        let request = requests.remove(place);
        if requests.is_empty() {
            self.in_flight.remove(&(device, end));
        }
        Some(request)
    }

    fn end_of_request_from(&self, device: Device, start: u64) -> Option<u64> {
        let ends = (device, start)..=(device, start.saturating_add(LONGEST_REQUEST));
        let mut near = self.in_flight.range(ends);
        near.find(|(_, requests)| requests.iter().any(|request| request.start == start))
            .map(|((_, end), _)| *end)
    }
}

fn end_of(event: &Event) -> u64 {
    event.sector.saturating_add(u64::from(event.bytes) / SECTOR)
}
