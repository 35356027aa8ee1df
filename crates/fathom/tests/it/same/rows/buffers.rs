//! Written content, and memory of the buffers.

use super::super::Family;
use super::super::case::same;

const BUFFERS: Family = Family {
    base: "--name=a --filename=data --size=256k --bs=4k",
    rows: &[
        same("--rw=write --zero_buffers"),
        same("--filename=present --rw=rw --zero_buffers=0"),
        same("--rw=write --buffer_pattern=0xdeadbeef"),
        same("--rw=write --buffer_pattern=\"abcd\""),
        same("--rw=write --buffer_pattern='present'"),
        same("--rw=write --buffer_pattern=0xff\"x\"12"),
        same("--rw=write --buffer_pattern=-1"),
        same("--rw=write --buffer_pattern=%o").differs(
            &["exit", "stderr", "normal", "terse", "json", "files"],
            "3.41 knows offsets in verify_pattern alone",
        ),
        same("--rw=write --scramble_buffers=0"),
        same("--rw=write --refill_buffers"),
        same("--rw=write --buffer_compress_percentage=50"),
        same("--rw=write --buffer_compress_percentage=100"),
        same("--rw=write --dedupe_percentage=50"),
        same("--rw=write --buffer_pattern=1234 --buffer_compress_percentage=50"),
        same("--rw=write --mem=malloc"),
        same("--rw=write --mem=shm"),
        same("--rw=write --mem=mmap"),
        same("--rw=write --mem=mmapshared"),
        same("--rw=write --mem=mmap:map"),
        same("--rw=write --mem=nosuch"),
        same("--rw=write --iomem_align=4096"),
        same("--rw=write --mem_align=512"),
        same("--rw=write --hugepage-size=2m"),
        same("--rw=write --lockmem=64k"),
        same("--rw=write --buffer_pattern=0x12345678 --bs=6k"),
        same("--rw=write --buffer_pattern=0xabcd --iodepth=8 --ioengine=libaio"),
        same("--rw=write --buffer_pattern=\"0123456789\" --bs=1k"),
        // Files that are laid out before the run.
        same(
            "--rw=read --filename=more --buffer_pattern=\"abcdefg\" --buffer_compress_percentage=50 --size=100k",
        ),
        same("--rw=read --buffer_pattern=\"abcdefg\" --bs=512"),
        same("--rw=read --buffer_pattern=\"abcdefg\" --bs=1k,3k"),
        same("--rw=read --buffer_pattern=\"abcdefg\" --bs=2m --size=5m"),
        same("--rw=read --bs=1k"),
        same("--rw=read --bsrange=1k-6k --size=100k"),
        same("--rw=write --zero_buffers --rw=randrw"),
        same("--rw=write --buffer_pattern="),
        same("--rw=write --buffer_pattern=0xzz"),
        same("--rw=write --dedupe_percentage=101"),
        same("--rw=write --buffer_compress_percentage=101"),
        same("--rw=write --dedupe_global=1 --dedupe_percentage=30"),
        same(
            "--rw=write --dedupe_mode=working_set --dedupe_working_set_percentage=10 --dedupe_percentage=30",
        ),
        same("--rw=write --buffer_compress_chunk=512 --buffer_compress_percentage=50"),
    ],
};

#[test]
fn buffers() {
    super::super::check(&BUFFERS);
}
