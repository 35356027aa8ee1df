//! System calls rejected by a filter, as in containers: optional calls are skipped, and for the others the
//! message says what forbids them.

use crate::support::program::{self, Finished, Launch};
use crate::support::{scratch, skip};
use std::path::Path;

/// Runs the program with these calls failing with an error.
fn without(directory: &Path, calls: &str, error: &str, words: &str) -> Result<Finished, String> {
    skip::tool("strace")?;
    let finished = Launch::of(Path::new("strace"), directory)
        .words("-f -qq -o /dev/null")
        .argument(format!("--inject={calls}:error={error}"))
        .argument(program::path())
        .words(words)
        .run();
    match finished.stderr.contains("ptrace") && finished.code() != 0 {
        true => Err(format!("strace: {}", finished.stderr.trim())),
        false => Ok(finished),
    }
}

#[test]
fn files_are_made_where_preallocation_is_forbidden() {
    let directory = scratch();
    for error in ["EPERM", "EACCES", "ENOSYS", "EOPNOTSUPP"] {
        for how in ["native", "posix", "keep"] {
            for workload in ["read", "randwrite"] {
                // fio fails with fallocate=keep.
                if how == "keep" && program::is_another() {
                    continue;
                }
                let words = format!(
                    "--name=a --filename=data --rw={workload} --size=64k --bs=4k --ioengine=psync --fallocate={how}"
                );
                let _ = std::fs::remove_file(directory.path().join("data"));
                let finished = require!(without(directory.path(), "fallocate", error, &words));
                let what = format!("{error}, {words}: {}", finished.stderr);
                assert_eq!(finished.code(), 0, "{what}");
                let size = std::fs::metadata(directory.path().join("data")).expect("it was made").len();
                assert_eq!(size, 65536, "{what}");
                // The C library falls back to writing if the file system does not support it.
                let is_told = finished.stderr.contains("fio: posix_fallocate fails: ");
                assert_eq!(is_told, how == "posix" && error != "EOPNOTSUPP", "{what}");
                if how == "native" {
                    assert_eq!(finished.stderr, "", "it was not asked for by name: {what}");
                }
            }
        }
    }
}

/// Errors that would affect writes as well are not ignored.
#[test]
fn a_device_that_fails_is_not_forbidden() {
    fathom_only!();
    let directory = scratch();
    let words = "--name=a --filename=data --rw=randwrite --size=64k --ioengine=psync";
    let finished = require!(without(directory.path(), "fallocate", "EIO", words));
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stdout.contains("func=fallocate") || finished.stderr.contains("func=fallocate"));
}

#[test]
fn what_is_forbidden_is_called_so() {
    fathom_only!();
    let directory = scratch();
    let job = "--name=a --filename=data --rw=randwrite --size=64k --ioengine=psync";
    let served = "--name=a --ioengine=http --http_mode=webdav --http_host=127.0.0.1:9 --filename=/o --size=64k --rw=read";
    for error in ["EPERM", "EACCES", "ENOSYS"] {
        for (calls, words, named) in [
            ("signalfd4", job, "forbids signalfd4"),
            ("signalfd4", "serve --port=0", "forbids signalfd4"),
            ("clone,clone3,fork", job, "forbids clone"),
            ("epoll_create1", served, "forbids epoll_create1"),
            ("eventfd2", served, "or eventfd2"),
        ] {
            let finished = require!(without(directory.path(), calls, error, words));
            let what = format!("{calls} {error}: {}", finished.stderr);
            assert_ne!(finished.code(), 0, "{what}");
            assert!(finished.stderr.contains(named) && finished.stderr.contains("seccomp"), "{what}");
            assert!(!finished.stderr.contains("ulimit"), "{what}");
        }
    }
}

/// Calls that a run does not need may be forbidden.
#[test]
fn runs_need_no_more_than_they_use() {
    let directory = scratch();
    let job = "--name=a --filename=data --rw=randwrite --size=64k --ioengine=psync";
    for calls in ["memfd_create", "timerfd_create", "eventfd2", "epoll_create1", "userfaultfd", "pidfd_open"]
    {
        let finished = require!(without(directory.path(), calls, "EPERM", job));
        assert_eq!(finished.code(), 0, "{calls}: {}", finished.stderr);
    }
}

#[test]
fn rings_longer_than_the_kernels_are_refused_with_their_limit() {
    fathom_only!();
    let directory = scratch();
    let job = |depth: u32| {
        let words = format!(
            "--name=a --filename=data --rw=randread --size=64k --ioengine=io_uring --iodepth={depth} --number_ios=1"
        );
        Launch::fathom(directory.path()).words(&words).run()
    };
    let most = job(32_768);
    if most.stderr.contains("io_uring is switched off") || most.stderr.contains("seccomp") {
        skip!("io_uring cannot be used here");
    }
    most.expect_clean();
    let refused = job(65_536);
    assert_eq!(refused.code(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("the kernel allows 32768 requests in a ring"), "{}", refused.stderr);
}
