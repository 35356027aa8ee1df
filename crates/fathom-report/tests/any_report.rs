//! Whatever a report holds, the formats write it: JSON parses, and no share is "not a number".

mod support;

use fathom_stats::report::*;
use fathom_stats::series::SampleStats;
use proptest::prelude::*;
use support::recorded;

fn text() -> impl Strategy<Value = String> {
    // Quotes, backslashes, control characters, a little of everything else.
    prop::collection::vec(
        prop_oneof![Just('"'), Just('\\'), (0u8..32).prop_map(char::from), any::<char>()],
        0..12,
    )
    .prop_map(String::from_iter)
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), any::<f64>(), 0.0..100.0]
}

prop_compose! {
    fn direction()(
        io_bytes in 0u64..1 << 60, issued in 0u64..1 << 40, total_ios in 0u64..1 << 40, runtime_ms in prop_oneof![Just(0u64), any::<u64>()],
        values in prop::collection::vec(any::<u64>(), 0..20), mean in float(), squared_distances in float(),
        samples in 0u64..1 << 40,
    ) -> DirectionReport {
        // Sums of real latencies fit; what does not fit is not the formats' business.
        let latency = recorded(values.into_iter().map(|value| value >> 8));
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
        read in direction(), write in direction(), user_us in any::<u64>(), runtime_total_ms in prop_oneof![Just(0u64), any::<u64>()],
        depth_map in any::<[u32; DEPTH_BUCKETS]>(), percentile in float(), kb_base in any::<u32>(), figures in any::<u32>(),
        percentiles in prop::collection::vec(0.0..100.0f64, 0..5), unified in 0..3,
    ) -> JobReport {
        JobReport {
            name, description,
            clones: 1,
            options: vec![option],
            error: error.map(|(code, text)| JobError { code, text }),
            directions: [read, write, DirectionReport::default()],
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_format_takes_every_report(job in job(), note in text(), timestamp_ms in any::<u64>()) {
        let report = RunReport {
            groups: vec![GroupReport::from_clones(0, [&job].into_iter())],
            jobs: vec![job],
            notes: vec![note],
            timestamp_ms,
            ..Default::default()
        };
        for format in fathom_report::FORMATS {
            let mut bytes = Vec::new();
            format.write(&report, &mut bytes).expect("memory takes everything");
            let text = String::from_utf8(bytes).expect("reports are text");
            if !format.name().starts_with("json") {
                continue;
            }
            let value: serde_json::Value = serde_json::from_str(&text)
                .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
            prop_assert_eq!(value["jobs"][0]["jobname"].as_str(), Some(report.jobs[0].name.as_str()));
            prop_assert_eq!(value["fathom notes"][0].as_str(), Some(report.notes[0].as_str()));
        }
    }

    #[test]
    fn shares_are_numbers(mut job in job()) {
        job.name = "j".into();
        job.description = None;
        job.error = None;
        job.latency_goal.percentile = 100.0;
        for direction in &mut job.directions {
            direction.bw = SampleStats::default();
        }
        let report = RunReport { jobs: vec![job], ..Default::default() };
        let mut bytes = Vec::new();
        fathom_report::by_name("normal").expect("known").write(&report, &mut bytes).expect("memory takes everything");
        let text = String::from_utf8(bytes).expect("text");
        prop_assert!(!text.contains("NaN") && !text.contains("=inf"), "{}", text);
    }
}
