//! `fathom compare` on results of real runs.

use crate::support::devices::Mounted;
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, file_of, scratch, skip};
use serde_json::Value;
use std::path::Path;

/// Runs a job `count` times, each with a result `NAME/N.json`. The rate is limited, so that it is the same on
/// every machine.
fn runs(directory: &Path, name: &str, count: u32, rate: u32) {
    std::fs::create_dir(directory.join(name)).expect("a directory");
    for number in 0..count {
        let words = format!(
            "--name=job --ioengine=null --size=1g --bs=4k --rw=randrw --rate_iops={rate},500 --runtime=1 --time_based \
             --output-format=json+ --output={name}/{number}.json"
        );
        Launch::fathom(directory).words(&words).run().expect_clean();
    }
}

fn compare(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words("compare").words(words).run()
}

/// The comparison of a figure in JSON.
fn figure<'a>(document: &'a Value, direction: &str, figure: &str) -> &'a Value {
    let all = document["comparisons"].as_array().expect("comparisons");
    let is_it = |entry: &&Value| entry["direction"] == direction && entry["figure"] == figure;
    all.iter().find(is_it).unwrap_or_else(|| panic!("no {figure}: {document}"))
}

#[test]
fn a_real_difference_is_told_from_none() {
    fathom_only!();
    let directory = scratch();
    runs(directory.path(), "before", 3, 500);
    runs(directory.path(), "after", 3, 2000);
    let text = compare(directory.path(), "before after --format=json").expect_clean().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let read = figure(&document, "read", "IOPS");
    assert_eq!((read["verdict"].as_str(), read["a_runs"].as_u64()), (Some("faster"), Some(3)), "{read}");
    let change = read["change_percent"].as_f64().expect("a number");
    assert!((150.0..500.0).contains(&change), "{read}");
    assert!(
        read["change_low"].as_f64() < Some(change) && Some(change) < read["change_high"].as_f64(),
        "{read}"
    );
    let write = figure(&document, "write", "IOPS")["change_percent"].as_f64().expect("a number");
    assert!(write.abs() < 60.0, "{document}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("rate_iops (500,500 in A, 2000,500 in B)"), "{warnings}");

    // Identical results on both sides show no difference.
    let same = compare(directory.path(), "before before --format=json").expect_clean().stdout;
    let same: Value = serde_json::from_str(&same).expect("JSON");
    // The machine that runs the tests may have other load.
    let warnings = same["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    assert_eq!(warnings.filter(|warning| !warning.contains("reflect a busy machine")).count(), 0, "{same}");
    for entry in same["comparisons"].as_array().expect("comparisons") {
        // Three runs of 500 I/Os, whose nanosecond latencies vary with the load of the machine.
        let expected: &[&str] = match entry["figure"].as_str() {
            Some("p99.9") => &["too few I/Os"],
            _ => &["not distinguishable", "too much scatter"],
        };
        assert!(expected.iter().any(|verdict| entry["verdict"] == *verdict), "{entry}");
    }
    assert_eq!(same["answer"], "No difference beyond chance in any of 2.");
    let answer = document["answer"].as_str().expect("a sentence");
    assert!(answer.contains("faster than A in ") && answer.contains("job, read (bandwidth +"), "{answer}");
}

/// A comparison claims no more than the results can show.
#[test]
fn few_ios_and_unlike_numbers_get_no_verdict() {
    fathom_only!();
    let directory = scratch();
    runs(directory.path(), "before", 3, 500);
    runs(directory.path(), "after", 3, 2000);
    let text = compare(directory.path(), "before after --format=json").expect_clean().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    for (name, verdict) in [("p99.9", "too few I/Os"), ("max lat", "unlike I/O counts")] {
        let found = figure(&document, "read", name);
        assert!(found["verdict"] == verdict && found["change_low"].is_null(), "{found}");
        assert!(found["change_percent"].is_f64(), "{found}");
    }
    let text = compare(directory.path(), "before after").expect_clean().stdout;
    // On a busy machine, the answer has more than one figure and is wrapped.
    let flat = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.starts_with("B is ") && flat.contains("faster than A in "), "{text}");
    assert!(flat.contains("at least 10 I/Os of each side were slower"), "{text}");
    let limited = Launch::fathom(directory.path()).words("compare before after");
    let finished = limited.argument("--fail-if=read.p99.9 > -100%").run();
    assert_eq!(finished.code(), 0, "{}", finished.stdout);
    assert!(
        finished.stdout.contains("undecided read.p99.9 > -100%") && finished.stdout.contains("too few I/Os"),
        "{}",
        finished.stdout
    );
}

#[test]
fn a_limit_decides_the_exit_status() {
    fathom_only!();
    let directory = scratch();
    runs(directory.path(), "before", 2, 2000);
    runs(directory.path(), "after", 2, 500);
    let code = |words: &str, limits: &[&str]| {
        let mut launch = Launch::fathom(directory.path()).words("compare").words(words);
        for limit in limits {
            launch = launch.argument("--fail-if").argument(limit);
        }
        let finished = launch.run();
        (finished.code(), finished.stdout + &finished.stderr)
    };
    let all = "before after --strict";
    for (limits, wanted) in [
        (&["read.iops < -20%"][..], 2),
        (&["job:read.iops < -20%"], 2),
        (&["read.iops < -90%"], 0),
        (&["read.iops > 5%"], 0),
        (&["read.iops < 800"], 2),
        (&["read.bw > 1GiB/s", "read.iops < 800"], 2),
        (&["other:read.iops < 800"], 1),
        (&["trim.p99 > 5%"], 1),
        (&["nonsense"], 1),
        (&["iops >= 5%"], 1),
    ] {
        let (found, output) = code(all, limits);
        assert_eq!(found, wanted, "{limits:?}: {output}");
    }
    assert!(
        code(all, &["other:read.iops < 800"]).1.contains("no job other is in both results; both have job\n")
    );
    let (found, output) = code(all, &["read.iops < -20%"]);
    assert!(found == 2 && output.contains("FAILED read.iops < -20%: job, read: -"), "{output}");
    // Bandwidths are in MB/s, as in the other commands, and in the unit of the bound next to it. The rate is
    // 500 times 4 KiB.
    for (unit, bytes) in [("MB/s", 1e6), ("MiB/s", 1_048_576.0), ("KiB/s", 1024.0)] {
        let (found, output) =
            code("before/0.json after/0.json --strict", &[&format!("read.bw < 90000{unit}")]);
        assert_eq!(found, 2, "{output}");
        let told = |mark: &str, unit: &str| -> f64 {
            let rest = output.split_once(mark).unwrap_or_else(|| panic!("{output}")).1;
            let word = rest.split_whitespace().next().expect("a figure");
            assert!(rest.trim_start().starts_with(&format!("{word} {unit}")), "{output}");
            word.parse().expect("a number")
        };
        let before = told("\n  bandwidth ", "MB/s") * 1e6;
        assert!((6e6..1e7).contains(&before), "{output}");
        let after = told("job, read: ", unit) * bytes;
        assert!((1.5e6..2.6e6).contains(&after), "{output}");
    }
    // The maximum latency of a single run has no interval, so a change of it is not tested.
    let (found, output) = code("before/0.json after/0.json", &["read.max > -100%"]);
    assert_eq!(found, 0, "{output}");
    assert!(output.contains("undecided read.max > -100%"), "{output}");
    assert_eq!(code("before/0.json after/0.json --strict", &["read.max > -100%"]).0, 2);
}

#[test]
fn text_fits_a_terminal_and_says_what_one_run_is_worth() {
    fathom_only!();
    let directory = scratch();
    runs(directory.path(), "r", 2, 800);
    let text = compare(directory.path(), "r/0.json r/1.json").expect_clean().stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("repeat the runs") && text.contains("█ both"), "{text}");
    let plain = Launch::of(Path::new("env"), directory.path())
        .argument("NO_COLOR=1")
        .argument(crate::support::program::path())
        .words("compare r/0.json r/1.json")
        .run()
        .expect_clean();
    assert!(plain.stdout.contains("# both") && !plain.stdout.contains('█'), "{}", plain.stdout);
    let sets = compare(directory.path(), "r/0.json -- r/0.json r/1.json --format=csv").expect_clean().stdout;
    assert!(
        sets.starts_with("job,direction,figure,unit,a_runs,") && sets.contains("job,read,IOPS,1/s,1,"),
        "{sets}"
    );
    let markdown = compare(directory.path(), "r/0.json r/1.json --format=markdown").expect_clean().stdout;
    assert!(markdown.contains("| job, read ") && markdown.contains("| ---"), "{markdown}");
}

#[test]
fn figures_for_github_action_benchmark() {
    fathom_only!();
    let directory = scratch();
    let job = "--name=job --ioengine=null --size=1M --rw=randrw --output-format=json+";
    for name in ["a.json", "b.json"] {
        Launch::fathom(directory.path()).words(&format!("{job} --output={name}")).run().expect_clean();
    }
    let entries = |words: &str| -> Vec<Value> {
        let text = compare(directory.path(), words).expect_clean().stdout;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let bigger = entries("a.json b.json --format=github-benchmark-bigger");
    let names: Vec<&str> = bigger.iter().filter_map(|entry| entry["name"].as_str()).collect();
    assert_eq!(
        names,
        ["job, read, bandwidth", "job, read, IOPS", "job, write, bandwidth", "job, write, IOPS"]
    );
    assert!(bigger.iter().all(|entry| entry["value"].is_f64() && entry["extra"].is_string()), "{bigger:?}");
    let smaller = entries("a.json b.json --output-format=github-benchmark-smaller");
    let p99 = smaller.iter().find(|entry| entry["name"] == "job, read, p99").expect("an entry");
    assert_eq!(p99["unit"], "ns");
    // Wrong figures are not on the page.
    let path = directory.path().join("b.json");
    let failed = std::fs::read_to_string(&path).expect("read").replacen("\"error\" : 0", "\"error\" : 5", 1);
    std::fs::write(&path, failed).expect("written");
    let finished = compare(directory.path(), "a.json b.json --format=github-benchmark-bigger");
    assert_eq!(finished.stdout, "[]\n", "{}", finished.stderr);
    assert!(
        finished.stderr.contains("job, read is left out: the figures of one side are judged wrong"),
        "{}",
        finished.stderr
    );
}

#[test]
fn results_of_fio_are_compared_too() {
    fathom_only!();
    require!(skip::tool("fio"));
    let directory = scratch();
    let job = "--name=job --ioengine=null --size=1g --rw=randread --runtime=1 --time_based --rate_iops=1000";
    for (name, format) in [("plain.json", "json"), ("plus.json", "json+")] {
        let words = format!("{job} --output-format={format} --output={name}");
        let made = Launch::of(Path::new("fio"), directory.path()).words(&words).run();
        assert_eq!(made.code(), 0, "{}", made.stderr);
    }
    Launch::fathom(directory.path())
        .words(&format!("{job} --output-format=jsonl --output=ours.jsonl"))
        .run()
        .expect_clean();
    let text =
        compare(directory.path(), "plain.json plus.json ours.jsonl -- plus.json ours.jsonl --format=json")
            .expect_clean()
            .stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    for name in ["bandwidth", "p99", "p99.9", "max lat"] {
        assert_eq!(figure(&document, "read", name)["a_runs"].as_u64(), Some(3), "{name}: {document}");
    }
    // fio reports no timeline, only a histogram, and that only in JSON+.
    let of_bins = compare(directory.path(), "plus.json plus.json --format=markdown").expect_clean().stdout;
    assert!(of_bins.contains("slow I/Os came in bursts"), "{of_bins}");
    let of_percentiles =
        compare(directory.path(), "plain.json plain.json --format=markdown").expect_clean().stdout;
    assert!(
        of_percentiles.contains("not tested") && !of_percentiles.contains("came in bursts"),
        "{of_percentiles}"
    );
    let programs = compare(directory.path(), "plain.json ours.jsonl").expect_clean().stdout;
    assert!(programs.contains("warning: different programs: A was measured by fio-3."), "{programs}");
    // fio does not print options without a value, which does not count as a difference.
    assert!(!programs.contains("different options"), "{programs}");
}

#[test]
fn other_options_are_told() {
    fathom_only!();
    let directory = scratch();
    let job = "--name=job --ioengine=null --size=1M --rw=read --bs=64k --output-format=json";
    for words in ["--direct=0 --output=a.json", "--direct=1 --loops=2 --output=b.json"] {
        Launch::fathom(directory.path()).words(job).words(words).run().expect_clean();
    }
    let text = compare(directory.path(), "a.json b.json --format=json").expect_clean().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("direct (0 in A, 1 in B), loops (not set in A, 2 in B)"), "{warnings}");
}

#[test]
fn reads_from_memory_are_told() {
    fathom_only!();
    // A separate device, because the kernel counts all I/O on it.
    let mounted = require!(Mounted::new("ext4", 32 * MIB));
    let directory = scratch();
    let data = file_of(mounted.path(), "data", 8 * MIB);
    let job = format!(
        "--name=job --filename={} --size=8M --rw=read --bs=64k --ioengine=psync --output-format=json",
        data.display()
    );
    // Just written and not invalidated, so it is in the page cache.
    for words in ["--direct=0 --invalidate=0 --output=cached.json", "--direct=1 --output=direct.json"] {
        Launch::fathom(directory.path()).words(&job).words(words).run().expect_clean();
    }
    let text = compare(directory.path(), "cached.json direct.json --format=json").expect_clean().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let warnings = document["warnings"].to_string();
    assert!(
        warnings.contains("cached.json: only 0") && warnings.contains("one side used the page cache"),
        "{warnings}"
    );
    // Regardless of other load on the machine.
    assert!(!warnings.contains("direct.json: only"), "{warnings}");
}

#[test]
fn a_busy_machine_is_warned_of() {
    fathom_only!();
    let directory = scratch();
    let result = |wait_ms: u64, user_ms: u64| {
        format!(
            r#"{{"fio version":"fio-3.42","fathom host":{{"processors":2}},
            "fathom jobs":[{{"jobname":"j","processor_wait_ms":{wait_ms},
                "processors":{{"user_ms":{user_ms},"busy_ms":3000,"stolen_ms":0,"total_ms":4000}}}}],
            "jobs":[{{"jobname":"j","job_runtime":2000,"usr_cpu":5.0,"ctx":100,
                "read":{{"total_ios":900,"io_bytes":3686400,"iops":450,"bw_bytes":1843200,"runtime":2000}}}}]}}"#
        )
    };
    for (name, wait_ms, user_ms) in [("quiet", 20, 200), ("busy", 900, 2000), ("own", 900, 150)] {
        std::fs::write(directory.path().join(format!("{name}.json")), result(wait_ms, user_ms))
            .expect("written");
    }
    let warnings = |words: &str| {
        let finished = compare(directory.path(), &format!("{words} --format=json")).expect_clean();
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        document["warnings"].to_string()
    };
    let told = warnings("quiet.json busy.json");
    let sentence = "busy.json: job j waited 45.0 % of the time for a CPU";
    assert!(told.contains(sentence) && told.contains("figures reflect a busy machine"), "{told}");
    assert!(!warnings("quiet.json own.json").contains("busy machine"));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    fathom_only!();
    let directory = scratch();
    runs(directory.path(), "r", 1, 800);
    std::fs::write(directory.path().join("text"), "no result\n").expect("a file");
    let other =
        "--name=another --ioengine=null --size=64k --rw=read --output-format=json --output=another.json";
    Launch::fathom(directory.path()).words(other).run().expect_clean();
    // Too short to compute the variation within the run.
    let alone = compare(directory.path(), "another.json another.json").expect_clean().stdout;
    assert!(alone.contains("too little data") && !alone.contains("intervals (95 %)"), "{alone}");
    for (words, what) in [
        ("r --fail-if=iops>=5% r", ">= is not allowed, only > and <"),
        ("r missing.json", "missing.json: No such file"),
        ("r text", "text: no result in it"),
        ("r .", "no job and direction in common"),
        ("r another.json", "no job and direction in common"),
        ("r", "1 result given"),
        ("r -- ", "no result after --"),
        ("r r --format=xml", "not one of text, markdown, csv, json"),
    ] {
        let finished = compare(directory.path(), words);
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stdout);
        assert!(
            finished.stderr.starts_with("fathom compare: ") && finished.stderr.contains(what),
            "{words}: {}",
            finished.stderr
        );
    }
}

#[test]
fn jobs_of_different_names_can_be_mapped() {
    fathom_only!();
    let directory = scratch();
    for name in ["old", "new"] {
        let words = format!(
            "--name={name} --ioengine=null --size=1m --rw=read --output-format=json --output={name}.json"
        );
        Launch::fathom(directory.path()).words(&words).run().expect_clean();
    }
    let finished = compare(directory.path(), "old.json new.json");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("--map='old=new' compares two jobs"), "{}", finished.stderr);
    let mapped = compare(directory.path(), "--map=old=new old.json new.json").expect_clean().stdout;
    assert!(mapped.contains("\nold, read\n"), "{mapped}");
    let wrong = compare(directory.path(), "--map=old=newer old.json new.json");
    assert!(wrong.code() == 1 && wrong.stderr.contains("B has no job newer; it has new"), "{}", wrong.stderr);
}
