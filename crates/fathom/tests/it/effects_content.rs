//! Properties of written data: its compressibility, and its share of duplicates.

use crate::support::program::Launch;
use crate::support::{FILLING, KIB, file_of, json, program, scratch};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

/// Writes a new file named `data` and reads it back.
#[track_caller]
fn written(directory: &Path, words: &str) -> Vec<u8> {
    // The file may not exist yet.
    let _ = std::fs::remove_file(directory.join("data"));
    let words = format!("--name=a --filename=data --rw=write --bs=4k --fallocate=none {words}");
    Launch::fathom(directory).words(&words).run().expect_clean();
    std::fs::read(directory.join("data")).expect("the file was written")
}

/// Share of the data that a compressor saves, in percent.
fn saved_percent(data: &[u8]) -> f64 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(data).expect("memory");
    let compressed = encoder.finish().expect("memory");
    100.0 - 100.0 * compressed.len() as f64 / data.len() as f64
}

/// Share of duplicate blocks, in percent.
fn repeated_percent(data: &[u8], block: usize) -> f64 {
    let different: HashSet<&[u8]> = data.chunks(block).collect();
    100.0 - 100.0 * different.len() as f64 / data.chunks(block).count() as f64
}

#[track_caller]
fn assert_close(found: f64, asked: f64, what: &str) {
    assert!((found - asked).abs() < 1.0, "{what}: asked for {asked} %, found {found:.2} %");
}

#[test]
fn data_compresses_as_far_as_asked() {
    let directory = scratch();
    for (percent, chunk) in
        [(0, 512), (10, 4096), (25, 512), (50, 512), (50, 65536), (75, 512), (90, 4096), (100, 512)]
    {
        let words = format!(
            "--size=4m --bs=64k --buffer_compress_percentage={percent} --buffer_compress_chunk={chunk}"
        );
        let data = written(directory.path(), &words);
        assert_close(saved_percent(&data), f64::from(percent), &words);
        if percent < 100 {
            assert_eq!(repeated_percent(&data, 65536), 0.0, "{words}");
        }
    }
}

#[test]
fn as_many_blocks_repeat_as_asked() {
    let directory = scratch();
    for percent in [0, 10, 50, 90] {
        for mode in ["repeat", "working_set"] {
            let words = format!("--size=64m --dedupe_percentage={percent} --dedupe_mode={mode}");
            let data = written(directory.path(), &words);
            assert_close(repeated_percent(&data, 4096), f64::from(percent), &words);
        }
    }
    let data = written(directory.path(), "--size=4m --dedupe_percentage=100");
    assert_eq!(data.chunks(4096).collect::<HashSet<_>>().len(), 1);
}

#[test]
fn data_repeats_and_compresses_at_once() {
    let directory = scratch();
    let words =
        "--size=64m --ioengine=libaio --iodepth=8 --dedupe_percentage=30 --buffer_compress_percentage=40";
    let data = written(directory.path(), words);
    assert_close(repeated_percent(&data, 4096), 30.0, words);
    let different: HashSet<&[u8]> = data.chunks(4096).collect();
    assert_close(saved_percent(&different.into_iter().collect::<Vec<_>>().concat()), 40.0, words);
    let report =
        Launch::fathom(directory.path()).words("dedupe --compress --format=json data").run().expect_clean();
    let document = json::document(&report.stdout);
    assert_close(json::integer(&document, "dedupe_percentage") as f64, 30.0, "fathom dedupe");
}

#[test]
fn clones_share_a_working_set() {
    let directory = scratch();
    let words = "--rw=write --bs=4k --size=4m --fallocate=none --dedupe_percentage=90 --dedupe_mode=working_set \
                 --dedupe_working_set_percentage=10";
    let unique_of_both = |global: u32| {
        let jobs = format!("{words} --dedupe_global={global} --name=a --filename=a --name=b --filename=b");
        Launch::fathom(directory.path()).words(&jobs).run().expect_clean();
        let files = ["a", "b"].map(|name| std::fs::read(directory.path().join(name)).expect("written"));
        let sets = files.each_ref().map(|data| data.chunks(4096).collect::<HashSet<_>>());
        sets[0].intersection(&sets[1]).count()
    };
    assert_eq!(unique_of_both(0), 0);
    // Each clone contributes half of its 102 pages, and nine in ten writes use those.
    assert!((95..=102).contains(&unique_of_both(1)), "{}", unique_of_both(1));
}

#[test]
fn fixed_parts_are_the_pattern() {
    let directory = scratch();
    let data = written(directory.path(), "--size=64k --buffer_compress_percentage=50 --buffer_pattern=0xab");
    assert!(data.chunks(512).all(|block| block[256..].iter().all(|&byte| byte == 0xab)));
    assert_eq!(repeated_percent(&data, 512), 0.0);
}

#[test]
fn the_content_is_that_of_fio() {
    let reference = require!(program::reference());
    let directory = scratch();
    for words in [
        "--buffer_compress_percentage=50 --bs=4k",
        "--buffer_compress_percentage=33 --buffer_compress_chunk=1000 --bs=16k",
        "--dedupe_percentage=40 --bs=8k",
        "--dedupe_percentage=40 --dedupe_mode=working_set --bs=4k --buffer_compress_percentage=20",
        "--dedupe_percentage=70 --bsrange=4k-16k --buffer_compress_chunk=4k",
        "--dedupe_percentage=40 --bs=4k --ioengine=libaio --iodepth=4",
        // Duplicates require different content, not the pattern; without duplicates the content is unchanged.
        "--buffer_pattern=0xabcd --dedupe_percentage=40 --bs=4k",
        "--dedupe_percentage=0 --buffer_pattern=0xabcd --bs=4k",
        "--dedupe_percentage=0 --zero_buffers --bs=4k",
    ] {
        let words = format!("--name=a --filename=data --rw=write --size=1m {words}");
        Launch::of(&reference, directory.path()).words(&words).run().expect_clean();
        let expected = std::fs::read(directory.path().join("data")).expect("written");
        std::fs::remove_file(directory.path().join("data")).expect("removed");
        Launch::fathom(directory.path()).words(&words).run().expect_clean();
        let found = std::fs::read(directory.path().join("data")).expect("written");
        assert!(found == expected, "{words}");
    }
}

#[test]
fn files_laid_out_for_reading_have_the_content_too() {
    let directory = scratch();
    let words = "--name=a --filename=data --rw=read --size=16m --bs=4k --buffer_compress_percentage=60";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    let data = std::fs::read(directory.path().join("data")).expect("laid out");
    assert_close(saved_percent(&data), 60.0, words);
}

/// On a deduplicating device there would be less to read.
#[test]
fn files_laid_out_together_have_no_block_in_common() {
    let directory = scratch();
    let words = "--name=a --filename=x:y:z --rw=read --size=600k --bs=4k";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    let contents = ["x", "y", "z"].map(|name| std::fs::read(directory.path().join(name)).expect("laid out"));
    let blocks: HashSet<&[u8]> = contents.iter().flat_map(|content| content.chunks(4096)).collect();
    assert_eq!(blocks.len(), 150);
}

/// Reads use the same buffers, which then contain the data read.
#[test]
fn what_was_read_is_not_written_back() {
    let words = "--name=a --filename=data --rw=randrw --bs=4k --size=256k --write_iolog=trace";
    for (content, byte) in [
        ("--zero_buffers", 0),
        ("--buffer_pattern=0xab", 0xab),
        ("--buffer_pattern=0xab --iodepth=4 --ioengine=libaio", 0xab),
    ] {
        let directory = scratch();
        file_of(directory.path(), "data", 256 * KIB);
        Launch::fathom(directory.path()).words(&format!("{words} {content}")).run().expect_clean();
        let data = std::fs::read(directory.path().join("data")).expect("the file");
        let trace = std::fs::read_to_string(directory.path().join("trace")).expect("a trace");
        let writes = trace.lines().filter(|line| line.contains(" write ")).count();
        let blocks =
            |byte: u8| data.chunks(4096).filter(|block| block.iter().all(|&one| one == byte)).count();
        assert!(writes > 0 && blocks(byte) == writes, "{content}: {} of {writes}", blocks(byte));
        assert_eq!(blocks(FILLING), 64 - writes, "{content}");
    }
}

/// A write through a mapping cannot reach beyond the end of a file.
#[test]
fn a_file_too_short_to_be_mapped_is_an_error() {
    let directory = scratch();
    let words = "--name=a --filename=new --rw=write --size=64k --bs=4k --ioengine=mmap --create_on_open=1";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("new is shorter than the job wants"), "{}", finished.stderr);
}
