//! Members that `quick` adds to a result, so that they stay with the figures: its tests, their settings, and
//! the doubts.

use super::doubts::Doubts;
use super::grid::{GridTest, Setting, TESTS};
use super::test_line::{BYTES_PER_SECOND, TestLine};
use crate::evidence::Evidence;
use crate::figures;
use fathom_command::Failure;
use fathom_results::RunResult;
use fathom_results::model::{QuickDoubt, QuickResult, QuickTest};

/// The members for a result.
pub(super) fn of(run: &RunResult, setting: &Setting, place: String) -> QuickResult {
    let (evidence, all_doubts) = (Evidence::all(run), Doubts::of(run));
    let mut done = 0;
    let mut record = |test: &GridTest| {
        let found = evidence.iter().find(|evidence| evidence.job.name == test.name);
        let found = found.filter(|evidence| evidence.job.directions()[test.direction].is_some());
        done += usize::from(found.is_some());
        let doubts: Vec<QuickDoubt> = found.map(|_| all_doubts.of_test(test)).unwrap_or_default();
        QuickTest {
            jobname: test.name.to_owned(),
            direction: test.direction_name().to_owned(),
            random: test.is_random,
            block_size: test.block_size.to_owned(),
            depth: test.depth,
            doubts,
        }
    };
    let tests: Vec<QuickTest> = TESTS.iter().map(&mut record).collect();
    let mut doubts = if evidence.is_empty() { Vec::new() } else { all_doubts.of_run(run, setting.direct) };
    if done < tests.len() {
        let early = format!(
            "stopped early: {done} of {} tests have figures, the last one from a shorter time",
            tests.len()
        );
        doubts.insert(0, early);
    }
    QuickResult {
        place,
        file_bytes: setting.size,
        engine: setting.engine.to_owned(),
        direct: setting.direct,
        time_ms: setting.time.as_millis() as u64,
        doubts,
        tests,
    }
}

/// The combined evaluation of several runs, with each doubt once, in its most serious form.
pub(super) fn of_all(runs: &[QuickResult]) -> QuickResult {
    let mut all = runs.first().cloned().unwrap_or_default();
    for run in runs.iter().skip(1) {
        for (test, other) in all.tests.iter_mut().zip(&run.tests) {
            other.doubts.iter().for_each(|doubt| add(&mut test.doubts, doubt));
        }
        for doubt in &run.doubts {
            if !all.doubts.iter().any(|known| without_digits(known) == without_digits(doubt)) {
                all.doubts.push(doubt.clone());
            }
        }
    }
    all
}

/// Code of the doubt about a test whose runs differ too much.
pub(super) const SCATTER: &str = "runs-differ";
/// Maximum excess of a test's fastest run over its slowest one, as a share of the median.
const MOST_SCATTER: f64 = 0.25;

/// Adds a doubt to each test whose runs differ too much.
pub(super) fn add_scatter(quick: &mut QuickResult, runs: &[RunResult]) {
    for test in &mut quick.tests {
        let line = TestLine::of(test, runs);
        let Some((low, high, median)) = line.range(BYTES_PER_SECOND) else { continue };
        let spread = (high - low) / median;
        if spread.is_finite() && spread > MOST_SCATTER {
            let [low, high] = [low, high].map(|rate| figures::three_figures(rate / 1e6));
            let text = format!(
                "the runs differ: {low} to {high} MB/s; use a longer --time, and find out what else uses the disk or the machine"
            );
            test.doubts.push(QuickDoubt { kind: SCATTER.to_owned(), weight: spread, text });
        }
    }
}

fn add(doubts: &mut Vec<QuickDoubt>, doubt: &QuickDoubt) {
    match doubts.iter_mut().find(|known| known.kind == doubt.kind) {
        Some(known) if known.weight >= doubt.weight => {}
        Some(known) => *known = doubt.clone(),
        None => doubts.push(doubt.clone()),
    }
}

/// The text of a doubt without its figures, which differ between runs. Doubts about a whole run have no kind,
/// so they are compared by this text.
fn without_digits(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// Appends a member to the document; the other members stay as they were printed.
pub(super) fn with_quick(document: &str, quick: &QuickResult) -> Result<String, Failure> {
    let broken = |what: String| Failure::new(format!("cannot write the result: {what}"));
    let added = serde_json::to_string_pretty(quick).map_err(|error| broken(error.to_string()))?;
    let added = added.replace('\n', "\n  ");
    let end =
        document.trim_end().strip_suffix('}').ok_or_else(|| broken("it is not an object".to_owned()))?;
    Ok(format!("{},\n  \"fathom quick\" : {added}\n}}\n", end.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_of_several_runs_are_told_once() {
        let run = |weight: f64, doubt: &str| {
            let doubts = vec![QuickDoubt { kind: "wait".into(), weight, text: format!("{weight} %") }];
            let tests = vec![QuickTest { doubts, ..QuickTest::default() }, QuickTest::default()];
            QuickResult { tests, doubts: vec![doubt.into()], ..QuickResult::default() }
        };
        let all = of_all(&[run(2.0, "5 % by others"), run(7.0, "31 % by others"), run(3.0, "swapped")]);
        let texts = |test: &QuickTest| test.doubts.iter().map(|doubt| doubt.text.clone()).collect::<Vec<_>>();
        assert_eq!((texts(&all.tests[0]), texts(&all.tests[1])), (vec!["7 %".to_owned()], vec![]));
        assert_eq!(all.doubts, ["5 % by others", "swapped"]);
    }

    #[test]
    fn doubts_travel_with_the_result() {
        let document = "{\n  \"fio version\" : \"fio-3.42\",\n  \"jobs\" : []\n}\n";
        let doubt = QuickDoubt { kind: "depth".into(), weight: 2.0, text: "a \"b\"".into() };
        let tests = vec![QuickTest { jobname: "t".into(), doubts: vec![doubt], ..QuickTest::default() }];
        let quick =
            QuickResult { place: "/x".into(), tests, doubts: vec!["c".into()], ..QuickResult::default() };
        let text = with_quick(document, &quick).expect("an object");
        assert!(text.starts_with("{\n  \"fio version\" : \"fio-3.42\",\n"), "{text}");
        let run = fathom_results::parse(&text, "text").expect("reads");
        assert_eq!(run.quick.as_ref(), Some(&quick));
    }

    #[test]
    fn runs_that_differ_are_doubtful_and_equal_ones_are_not() {
        let run = |rate: u32| {
            let text = format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":9,"io_bytes":9,"iops":5,"bw_bytes":{rate}000000}}}}]}}"#
            );
            fathom_results::parse(&text, "text").expect("reads")
        };
        let doubts = |rates: &[u32]| {
            let test = QuickTest { jobname: "a".into(), direction: "read".into(), ..QuickTest::default() };
            let mut quick = QuickResult { tests: vec![test], ..QuickResult::default() };
            add_scatter(&mut quick, &rates.iter().map(|&rate| run(rate)).collect::<Vec<RunResult>>());
            quick.tests[0].doubts.iter().map(|doubt| doubt.text.clone()).collect::<Vec<String>>()
        };
        assert_eq!((doubts(&[100]), doubts(&[100, 101, 120])), (Vec::new(), Vec::new()));
        let told = doubts(&[100, 101, 150]);
        assert!(told.len() == 1 && told[0].starts_with("the runs differ: 100 to 150 MB/s; "), "{told:?}");
    }
}
