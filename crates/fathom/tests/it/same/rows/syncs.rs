//! Syncs.

use super::super::Family;
use super::super::case::same;

const SYNCS: Family = Family {
    base: "--name=a --filename=data --size=256k --bs=4k",
    rows: &[
        same("--rw=write --fsync=1"),
        same("--rw=write --fsync=8"),
        same("--rw=write --fdatasync=4")
            .differs(&["json"], "fio counts fsync alone, and the others as short I/O"),
        same("--rw=randwrite --fsync=3 --fdatasync=5")
            .differs(&["json"], "fio counts fsync alone, and the others as short I/O"),
        same("--rw=rw --fsync=8"),
        same("--rw=write --sync_file_range=write:8")
            .differs(&["json"], "fio counts fsync alone, and the others as short I/O"),
        same("--rw=write --sync_file_range=wait_before,write:4")
            .differs(&["json"], "fio counts fsync alone, and the others as short I/O"),
        same("--rw=write --sync_file_range=wait_before,write,wait_after:16")
            .differs(&["json"], "fio counts fsync alone, and the others as short I/O"),
        same("--rw=write --end_fsync=1"),
        same("--rw=write --fsync_on_close=1"),
        same("--rw=write --sync=1"),
        same("--rw=write --sync=dsync"),
        same("--rw=write --sync=sync"),
        same("--rw=write --fsync=4 --ioengine=libaio --iodepth=8"),
        same("--rw=write --fdatasync=4 --ioengine=io_uring --iodepth=8")
            .differs(&["json"], "fio counts fsync alone, and the others as short I/O"),
        same("--rw=write --barrier=4"),
        same("--rw=write --write_barrier=4"),
        same("--rw=read --fsync=4"),
        same("--rw=write --fsync=100"),
        same("--rw=randwrite --fsync=8 --nrfiles=2"),
        same("--rw=write --fsync=4 --number_ios=10"),
        same("--rw=write --fsync=4 --loops=2"),
        same("--rw=randrw --fsync=8 --rwmixread=30"),
        same("--rw=write --end_fsync=1 --fsync=4 --thread"),
        same("--rw=trimwrite --ioengine=null --fsync=8"),
        same("--rw=write --ioengine=pvsync2 --sync=1 --fsync=8"),
        same("--rw=write --ioengine=mmap --fsync=8"),
        same("--rw=write --ioengine=posixaio --iodepth=4 --fsync=8"),
    ],
};

#[test]
fn syncs() {
    super::super::check(&SYNCS);
}
