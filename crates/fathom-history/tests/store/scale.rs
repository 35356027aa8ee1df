//! How fast a large history is. The figures are in docs/history.md.

use crate::{made, sqlite};
use fathom_history::{Access, Condition, FigureName, Store};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Number of runs without `FATHOM_RUNS`.
const USUAL: u64 = 200;

/// Limits on the medians, with 100,000 runs.
const ADD: Duration = Duration::from_millis(50);
const LIST: Duration = Duration::from_millis(200);
const SERIES: Duration = Duration::from_secs(1);

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

/// `FATHOM_RUNS=100000` makes the figures of docs/history.md. `FATHOM_HISTORY_FILE` names a file, which is kept.
#[test]
fn a_large_history_is_fast() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let runs: u64 = number("FATHOM_RUNS").unwrap_or(USUAL);
    let scratch = tempfile::tempdir().expect("a directory");
    let path = std::env::var_os("FATHOM_HISTORY_FILE")
        .map_or_else(|| scratch.path().join("history.db"), PathBuf::from);
    let mut store = Store::open(&sqlite::place(&path), Access::Write).expect("opens");
    let have = store.list(&[], 1, 0).expect("listed").total;
    let (filled, ()) = timed(|| {
        (have..runs).for_each(|number| {
            store.add(&made::record(number)).expect("added");
        });
    });
    let added: Vec<Duration> = (0..50)
        .map(|number| timed(|| store.add(&made::record(runs.max(have) + number)).expect("added")).0)
        .collect();
    let again = |work: &mut dyn FnMut(&mut Store)| -> Vec<Duration> {
        (0..7)
            .map(|_| timed(|| work(&mut Store::open(&sqlite::place(&path), Access::Read).expect("opens"))).0)
            .collect()
    };
    let where_of = |text: &str| [Condition::parse(text).expect("a condition")];
    let first = again(&mut |store| assert_eq!(store.list(&[], 50, 0).expect("listed").runs.len(), 50));
    let of_host = again(&mut |store| {
        assert!(store.list(&where_of("host=lab3"), 50, 0).expect("listed").runs.len() >= 20)
    });
    let deep = again(&mut |store| drop(store.list(&[], 50, runs / 2).expect("listed")));
    let of_kernel = where_of("kernel=Linux 6.12.0");
    let series = |name: &str, conditions: &[Condition]| {
        let figure = FigureName::parse(name).expect("a figure");
        let mut points = 0;
        let times = again(&mut |store| {
            points =
                store.series(&figure, conditions).expect("read").iter().map(|one| one.points.len()).sum();
        });
        (median(times), points)
    };
    let (p99, of_p99) = series("p99", &of_kernel);
    let (iops, of_iops) = series("iops", &of_kernel);
    let (all, of_all) = series("iops", &[]);
    let size = std::fs::metadata(&path).expect("there").len();
    println!("{runs} runs, {size} bytes; {} were added in {filled:?}", runs.saturating_sub(have));
    println!("add {:?}, slowest {:?}", median(added.clone()), added.iter().max());
    println!(
        "list {:?}, of a host {:?}, from the middle {:?}",
        median(first.clone()),
        median(of_host.clone()),
        median(deep)
    );
    println!("series p99 of {of_p99}: {p99:?}, iops of {of_iops}: {iops:?}, iops of {of_all}: {all:?}");
    // Only a measurement has limits: a test may run on a machine that is busy with others.
    if number("FATHOM_RUNS").is_some() {
        assert!(median(added) < ADD && median(first) < LIST && median(of_host) < LIST);
        assert!(p99 < SERIES && iops < SERIES);
    }
}
