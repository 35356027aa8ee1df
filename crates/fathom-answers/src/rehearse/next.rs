//! Chooses the next scale. The choice depends only on the plan and the recorded runs, so a rehearsal resumed
//! after a crash gives the same result.

use super::record::RecordedRehearsal;
use crate::loads::objective::Objective;
use crate::loads::precision::verdict;

/// Resolution of a search, which ends when the lowest bad scale exceeds the highest good one by no more than
/// this share.
const RESOLUTION: f64 = 0.05;
/// Limits of a search.
pub(super) const LOWEST: f64 = 1.0 / 64.0;
pub(super) const HIGHEST: f64 = 1024.0;

/// The scale of the next run; `None` when the rehearsal is complete.
pub(super) fn next(recorded: &RecordedRehearsal, objectives: &[Objective]) -> Option<f64> {
    match recorded.plan.scales.is_empty() {
        true => next_of_search(recorded, objectives),
        false => next_of_scales(recorded, objectives),
    }
}

/// Scales run in rounds of random order; a scale that is precise enough is skipped.
fn next_of_scales(recorded: &RecordedRehearsal, objectives: &[Objective]) -> Option<f64> {
    let plan = &recorded.plan;
    (0..plan.most_runs).find_map(|round| {
        plan.order(round).into_iter().find(|&scale| {
            let runs = recorded.runs_at(scale);
            runs.len() == round as usize && !plan.precision().is_sure(&runs, objectives)
        })
    })
}

/// Doubles or halves the scale until it is known where the limits are missed, then bisects.
fn next_of_search(recorded: &RecordedRehearsal, objectives: &[Objective]) -> Option<f64> {
    let begun = recorded.scales();
    let precision = recorded.plan.precision();
    // A scale that has begun is completed first.
    if let Some(&scale) =
        begun.iter().find(|&&scale| !precision.is_sure(&recorded.runs_at(scale), objectives))
    {
        return Some(scale);
    }
    let is_good = |scale: &f64| verdict(&recorded.runs_at(*scale), objectives);
    // A good scale above a bad one does not count.
    let good = begun.iter().copied().take_while(is_good).last();
    let bad = begun.iter().copied().find(|scale| !is_good(scale));
    let next = match (good, bad) {
        (None, None) => 1.0,
        (Some(good), Some(bad)) if bad / good <= 1.0 + RESOLUTION => return None,
        (Some(good), Some(bad)) => rounded((good * bad).sqrt()),
        (Some(good), None) if good < HIGHEST => good * 2.0,
        (None, Some(bad)) if bad / 2.0 >= LOWEST => rounded(bad / 2.0),
        _ => return None,
    };
    (!begun.contains(&next)).then_some(next)
}

/// Rounds a scale to whole percents, the unit of `replay_time_scale`.
pub(super) fn rounded(scale: f64) -> f64 {
    ((scale * 100.0).round() / 100.0).max(0.01)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::highest::Highest;
    use crate::rehearse::answer::{Rehearsed, answer};
    use crate::rehearse::plan::{FORM, RehearsalPlan, Source};
    use crate::results_file::Journal;
    use proptest::prelude::*;
    use std::path::Path;

    fn plan(scales: &[f64]) -> RehearsalPlan {
        RehearsalPlan {
            form: FORM,
            version: String::new(),
            load: "x".into(),
            source: Source::Replay,
            production: None,
            target: "y".into(),
            target_bytes: 1,
            job: String::new(),
            time_ms: None,
            scales: scales.to_vec(),
            objectives: Vec::new(),
            precision: 10.0,
            most_runs: 1,
            seed: 1,
        }
    }

    /// Runs a whole rehearsal on a target whose backlog grows from `capacity` on, and whose response time of 1 ms
    /// rises towards it. Returns the scales in the order of the runs.
    fn rehearsed(capacity: f64, scales: &[f64], limits: &[&str]) -> (Vec<f64>, Rehearsed) {
        let mut recorded = RecordedRehearsal { plan: plan(scales), runs: Vec::new() };
        let objectives: Vec<Objective> =
            limits.iter().map(|text| Objective::parse(text).expect("a limit")).collect();
        let mut order = Vec::new();
        while let Some(scale) = next(&recorded, &objectives) {
            order.push(scale);
            assert!(order.len() < 100, "it does not end: {order:?}");
            let unfinished = if scale >= capacity { 900 } else { 0 };
            let ns = if scale >= capacity { 1e10 } else { 1e6 / (1.0 - scale / capacity) };
            let line = format!(
                r#"{{"scale":{scale},"failed_jobs":0,"report":{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":1000,
                "iops":100,"io_bytes":1,"resp_ns":{{"N":1000,"mean":1000,"max":{ns:.0},"bins":{{"{ns:.0}":1000}}}},
                "arrivals":{{"due":1000,"offered_iops":100,"waiting":0,"unfinished":{unfinished}}}}}}}]}}}}"#
            );
            assert!(recorded.take(line.replace('\n', "").as_bytes(), Path::new("x")).is_ok(), "{line}");
        }
        let found = answer(&recorded, &objectives);
        (order, found)
    }

    #[test]
    fn scales_that_were_asked_for_run_in_their_order_of_chance() {
        let (mut order, found) = rehearsed(3.0, &[0.5, 1.0, 2.0, 4.0], &[]);
        order.sort_by(f64::total_cmp);
        assert_eq!(order, [0.5, 1.0, 2.0, 4.0]);
        assert_eq!((found.carries(2.0), found.carries(4.0)), (Some(true), Some(false)));
        let (_, found) = rehearsed(3.0, &[1.0, 2.0], &[]);
        assert_eq!((found.highest.clone(), found.carries(2.5)), (Some(Highest::AtLeast(2.0)), None));
    }

    #[test]
    fn a_limit_is_met_at_the_scale_where_it_is_reached() {
        // 5 ms are reached at four fifths of the capacity.
        let (order, found) = rehearsed(10.0, &[], &["p99<5ms"]);
        assert_eq!(order[..5], [1.0, 2.0, 4.0, 8.0, 16.0]);
        let Some(Highest::Found { rate, .. }) = found.highest else { panic!("{found:?}") };
        assert!((7.6..8.4).contains(&rate), "{rate}");
        let (_, found) = rehearsed(10.0, &[], &["p99<1ns"]);
        assert_eq!(found.carries(1.0), Some(false));
        assert!(matches!(found.highest, Some(Highest::Below(_))), "{found:?}");
        let (_, found) = rehearsed(1e9, &[], &[]);
        assert_eq!(found.highest, Some(Highest::AtLeast(HIGHEST)));
    }

    proptest! {
        #[test]
        fn a_search_ends_near_the_capacity(capacity in 0.1f64..1000.0) {
            let (order, found) = rehearsed(capacity, &[], &[]);
            prop_assert!(order.len() < 30, "{:?}", order);
            let Some(Highest::Found { rate, .. }) = found.highest else { panic!("{found:?}") };
            // A whole percent is the smallest step.
            prop_assert!((rate / capacity - 1.0).abs() <= RESOLUTION || (rate - capacity).abs() <= 0.02, "{}", rate);
            prop_assert_eq!(found.carries(capacity * 1.2), Some(false));
            prop_assert_eq!(found.carries(capacity / 1.2), Some(true));
        }
    }
}
