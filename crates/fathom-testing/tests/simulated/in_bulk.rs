//! Random jobs on random devices, with a configurable number of I/Os and every assertion of the run loop.

use crate::drawn::{awkward_device, failing_device, job, sound_device};
use crate::run_loop::{check_ends, check_slots};
use fathom_testing::run::run;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Number of I/Os simulated in `make test`; `make soak` requests more.
const USUAL: u64 = 100_000;

/// Environment variable with the number of I/Os.
const COUNT: &str = "FATHOM_SIMULATED_IOS";

#[test]
fn no_random_job_breaks_an_invariant() {
    let asked =
        std::env::var(COUNT).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{COUNT}={text}")));
    let wanted: u64 = asked.unwrap_or(USUAL);
    let devices = prop_oneof![sound_device(), awkward_device(), failing_device()];
    let jobs =
        (job(), devices, prop_oneof![Just(""), Just("--continue_on_error=all"), Just("--verify=crc32c")]);
    // A small number uses fixed seeds, so that failures can be reproduced. In bulk, seeds vary.
    let mut runner = match asked {
        None => TestRunner::deterministic(),
        Some(_) => TestRunner::default(),
    };
    let (mut done, mut runs) = (0, 0u64);
    while done < wanted {
        let tree = jobs.new_tree(&mut runner).unwrap_or_else(|reason| panic!("no job is drawn: {reason}"));
        let (words, device, more) = tree.current();
        // Verifying reads restrict the options that can be combined with them.
        let more = if more.contains("verify") && !fits_verify(&words) { "" } else { more };
        let words = format!("{words} {more}");
        let shown = format!("{words}\n{device:?}");
        let ended = std::panic::catch_unwind(|| run(&words, device));
        let run =
            ended.unwrap_or_else(|payload| panic!("{}\n{shown}", fathom_run::invariant::text_of(&*payload)));
        check_ends(&run);
        check_slots(&run);
        done += run.record.served.len() as u64;
        runs += 1;
    }
    tell(runs, done);
}

fn fits_verify(words: &str) -> bool {
    words.contains("--rw=write ") && words.contains("--bs=4k ") && !words.contains("norandommap")
}

/// A summary for users who run this test individually.
#[allow(clippy::print_stderr)]
fn tell(runs: u64, ios: u64) {
    eprintln!("{ios} I/Os of {runs} jobs");
}
