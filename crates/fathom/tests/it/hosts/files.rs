//! Ownership of files: separate files for each host in a shared directory, shared files that are divided, and
//! files of another host.

use super::{document_of, host, over};
use crate::support::{json, scratch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[track_caller]
fn check_names(directory: &Path, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(names_in(directory), expected);
}

/// Ownership of a job's files in the document.
#[track_caller]
fn ownership<'a>(document: &'a Value, job: &str) -> &'a str {
    let files = document["fathom hosts"]["files"].as_array().expect("it says whose files are");
    let files = files.iter().find(|files| files["job"] == job).unwrap_or_else(|| panic!("{files:?}"));
    files["ownership"].as_str().expect("a word")
}

const JSON: &str = "--output-format=json";

#[test]
fn hosts_that_share_a_directory_have_files_of_their_own() {
    fathom_only!();
    let scratch = scratch();
    let shared = scratch.path().join("d");
    std::fs::create_dir(&shared).expect("a directory");
    let run = |words: &str| document_of(over(scratch.path(), "x,y").words(words).words(JSON).run());
    let written = run("--name=w --directory=d --size=64k --rw=write --verify=crc32c --do_verify=0");
    check_names(&shared, &["x.w.0.0", "y.w.0.0"]);
    assert_eq!(ownership(&written, "w"), "own");
    // A later run finds them again for each host, including the recorded writes.
    let before = names_in(&shared);
    for host in ["x", "y"] {
        assert!(
            scratch.path().join(format!("{host}-w-0-verify.state")).exists(),
            "{:?}",
            names_in(scratch.path())
        );
    }
    let checked = run(
        "--name=w --directory=d --size=64k --rw=write --verify=crc32c --verify_only --verify_state_load=1",
    );
    assert_eq!(json::integer(json::job(&checked, "w"), "read/io_bytes"), 2 * 65536);
    assert_eq!(names_in(&shared), before);
    std::fs::write(shared.join("y.w.0.0"), vec![0; 65536]).expect("written");
    let words =
        "--name=w --directory=d --size=64k --rw=write --verify=crc32c --verify_only --output-format=json";
    let damaged = over(scratch.path(), "x,y").words(words).run();
    assert_eq!(damaged.code(), 1, "{}", damaged.stderr);
    assert!(damaged.stderr.contains("<y> ") && !damaged.stderr.contains("<x> "), "{}", damaged.stderr);
    // Names of metadata engines, so that each name is created once.
    std::fs::create_dir(scratch.path().join("m")).expect("a directory");
    let made = run("--name=m --ioengine=filecreate --directory=m --nrfiles=10 --filesize=4k --bs=4k");
    assert_eq!(json::integer(json::job(&made, "m"), "read/total_ios"), 20);
    assert_eq!(names_in(&scratch.path().join("m")).len(), 20);
}

#[test]
fn files_are_shared_where_the_job_says_so_and_the_report_tells() {
    fathom_only!();
    let scratch = scratch();
    let shared = scratch.path().join("d");
    std::fs::create_dir(&shared).expect("a directory");
    for (words, name) in [("--unique_filename=0", "w.0.0"), ("--filename=f", "f")] {
        let words = format!("--name=w --directory=d --size=64k --rw=write {words}");
        let finished = over(scratch.path(), "x,y").words(&words).run().expect_clean();
        check_names(&shared, &[name]);
        let line = format!(
            "  Files of w: all hosts share d/{name}, unless each has other storage under this name\n"
        );
        assert!(finished.stdout.contains(&line), "{}", finished.stdout);
        std::fs::remove_file(shared.join(name)).expect("removed");
    }
    // Without a directory, names are unchanged; names that hosts define themselves are their own.
    let words = "--name=w --size=64k --rw=write --filename=f.${HOST}.${HOST_INDEX}.${HOME}";
    let document = document_of(over(&shared, "x,y").words(words).words(JSON).run());
    check_names(&shared, &["f.x.0.${HOME}", "f.y.1.${HOME}"]);
    assert_eq!(ownership(&document, "w"), "own");
}

#[test]
fn variables_of_hosts_are_for_jobs_alone() {
    fathom_only!();
    let scratch = scratch();
    let words = "--name=w --ioengine=null --size=4k --output=${HOST}.txt";
    let refused = over(scratch.path(), "x,y").words(words).run();
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr.contains("option output=${HOST}.txt: the controller reads this option"),
        "{}",
        refused.stderr
    );
    let words = "--name=w --ioengine=null --size=1g --rw=read --rate_iops=100 --trigger-timeout=1";
    let fired =
        over(scratch.path(), "x,y").words(words).argument("--trigger-remote=echo >fired.${HOST}").run();
    assert_eq!(fired.code(), 0, "{}", fired.stderr);
    check_names(scratch.path(), &["fired.x", "fired.y"]);
}

#[test]
fn a_data_set_is_divided_among_the_hosts_that_run_the_job() {
    fathom_only!();
    let scratch = scratch();
    let hosts = "writers:n[1-3] readers:r[1-2]";
    let text = "[global]\nfilename=shared\nsize=1m\nbs=4k\nverify=crc32c\n\
                [write]\nhost=writers\nrw=write\nsplit=hosts\ndo_verify=0\n\
                [check]\nstonewall\nhost=r[1-2]\nrw=randwrite\nnumjobs=2\nsplit=clones\nverify_only=1\n";
    std::fs::write(scratch.path().join("job.fio"), text).expect("written");
    let document = document_of(over(scratch.path(), hosts).words("job.fio").words(JSON).run());
    let written = |name: &str| json::integer(json::job(host(&document, name), "write"), "write/io_bytes");
    assert_eq!(["n1", "n2", "n3"].map(written), [85 << 12, 85 << 12, 86 << 12], "256 blocks");
    assert_eq!(ownership(&document, "write"), "divided");
    let read: u64 = document["fathom hosts"]["hosts"].as_array().expect("hosts")[3..]
        .iter()
        .flat_map(|host| host["jobs"].as_array().expect("jobs"))
        .map(|job| json::integer(job, "read/io_bytes"))
        .sum();
    assert_eq!(read, 1 << 20, "the shares of all clones are everything");
    let bytes = std::fs::read(scratch.path().join("shared")).expect("the file");
    assert_eq!(bytes.len(), 1 << 20);
    assert!(bytes.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "no block was left out");
    // Files are divided whether there are fewer or more of them than hosts.
    for files in [1, 2, 8] {
        let words =
            format!("--name=f --directory=. --nrfiles={files} --size=96k --bs=4k --rw=write --split=hosts");
        let document = document_of(over(scratch.path(), "a,b,c").words(&words).words(JSON).run());
        for name in ["a", "b", "c"] {
            let own = json::integer(json::job(host(&document, name), "f"), "write/io_bytes");
            assert_eq!(own, 32 << 10, "{name} of {files} files");
        }
    }
    let small =
        over(scratch.path(), "a,b,c").words("--name=s --filename=s --size=8k --rw=write --split=hosts").run();
    assert!(
        small.stderr.contains("2 blocks of 4096 bytes cannot be divided into 3 shares"),
        "{}",
        small.stderr
    );
}

#[test]
fn files_of_a_stage_are_opened_once_all_hosts_have_ended_the_one_before() {
    fathom_only!();
    let scratch = scratch();
    // While the second host has nothing else to do, the file does not exist and then is too short.
    let text = "[global]\nfilename=shared\nsize=1m\nbs=4k\nverify=crc32c\n\
                [write]\nhost=a\nrw=write\ncreate_on_open=1\ndo_verify=0\nrate=2m\n\
                [check]\nstonewall\nhost=b\nrw=write\nverify_only=1\n\
                [again]\nstonewall\nrw=read\n";
    std::fs::write(scratch.path().join("job.fio"), text).expect("written");
    let document = document_of(over(scratch.path(), "a b").words("job.fio").words(JSON).run());
    assert_eq!(json::integer(json::job(&document, "check"), "read/io_bytes"), 1 << 20);
    assert_eq!(json::integer(json::job(&document, "again"), "read/io_bytes"), 2 << 20);
}

#[test]
fn hosts_read_what_others_wrote() {
    fathom_only!();
    let scratch = scratch();
    let text = "[global]\ndirectory=.\nsize=64k\nfilename_format=data\nverify=crc32c\n\
                [write]\nrw=write\ndo_verify=0\nverify_only=${ONLY}\n\
                [check]\nstonewall\nrw=write\nverify_only=1\nhost_rotation=1\n";
    std::fs::write(scratch.path().join("job.fio"), text).expect("written");
    let run = |only: &str| {
        over(scratch.path(), "x,y,z")
            .variable("ONLY", only)
            .words("job.fio --section=check --section=write")
            .words(JSON)
            .run()
    };
    document_of(run("0"));
    let left: Vec<String> =
        names_in(scratch.path()).into_iter().filter(|name| name.ends_with(".data")).collect();
    assert_eq!(left, ["x.data", "y.data", "z.data"]);
    // Host x verifies what y wrote.
    std::fs::write(scratch.path().join("y.data"), vec![0; 65536]).expect("written");
    let rotated = over(scratch.path(), "x,y,z")
        .variable("ONLY", "1")
        .words("job.fio --section=check")
        .words(JSON)
        .run();
    assert_eq!(rotated.code(), 1, "{}", rotated.stderr);
    assert!(rotated.stderr.contains("<x> ") && !rotated.stderr.contains("<y> "), "{}", rotated.stderr);
    let nothing =
        over(scratch.path(), "x,y").words("--name=r --filename=f --size=4k --host_rotation=1").run();
    assert_eq!(nothing.code(), 1);
    assert!(
        nothing.stderr.contains("host_rotation needs something that each host has for itself"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn hosts_of_ranges_are_named_once() {
    fathom_only!();
    let scratch = scratch();
    let words = "--name=a --ioengine=null --size=4k --rw=read --host=n[08-09] --name=b --ioengine=null --size=4k --rw=read";
    let document = document_of(over(scratch.path(), "n[08-10] n7").words(words).words(JSON).run());
    let hosts = document["fathom hosts"]["hosts"].as_array().expect("hosts");
    let names: Vec<&str> = hosts.iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["n08", "n09", "n10", "n7"]);
    assert_eq!(json::integer(json::job(&document, "a"), "read/total_ios"), 2);
    assert_eq!(json::integer(json::job(&document, "b"), "read/total_ios"), 4);
    std::fs::write(scratch.path().join("list"), "n1\nn2\n").expect("written");
    for (hosts, reason) in [
        ("n[1-3],n2", "host n2 is named twice"),
        ("@list n2", "host n2 is named twice"),
        ("n[3-1]", "counts down"),
        ("n[1-200000]", "names 200000 hosts: expected at most 100000"),
    ] {
        let refused = over(scratch.path(), hosts).words("--name=a --ioengine=null --size=4k").run();
        assert_eq!(refused.code(), 1, "{hosts}");
        assert!(refused.stderr.contains(reason), "{hosts}: {}", refused.stderr);
    }
    let twice = over(scratch.path(), "a").words("--hosts=b,a --name=a --ioengine=null --size=4k").run();
    assert!(twice.code() == 1 && twice.stderr.contains("host a is named twice"), "{}", twice.stderr);
}
