//! Engines.

use super::super::Family;
use super::super::case::same;

const ENGINES: Family = Family {
    base: "--name=a --size=128k --bs=4k",
    rows: &[
        same("--filename=data --ioengine=sync --rw=read"),
        same("--filename=data --ioengine=sync --rw=randwrite"),
        same("--filename=data --ioengine=psync --rw=read"),
        same("--filename=data --ioengine=psync --rw=randwrite"),
        same("--filename=data --ioengine=vsync --rw=read"),
        same("--filename=data --ioengine=vsync --rw=randwrite"),
        same("--filename=data --ioengine=pvsync --rw=read"),
        same("--filename=data --ioengine=pvsync --rw=randwrite"),
        same("--filename=data --ioengine=pvsync2 --rw=read"),
        same("--filename=data --ioengine=pvsync2 --rw=randwrite"),
        same("--filename=data --ioengine=mmap --rw=read"),
        same("--filename=data --ioengine=mmap --rw=randwrite"),
        same("--filename=data --ioengine=libaio --rw=read"),
        same("--filename=data --ioengine=libaio --rw=randwrite"),
        same("--filename=data --ioengine=posixaio --rw=read"),
        same("--filename=data --ioengine=posixaio --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --rw=read"),
        same("--filename=data --ioengine=io_uring --rw=randwrite"),
        same("--filename=data --ioengine=splice --rw=read")
            .differs(&["exit", "normal", "terse", "json", "files"], "the engine is not built yet"),
        same("--filename=data --ioengine=splice --rw=randwrite")
            .differs(&["exit", "normal", "terse", "json", "files"], "the engine is not built yet"),
        same("--filename=data --ioengine=ftruncate --rw=write"),
        same("--filename=data --ioengine=ftruncate --rw=read").differs(
            &["normal", "terse", "json", "files"],
            "what cannot be done is refused before it begins",
        ),
        same("--filename=data --ioengine=falloc --rw=read"),
        same("--filename=data --ioengine=falloc --rw=randwrite"),
        same("--filename=data --ioengine=falloc --rw=trim"),
        same("--filename=data --ioengine=null --rw=read"),
        same("--filename=data --ioengine=null --rw=randwrite"),
        same("--filename=data --ioengine=null --rw=read --lockfile=readwrite"),
        same("--filename=data --ioengine=null --rw=read --prioclass=0 --prio=7"),
        same("--filename=data --ioengine=sync --iodepth=4 --rw=read"),
        same("--filename=data --ioengine=sync --iodepth=4 --rw=randwrite"),
        same("--filename=data --ioengine=libaio --direct=1 --rw=read"),
        same("--filename=data --ioengine=libaio --direct=1 --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --hipri=0 --rw=read"),
        same("--filename=data --ioengine=io_uring --hipri=0 --rw=randwrite"),
        same("--filename=data --ioengine=pvsync2 --hipri=0 --rw=read"),
        same("--filename=data --ioengine=pvsync2 --hipri=0 --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --fixedbufs=1 --rw=read"),
        same("--filename=data --ioengine=io_uring --fixedbufs=1 --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --registerfiles=1 --rw=read"),
        same("--filename=data --ioengine=io_uring --registerfiles=1 --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --nonvectored=1 --rw=read"),
        same("--filename=data --ioengine=io_uring --nonvectored=1 --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --force_async=4 --rw=read"),
        same("--filename=data --ioengine=io_uring --force_async=4 --rw=randwrite"),
        same("--filename=data --ioengine=io_uring --sqthread_poll=0 --rw=read"),
        same("--filename=data --ioengine=io_uring --sqthread_poll=0 --rw=randwrite"),
        same("--filename=data --ioengine=libaio --nowait=0 --rw=read"),
        same("--filename=data --ioengine=libaio --nowait=0 --rw=randwrite"),
        same("--ioengine=mmap --rw=write --unlink_each_loop=1"),
        same("--ioengine=mmap --rw=write --fallocate=keep"),
        same("--ioengine=mmap --rw=write --fallocate=none"),
        same("--filename=data --ioengine=mmap --thp=0 --rw=read"),
        same("--filename=data --ioengine=mmap --thp=0 --rw=randwrite"),
        same("--ioengine=filecreate --nrfiles=10 --filesize=4k --rw=read"),
        same("--ioengine=filestat --nrfiles=10 --filesize=4k --rw=read"),
        same("--ioengine=filedelete --nrfiles=10 --filesize=4k --rw=read"),
        same("--ioengine=dircreate --nrfiles=4 --filesize=4k --rw=read"),
        same("--ioengine=dirstat --nrfiles=4 --filesize=4k --rw=read"),
        same("--ioengine=dirdelete --nrfiles=4 --filesize=4k --rw=read"),
        same("--ioengine=nosuch --rw=read"),
        same("--ioengine=sg --rw=read").differs(&["stderr"], "the refusal also says what to name instead"),
        same("--ioengine=cpuio --cpuload=10 --time_based --runtime=1"),
        same("--ioengine=cpuio --cpuload=50 --cpuchunks=10000 --time_based --runtime=1"),
        same("--ioengine=exec --program=/bin/true --rw=read --time_based --runtime=1")
            .differs(&["exit", "normal", "terse", "json", "files"], "the engine is not built yet"),
    ],
};

#[test]
fn engines() {
    super::super::check(&ENGINES);
}
