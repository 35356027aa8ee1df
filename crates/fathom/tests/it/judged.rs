//! The verdict on runs with a known fault: the fault is found, and the same run without it gets no such
//! finding. Faults that need years, heat or a broken clock are tested next to each check.

use crate::support::devices::{LoopDevice, Mounted, Throttle, statistics};
use crate::support::program::{Finished, Launch, Running};
use crate::support::{MIB, json, scratch, skip, wait_until};
use serde_json::Value;
use std::path::Path;

/// Number of attempts before a situation counts as misjudged, because other load on the machine may interfere.
pub(crate) const TRIES: usize = 4;
/// Long enough for most checks.
const TIME: &str = "--time_based --runtime=400ms";

/// The verdict in a run's JSON.
#[track_caller]
fn verdict_of(directory: &Path, words: &str) -> Value {
    let words = format!("--output-format=json --output=result.json {words}");
    Launch::fathom(directory).words(&words).run();
    let text = std::fs::read_to_string(directory.join("result.json")).expect("a result");
    json::document(&text)["fathom verdict"].clone()
}

/// The severity of a check's finding.
pub(crate) fn found(verdict: &Value, code: &str) -> Option<String> {
    let findings = verdict["findings"].as_array().expect("a list of findings");
    let own = findings.iter().find(|finding| finding["code"] == code)?;
    assert!(own["text"].as_str().is_some_and(|text| !text.is_empty()), "{own}");
    Some(own["severity"].as_str().expect("a severity").to_owned())
}

/// True if the check has this finding in one of a few runs.
#[track_caller]
pub(crate) fn finds(directory: &Path, words: &str, code: &str, severity: Option<&str>) -> Value {
    let mut last = Value::Null;
    for _ in 0..TRIES {
        last = verdict_of(directory, words);
        if found(&last, code).as_deref() == severity {
            return last;
        }
    }
    panic!("{words}: {code} is not {severity:?} in {last:#}")
}

fn fathom(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(words).run()
}

#[test]
fn what_the_device_did_not_do_is_seen() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 64 * MIB));
    let place = mounted.path();
    let job =
        |more: &str| format!("--name=a --size=8m --bs=64k --rw=randread --ioengine=psync {TIME} {more}");
    // Served by the page cache.
    let written = job("--filename=written --invalidate=0 --pre_read=1");
    let cached = finds(place, &written, "reads-missing", Some("doubtful"));
    assert_eq!(cached["verdict"], "doubtful", "{cached}");
    assert_eq!(found(&cached, "fits-in-memory").as_deref(), Some("note"));
    finds(place, &job("--filename=written --direct=1"), "reads-missing", None);
    // These blocks were never written.
    let holes = std::fs::File::create(place.join("holes")).expect("a file");
    holes.set_len(8 * MIB).expect("room");
    let verdict = finds(place, &job("--filename=holes --direct=1"), "reads-missing", Some("wrong"));
    assert_eq!(
        (&verdict["verdict"], verdict["wrong"].as_u64()),
        (&Value::from("wrong"), Some(1)),
        "{verdict}"
    );
    // Data written to memory has not reached the device.
    finds(place, &job("--filename=written --rw=randwrite"), "writes-missing", Some("doubtful"));
    finds(place, &job("--filename=written --rw=randwrite --direct=1"), "writes-missing", None);
}

#[test]
fn the_exit_status_says_what_the_verdict_is() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 64 * MIB));
    let place = mounted.path();
    let holes = std::fs::File::create(place.join("holes")).expect("a file");
    holes.set_len(8 * MIB).expect("room");
    let job = |file: &str| {
        format!(
            "--name=a --filename={file} --size=8m --bs=64k --rw=randread --ioengine=psync --direct=1 {TIME}"
        )
    };
    let refused = fathom(place, &format!("--verdict --require=sound {}", job("holes")));
    assert_eq!(refused.code(), 125, "{}", refused.stderr);
    assert!(refused.stdout.contains("\nVerdict: wrong, do not use these figures"), "{}", refused.stdout);
    assert!(refused.stderr.starts_with("fathom: --require=sound is not met: wrong"), "{}", refused.stderr);
    assert!(refused.stderr.contains("reads-missing: a: the jobs' reads moved"), "{}", refused.stderr);
    let sound = fathom(place, &format!("--require=sound {}", job("written"))).expect_clean();
    assert!(!sound.stdout.contains("Verdict"), "nothing changes unless it is asked for: {}", sound.stdout);
    // A short run is sound, but doubtful.
    let doubtful = fathom(place, &format!("--require=no-doubts {}", job("written")));
    assert_eq!(doubtful.code(), 125, "{}", doubtful.stderr);
    assert!(doubtful.stderr.contains("short: a: it ran for only"), "{}", doubtful.stderr);
    // Machine-readable output ends with its document, and a failed job has its own code.
    let both = fathom(place, &format!("--verdict --output-format=json {}", job("written")));
    assert!(both.stderr.starts_with("Verdict: ") && both.stdout.trim_end().ends_with('}'), "{}", both.stdout);
    let failed = fathom(
        place,
        "--verdict --require=sound --name=a --filename=missing --rw=read --size=4k --allow_file_create=0",
    );
    assert_eq!(failed.code(), 1, "{}", failed.stderr);
    let unknown = fathom(place, "--require=perfection --name=a --ioengine=null --size=4k");
    assert_eq!(unknown.code(), 1);
    assert!(
        unknown.stderr.contains("--require") && unknown.stderr.contains("expected sound or no-doubts"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn jobs_without_storage_have_no_verdict_to_fear() {
    fathom_only!();
    let directory = scratch();
    for job in [
        "--ioengine=null --size=1g --iodepth=8 --rw=randrw --time_based --runtime=300ms",
        "--ioengine=null --size=1g --rw=read --rate_iops=100000000 --time_based --runtime=300ms",
        "--ioengine=cpuio --cpuload=20 --time_based --runtime=300ms",
    ] {
        let verdict = verdict_of(directory.path(), &format!("--name=a {job}"));
        assert_eq!(verdict["findings"], Value::Array(Vec::new()), "{job}: {verdict}");
    }
    let document = std::fs::read_to_string(directory.path().join("result.json")).expect("a result");
    let document = json::document(&document);
    let facts = &document["fathom facts"];
    assert!(facts["looks"].as_u64().is_some_and(|looks| looks >= 2), "{facts}");
    assert!(facts["span_ms"].as_u64().is_some_and(|ms| ms >= 300), "{facts}");
    assert!(facts["clock"]["drift_ppm"].as_f64().is_some_and(|ppm| ppm.abs() < 10_000.0), "{facts}");
}

#[test]
fn what_the_job_asks_for_and_does_not_get_is_seen() {
    fathom_only!();
    let device = require!(LoopDevice::new(16 * MIB));
    let directory = scratch();
    let judged = |more: &str, code: &str, severity: Option<&str>| {
        let words = format!(
            "--name=a --filename={} --size=8m --bs=4k --rw=randread --direct=1 {more}",
            device.path().display()
        );
        finds(directory.path(), &words, code, severity);
    };
    judged(&format!("--ioengine=psync --iodepth=32 {TIME}"), "no-effect", Some("doubtful"));
    judged(&format!("--ioengine=libaio --iodepth=32 {TIME}"), "no-effect", None);
    let rate = |rate: u32| format!("--ioengine=psync --rate_iops={rate} --time_based --runtime=600ms");
    judged(&rate(50_000_000), "rate-missed", Some("doubtful"));
    judged(&rate(200), "rate-missed", None);
    judged(
        "--ioengine=libaio --iodepth=4 --thinktime=1ms --time_based --runtime=500ms",
        "depth",
        Some("note"),
    );
    judged(&format!("--ioengine=psync {TIME}"), "short", Some("doubtful"));
    judged("--ioengine=psync --time_based --runtime=1", "short", None);
}

#[test]
fn what_was_trimmed_is_not_read() {
    fathom_only!();
    let device = require!(LoopDevice::new(16 * MIB));
    let directory = scratch();
    let all =
        format!("--filename={} --size=8m --bs=64k --direct=1 --ioengine=psync", device.path().display());
    let reader = "--name=reader --stonewall --rw=read";
    finds(directory.path(), &format!("{all} --name=trimmer --rw=trim {reader}"), "trimmed", Some("doubtful"));
    finds(directory.path(), &format!("{all} --name=writer --rw=write {reader}"), "trimmed", None);
}

/// A program that continuously writes to a part of the device.
fn hammer(directory: &Path, device: &Path) -> Running {
    let words = format!(
        "--name=other --filename={} --offset=32m --size=16m --rw=write --bs=256k --direct=1 --ioengine=libaio --iodepth=8 \
         --time_based --runtime=600 --eta=never",
        device.display()
    );
    Launch::fathom(directory).words(&words).start()
}

#[test]
fn what_others_do_to_the_device_is_seen() {
    fathom_only!();
    let device = require!(LoopDevice::new(64 * MIB));
    let (directory, elsewhere) = (scratch(), scratch());
    let job = format!(
        "--name=a --filename={} --size=16m --rw=randread --bs=4k --direct=1 --ioengine=psync {TIME}",
        device.path().display()
    );
    finds(directory.path(), &job, "other-io", None);
    let _other = hammer(elsewhere.path(), device.path());
    finds(directory.path(), &job, "other-io", Some("doubtful"));
}

/// A limit that takes effect during the job behaves like a volume that has used up its burst credit.
#[test]
fn a_credit_that_is_used_up_is_seen() {
    fathom_only!();
    require!(skip::root());
    let device = require!(LoopDevice::new(64 * MIB));
    let directory = scratch();
    let job = format!(
        "--name=a --filename={} --size=16m --rw=randread --bs=64k --direct=1 --ioengine=psync --rate_iops=2000 --time_based --runtime=5 \
         --output-format=json --output=result.json",
        device.path().display()
    );
    let name = device.text().trim_start_matches("/dev/");
    let mut verdict = Value::Null;
    for _ in 0..TRIES {
        let before = statistics(name)[0];
        let running = Launch::fathom(directory.path()).words(&job).start();
        // Half of the job's time is before the limit.
        wait_until("the job reads", || statistics(name)[0] >= before + 100);
        std::thread::sleep(std::time::Duration::from_millis(2400));
        let limit = require!(Throttle::of_everybody(device.path(), "read_bps", 8 << 20));
        running.finish();
        drop(limit);
        let text = std::fs::read_to_string(directory.path().join("result.json")).expect("a result");
        verdict = json::document(&text)["fathom verdict"].clone();
        // One event has one finding.
        if (found(&verdict, "step").as_deref(), found(&verdict, "drift")) == (Some("doubtful"), None) {
            return;
        }
    }
    // If other programs use the processors all the time, the rate changes more than once, which is also reported.
    assert!(found(&verdict, "processor-wait").is_some(), "no step alone: {verdict:#}");
    fathom_skip::record("the machine was too busy for a single change of pace");
}

#[test]
fn commands_tell_the_verdict_and_compare_refuses_what_is_wrong() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 64 * MIB));
    let (place, directory) = (mounted.path(), scratch());
    std::fs::File::create(place.join("holes")).and_then(|file| file.set_len(8 * MIB)).expect("a file");
    for (name, file) in [("sound", "written"), ("wrong", "holes")] {
        let words = format!(
            "--output-format=json+ --output={}/{name}.json --name=a --filename={file} --size=8m --bs=64k --rw=randread --ioengine=psync \
             --direct=1 {TIME}",
            directory.path().display()
        );
        fathom(place, &words).expect_clean();
    }
    let tell = |words: &str| fathom(directory.path(), words);
    let flat = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let explained = flat(&tell("explain wrong.json").expect_clean().stdout);
    assert!(explained.contains("Can these figures be trusted? Verdict: wrong"), "{explained}");
    assert!(explained.contains("wrong: reads-missing: a: the jobs' reads moved"), "{explained}");
    let shown = flat(&tell("show --summary wrong.json").expect_clean().stdout);
    assert!(shown.contains("Verdict on the figures: wrong"), "{shown}");
    let page = tell("report wrong.json -o -").expect_clean().stdout;
    assert!(page.contains("Verdict on the figures") && page.contains("reads-missing: a:"), "{page}");
    let compared = tell("compare sound.json wrong.json --no-chart --fail-if=bw<-50%");
    assert_eq!(compared.code(), 1, "{}", compared.stdout);
    let text = flat(&compared.stdout);
    assert!(text.contains("a side is wrong") && text.contains("no difference is called real"), "{text}");
    let document = json::document(&tell("compare sound.json wrong.json --format=json").stdout);
    let rows = document["comparisons"].as_array().expect("a list");
    let is_refused = |row: &Value| row["verdict"] == "a side is wrong";
    assert!(!rows.is_empty() && rows.iter().all(is_refused), "{document}");
    assert!(text.contains("refused bw<-50%"), "{text}");
    assert_eq!(tell("compare sound.json sound.json --no-chart --fail-if=bw<-50%").code(), 0);
}
