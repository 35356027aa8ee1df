//! Checks that the formats can write any report: JSON parses, and no share is "not a number".

mod support;

use fathom_stats::LatencyStats;
use fathom_stats::histogram::RANGE_END_NS;
use fathom_stats::report::*;
use fathom_stats::series::SampleStats;
use fathom_stats::{Direction, PerDirection};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;
use support::recorded;

fn text() -> impl Strategy<Value = String> {
    // The texts contain quotes, backslashes, control characters, and any other characters.
    prop::collection::vec(
        prop_oneof![Just('"'), Just('\\'), (0u8..32).prop_map(char::from), any::<char>()],
        0..12,
    )
    .prop_map(String::from_iter)
}

/// Maximum of counts and times: JSON numbers up to this size are read back exactly.
const MOST: u64 = 1 << 53;

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), 0.0..1e15, 0.0..100.0]
}

fn ascending() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..100.0f64, 0..5).prop_map(|mut percentiles| {
        percentiles.sort_by(f64::total_cmp);
        percentiles
    })
}

prop_compose! {
    fn direction()(
        io_bytes in 0..MOST >> 10, issued in 0u64..1 << 40, total_ios in 0u64..1 << 40, runtime_ms in prop_oneof![Just(0u64), 0..MOST],
        values in prop::collection::vec(any::<u64>(), 0..20), mean in float(), squared_distances in float(),
        samples in 0u64..1 << 40,
    ) -> DirectionReport {
        // The sums of real latencies fit into 64 bits, so the formats need not handle larger ones.
        let latency = recorded(values.into_iter().map(|value| value >> 11));
        DirectionReport {
            io_bytes, issued, total_ios, runtime_ms,
            slat: latency.clone(), clat: latency.clone(), lat: latency,
            bw: SampleStats { samples, min: 1, max: 2, mean, squared_distances },
            ..Default::default()
        }
    }
}

prop_compose! {
    fn job()(
        name in text(), description in prop::option::of(text()), option in (text(), text()), error in prop::option::of((any::<i32>(), text())),
        read in direction(), write in direction(), user_us in 0..MOST, runtime_total_ms in prop_oneof![Just(0u64), 0..MOST],
        depth_map in any::<[u32; DEPTH_BUCKETS]>(), percentile in float(), kb_base in any::<u32>(), figures in any::<u32>(),
        percentiles in ascending(), unified in 0..3,
    ) -> JobReport {
        JobReport {
            name, description,
            clones: 1,
            options: vec![option],
            error: error.map(|(code, text)| JobError { code, text }),
            directions: PerDirection::new([read, write, DirectionReport::default()]),
            runtime_total_ms,
            cpu: CpuReport { user_us, ..Default::default() },
            depth_map: depth_map.map(u64::from),
            latency_goal: LatencyGoal { percentile, ..Default::default() },
            view: ViewOptions {
                kb_base, significant_figures: figures, percentiles,
                unified: [UnifiedReporting::Apart, UnifiedReporting::Mixed, UnifiedReporting::Both][unified as usize],
                ..Default::default()
            },
            ..Default::default()
        }
    }
}

fn check_latency(
    value: &Value,
    stats: &LatencyStats,
    job: &JobReport,
    with_bins: bool,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(value["min"].as_u64(), Some(stats.min_ns));
    prop_assert_eq!(value["max"].as_u64(), Some(stats.max_ns));
    prop_assert_eq!(value["N"].as_u64(), Some(stats.count));
    prop_assert!(
        (value["mean"].as_f64().unwrap_or(f64::NAN) - stats.mean_ns()).abs()
            <= 1e-6 + stats.mean_ns() * 1e-12
    );
    let beyond = Some(stats.histogram.beyond_range).filter(|&count| count > 0);
    prop_assert_eq!(value["beyond_range"].as_u64(), beyond);
    if stats.count == 0 {
        return Ok(());
    }
    for (percentile, expected) in
        job.view.percentiles.iter().zip(stats.histogram.percentiles(&job.view.percentiles))
    {
        // Percentiles that are equal to six decimals share one key.
        let shown = value["percentile"][format!("{percentile:.6}")].as_u64();
        let alike = job
            .view
            .percentiles
            .iter()
            .filter(|other| format!("{other:.6}") == format!("{percentile:.6}"))
            .count();
        prop_assert!(alike > 1 || shown == Some(expected));
    }
    prop_assert_eq!(value["bins"].is_object(), with_bins);
    if with_bins {
        let bins = value["bins"].as_object().into_iter().flatten();
        prop_assert_eq!(bins.filter_map(|(_, count)| count.as_u64()).sum::<u64>(), stats.count);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_format_takes_every_report(job in job(), note in text(), timestamp_ms in 0..MOST) {
        let report = RunReport {
            groups: vec![GroupReport::from_clones(0, [&job].into_iter())],
            jobs: vec![job],
            version: "fio-3.42".into(),
            notes: vec![note],
            timestamp_ms,
            ..Default::default()
        };
        support::check_readable(&report);
        for format in fathom_report::FORMATS {
            let mut bytes = Vec::new();
            format.write(&report, &mut bytes).expect("memory takes everything");
            let text = String::from_utf8(bytes).expect("reports are text");
            if !format.name().starts_with("json") {
                continue;
            }
            let value: Value = serde_json::from_str(&text)
                .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
            prop_assert_eq!(value["jobs"][0]["jobname"].as_str(), Some(report.jobs[0].name.as_str()));
            prop_assert_eq!(value["fathom notes"][0].as_str(), Some(report.notes[0].as_str()));
        }
    }

    /// Figures that a program reads back equal those of the report, and histograms add up.
    #[test]
    fn figures_survive_json(mut job in job(), beyond in 0u64..3) {
        job.view.unified = UnifiedReporting::Apart;
        for _ in 0..beyond {
            job.directions[Direction::Read].clat.record(RANGE_END_NS + 1);
        }
        let report = RunReport {
            groups: vec![GroupReport::from_clones(0, [&job].into_iter())],
            jobs: vec![job],
            version: "fio-3.42".into(),
            ..Default::default()
        };
        let job = &report.jobs[0];
        for name in ["json", "json+", "jsonl"] {
            let mut bytes = Vec::new();
            fathom_report::by_name(name).expect("known").write(&report, &mut bytes).expect("memory takes everything");
            let value: Value = serde_json::from_slice(&bytes).expect("valid JSON");
            for (key, direction) in ["read", "write", "trim"].iter().zip(job.directions.values()) {
                let read = &value["jobs"][0][key];
                prop_assert_eq!(read["io_bytes"].as_u64(), Some(direction.io_bytes));
                prop_assert_eq!(read["total_ios"].as_u64(), Some(direction.issued.max(direction.total_ios)));
                prop_assert_eq!(read["runtime"].as_u64(), Some(direction.runtime_ms));
                prop_assert_eq!(read["bw_bytes"].as_u64(), Some(direction.bytes_per_second()));
                check_latency(&read["clat_ns"], &direction.clat, job, name != "json")?;
            }
            prop_assert_eq!(value["jobs"][0]["jobname"].as_str(), Some(job.name.as_str()));
            prop_assert_eq!(value["jobs"][0]["desc"].as_str(), job.description.as_deref());
            let error = job.error.as_ref().map_or(0, |error| i64::from(error.code));
            prop_assert_eq!(value["jobs"][0]["error"].as_i64(), Some(error));
        }
    }

    #[test]
    fn shares_are_numbers(mut job in job()) {
        job.name = "j".into();
        job.description = None;
        job.error = None;
        job.latency_goal.percentile = 100.0;
        for direction in job.directions.values_mut() {
            direction.bw = SampleStats::default();
        }
        let report = RunReport { jobs: vec![job], ..Default::default() };
        let mut bytes = Vec::new();
        fathom_report::by_name("normal").expect("known").write(&report, &mut bytes).expect("memory takes everything");
        let text = String::from_utf8(bytes).expect("text");
        prop_assert!(!text.contains("NaN") && !text.contains("=inf"), "{}", text);
    }
}
