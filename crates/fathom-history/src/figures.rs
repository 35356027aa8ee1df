//! The figures of a job under the names that the store gives them. The unit is in the name.

use fathom_results::{DirectionResult, JobResult, LatencyResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Directions in the order of their numbers in the store; `job` is for figures of the whole job.
pub(crate) const DIRECTIONS: [&str; 6] = ["read", "write", "trim", "mixed", "sync", "job"];

/// Kinds of latency in the order of their numbers in the store.
pub(crate) const LATENCIES: [&str; 4] = ["slat", "clat", "lat", "response"];

/// Percentiles that are computed from a histogram, in addition to those that were printed.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// One of `read`, `write`, `trim`, `mixed`, `sync`, and `job` for the whole job.
    pub direction: &'static str,
    /// Name with its unit, such as `clat_mean_ns`.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// Distribution of a latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The direction.
    pub direction: &'static str,
    /// `slat`, `clat`, `lat` or `response`.
    pub latency: &'static str,
    /// Percent and ns, ascending.
    pub percentiles: Vec<(f64, u64)>,
    /// The histogram: centre of a bin in ns, and its count; empty if the result has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bins: BTreeMap<u64, u64>,
}

/// Collects figures; each name once per direction, because the store has one place for it.
#[derive(Default)]
struct Collected {
    figures: Vec<Figure>,
    latencies: Vec<Latency>,
}

/// All figures and latencies of a job.
pub(crate) fn of_job(job: &JobResult) -> (Vec<Figure>, Vec<Latency>) {
    let mut all = Collected::default();
    let directions = [&job.read, &job.write, &job.trim, &job.mixed];
    for (direction, figures) in DIRECTIONS.into_iter().zip(directions) {
        if let Some(figures) = figures.as_ref().filter(|figures| !figures.is_empty()) {
            all.add_direction(direction, figures);
        }
    }
    if job.syncs() > 0 {
        all.add("sync", "ios", job.syncs() as f64);
        all.add_latency("sync", 2, &job.sync_latency());
        all.add_main("sync", &job.sync_latency());
    }
    all.add_whole(job);
    (all.figures, all.latencies)
}

impl Collected {
    fn add(&mut self, direction: &'static str, name: impl Into<String>, value: f64) {
        let name = name.into();
        let is_there = self.figures.iter().any(|figure| figure.direction == direction && figure.name == name);
        if value.is_finite() && !is_there {
            self.figures.push(Figure { direction, name, value });
        }
    }

    fn add_direction(&mut self, direction: &'static str, figures: &DirectionResult) {
        let counts = [
            ("bytes", figures.io_bytes as f64),
            ("ios", figures.total_ios as f64),
            ("bytes_per_second", figures.bytes_per_second),
            ("iops", figures.iops),
            ("runtime_ms", figures.runtime_ms as f64),
            ("short_ios", figures.short_ios as f64),
            ("dropped_ios", figures.drop_ios as f64),
        ];
        counts.into_iter().for_each(|(name, value)| self.add(direction, name, value));
        if figures.bw_samples > 0 {
            let samples = [
                ("min", figures.bw_min),
                ("max", figures.bw_max),
                ("mean", figures.bw_mean),
                ("stddev", figures.bw_dev),
            ];
            for (name, kib) in samples {
                self.add(direction, format!("sampled_bytes_per_second_{name}"), kib * 1024.0);
            }
        }
        if figures.iops_samples > 0 {
            let samples = [
                ("min", figures.iops_min),
                ("max", figures.iops_max),
                ("mean", figures.iops_mean),
                ("stddev", figures.iops_stddev),
            ];
            for (name, value) in samples {
                self.add(direction, format!("sampled_iops_{name}"), value);
            }
        }
        if let Some(percent) = figures.cache_hit {
            self.add(direction, "cache_hit_percent", percent);
        }
        self.add_main(direction, figures.latency());
        let latencies =
            [Some(&figures.slat), Some(&figures.clat), Some(&figures.lat), figures.response.as_ref()];
        for (kind, latency) in latencies.into_iter().enumerate() {
            latency.into_iter().for_each(|latency| self.add_latency(direction, kind, latency));
        }
        self.add_arrivals(direction, figures);
        self.add_layers(direction, figures);
    }

    /// The latency that people mean: completion latency, or total latency if only that has a distribution.
    fn add_main(&mut self, direction: &'static str, latency: &LatencyResult) {
        if latency.mean_ns > 0.0 {
            self.add(direction, "latency_mean_ns", latency.mean_ns);
            self.add(direction, "latency_max_ns", latency.max_ns);
        }
    }

    fn add_latency(&mut self, direction: &'static str, kind: usize, latency: &LatencyResult) {
        let name = LATENCIES[kind];
        if latency.count > 0 || latency.mean_ns > 0.0 {
            self.add_moments(direction, name, latency);
        }
        let mut percentiles: Vec<(f64, u64)> =
            latency.printed().map(|(percent, ns)| (percent, ns as u64)).collect();
        if !latency.bins.is_empty() {
            let missing = |percent: &f64| !percentiles.iter().any(|(own, _)| (own - percent).abs() < 1e-6);
            let computed: Vec<(f64, u64)> = PERCENTILES
                .into_iter()
                .filter(missing)
                .filter_map(|percent| Some((percent, latency.percentile(percent)? as u64)))
                .collect();
            percentiles.extend(computed);
        }
        percentiles.retain(|(percent, _)| percent.is_finite());
        percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
        percentiles.dedup_by(|one, other| one.0 == other.0);
        if !percentiles.is_empty() || !latency.bins.is_empty() {
            let bins = latency.bins.clone();
            self.latencies.push(Latency { direction, latency: name, percentiles, bins });
        }
    }

    fn add_moments(&mut self, direction: &'static str, name: &str, latency: &LatencyResult) {
        let moments = [
            ("min", latency.min_ns),
            ("max", latency.max_ns),
            ("mean", latency.mean_ns),
            ("stddev", latency.stddev_ns),
        ];
        for (moment, value) in moments {
            self.add(direction, format!("{name}_{moment}_ns"), value);
        }
    }

    /// An open loop.
    fn add_arrivals(&mut self, direction: &'static str, figures: &DirectionResult) {
        let Some(arrivals) = &figures.arrivals else { return };
        let counts = [
            ("due_ios", arrivals.due as f64),
            ("offered_iops", arrivals.offered_iops),
            ("backlog_mean_ios", arrivals.backlog_mean),
            ("backlog_max_ios", arrivals.backlog_max as f64),
            ("unfinished_ios", arrivals.unfinished as f64),
        ];
        counts.into_iter().for_each(|(name, value)| self.add(direction, name, value));
        self.add_moments(direction, "service", &arrivals.service);
        self.add_moments(direction, "start_delay", &arrivals.start_delay);
    }

    /// Where the time went, with `--layers`.
    fn add_layers(&mut self, direction: &'static str, figures: &DirectionResult) {
        let Some(layers) = &figures.layers else { return };
        let all = [
            ("above", &layers.above),
            ("queue", &layers.queue),
            ("device", &layers.device),
            ("completion", &layers.completion),
        ];
        for (layer, latency) in all {
            self.add_moments(direction, &format!("layer_{layer}"), latency);
        }
    }

    fn add_whole(&mut self, job: &JobResult) {
        let whole = [
            ("runtime_ms", job.runtime_ms as f64),
            ("user_cpu_percent", job.usr_cpu),
            ("system_cpu_percent", job.sys_cpu),
            ("context_switches", job.context_switches as f64),
            ("major_faults", job.major_faults as f64),
            ("minor_faults", job.minor_faults as f64),
        ];
        whole.into_iter().for_each(|(name, value)| self.add("job", name, value));
        let ios: u64 = job.active().iter().map(|(_, figures)| figures.total_ios).sum();
        if ios > 0 {
            let busy_ns = (job.usr_cpu + job.sys_cpu) / 100.0 * job.runtime_ms as f64 * 1e6;
            self.add("job", "cpu_ns_per_io", busy_ns / ios as f64);
        }
        if let Some(errors) = job.total_err {
            self.add("job", "tolerated_errors", errors as f64);
        }
        if let Some(state) = &job.steady_state {
            self.add("job", "steady_state_attained", f64::from(state.attained));
        }
        for (depth, percent) in job.iodepth_level.iter().filter(|(_, percent)| *percent > 0.0) {
            self.add("job", format!("depth_{depth}_percent"), *percent);
        }
        for (name, value) in &job.engine.counts {
            self.add("job", format!("engine_{name}"), *value);
        }
        for (name, latency) in &job.engine.times {
            self.add_moments("job", &format!("engine_{name}"), latency);
        }
    }
}
