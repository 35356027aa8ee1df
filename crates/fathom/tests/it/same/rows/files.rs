//! Files: names, sizes, places, order.

use super::super::Family;
use super::super::case::same;

const SEVERAL_FILES: Family = Family {
    base: "--name=a --nrfiles=3 --size=240k --bs=4k",
    rows: &[
        same("--rw=read"),
        same("--rw=write"),
        same("--rw=randrw"),
        same("--rw=write --overwrite=1"),
        same("--rw=write --fallocate=none"),
        same("--rw=write --fill_device=1"),
        same("--rw=randrw --fill_device=1"),
        same("--rw=write --fallocate=posix"),
        same("--rw=write --fallocate=truncate"),
        same("--rw=write --fallocate=keep"),
        same("--rw=read --fallocate=none"),
        same("--rw=write --create_serialize=0"),
        same("--rw=write --create_fsync=0"),
        same("--rw=write --create_on_open=1"),
        same("--rw=write --unlink=1"),
        same("--rw=read --unlink=1"),
        same("--rw=write --unlink_each_loop=1 --loops=2"),
        same("--rw=write --fadvise_hint=0"),
        same("--rw=randread --fadvise_hint=random"),
        same("--rw=write --file_append=1")
            .differs(&["normal"], "nothing is laid out before what is appended"),
        same("--rw=write --create_only=1")
            .differs(&["normal", "terse"], "no disk is counted when no job runs"),
        same("--rw=read --pre_read=1"),
        same("--rw=randread --pre_read=1 --openfiles=1"),
        same("--rw=write --file_service_type=sequential"),
        same("--rw=write --file_service_type=roundrobin"),
        same("--rw=write --file_service_type=random"),
        same("--rw=write --file_service_type=roundrobin:4"),
        same("--rw=write --file_service_type=sequential:2"),
        same("--rw=write --file_service_type=zipf:1.2"),
        same("--rw=randwrite --random_generator=tausworthe --file_service_type=pareto:0.3"),
        same("--rw=randwrite --random_generator=tausworthe --file_service_type=normal:20"),
        same("--rw=write --openfiles=1"),
        same("--rw=write --openfiles=2"),
        same("--rw=read --openfiles=1 --file_service_type=sequential"),
    ],
};

#[test]
fn several_files() {
    super::super::check(&SEVERAL_FILES);
}

const GROWING: Family = Family {
    base: "--name=a --size=256k --bs=4k --create_on_open=1 --fallocate=none --random_generator=tausworthe",
    rows: &[
        same("--filename=x --rw=randrw --ioengine=libaio"),
        same("--filename=x --rw=randrw --ioengine=io_uring"),
        same("--filename=x --rw=randrw --ioengine=posixaio"),
        same("--filename=x --rw=rw --ioengine=libaio"),
        same("--filename=x --rw=randrw --ioengine=psync"),
        same("--filename=x --rw=randrw --ioengine=sync"),
        same("--filename=x --rw=randrw --ioengine=pvsync2"),
        same("--filename=present --size=512k --rw=read --ioengine=libaio"),
        same("--filename=present --size=512k --rw=randread --ioengine=io_uring"),
        same("--filename=present --size=512k --rw=read --ioengine=psync"),
    ],
};

#[test]
fn files_that_are_shorter_than_the_job_at_first() {
    super::super::check(&GROWING);
}

const NAMES_AND_SIZES: Family = Family {
    base: "--name=a --size=256k --bs=4k",
    rows: &[
        same("--filename=x --rw=write"),
        same("--filename=x:y --rw=write"),
        same("--filename=x:y:z --rw=randread"),
        same("--filename=x --filename=y --rw=write"),
        same("--filename=one\\:two --rw=write"),
        same("--directory=. --rw=write"),
        same("--directory=. --filename=x --rw=write"),
        same("--filename=sub/x --rw=write"),
        same("--directory=missing --rw=write"),
        same("--filename_format=$jobname-$filenum --nrfiles=2 --rw=write"),
        same("--filename_format=$jobname.$jobnum.$filenum --nrfiles=2 --numjobs=2 --rw=write"),
        same("--filename=present --rw=read"),
        same("--filename=present --rw=write --size=128k"),
        same("--filename=present --rw=read --size=1m").differs(&["file"], "fio makes the file anew"),
        same("--filename=present --rw=read --size=100%"),
        same("--filename=present --rw=read --pre_read=1"),
        same("--filename=present --rw=read --size=50%"),
        same("--filename=present --rw=write --allow_file_create=0"),
        same("--filename=missing --rw=read --allow_file_create=0")
            .differs(&["stderr", "normal", "terse", "json"], "fio says nothing"),
        same("--filename=x --allow_file_create=0 --rw=write")
            .differs(&["stderr", "normal", "terse", "json"], "fio says nothing"),
        same("--filename=x --allow_file_create=0 --create_serialize=0 --rw=write")
            .differs(&["exit", "normal", "terse", "json"], "fio does nothing, and calls it a success"),
        same("--filename=x --rw=write --filesize=128k"),
        same("--filename=x --rw=write --filesize=1m"),
        same("--nrfiles=4 --filesize=16k-64k --rw=write"),
        same("--nrfiles=3 --filesize=32k --rw=randwrite"),
        same("--nrfiles=2 --filesize=50k --rw=read"),
        same("--ioengine=null --filesize=16k-64k --size=64k --rw=randread"),
        same("--ioengine=null --filesize=16k-64k --size=200k --rw=randread"),
        same("--ioengine=null --filesize=16k-32k --size=64k --nrfiles=6 --rw=write"),
        same("--filename=x --offset=64k --rw=write"),
        same(
            "--filename=x --offset=64k --size=128k --rw=randread --random_generator=tausworthe --write_iolog=trace",
        ),
        same("--filename=x --filesize=16k --offset=64k --rw=write")
            .differs(&["terse", "json"], "fio fails without an error"),
        same("--filename=x --offset=25% --rw=write").differs(&["file"], "fio takes the share of a size of 0"),
        same("--filename=present --offset=25% --size=50% --rw=read --write_iolog=trace"),
        same("--filename=x --offset_increment=64k --numjobs=3 --size=64k --rw=write")
            .differs(&["normal"], "each clone tells of the layout of its part"),
        same("--filename=x --offset=10k --offset_align=4k --rw=write --write_iolog=trace"),
        same("--filename=x --offset=10k --rw=write"),
        same("--filename=x --size=1m --io_size=256k --rw=write"),
        same("--filename=x --size=64k --io_size=0% --rw=write"),
        same("--filename=x --size=64k --io_size=5% --rw=write")
            .differs(&["terse", "json"], "fio fails without an error"),
        same("--filename=x --size=256k --io_size=1m --rw=write --write_iolog=trace"),
        same(
            "--filename=x --size=256k --io_size=50% --rw=randwrite --random_generator=tausworthe --write_iolog=trace",
        ),
        same("--filename=x --size=256k --file_append=1 --rw=write")
            .differs(&["normal"], "nothing is laid out before what is appended"),
        same("--filename=x --file_append=1 --size=64k --rw=write --loops=2")
            .differs(&["normal", "terse", "json"], "fio makes one pass of two"),
        same("--filename=x --rw=write --direct=1"),
        same("--filename=x --rw=randread --direct=1 --ioengine=libaio --iodepth=4"),
        same("--filename=/dev/zero --rw=read"),
        same("--filename=/dev/null --rw=write"),
        same("--filename=/dev/full --rw=write"),
        same("--filename=. --rw=read").differs(&["stderr", "normal"], "fio tries to remove the directory"),
        same("--filename=x --rw=write --lockfile=exclusive --numjobs=2"),
        same("--filename=x --rw=write --lockfile=readwrite"),
        same("--opendir=. --rw=read").differs(&["normal"], "the number of files is not told"),
        same("--filename=x --rw=write --fill_fs=0"),
        same("--rw=write --nrfiles=1000 --filesize=1k --bs=1k --size=1m"),
        same("--filename=x --rw=write --size=0"),
        same("--rw=write --size="),
        same("--filename=x --rw=write --truncate=0"),
    ],
};

#[test]
fn names_and_sizes() {
    super::super::check(&NAMES_AND_SIZES);
}
