//! Extreme values: a run either works or ends with a message, even if the values are added to others.

use crate::support::program::Launch;
use crate::support::scratch;

const VALUES: [&str; 7] = [
    "18446744073709551615",
    "9223372036854775807",
    "9223372036854771712",
    "18446744074",
    "4294967296",
    "4294967295",
    "0",
];

/// Options whose values are added to, multiplied by, or used as counts of others.
const OPTIONS: [&str; 26] = [
    "size",
    "filesize",
    "io_size",
    "offset",
    "offset_increment",
    "offset_align",
    "bs",
    "ba",
    "bsrange",
    "number_ios",
    "nrfiles",
    "numjobs",
    "loops",
    "runtime",
    "ramp_time",
    "rate",
    "rate_iops",
    "rate_min",
    "ratecycle",
    "max_latency",
    "latency_window",
    "zonesize",
    "zonerange",
    "zoneskip",
    "thinktime_blocks",
    "verify_interval",
];

#[test]
fn no_value_overflows() {
    for option in OPTIONS {
        for value in VALUES {
            for job in
                ["--ioengine=null --numjobs=2", "--ioengine=psync --rw=randrw --verify=md5 --parse-only"]
            {
                let directory = scratch();
                let words = format!(
                    "--output-format=json --name=a --rw=randread --bs=4k --size=64k --runtime=2 {job} --number_ios=3 \
                     --{option}={value}"
                );
                let finished = Launch::fathom(directory.path()).words(&words).run();
                assert!(matches!(finished.code(), 0..=2), "{words}: {finished:?}");
                let all = format!("{}{}", finished.stdout, finished.stderr);
                for bad in ["internal error", "panicked", "got signal", "allocation"] {
                    assert!(!all.contains(bad), "{words}: {all}");
                }
                assert!(
                    finished.code() == 0 || all.lines().any(|line| line.len() > 20),
                    "{words}: no reason"
                );
            }
        }
    }
}

/// A time that overflows 64 bits of nanoseconds is long, not short.
#[test]
fn an_endless_run_goes_on() {
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=64k --time_based --runtime=18446744074 --status-interval=1";
    let mut running = Launch::fathom(directory.path()).words(words).start();
    running.wait_for_output(|text| text.contains("Run status group"));
    running.signal("INT");
    assert_eq!(running.finish().code(), 128);
}

/// Neither checking nor refusing a job allocates memory for each clone.
#[test]
fn clones_are_counted_before_they_are_made() {
    let directory = scratch();
    for (words, code) in [
        ("--parse-only --numjobs=4294967295", 0),
        ("--parse-only --numjobs=1000000", 0),
        ("--numjobs=4294967295", 1),
        ("--numjobs=4097", 1),
    ] {
        let program = crate::support::program::path();
        let limited = Launch::of(std::path::Path::new("sh"), directory.path())
            .argument("-c")
            .argument(format!("ulimit -v 300000 && exec {} --name=a --size=4k {words}", program.display()))
            .run();
        assert_eq!(limited.code(), code, "{words}: {limited:?}");
        assert_eq!(limited.stderr.contains("at most 4096 in the whole run"), code == 1, "{words}");
    }
}
