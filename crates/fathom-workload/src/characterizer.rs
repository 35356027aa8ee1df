//! Computes the profile of a load from the events of a trace.

use crate::arrivals::ArrivalFollower;
use crate::depth::DepthFollower;
use crate::parts::PartFinder;
use crate::places::Mapper;
use crate::profile::{Cycle, DeviceProfile, DirectionProfile, Flushes, Moment, Profile};
use crate::programs::Census;
use crate::service::{ServiceMeter, measure};
use crate::sizes::Sizes;
use crate::skew::skew;
use crate::space::{BLOCK, Sampler};
use crate::streams::StreamFinder;
use crate::timeline::{Bin, Timeline};
use fathom_stats::Direction;
use fathom_stats::timeline::{coarse_bin_of, coarse_value_of};
use fathom_trace::Device;
use fathom_trace::blktrace::{Event, TraceAction, code};
use fathom_trace::requests::{Follower, Request, Step};
use fathom_trace::side::{Note, RecordedDevice};
use std::collections::BTreeMap;

/// Minimum correlation of a periodic rate; the number of standard deviations that it must exceed follows. For N
/// random steps, the correlation has a standard deviation of 1 / sqrt(N).
const LEAST_CORRELATION: f64 = 0.4;
const BEYOND_CHANCE: f64 = 4.0;
/// Minimum number of requests for which a period is searched.
const FEWEST_REQUESTS: f64 = 500.0;
/// Minimum number of periods that a trace must contain.
const FEWEST_PERIODS: usize = 3;
/// Minimum number of steps for which a period is searched.
const FEWEST_STEPS: usize = 24;
/// Minimum variance of the rates, divided by their squared mean, for which a period is searched.
const LEAST_VARIATION: f64 = 0.02;

/// Derives the properties of a load from the events of a trace.
#[derive(Debug, Default)]
pub struct Characterizer {
    follower: Follower,
    devices: BTreeMap<Device, DeviceProfile>,
    recorded: Vec<RecordedDevice>,
    sizes: [Sizes; 3],
    flushes: Flushes,
    last_flush_ns: Option<u64>,
    streams: StreamFinder,
    space: Sampler,
    arrivals: ArrivalFollower,
    depth: DepthFollower,
    service: ServiceMeter,
    census: Census,
    places: Mapper,
    parts: Option<PartFinder>,
    over_time: Timeline<Bins>,
    start_ns: Option<u64>,
    end_ns: u64,
    /// Times of day, and of the trace's clock once that is known, between which events count.
    window: Option<Window>,
    /// The time at which the depth changed last.
    depth_ns: u64,
}

/// A span of time in ns.
#[derive(Clone, Copy, Debug)]
struct Window {
    wall: (u64, u64),
    clock: Option<(u64, u64)>,
}

impl Window {
    /// Translates to the clock of a recording that read `clock_ns` at `wall_ns`.
    fn translate(&mut self, wall_ns: u64, clock_ns: u64) {
        let translated = |time: u64| {
            let clock = i128::from(time) - i128::from(wall_ns) + i128::from(clock_ns);
            u64::try_from(clock.max(0)).unwrap_or(u64::MAX)
        };
        self.clock = Some((translated(self.wall.0), translated(self.wall.1)));
    }

    fn holds(&self, time_ns: u64) -> bool {
        self.clock.is_none_or(|(start, end)| (start..=end).contains(&time_ns))
    }
}

#[derive(Clone, Debug, Default)]
struct Bins {
    requests: [u64; 3],
    bytes: [u64; 3],
    flushes: u64,
    /// Sum of depth times ns.
    area: f64,
    latencies: [BTreeMap<u16, u64>; 3],
}

impl Bin for Bins {
    fn absorb(&mut self, next: Bins) {
        for place in 0..3 {
            self.requests[place] += next.requests[place];
            self.bytes[place] += next.bytes[place];
        }
        self.flushes += next.flushes;
        self.area += next.area;
        for (own, theirs) in self.latencies.iter_mut().zip(next.latencies) {
            theirs.into_iter().for_each(|(bin, count)| *own.entry(bin).or_default() += count);
        }
    }
}

impl Characterizer {
    /// Also finds the parts from which a model is made.
    pub fn with_parts() -> Characterizer {
        Characterizer { parts: Some(PartFinder::default()), ..Characterizer::default() }
    }

    /// Leaves out events before and after these times of day in ns since 1970, if the trace says what time its clock has.
    pub fn between(self, start_ns: u64, end_ns: u64) -> Characterizer {
        Characterizer { window: Some(Window { wall: (start_ns, end_ns), clock: None }), ..self }
    }

    /// Takes the next event and, if it is a message, its text. Time must not decrease.
    pub fn add(&mut self, event: &Event, message: &[u8]) {
        if event.action == TraceAction::Note {
            self.take_message(event, message);
            return;
        }
        if self.window.is_some_and(|window| !window.holds(event.time_ns)) {
            return;
        }
        let mut follower = std::mem::take(&mut self.follower);
        let before = follower.in_flight();
        follower.add(event, |step| match step {
            Step::Arrived(request) => self.arrived(&request),
            Step::Completed { request, issued_ns, time_ns, error, .. } => {
                self.completed(&request, issued_ns, time_ns, error);
            }
        });
        let depth = follower.in_flight();
        self.follower = follower;
        if let Some(start) = self.start_ns {
            self.end_ns = self.end_ns.max(event.time_ns).max(start);
            if depth != before {
                self.depth_changed(before as u64, depth as u64);
            }
        }
    }

    fn take_message(&mut self, event: &Event, message: &[u8]) {
        let text = || {
            String::from_utf8_lossy(message.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
        };
        match event.code {
            code::PROCESS => self.census.name(event.pid, text()),
            code::MESSAGE => {
                if let Some(Note::Begin(begin)) = Note::of_payload(message) {
                    if let Some(window) = &mut self.window {
                        window.translate(begin.wall_ns, begin.clock_ns);
                    }
                    self.recorded = begin.devices;
                }
            }
            _ => {}
        }
    }

    fn arrived(&mut self, request: &Request) {
        let place = request.direction as usize;
        if self.start_ns.is_none() {
            self.start_ns = Some(request.time_ns);
            self.depth_ns = request.time_ns;
        }
        self.count_flags(request);
        let bins = self.over_time.at(request.time_ns);
        if request.bytes > 0 {
            bins.requests[place] += 1;
            bins.bytes[place] += u64::from(request.bytes);
            let device = self.devices.entry(request.device).or_default();
            device.requests += 1;
            device.bytes += u64::from(request.bytes);
            self.sizes[place].add(request);
            let parts = &mut self.parts;
            self.streams.add(request, |request, is_stream| {
                if let Some(parts) = parts {
                    parts.add(request, is_stream);
                }
            });
        }
        if let Some(parts) = &mut self.parts {
            parts.arrived(request);
        }
        self.space.add(request);
        self.places.add(request);
        self.arrivals.arrived(request);
    }

    fn count_flags(&mut self, request: &Request) {
        let found = &mut self.flushes;
        let flushes = request.is(code::FLUSH);
        let is_durable = request.is(code::DURABLE);
        self.census.add(request, flushes || is_durable);
        if flushes {
            self.over_time.at(request.time_ns).flushes += 1;
            if let Some(last) = self.last_flush_ns.replace(request.time_ns) {
                measure(&mut found.gaps, request.time_ns.saturating_sub(last));
            }
        }
        if request.bytes == 0 {
            found.flushes += 1;
            return;
        }
        found.metadata += u64::from(request.is(code::METADATA));
        match request.direction {
            Direction::Read => found.read_ahead += u64::from(request.is(code::AHEAD)),
            Direction::Write => {
                found.flushing_writes += u64::from(flushes);
                found.durable_writes += u64::from(is_durable);
                found.sync_writes += u64::from(request.is(code::SYNC));
            }
            Direction::Trim => {}
        }
    }

    fn completed(&mut self, request: &Request, issued_ns: Option<u64>, time_ns: u64, error: u16) {
        match request.bytes {
            0 => measure(&mut self.flushes.latency, time_ns.saturating_sub(request.time_ns)),
            _ => self.service.completed(request, issued_ns, time_ns, error),
        }
        self.arrivals.completed(request, time_ns);
        if error == 0 && request.bytes > 0 {
            let bin = coarse_bin_of(time_ns.saturating_sub(request.time_ns));
            let bins = self.over_time.at(time_ns);
            *bins.latencies[request.direction as usize].entry(bin).or_default() += 1;
        }
    }

    fn depth_changed(&mut self, before: u64, depth: u64) {
        let now = self.end_ns;
        self.over_time.share(self.depth_ns, now, |bins, ns| bins.area += before as f64 * ns as f64);
        self.depth_ns = now;
        self.depth.change(now, depth);
    }

    /// Returns the profile of the events so far; it has no requests if there were none.
    pub fn finish(mut self) -> Profile {
        let Some(start) = self.start_ns else { return Profile::default() };
        self.over_time.at(self.end_ns);
        let has_completions = self.follower.has_completions();
        let devices = devices(self.devices, &self.recorded);
        let mut finder = self.parts.take();
        let (streams, most_streams) = self.streams.finish(|request, is_stream| {
            if let Some(parts) = &mut finder {
                parts.add(request, is_stream);
            }
        });
        let (space, working_set) = self.space.finish(self.end_ns);
        let moments = moments(&self.over_time, &working_set, has_completions);
        let parts = Direction::ALL.into_iter().zip(self.sizes).zip(streams).zip(self.service.finish());
        let directions: Vec<DirectionProfile> = parts
            .map(|(((direction, sizes), streams), service)| DirectionProfile {
                direction,
                requests: sizes.requests(),
                bytes: sizes.bytes(),
                streams,
                skew: match direction {
                    Direction::Read => skew(&space.reads, sizes.unit(BLOCK)),
                    Direction::Write => skew(&space.writes, sizes.unit(BLOCK)),
                    Direction::Trim => None,
                },
                sizes,
                service,
            })
            .filter(|direction| direction.requests > 0)
            .collect();
        Profile {
            seconds: (self.end_ns - start) as f64 / 1e9,
            requests: directions.iter().map(|direction| direction.requests).sum(),
            bytes: directions.iter().fold(0, |sum: u64, direction| sum.saturating_add(direction.bytes)),
            devices,
            directions,
            flushes: self.flushes,
            most_streams,
            space,
            arrivals: self.arrivals.finish(self.end_ns),
            depth: has_completions.then(|| self.depth.finish()),
            cycle: cycle(&moments),
            programs: self.census.finish(),
            over_time: moments,
            maps: self.places.finish(self.end_ns),
            parts: finder.map_or_else(Vec::new, |parts| parts.finish(self.end_ns)),
            incomplete: if has_completions { self.follower.incomplete() } else { 0 },
        }
    }
}

/// Returns the devices, the busiest first, with the information that the recording has about them.
fn devices(counted: BTreeMap<Device, DeviceProfile>, recorded: &[RecordedDevice]) -> Vec<DeviceProfile> {
    let mut devices: Vec<DeviceProfile> = counted
        .into_iter()
        .map(|(device, counted)| {
            let known = recorded.iter().find(|known| known.device == device);
            DeviceProfile {
                device: Some(device),
                name: known.map(|known| known.name.clone()).unwrap_or_default(),
                model: known.map(|known| known.model.clone()).unwrap_or_default(),
                size: known.map_or(0, |known| known.sectors.saturating_mul(512)),
                ..counted
            }
        })
        .collect();
    devices.sort_by_key(|device| std::cmp::Reverse(device.requests));
    devices
}

fn moments(over_time: &Timeline<Bins>, working_set: &[(f64, f64)], has_completions: bool) -> Vec<Moment> {
    let width = over_time.width_ns();
    let moment = |(number, bins): (usize, &Bins)| {
        let (working_set, footprint) = working_set.get(number).copied().unwrap_or_default();
        let named = |bins: &BTreeMap<u16, u64>| {
            bins.iter().map(|(&bin, &count)| (coarse_value_of(bin), count)).collect()
        };
        Moment {
            start_s: number as f64 * width as f64 / 1e9,
            end_s: (number + 1) as f64 * width as f64 / 1e9,
            requests: bins.requests,
            bytes: bins.bytes,
            flushes: bins.flushes,
            depth: if has_completions { bins.area / width as f64 } else { 0.0 },
            working_set,
            footprint,
            latencies: bins.latencies.each_ref().map(named),
        }
    };
    over_time.bins().iter().enumerate().map(moment).collect()
}

/// Finds the period at which the rate correlates most with itself, at the resolution with the highest
/// correlation. Bursts that come slightly early or late fall into different steps if the steps are short.
fn cycle(moments: &[Moment]) -> Option<Cycle> {
    // The last step may be incomplete, so it is left out.
    let whole = moments.len().checked_sub(1)?;
    let rates: Vec<f64> =
        moments[..whole].iter().map(|moment| moment.requests.iter().sum::<u64>() as f64).collect();
    if rates.iter().sum::<f64>() < FEWEST_REQUESTS {
        return None;
    }
    let step = moments[0].end_s - moments[0].start_s;
    let of = |joined: usize| {
        let rates: Vec<f64> = rates.chunks_exact(joined).map(|rates| rates.iter().sum()).collect();
        period(&rates).map(|(lag, strength)| Cycle { period_s: lag as f64 * joined as f64 * step, strength })
    };
    [1, 2, 4, 8].into_iter().filter_map(of).max_by(|a, b| a.strength.total_cmp(&b.strength))
}

/// Returns the shortest lag with about the maximum correlation, and that correlation.
fn period(rates: &[f64]) -> Option<(usize, f64)> {
    if rates.len() < FEWEST_STEPS {
        return None;
    }
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let variance: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    if mean == 0.0 || variance / count <= mean * mean * LEAST_VARIATION {
        return None;
    }
    let correlation = |lag: usize| -> f64 {
        let pairs = rates.iter().zip(&rates[lag..]).map(|(a, b)| (a - mean) * (b - mean));
        pairs.sum::<f64>() / variance * count / (count - lag as f64)
    };
    let all: Vec<f64> = (0..=rates.len() / FEWEST_PERIODS).map(correlation).collect();
    let is_peak =
        |lag: usize| all[lag] >= all[lag - 1] && all.get(lag + 1).is_none_or(|next| all[lag] > *next);
    // Small lags correlate without a period, so the search begins where the correlation has fallen below half
    // of the minimum.
    let valley = all.iter().position(|value| *value < LEAST_CORRELATION / 2.0)?;
    let least = LEAST_CORRELATION.max(BEYOND_CHANCE / count.sqrt());
    let peaks: Vec<usize> =
        (valley.max(2)..all.len()).filter(|&lag| is_peak(lag) && all[lag] >= least).collect();
    let best = peaks.iter().map(|&lag| all[lag]).fold(0.0, f64::max);
    // Multiples of a period correlate as strongly as the period, so the shortest lag is chosen.
    peaks.into_iter().find(|&lag| all[lag] >= best * 0.9).map(|lag| (lag, all[lag].min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEVICE: Device = Device { major: 8, minor: 0 };

    fn event(action: u32, direction: u32, time_ns: u64, sector: u64, bytes: u32) -> Event {
        Event { time_ns, sector, bytes, device: DEVICE, pid: 7, ..Event::of_code(action | direction) }
    }

    /// Returns the profile of requests at these times, each completed within 100 µs.
    fn profile(times: impl Iterator<Item = u64>) -> Profile {
        let mut all = Characterizer::default();
        for (number, time) in times.enumerate() {
            let (sector, direction) =
                ((number as u64 * 7919 % 10_000) * 8, if number % 4 == 0 { code::WRITE } else { code::READ });
            all.add(&event(code::QUEUE, direction, time, sector, 4096), b"");
            all.add(&event(code::ISSUE, direction, time + 10_000, sector, 4096), b"");
            all.add(&event(code::COMPLETE, direction, time + 100_000, sector, 4096), b"");
        }
        all.finish()
    }

    #[test]
    fn sums_and_latencies_are_those_of_the_requests() {
        let found = profile((0..40_000).map(|number| number * 1_000_000));
        assert_eq!((found.requests, found.bytes, found.incomplete), (40_000, 40_000 * 4096, 0));
        let reads = &found.directions[0];
        assert_eq!(
            (reads.requests, reads.service.total.min_ns, reads.service.queue.max_ns),
            (30_000, 100_000, 10_000)
        );
        assert_eq!(found.over_time.iter().map(|moment| moment.requests[0]).sum::<u64>(), 30_000);
        let depth = found.depth.expect("completions");
        assert!((depth.mean - 0.1).abs() < 0.001 && depth.largest == 1, "{depth:?}");
        assert_eq!(found.cycle, None, "a constant rate has no period");
        assert!(found.over_time.len() > 128 && found.seconds > 39.9);
    }

    #[test]
    fn bursts_every_five_seconds_are_found() {
        let times = (0..100_000u64).filter(|number| number / 1000 % 5 == 0).map(|number| number * 1_000_000);
        let cycle = profile(times).cycle.expect("a period");
        assert!((cycle.period_s - 5.0).abs() < 0.4, "{cycle:?}");
    }

    #[test]
    fn chance_has_no_period() {
        let mut state = 11u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut found = 0;
        for series in 0..1000 {
            // Every other series has bursts at random times.
            let rates: Vec<f64> = (0..24 + series % 200)
                .map(|_| {
                    if series % 2 == 0 {
                        draw() * 10.0
                    } else if draw() < 0.1 {
                        100.0
                    } else {
                        1.0
                    }
                })
                .collect();
            found += u32::from(period(&rates).is_some());
        }
        assert!(found <= 10, "{found} of 1000");
    }

    #[test]
    fn an_empty_trace_has_an_empty_profile() {
        let mut all = Characterizer::default();
        all.add(&event(code::COMPLETE, code::READ, 5, 0, 4096), b"");
        let found = all.finish();
        assert_eq!((found.requests, found.seconds), (0, 0.0));
    }

    proptest! {
        #[test]
        fn any_events_give_a_profile(events in prop::collection::vec((0usize..6, 0u64..3, any::<u64>(), any::<u32>(), 0u64..1 << 60), 0..200)) {
            let actions = [code::QUEUE, code::ISSUE, code::COMPLETE, code::REQUEUE, code::BACK_MERGE, code::QUEUE | code::FLUSH];
            let (mut all, mut now, mut wanted) = (Characterizer::default(), 0u64, 0u64);
            for (action, direction, sector, bytes, gap) in events {
                now = now.saturating_add(if sector % 3 == 0 { gap } else { gap >> 30 });
                let direction = [code::READ, code::WRITE, code::WRITE | code::DISCARD][direction as usize];
                let bytes = bytes >> 12 & !511;
                wanted += u64::from(action % 5 == 0 && bytes > 0);
                all.add(&event(actions[action], direction, now, sector, bytes), b"text");
            }
            let found = all.finish();
            prop_assert_eq!(found.requests, wanted);
            let over_time: u64 = found.over_time.iter().flat_map(|moment| moment.requests).sum();
            prop_assert_eq!(over_time, wanted);
        }
    }
}
