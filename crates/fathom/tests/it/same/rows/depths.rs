//! Queue depths, clones and groups.

use super::super::Family;
use super::super::case::same;

const DEPTHS: Family = Family {
    base: "--name=a --filename=data --size=256k --bs=4k",
    rows: &[
        same("--rw=read --iodepth=4"),
        same("--rw=read --iodepth=4 --ioengine=libaio"),
        same("--rw=read --iodepth=32 --ioengine=libaio --iodepth_batch=8"),
        same("--rw=read --ioengine=libaio --iodepth=8 --iodepth_batch_complete_min=4"),
        same(
            "--rw=read --ioengine=libaio --iodepth=8 --iodepth_batch=4 --iodepth_batch_complete_min=2 --iodepth_batch_complete_max=4",
        ),
        same("--rw=read --ioengine=libaio --iodepth=16 --iodepth_low=4"),
        same("--rw=read --ioengine=libaio --iodepth=1"),
        same("--rw=read --ioengine=io_uring --iodepth=16"),
        same("--rw=read --ioengine=libaio --iodepth=4 --serialize_overlap=1"),
        same("--rw=read --numjobs=2"),
        same("--rw=read --numjobs=3 --group_reporting"),
        same("--rw=read --numjobs=2 --thread"),
        same("--rw=read --ioengine=libaio --iodepth=300"),
        same("--rw=read --iodepth_batch_complete=0 --ioengine=libaio --iodepth=4"),
        same("--rw=randrw --ioengine=libaio --iodepth=8"),
        same("--rw=randrw --ioengine=io_uring --iodepth=8 --thread"),
        same("--rw=randrw --ioengine=posixaio --iodepth=4"),
        same("--rw=randrw --ioengine=libaio --iodepth=4 --numjobs=2 --new_group"),
        same("--rw=read --iodepth=4 --numjobs=3"),
        same("--rw=randrw --ioengine=libaio --iodepth=4 --unified_rw_reporting=1"),
        same("--rw=randrw --ioengine=libaio --iodepth=4 --unified_rw_reporting=both")
            .differs(&["normal"], "fio leaves the units of the mixed rate out"),
    ],
};

#[test]
fn depths() {
    super::super::check(&DEPTHS);
}
