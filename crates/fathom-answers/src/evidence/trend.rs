//! Trend of a job's rate: steady, falling (throttling, a cache that filled up), rising (warming up).

use fathom_results::model::TimelineJobResult;

/// Minimum number of points for a trend.
const LEAST_POINTS: usize = 6;
/// Ratio between the first and the last third that counts as a change.
const CHANGE: f64 = 1.3;

/// Rates in the first and the last third of a job's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// Bytes per second in the first third.
    pub(crate) first: f64,
    /// Bytes per second in the last third.
    pub(crate) last: f64,
    /// Coefficient of variation of the points: their standard deviation divided by their mean.
    pub(crate) variation: f64,
}

impl Trend {
    /// The trend of a direction; `None` with too few points. The first and the last point are left out, because
    /// the job was active for only part of them.
    pub(crate) fn of(timeline: &TimelineJobResult, direction: usize) -> Option<Trend> {
        let rates: Vec<f64> = rates(timeline, direction);
        Trend::of_rates(rates.get(1..rates.len().checked_sub(1)?)?)
    }

    /// The trend of these rates, each of a complete point.
    pub(crate) fn of_rates(whole: &[f64]) -> Option<Trend> {
        if whole.len() < LEAST_POINTS {
            return None;
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let third = whole.len() / 3;
        let middle = mean(whole);
        let variance =
            whole.iter().map(|rate| (rate - middle).powi(2)).sum::<f64>() / (whole.len() - 1) as f64;
        Some(Trend {
            first: mean(&whole[..third]),
            last: mean(&whole[whole.len() - third..]),
            variation: variance.sqrt() / middle.max(1.0),
        })
    }

    pub(crate) fn fell(&self) -> bool {
        self.first > CHANGE * self.last
    }

    pub(crate) fn rose(&self) -> bool {
        self.last > CHANGE * self.first
    }
}

/// Bytes per second of each point from the first to the last one with I/O.
pub(crate) fn rates(timeline: &TimelineJobResult, direction: usize) -> Vec<f64> {
    let did =
        |point: &fathom_results::model::TimelinePointResult| point.directions()[direction].total_ios > 0;
    let Some(first) = timeline.points.iter().position(did) else { return Vec::new() };
    let last = timeline.points.iter().rposition(did).unwrap_or(first);
    (first..=last)
        .map(|index| {
            let point = &timeline.points[index];
            let length_ms = point.end_ms.saturating_sub(timeline.start_ms(index)).max(1);
            point.directions()[direction].io_bytes as f64 * 1000.0 / length_ms as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_results::model::{TimelineFiguresResult, TimelinePointResult};

    fn timeline(bytes: &[u64]) -> TimelineJobResult {
        let point = |(index, &io_bytes): (usize, &u64)| TimelinePointResult {
            end_ms: 1000 * (index as u64 + 1),
            read: TimelineFiguresResult {
                io_bytes,
                total_ios: io_bytes.min(1),
                ..TimelineFiguresResult::default()
            },
            ..TimelinePointResult::default()
        };
        TimelineJobResult {
            points: bytes.iter().enumerate().map(point).collect(),
            ..TimelineJobResult::default()
        }
    }

    #[test]
    fn trends_are_told_apart() {
        let trend = |bytes: &[u64]| Trend::of(&timeline(bytes), 0);
        let falls = trend(&[0, 5, 90, 90, 80, 50, 40, 40, 2, 0]).expect("enough");
        assert!(falls.fell() && !falls.rose());
        assert_eq!((falls.first, falls.last), (90.0, 40.0));
        assert!(trend(&[1, 40, 50, 60, 70, 80, 90, 1]).expect("enough").rose());
        let steady = trend(&[50, 50, 50, 50, 50, 50, 50, 50]).expect("enough");
        assert!(!steady.rose() && !steady.fell() && steady.variation == 0.0);
        assert_eq!(trend(&[1, 2, 3]), None);
        assert_eq!(trend(&[]), None);
    }
}
