//! What a job's engine observed of its server: connections, responses, times. Only results of fathom contain
//! these figures.

use super::Evidence;
use crate::figures;
use fathom_results::LatencyResult;
use fathom_spec::engines::EngineDef;

impl Evidence<'_> {
    /// True if the job's data is on a server that the engine talks to directly.
    pub(crate) fn is_on_server(&self) -> bool {
        self.asked.definition.is_some_and(EngineDef::is_remote)
    }

    /// Sentences about the counts and times that the engine reports; none for other engines.
    pub(crate) fn told_by_engine(&self) -> Vec<String> {
        let engine = &self.job.engine;
        let counted: Vec<String> =
            engine.counts.iter().map(|(name, count)| format!("{name}: {}", figures::count(*count))).collect();
        let timed: Vec<String> = engine.times.iter().map(|(name, times)| time(name, times)).collect();
        let line = |what: &str, list: Vec<String>| {
            (!list.is_empty())
                .then(|| format!("{what} by the engine {}: {}.", self.asked.engine, list.join("; ")))
        };
        line("Counted", counted).into_iter().chain(line("Timed", timed)).collect()
    }

    /// Percentage of the response time until the first byte, for engines that measure it.
    pub(crate) fn share_of_first_byte(&self) -> Option<String> {
        let times = &self.job.engine.times;
        let (first, whole) = (times.get("first byte")?, times.get("get")?);
        (whole.mean_ns > 0.0 && first.count >= whole.count && whole.count > 0).then(|| {
            format!(
                "An answer took {} on average, of which {} passed before its first byte: that is the server's \
                processing and the round trip; the rest is the transfer.",
                figures::duration(whole.mean_ns),
                figures::duration(first.mean_ns.min(whole.mean_ns))
            )
        })
    }
}

/// A phrase such as `get 342 µs on average, p99 1.20 ms, of 64`.
fn time(name: &str, times: &LatencyResult) -> String {
    let tail = times.percentile(99.0);
    let tail = tail.map_or(String::new(), |ns| format!(", p99 {}", figures::duration(ns)));
    format!(
        "{name} {} on average{tail}, {} at most, of {}",
        figures::duration(times.mean_ns),
        figures::duration(times.max_ns),
        figures::count(times.count as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_counted_is_told() {
        let text = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"a","job options":{"ioengine":"http"},"read":{"total_ios":64},
            "fathom engine":{"counts":{"connections":4,"status 206":64},"times_ns":{
            "get":{"max":9000000,"mean":2000000.0,"N":64,"percentile":{"50.000000":1,"99.000000":8000000}},
            "first byte":{"max":8000000,"mean":1500000.0,"N":64}}}}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let evidence = Evidence::of(&run, 0);
        assert!(evidence.is_on_server());
        assert_eq!(
            evidence.told_by_engine(),
            [
                "Counted by the engine http: connections: 4; status 206: 64.",
                "Timed by the engine http: first byte 1.50 ms on average, 8.00 ms at most, of 64; get 2.00 ms on average, p99 8.00 ms, \
                 9.00 ms at most, of 64."
            ]
        );
        assert!(
            evidence.share_of_first_byte().expect("both").contains("2.00 ms on average, of which 1.50 ms")
        );
        let plain = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"a","read":{"total_ios":64}}]}"#;
        let run = fathom_results::parse(plain, "text").expect("reads");
        assert_eq!(Evidence::of(&run, 0).told_by_engine(), [""; 0]);
        assert!(!Evidence::of(&run, 0).is_on_server());
    }
}
