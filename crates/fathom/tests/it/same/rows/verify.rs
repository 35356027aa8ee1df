//! Verification.

use super::super::Family;
use super::super::case::same;

const VERIFICATION: Family = Family {
    base: "--name=a --size=256k --bs=4k",
    rows: &[
        same("--filename=data --rw=write --verify=md5"),
        same("--filename=data --rw=write --verify=crc64"),
        same("--filename=data --rw=write --verify=crc32c"),
        same("--filename=data --rw=write --verify=crc32c-intel"),
        same("--filename=data --rw=write --verify=crc32"),
        same("--filename=data --rw=write --verify=crc16"),
        same("--filename=data --rw=write --verify=crc7"),
        same("--filename=data --rw=write --verify=xxhash"),
        same("--filename=data --rw=write --verify=sha512"),
        same("--filename=data --rw=write --verify=sha256"),
        same("--filename=data --rw=write --verify=sha1"),
        same("--filename=data --rw=write --verify=sha3-224"),
        same("--filename=data --rw=write --verify=sha3-256"),
        same("--filename=data --rw=write --verify=sha3-384"),
        same("--filename=data --rw=write --verify=sha3-512"),
        same("--filename=data --rw=write --verify=pattern --verify_pattern=0xdeadbeef"),
        same("--filename=data --rw=write --verify=null"),
        same("--filename=data --rw=randwrite --verify=crc32c"),
        same("--filename=data --rw=randwrite --verify=md5"),
        same("--filename=data --rw=randwrite --verify=pattern --verify_pattern=%o"),
        same("--verify=crc32c --filename=data --rw=write --do_verify=0"),
        same("--verify=crc32c --filename=data --rw=randwrite --verify_interval=512"),
        same("--verify=crc32c --filename=data --rw=write --verify_interval=1k --bs=8k"),
        same("--verify=crc32c --filename=data --rw=randwrite --verify_offset=64"),
        same("--verify=crc32c --filename=data --rw=write --verify_backlog=8"),
        same(
            "--verify=crc32c --filename=data --rw=write --verify_backlog=4 --verify_backlog_batch=6 --loops=2",
        ),
        same("--verify=crc32c --filename=data --rw=write --verify_backlog=4 --number_ios=10"),
        same(
            "--verify=crc32c --filename=data --rw=randrw --verify_backlog=4 --verify_backlog_batch=9 --number_ios=20",
        ),
        same("--verify=crc32c --filename=data --rw=randwrite --verify_backlog=8 --verify_backlog_batch=4"),
        same("--verify=crc32c --filename=data --rw=randwrite --norandommap --verify_backlog=8"),
        same(
            "--verify=crc32c --filename=data --rw=randwrite --norandommap --verify_backlog=8 --verify_backlog_batch=2",
        ),
        same("--verify=crc32c --filename=data --rw=write:-4k --bs=8k --verify_backlog=3"),
        same("--verify=crc32c --filename=data --rw=write --verify_async=2"),
        same("--verify=crc32c --filename=data --rw=randrw"),
        same("--verify=crc32c --filename=data --rw=rw"),
        same("--verify=crc32c --filename=data --rw=randwrite --norandommap"),
        same("--verify=crc32c --filename=data --rw=randwrite --loops=2"),
        same("--verify=crc32c --filename=data --rw=randwrite --io_size=512k"),
        same("--verify=crc32c --filename=data --rw=randwrite --number_ios=20"),
        same("--verify=crc32c --filename=data --rw=write --verify_fatal=1"),
        same("--verify=crc32c --filename=data --rw=write --verify_dump=1"),
        same("--verify=crc32c --filename=data --rw=write --ioengine=libaio --iodepth=8"),
        same("--verify=crc32c --filename=data --rw=randwrite --bsrange=4k-16k"),
        same("--verify=crc32c --filename=data --rw=write --verify_pattern=0xff%o\"abcd\"-12"),
        same("--verify=crc32c --filename=data --rw=write --experimental_verify=1"),
        same("--verify=crc32c --filename=data --rw=write --verify_state_save=1"),
        same("--verify=crc32c --filename=data --rw=randwrite --verify_state_save=0"),
        same("--verify=crc32c --filename=data --rw=randwrite --trim_percentage=30")
            .differs(&["stderr", "normal", "json", "file"], "fio cannot trim files"),
        same("--verify=crc32c --filename=data --rw=randwrite --trim_percentage=30 --trim_backlog=8")
            .differs(&["exit", "normal", "terse", "json", "file"], "fio cannot trim files"),
        same("--verify=crc32c --filename=data --rw=write --bs=512"),
        same("--verify=crc32c --filename=data --rw=read").differs(
            &["stderr", "normal", "terse", "json", "files"],
            "a file that is missing is not made: it would hold nothing to verify",
        ),
        same("--verify=crc32c --rw=read --filename=present").differs(
            &["stderr", "normal", "terse", "json"],
            "fio ends at the first wrong block; all are told",
        ),
        same("--verify=crc32c --rw=randread --filename=present --number_ios=4").differs(
            &["stderr", "normal", "terse", "json"],
            "fio ends at the first wrong block; all are told",
        ),
        same("--verify=crc32c --filename=data --rw=write --verify_only=1").differs(
            &["stderr", "normal", "terse", "json", "files"],
            "a file that is missing is not made: it would hold nothing to verify",
        ),
        same("--verify=crc32c --rw=write --filename=present --verify_only").differs(
            &["stderr", "normal", "terse", "json"],
            "fio ends at the first wrong block; all are told",
        ),
        same("--verify=crc32c --rw=read --filename=present --continue_on_error=verify")
            .differs(&["normal"], "a summary of the wrong blocks follows"),
        same("--verify=crc32c --rw=read --filename=present --continue_on_error=all --error_dump=1")
            .differs(&["normal"], "a summary of the wrong blocks follows"),
        same("--verify=crc32c --filename=data --rw=write --verify_header_seed=0"),
        same("--verify=crc32c --filename=data --rw=write --verify_write_sequence=0"),
        same("--verify=crc32c --rw=randwrite --nrfiles=3"),
        same("--verify=crc32c --rw=write --numjobs=2 --filename_format=f.$jobnum"),
        same("--verify=crc32c --filename=data --rw=write --verify_interval=3k --bs=4k"),
        same("--verify=crc32c --filename=data --rw=write --bs=4k --verify_interval=8k"),
        same("--verify=crc32c --filename=data --rw=trimwrite --ioengine=null")
            .differs(&["normal", "terse", "json", "files"], "nothing can be read back"),
        same("--verify=crc32c --filename=data --rw=randwrite --percentage_random=50").differs(
            &["exit", "stderr", "normal", "terse", "json"],
            "fio calls good data wrong where a block was written twice",
        ),
        same("--verify=crc32c --filename=data --rw=randwrite --random_distribution=zipf:1.1").differs(
            &["exit", "stderr", "normal", "terse", "json"],
            "fio calls good data wrong where a block was written twice",
        ),
        same("--verify=crc32c --filename=data --rw=randwrite --random_generator=lfsr"),
        same("--verify=crc32c --filename=data --rw=write --fsync=8"),
        same("--verify=crc32c --filename=data --rw=write:8k"),
        same("--rw=write:64k --verify=md5 --size=128k"),
        same("--rw=write:9k --verify=md5 --offset=12k --size=120k"),
        same("--rw=read:64k --verify=null --size=128k"),
        same("--verify=crc32c --filename=data --rw=randwrite:4"),
        same("--verify=crc32c --filename=data --rw=write --direct=1"),
        same("--verify=crc32c --filename=data --rw=write --thread"),
    ],
};

#[test]
fn verification() {
    super::super::check(&VERIFICATION);
}
