//! Measures a run at an offered load.

use super::objective::{Objective, ResponseFigure};
use crate::evidence::arrivals::Backlog;
use crate::figures;
use fathom_results::{DirectionResult, LatencyResult, RunResult};
use fathom_stats::latency::at_most;
use fathom_stats::{Direction, Histogram, PerDirection};

/// The figures of a run, summed over all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MeasuredLoad {
    /// I/Os per second that became due.
    pub(crate) offered: f64,
    /// I/Os per second that completed.
    pub(crate) served: f64,

    /// Mean number of waiting I/Os.
    pub(crate) backlog: f64,
    /// True if the backlog grew.
    pub(crate) is_growing: bool,
    /// p99 of fathom's own delay, ns; the maximum over all jobs.
    pub(crate) own_delay_ns: f64,
    /// Response times.
    responses: Times,
    /// Times in the block layer and the device, without what the tester and the system call add; of runs whose
    /// layers were recorded.
    blocks: Times,
}

/// Times of I/Os, by direction.
#[derive(Clone, Debug, Default, PartialEq)]
struct Times {
    histograms: PerDirection<Histogram>,
    sum_ns: PerDirection<f64>,
    max_ns: PerDirection<f64>,
}

impl MeasuredLoad {
    /// The figures of a result whose jobs ran in open loops. A result without histograms is an error, because
    /// limits would be met without any value.
    pub(crate) fn of(result: &RunResult) -> Result<MeasuredLoad, String> {
        let mut all = MeasuredLoad::default();
        let mut backlog = Backlog::default();
        for job in &result.jobs {
            for (direction, figures) in Direction::ALL.into_iter().zip(job.directions()) {
                let Some(figures) = figures else { continue };
                all.take(direction, figures)?;
                let (Some(arrivals), Some(response)) = (&figures.arrivals, &figures.response) else {
                    continue;
                };
                all.offered += arrivals.offered_iops;
                backlog.add(arrivals, response.mean_ns);
                all.backlog += arrivals.backlog_mean;
                all.own_delay_ns = all.own_delay_ns.max(arrivals.own_delay.percentile(99.0).unwrap_or(0.0));
                all.responses.add(direction, response)?;
            }
        }
        all.is_growing = backlog.grew();
        Ok(all)
    }

    /// The figures of a result whose jobs ran in closed loops: their I/Os are due when they start.
    pub(crate) fn of_closed(result: &RunResult) -> Result<MeasuredLoad, String> {
        let mut all = MeasuredLoad::default();
        for job in &result.jobs {
            for (direction, figures) in Direction::ALL.into_iter().zip(job.directions()) {
                let Some(figures) = figures else { continue };
                all.take(direction, figures)?;
                all.responses.add(direction, &figures.lat)?;
            }
        }
        all.offered = all.served;
        Ok(all)
    }

    /// Adds what loops of both kinds have.
    fn take(&mut self, direction: Direction, figures: &DirectionResult) -> Result<(), String> {
        self.served += figures.iops;
        figures.layers.as_ref().map_or(Ok(()), |layers| self.blocks.add(direction, &layers.block))
    }

    /// Value of the objective's figure, ns; `None` without such I/O.
    pub(crate) fn value_of(&self, objective: &Objective) -> Option<f64> {
        self.figure(objective.direction, objective.figure)
    }

    /// `p50 151 µs, p99 1.31 ms; the backlog grew`.
    pub(crate) fn in_short(&self) -> String {
        let figure = |percent| {
            let found = self.figure(None, ResponseFigure::Percentile(percent));
            found.map_or_else(|| "-".to_owned(), figures::duration)
        };
        let grows = if self.is_growing { "; the backlog grew" } else { "" };
        format!("p50 {}, p99 {}{grows}", figure(50.0), figure(99.0))
    }

    /// A figure of the response times of one direction, or of all directions; `None` without I/O.
    pub(crate) fn figure(&self, direction: Option<Direction>, figure: ResponseFigure) -> Option<f64> {
        self.responses.figure(direction, figure)
    }

    /// A figure of the times in the block layer and the device; `None` if no layers were recorded.
    pub(crate) fn block_figure(&self, direction: Direction, figure: ResponseFigure) -> Option<f64> {
        self.blocks.figure(Some(direction), figure)
    }
}

impl Times {
    fn add(&mut self, direction: Direction, times: &LatencyResult) -> Result<(), String> {
        match times.histogram() {
            Some(histogram) => self.histograms[direction].merge(&histogram),
            None if times.count == 0 => {}
            None => return Err(format!("{} {}s have no histogram", times.count, direction.word())),
        }
        self.sum_ns[direction] += times.mean_ns * times.count as f64;
        self.max_ns[direction] = self.max_ns[direction].max(times.max_ns);
        Ok(())
    }

    fn figure(&self, direction: Option<Direction>, figure: ResponseFigure) -> Option<f64> {
        let wanted = |own: &Direction| direction.is_none_or(|direction| direction == *own);
        let directions = || Direction::ALL.into_iter().filter(wanted);
        let mut histogram = Histogram::default();
        directions().for_each(|own| histogram.merge(&self.histograms[own]));
        let count = histogram.count();
        if count == 0 {
            return None;
        }
        match figure {
            ResponseFigure::Percentile(percent) => {
                let largest = directions().map(|own| self.max_ns[own]).fold(0.0, f64::max);
                histogram.percentiles(&[percent]).first().map(|&ns| at_most(ns, largest as u64) as f64)
            }
            ResponseFigure::Mean => {
                Some(directions().map(|own| self.sum_ns[own]).sum::<f64>() / count as f64)
            }
            ResponseFigure::Max => directions().map(|own| self.max_ns[own]).reduce(f64::max),
        }
    }
}

/// I/Os per second of a run without a schedule, summed over all jobs.
pub(crate) fn rate_of(result: &RunResult) -> f64 {
    let directions = result.jobs.iter().flat_map(|job| job.active());
    directions.map(|(_, figures)| figures.iops).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(waiting: u64, backlog: f64) -> MeasuredLoad {
        run_of(1000, waiting, backlog)
    }

    fn run_of(due: u64, waiting: u64, backlog: f64) -> MeasuredLoad {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":1000,"iops":100,"io_bytes":1,
            "resp_ns":{{"N":1000,"mean":2000,"max":9000,"bins":{{"1000":900,"9000":100}}}},
            "arrivals":{{"due":{due},"offered_iops":110,"waiting":{waiting},"backlog_mean":{backlog},
            "own_delay_ns":{{"percentile":{{"99.000000":700}}}}}}}}}}]}}"#
        );
        MeasuredLoad::of(&fathom_results::parse(&text, "text").expect("reads")).expect("histograms")
    }

    #[test]
    fn figures_of_a_run() {
        let run = run(0, 0.5);
        assert_eq!((run.offered, run.served, run.own_delay_ns, run.is_growing), (110.0, 100.0, 700.0, false));
        let p95 = run.figure(None, ResponseFigure::Percentile(95.0)).expect("reads");
        assert!((p95 - 9000.0).abs() < 80.0, "{p95}");
        assert_eq!(run.figure(Some(Direction::Read), ResponseFigure::Mean), Some(2000.0));
        assert_eq!(run.figure(Some(Direction::Write), ResponseFigure::Max), None);
    }

    /// A deep queue holds the whole backlog in flight, so none of it waits for a slot.
    #[test]
    fn a_backlog_grows_in_flight_as_well() {
        let run = |unfinished: u64, mean_ns: u64| {
            let text = format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":1000,"iops":100,"io_bytes":1,
                "resp_ns":{{"N":1000,"mean":{mean_ns},"max":9000000000,"bins":{{"1000":900,"9000":100}}}},
                "arrivals":{{"due":1000,"offered_iops":1000,"waiting":0,"backlog_mean":0,"unfinished":{unfinished},
                "own_delay_ns":{{"percentile":{{"99.000000":700}}}}}}}}}}]}}"#
            );
            MeasuredLoad::of(&fathom_results::parse(&text, "text").expect("reads")).expect("histograms")
        };
        assert!(run(200, 100_000_000).is_growing, "twice the mean of 100");
        assert!(!run(100, 100_000_000).is_growing, "as many as always");
        assert!(!run(9, 1000).is_growing, "few");
    }

    #[test]
    fn a_backlog_grows_if_its_end_is_more_than_its_mean() {
        assert!(run(200, 100.0).is_growing);
        assert!(!run(200, 190.0).is_growing, "it stays about as long");
        assert!(!run(9, 1.0).is_growing, "few");
        assert!(!run_of(50, 1, 0.01).is_growing, "it came last");
        assert!(run_of(50, 25, 12.5).is_growing, "half of them");
    }
}
