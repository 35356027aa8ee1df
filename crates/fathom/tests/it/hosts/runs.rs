//! What distinguishes a multi-host run from a local one: exact sums, a common start, jobs for some hosts,
//! shared files, fetched logs.

use super::{QUIET, document_of, host, over};
use crate::support::program::Launch;
use crate::support::{json, scratch};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn counts_of_hosts_add_up_exactly() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=1m --rw=randread --number_ios=100 --numjobs=2 --group_reporting --name=b \
                 --stonewall --ioengine=null --size=64k --rw=write --output-format=json+";
    let document = document_of(over(directory.path(), "x,y,z").words(words).run());
    let (a, b) = (json::job(&document, "a"), json::job(&document, "b"));
    assert_eq!(json::integer(a, "read/total_ios"), 600, "three hosts, two clones, 100 I/Os each");
    assert_eq!(json::integer(b, "write/io_bytes"), 3 * 65536);
    let bins = a["read"]["clat_ns"]["bins"].as_object().expect("bins");
    assert_eq!(
        bins.values().filter_map(serde_json::Value::as_u64).sum::<u64>(),
        600,
        "every I/O is in a bin"
    );
    for name in ["x", "y", "z"] {
        let own = host(&document, name);
        assert_eq!(json::integer(json::job(own, "a"), "read/total_ios"), 200, "{own}");
        assert_eq!(own["state"], "whole", "{own}");
    }
}

#[test]
fn hosts_start_together_and_say_how_closely() {
    fathom_only!();
    let directory = scratch();
    let document = document_of(
        over(directory.path(), "x,y,z,w").words(QUIET).words("--runtime=2 --output-format=json").run(),
    );
    for name in ["x", "y", "z", "w"] {
        let own = host(&document, name);
        // One machine has one clock: the true offset is 0, and the bound must cover it.
        for when in ["before", "after"] {
            let clock = &own["clock"][when];
            let (offset, bound) = (clock["offset_ns"].as_i64(), clock["bound_ns"].as_u64());
            let (offset, bound) = (offset.expect("an offset"), bound.expect("a bound"));
            assert!(offset.unsigned_abs() <= bound, "{name} {when}: {offset} beyond {bound}");
        }
        let skew = own["start_skew_ns"].as_i64().expect("a skew");
        assert!(skew >= 0, "{name} began {skew} ns before the agreed instant");
    }
    let overlap = &document["fathom hosts"]["overlap"];
    let (begin, end) = (json::integer(overlap, "begin_ms"), json::integer(overlap, "end_ms"));
    assert!(begin < end && end <= 2500, "{overlap}");
}

#[test]
fn sections_can_be_for_some_hosts() {
    fathom_only!();
    let directory = scratch();
    let job = "[global]\nioengine=null\nsize=64k\n[w]\nhost=writers\nrw=write\n[r]\nhost=c, d\nrw=read\n[all]\nstonewall\nrw=read\n";
    std::fs::write(directory.path().join("job.fio"), job).expect("written");
    let launch = || over(directory.path(), "writers:a,b c,d").words("--output-format=json");
    let document = document_of(launch().argument("job.fio").run());
    let total = |name: &str, path: &str| json::integer(json::job(&document, name), path);
    assert_eq!(total("w", "write/io_bytes"), 2 * 65536);
    assert_eq!(total("r", "read/io_bytes"), 2 * 65536);
    assert_eq!(total("all", "read/io_bytes"), 4 * 65536);
    let names = |name: &str| {
        let jobs = host(&document, name)["jobs"].as_array().expect("jobs").clone();
        jobs.iter().map(|job| job["jobname"].as_str().unwrap_or("").to_owned()).collect::<Vec<String>>()
    };
    assert_eq!((names("a"), names("d")), (vec!["w".into(), "all".into()], vec!["r".into(), "all".into()]));
    // An unknown name is an error, and nothing runs.
    let unknown = launch().words("--name=x --ioengine=null --size=4k --host=nobody").run();
    assert_eq!(unknown.code(), 1);
    assert!(unknown.stderr.contains("host=nobody is neither a host nor a group"), "{}", unknown.stderr);
    let alone = Launch::fathom(directory.path()).argument("job.fio").run();
    assert!(alone.code() == 1 && alone.stderr.contains("give --hosts=list"), "{}", alone.stderr);
}

#[test]
fn job_files_know_the_host_they_run_on() {
    fathom_only!();
    let directory = scratch();
    let text =
        "[a]\nioengine=null\nsize=4k\ndescription=${HOST}-${HOST_INDEX}-of-${HOST_COUNT} ${HOSTS} ${FROM}\n";
    std::fs::write(directory.path().join("job.fio"), text).expect("written");
    std::fs::write(directory.path().join("list"), "# the rack\nx # a spare\n\nrest:y,z\n").expect("written");
    let launch =
        over(directory.path(), "@list").variable("FROM", "controller").words("--output-format=json job.fio");
    let document = document_of(launch.run());
    for (name, own) in [("x", "x-0-of-3"), ("y", "y-1-of-3"), ("z", "z-2-of-3")] {
        assert_eq!(json::job(host(&document, name), "a")["desc"], format!("{own} x,y,z controller"));
    }
}

#[test]
fn a_file_is_dealt_out_among_hosts_and_checked_by_others() {
    fathom_only!();
    let directory = scratch();
    let text = "[global]\nfilename=shared\nfilesize=1m\nsize=128k\nbs=4k\noffset_increment=128k\n\
                offset_increment_over_hosts=1\nnumjobs=2\nverify=crc32c\nverify_state_save=0\nrandseed=7\n\
                [write]\nrw=write\ndo_verify=0\n[check]\nstonewall\nrw=write\nverify_only=1\n";
    std::fs::write(directory.path().join("job.fio"), text).expect("written");
    let document = document_of(over(directory.path(), "x,y,z,w").words("--output-format=json job.fio").run());
    let written = json::document(&document.to_string());
    let sum = |name: &str, path: &str| -> u64 {
        let jobs = written["jobs"].as_array().expect("jobs");
        jobs.iter().filter(|job| job["jobname"] == name).map(|job| json::integer(job, path)).sum()
    };
    assert_eq!(sum("write", "write/io_bytes"), 1 << 20, "eight regions of 128 KiB");
    let bytes = std::fs::read(directory.path().join("shared")).expect("the file");
    assert_eq!(bytes.len(), 1 << 20);
    assert!(bytes.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "no block was left out");
    // A block written by host z is corrupted: the verifying host reports it, whichever host wrote it.
    let mut damaged = bytes;
    damaged[5 * (128 << 10) + 9000] ^= 1;
    std::fs::write(directory.path().join("shared"), damaged).expect("written");
    let check = "[check]\nfilename=shared\nsize=1m\nbs=4k\nrw=write\nverify=crc32c\nverify_only=1\nhost=x\nrandseed=7\n\
                 verify_state_save=0\nverify_write_sequence=0\n";
    std::fs::write(directory.path().join("check.fio"), check).expect("written");
    let checked = over(directory.path(), "x,y").words("check.fio --output-format=json").run();
    assert_eq!(checked.code(), 1, "{}", checked.stderr);
    assert!(checked.stderr.contains("<x> "), "the host is named: {}", checked.stderr);
}

#[test]
fn logs_come_back_under_the_name_of_their_host() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=l --ioengine=null --size=1m --rw=read --rate_iops=500 --write_iops_log=run --log_avg_msec=100 \
                 --write_lat_log=run --per_job_logs=1 --bandwidth-log=total --output-format=json";
    document_of(over(directory.path(), "x,y").words(words).run());
    for name in ["run_iops.1.log", "run_clat.1.log", "total-read_bw.log"] {
        for host in ["x", "y"] {
            let path = directory.path().join(format!("{name}.{host}"));
            let text =
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(text.lines().all(|line| line.split(',').count() >= 4), "{name}.{host}: {text}");
        }
    }
    let text = std::fs::read_to_string(directory.path().join("run_clat.1.log.x")).expect("a log");
    assert!(text.lines().count() >= 2, "{text}");
    let left: Vec<String> = std::fs::read_dir("/var/tmp")
        .expect("a directory")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("fathom-agent-") && !still_runs(name))
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Other tests have agents as well, at the same time.
fn still_runs(name: &str) -> bool {
    let pid = name.trim_start_matches("fathom-agent-").split('-').next().and_then(|pid| pid.parse().ok());
    pid.is_some_and(crate::support::processes::runs)
}

#[test]
fn a_program_that_is_missing_there_is_sent_and_removed() {
    fathom_only!();
    let (directory, programs) = (scratch(), scratch());
    // On a busy host, its removal takes a while.
    let slow = programs.path().join("rm");
    std::fs::write(&slow, "#!/bin/sh\nsleep 1.5\nexec /bin/rm \"$@\"\n").expect("a program");
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap_or_default());
    let finished = Launch::fathom(directory.path())
        .words("--hosts=x,y --push --remote-program=/nowhere")
        .argument(format!(
            "--remote-shell=env PATH={path} TMPDIR={} HOST={{host}}",
            directory.path().display()
        ))
        .words("--name=a --ioengine=null --size=64k --rw=read --output-format=json")
        .timeout(Duration::from_secs(300))
        .run();
    let document = document_of(finished);
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), 2 * 65536);
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("a directory").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_run_shows_its_hosts_and_a_line_for_all() {
    fathom_only!();
    let directory = scratch();
    let shown = over(directory.path(), "alpha,beta")
        .words(QUIET)
        .words("--runtime=2 --eta=always")
        .run()
        .expect_clean();
    let text = shown.stdout;
    assert!(text.contains("Starting 1 process\n"), "{text}");
    assert!(text.contains("quiet: (groupid=0, jobs=2): err= 0: pid="), "{text}");
    assert!(text.contains("Jobs: 2 (f="), "the status line counts all: {text}");
    for part in [
        "\nHosts (2):\n",
        "  alpha  ok ",
        "  beta   ok ",
        "start skew: median=",
        "All hosts were running from",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn commands_run_on_hosts_too() {
    fathom_only!();
    let directory = scratch();
    let program = crate::support::program::path();
    let command = |words: &str| {
        Launch::fathom(directory.path())
            .words(words)
            .argument(super::local_shell())
            .argument(format!("--remote-program={}", program.display()))
    };
    let quick = command("quick . --hosts=x,y --size=16m --time=200ms --format=json").run();
    assert_eq!(quick.code(), 0, "{}", quick.stderr);
    assert!(quick.stdout.contains("\"depth\""), "{}", quick.stdout);
    assert!(quick.stdout.contains(", 2 hosts together."), "{}", quick.stdout);
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("a directory").flatten().collect();
    assert!(left.is_empty(), "files of hosts are removed: {left:?}");
    let sweep = command("sweep --hosts=x,y --vary=iodepth=1,2 --repeats=2")
        .words("-- --name=s --ioengine=null --size=1m --rw=read --runtime=1")
        .run();
    assert_eq!(sweep.code(), 0, "{}", sweep.stderr);
    let results = std::fs::read_to_string(directory.path().join("s.sweep.jsonl")).expect("results");
    assert!(results.contains("\"fathom hosts\""), "the runs are those of hosts: {results}");
    let image = crate::support::file_of(directory.path(), "image", 16 << 20);
    let words = format!(
        "sweep --hosts=x --fs=ext4 --device={0} --destroy={0} -- --name=s --size=1m",
        image.display()
    );
    let here = command(&words).run();
    assert!(here.code() == 1 && here.stderr.contains("leave out --hosts"), "{}", here.stderr);
}
