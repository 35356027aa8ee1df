//! `--parse-only`: checks only names and values of options, without any engine, file or clone.

use crate::support::program::{Finished, Launch};
use crate::support::scratch;

#[track_caller]
fn check(job: &str) -> Finished {
    let directory = scratch();
    std::fs::write(directory.path().join("job.fio"), job).expect("a job file can be written");
    let finished = Launch::fathom(directory.path()).words("--parse-only job.fio").run();
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("a directory").count(),
        1,
        "{job}: nothing was made"
    );
    finished
}

#[test]
fn engines_are_not_looked_for() {
    let rows = [
        // Engines that are unknown, not built, or for other platforms: only common job options are possible.
        "[a]\nioengine=nosuch\nsize=1m\n",
        "[a]\nioengine=libhdfs\nsize=1m\n",
        "[a]\nioengine=windowsaio\nsize=1m\n",
        // Known engines, with their options.
        "[a]\nioengine=sg\nhipri\nsize=1m\n",
        "[a]\nioengine=net\nhostname=localhost\nport=2000\nsize=1m\n",
        "[a]\nioengine=rdma\nhostname=localhost\nport=2000\nsize=1m\n",
        "[a]\nioengine=io_uring_cmd\ncmd_type=nvme\nsize=1m\n",
        // Options that have no effect here.
        "[a]\nfdp=1\nplids=1\ndp_scheme=/no/such\nsize=1m\n",
        "[a]\nprofile=act\ngpu_dev_id=1\nsize=1m\n",
    ];
    for job in rows {
        check(job).expect_clean();
    }
}

#[test]
fn an_option_that_not_all_jobs_have_needs_its_engine() {
    for (option, own) in [
        ("hipri=1", "option hipri=1: only jobs with ioengine "),
        ("bogus=1", "option bogus=1: there is no such option"),
    ] {
        let refused = check(&format!("[a]\nioengine=nosuch\nsize=1m\n{option}\n"));
        assert_eq!(refused.code(), 1, "{option}");
        assert!(
            refused.stderr.starts_with("fio: engine nosuch not loadable\nfio: failed to load engine\n"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.contains(own), "{}", refused.stderr);
    }
    let refused = check("[a]\nioengine=external:/no/such.so\nsize=1m\n");
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr.starts_with(
            "fio: invalid external ioengine path \"/no/such.so\"\nfio: failed parsing ioengine=external:/no/such.so\n"
        ),
        "{}",
        refused.stderr
    );
    // On the command line an engine is loaded where it is named.
    let directory = scratch();
    let refused =
        Launch::fathom(directory.path()).words("--parse-only --name=a --ioengine=nosuch --size=1m").run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.starts_with("fio: engine nosuch not loadable\n"), "{}", refused.stderr);
}

#[test]
fn mistakes_are_mistakes() {
    for (job, line) in [
        ("[a]\nsize=bogus\n", "fio: failed parsing size=bogus\n"),
        ("[a]\nioengine=nosuch\nsize=bogus\n", "fio: failed parsing size=bogus\n"),
        ("[a]\nioengine=sg\nsg_write_mode=bogus\n", "fio: failed parsing sg_write_mode=bogus\n"),
    ] {
        let refused = check(job);
        assert_eq!(refused.code(), 1, "{job}");
        assert!(refused.stderr.contains(line), "{job}: {}", refused.stderr);
    }
}

/// Clones are not created for the check: ten million of them would need gigabytes.
#[test]
fn the_number_of_clones_costs_nothing() {
    check("[a]\nsize=1m\nnumjobs=10000000\n").expect_clean();
}

/// A job that reads, and trims what it verified.
#[test]
fn readonly_refuses_trims_of_verified_data() {
    let directory = scratch();
    let run = |words: &str| {
        let words = format!("--name=a --readonly --ioengine=null --size=64k --rw=read {words}");
        Launch::fathom(directory.path()).words(&words).run()
    };
    let refused = run("--verify=md5 --trim_percentage=10");
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr.contains(
            "fio: trim and write operations are not allowed with the --readonly parameter.\n\
             fathom: command line: job a: trim_percentage is refused because of --readonly\n"
        ),
        "{}",
        refused.stderr
    );
    assert_eq!(run("--trim_percentage=10").code(), 0);
    assert_eq!(run("--verify=md5").code(), 0);
}
