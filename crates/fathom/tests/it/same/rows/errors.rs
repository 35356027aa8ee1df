//! Runs that encounter errors.

use super::super::Family;
use super::super::case::same;

const ERRORS: Family = Family {
    base: "--name=a --size=64k --bs=4k",
    rows: &[
        same("--filename=/dev/null --rw=read"),
        same("--filename=/dev/null --rw=write --end_fsync=1")
            .differs(&["stderr"], "fio names the last write in place of the sync"),
        same("--filename=/dev/null --rw=write --fsync=4").differs(
            &["stderr", "json"],
            "fio names the last write in place of the sync, and counts a sync that failed",
        ),
        same("--zonemode=zbd --zonesize=16m --filename=present --rw=write")
            .differs(&["json"], "every job on zones counts resets"),
        same("--zonemode=zbd --zonesize=64k --filename=present --rw=write --size=32k").differs(
            &["stderr", "normal", "terse", "json"],
            "fio says why on standard output, and leaves the error out of its report",
        ),
        same("--zonemode=zbd --zonesize=64k --filename=present --rw=write --bs=128k"),
        same("--zonemode=zbd --zonesize=64k --zonecapacity=128k --filename=present --rw=write")
            .differs(&["terse", "json"], "fio leaves the error out of its report"),
        same("--zonemode=zbd --filename=present --rw=write")
            .differs(&["stderr", "terse", "json"], "fio leaves the error out of its report"),
        same("--verify=md5 --verify_state_load=1 --filename=x --rw=write").differs(
            &["normal", "terse", "json", "files"],
            "the file is laid out before, and fio leaves the error out of its report",
        ),
        same("--random_distribution=zoned_abs:50/2m:50/3m --filename=x --rw=randread").differs(
            &["exit", "normal", "terse", "json", "files"],
            "fio does nothing and calls it a success",
        ),
        same("--read_iolog=/tmp").differs(&["stderr", "normal", "json"], "the job does not start"),
        same("--filename=/dev/full --rw=write"),
        same("--filename=/dev/full --rw=write --continue_on_error=all"),
        same("--filename=/dev/full --rw=write --continue_on_error=write --error_dump=1"),
        same("--filename=/dev/full --rw=write --continue_on_error=read")
            .differs(&["normal"], "the first error is named, not success"),
        same("--filename=/dev/full --rw=write --ignore_error=,ENOSPC")
            .differs(&["normal"], "the engine is no part of the message"),
        same("--filename=/dev/full --rw=randrw --random_generator=tausworthe --continue_on_error=all"),
        same("--filename=/dev/full --rw=write --ioengine=libaio --iodepth=4")
            .differs(&["normal", "json"], "what the kernel refused was not issued"),
        same("--filename=/dev/full --rw=write --ignore_error=ENOSPC")
            .differs(&["normal"], "the first error is named, not success"),
        same("--filename=/dev/full --rw=write --exitall_on_error --name=b --rw=read --filename=/dev/zero"),
        same("--filename=missing/deep/x --rw=read"),
        same("--filename=missing/deep/x --rw=write"),
        same("--filename=/dev/full --rw=write --stonewall --name=b --filename=x --rw=write"),
        same("--filename=/dev/full --rw=write --continue_on_error=nosuch"),
        same("--filename=x --rw=write --size=1m --name=b --filename=/dev/full --rw=write"),
        same("--filename=x --rw=read --ignore_error=EIO"),
        same("--filename=x --rw=read --ignore_error=EIO:ENOSPC,EILSEQ").differs(
            &["exit", "stderr", "normal", "terse", "json", "files"],
            "all names of errors are known",
        ),
        same("--filename=x --rw=read --ignore_error=NOSUCH"),
        same("--filename=present/x --rw=read").differs(&["stderr"], "the message names the file"),
        same("--filename=/dev/full --rw=write --loops=2 --continue_on_error=all"),
        same("--filename=/dev/full --rw=write --fsync=4 --continue_on_error=all"),
        same("--filename=/dev/full --rw=write --number_ios=4 --continue_on_error=all"),
        same("--filename=/dev/full --rw=write --max_latency=1us --continue_on_error=all"),
        same("--filename=x --rw=write --ioengine=io_uring --iodepth=4 --continue_on_error=io"),
    ],
};

#[test]
fn errors() {
    super::super::check(&ERRORS);
}
