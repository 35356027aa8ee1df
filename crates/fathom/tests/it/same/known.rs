//! Intentional differences in random jobs, with their reasons. Rows of the tables declare theirs in the row.

/// Jobs that contain all of these words (`a|b` means either) may differ at these places.
struct Known {
    words: &'static [&'static str],
    /// Except for those that contain one of these.
    unless: &'static [&'static str],
    at: &'static [&'static str],
    #[allow(dead_code, reason = "readers of the table need it")]
    reason: &'static str,
}

/// Everything but the exit status.
const ALL_BUT_EXIT: &[&str] = &["stderr", "normal", "terse", "json", "file"];
const ALL: &[&str] = &["exit", "stderr", "normal", "terse", "json", "file"];

/// Sizes of random jobs that are not a multiple of most block sizes.
const ODD_SIZES: &str = "--size=100k|--size=130k";
const SEVERAL_FILES: &str = "x:y|--nrfiles=";

/// Directions that write.
const WRITES: &[&str] = &["--rw=write", "--rw=randwrite", "--rw=rw", "--rw=randrw", "trimwrite"];

const fn known(words: &'static [&'static str], at: &'static [&'static str], reason: &'static str) -> Known {
    Known { words, unless: &[], at, reason }
}

const KNOWN: &[Known] = &[
    known(&["=-1"], ALL, "negative numbers are refused"),
    known(&["=1.5"], ALL, "fractions mean what they say"),
    known(&["--nrfiles=0"], ALL_BUT_EXIT, "fio does nothing and calls it a success"),
    known(
        &["--bs=4k,8k|--bsrange=4k-8k,8k-16k"],
        ALL_BUT_EXIT,
        "fio ends early with blocks of several sizes",
    ),
    known(&["--stats=0"], &["json", "terse"], "fio has an empty entry"),
    known(
        &["--verify=|--verify_pattern=", "--invalidate=0"],
        &["normal"],
        "a note says how much was checked in memory",
    ),
    known(&["--create_only=1"], &["normal", "terse"], "no disk is counted when no job runs"),
    known(&["--file_append=1"], ALL, "nothing is laid out before what is appended"),
    known(&["--pre_read=1", "--create_on_open"], ALL, "fio fails where there is nothing to read yet"),
    known(&["--pre_read=1", "--ioengine=null"], ALL, "fio ends with signal 11"),
    known(
        &["--pre_read=1", "--direct=1|--buffered=0"],
        ALL,
        "fio reads to memory that is not aligned for it",
    ),
    Known {
        words: &["--filename_format=", "--numjobs=2|--numjobs=3"],
        unless: &["$jobnum"],
        at: ALL_BUT_EXIT,
        reason: "fio's other clones do nothing with files they share by such a name",
    },
    known(
        &["--ioengine=null", "--filesize=16k-64k"],
        ALL_BUT_EXIT,
        "where there is no file, fio goes beyond the size it has drawn, and stays behind it with holes",
    ),
    known(
        &["--scramble_buffers=1", "--buffer_pattern=|--zero_buffers"],
        &["file"],
        "what is to be a pattern or zeros is just that",
    ),
    known(&["--dedupe_percentage=100"], &["file"], "fio repeats the first 512 bytes, which compress as well"),
    known(
        &["--buffer_compress_percentage=100", "--rw=rw|--rw=randrw"],
        &["file"],
        "fio writes what the last read has left in the buffer",
    ),
    Known {
        words: &["--create_on_open"],
        unless: &["--rw=write", "--rw=randwrite"],
        at: ALL,
        reason: "fio makes an empty file and reads nothing from it",
    },
    known(
        &["--fdatasync=|--sync_file_range="],
        &["json"],
        "fio counts fsync alone, and the others as short I/O",
    ),
    Known {
        words: &["--verify"],
        unless: WRITES,
        at: ALL_BUT_EXIT,
        reason: "fio makes what is missing, and ends at the first wrong block; all are told",
    },
    known(
        &["--verify_only", "--verify="],
        ALL_BUT_EXIT,
        "fio makes what is missing, and ends at the first wrong block; all are told",
    ),
    known(
        &["--verify_only"],
        ALL_BUT_EXIT,
        "nothing is written, and a direction without I/O is not shown by fio",
    ),
    known(
        &["--filename=present", "--offset="],
        &["file/present"],
        "a file that is too short is extended and not made anew",
    ),
    Known {
        words: &["--unlink_each_loop", "--loops=|--io_size="],
        unless: WRITES,
        at: ALL,
        reason: "fio fails where a job that reads has removed its own files",
    },
    known(&["--filename=present", ODD_SIZES], ALL_BUT_EXIT, "no block goes beyond size"),
    known(
        &["--filesize=100k", "--bs=3k|--bs=8k|--bs=16k|--bs=64k|--bsrange=|--bssplit="],
        ALL_BUT_EXIT,
        "no block goes beyond filesize",
    ),
    known(&["--file_service_type=zipf", ODD_SIZES], ALL_BUT_EXIT, "no block goes beyond size"),
    known(
        &["--io_size=50%|--io_size=200%", "--io_size=64k|--io_size=100k|--io_size=512k"],
        ALL_BUT_EXIT,
        "fio takes both of an option that is given twice, in percent and in bytes",
    ),
    known(&["--filename=present", "--rw=write:|--rw=read:"], ALL_BUT_EXIT, "no block goes beyond size"),
    known(
        &["--write_hist_log="],
        &["file"],
        "fio writes nothing without log_hist_msec, and leaves the last window out",
    ),
    known(&["--log_avg_msec="], &["file"], "fio leaves the last window out"),
    known(
        &["--rw=randread:|--rw=randwrite:"],
        ALL_BUT_EXIT,
        "fio ends where a stretch leads beyond the last whole block",
    ),
    known(&["=99999"], ALL, "such a number is refused with a different message"),
    known(&["--write_iolog=", SEVERAL_FILES], &["file/trace"], "files are opened before the first I/O"),
    known(&["--dataplacement=|--fdp="], ALL, "the engine is looked at first"),
    known(&["--atomic=1"], ALL, "an I/O that the kernel refuses is none"),
    known(&["--ramp_time="], &["normal", "json"], "a job that ends in its ramp has latencies"),
    known(&["--offset=25%|--offset=50%"], ALL, "fio takes the share of a size of 0"),
    known(&["--ioengine=mmap"], &["file"], "fio lays the file out with data"),
    known(
        &["--ioengine=mmap", "--bs=1k|--bs=512|--bsrange=512|--bsrange=1k"],
        ALL,
        "fio maps no blocks smaller than a page",
    ),
    known(
        &["--io_submit_mode=offload"],
        &["normal", "json"],
        "the time until the I/O is handed over is measured",
    ),
    known(&["--io_submit_mode=offload", "--ioengine=io_uring"], ALL, "refused before files are looked at"),
    known(&["--buffer_pattern=%o"], ALL, "only verify_pattern knows it"),
    known(&["--sync_file_range=", "--ioengine=io_uring"], ALL, "fio asks for what the kernel refuses"),
    known(
        &["--rw=write:", "--verify", "--bsrange=|--bssplit="],
        ALL_BUT_EXIT,
        "what later writes left of an earlier one is checked too",
    ),
    known(&["--verify", "--ioengine=null"], ALL, "where no data is moved none is read back"),
    known(&["--unlink=1", "--ioengine=null", "--filename=present"], &["files"], "null touches no file"),
    known(&["--pre_read=1"], &["file"], "a file that is read first is filled first"),
    known(&["--percentage_random=", ODD_SIZES], ALL_BUT_EXIT, "fio ends at the part of a block"),
    known(&["--percentage_random=", "--bs=3k"], ALL_BUT_EXIT, "fio ends at the part of a block"),
    known(&["--ioengine=mmap", ODD_SIZES], ALL, "fio ends with signal 6 where the last block is cut short"),
    known(
        &["--gtod_reduce=1", "--disable_lat=0"],
        ALL_BUT_EXIT,
        "fio has latencies from times it never took",
    ),
    known(&["--write_iolog=", "--numjobs="], &["file/trace"], "the clones of fio write over each other's"),
    known(&["--gtod_reduce=1", "--write_"], &["file"], "fio leaves such logs empty"),
    known(
        &["--io_submit_mode=offload", "--write_lat_log="],
        &["file"],
        "fio leaves the log of submission latencies empty",
    ),
    known(
        &["--create_only=1", "--write_iolog="],
        &["file/trace"],
        "nothing is recorded of a job that does not run",
    ),
    known(&["--filename=present", "--bssplit="], ALL_BUT_EXIT, "no block goes beyond size"),
    known(
        &["--verify", "--rw=rw|--rw=randrw", "--io_size="],
        ALL,
        "fio reads back what was written over since, and calls blocks of one size wrong",
    ),
    known(
        &["--percentage_random=", "--filename=present"],
        ALL_BUT_EXIT,
        "fio ends where a sequential step leads out of size",
    ),
    known(&["--percentage_random=", "--verify="], ALL, "fio calls its own data wrong"),
    known(
        &["--rate_process=poisson", "--rate_min=|--rate_iops_min="],
        ALL,
        "fio ends with signal 8 where there is no rate",
    ),
    known(
        &["--rw=write:|--rw=read:", "--zonemode=strided"],
        ALL_BUT_EXIT,
        "fio goes beyond the zone, and ends before its size",
    ),
    known(&["--rate_min=", "--rate_iops_min="], ALL, "both minima may be asked for"),
    known(&["--ioengine=mmap", "--unlink_each_loop", "--loops="], ALL, "fio ends with signal 7"),
    known(
        &["--ioengine=null", "--unlink_each_loop"],
        ALL,
        "fio fails where it removes files that this engine does not make",
    ),
    known(
        &["--ioengine=null", "--iodepth=", "--write_iolog="],
        &["file/trace"],
        "fio writes each line twice",
    ),
    known(&["--ioengine=mmap", "--create_on_open"], ALL, "fio ends with signal 7"),
    known(&["--rw=rand", "70,16k/100"], ALL_BUT_EXIT, "fio ends with the map of the smallest blocks"),
    known(
        &["--rw=randtrim", "--bssplit=|--bsrange=4k-8k,8k-16k"],
        ALL_BUT_EXIT,
        "fio ends with the map of the smallest blocks",
    ),
    known(&["--random_distribution=", ODD_SIZES], ALL_BUT_EXIT, "fio ends at the part of a block"),
    known(
        &["trimwrite", "--bsrange=|--bssplit="],
        ALL_BUT_EXIT,
        "trims and writes of different sizes are paired",
    ),
    known(&["--time_based", "--write_iolog="], &["file/trace"], "how far a pass comes is a matter of time"),
    known(
        &["--verify", "--numjobs="],
        ALL,
        "which of the clones' writes to a file came last is a matter of time",
    ),
    known(&["--randrepeat=0", "--rw=rw|--rw=randrw"], ALL_BUT_EXIT, "the share of the reads is drawn anew"),
    known(
        &["--random_distribution=", "--verify=", "--rw=randrw|--nrfiles=|x:y"],
        ALL,
        "fio calls its own data wrong",
    ),
    known(&["--gtod_reduce=1 --gtod_reduce=0"], ALL_BUT_EXIT, "what is given last counts"),
    known(
        &[
            "--iomem_align=1|--iomem_align=2|--iomem_align=3|--iomem_align=4|--iomem_align=8|--iomem_align=50",
            "--direct=1",
        ],
        ALL,
        "fio reads to memory that is not aligned for it",
    ),
    known(
        &["--create_only=1", "--verify=|--verify_pattern="],
        &["files"],
        "nothing is saved of a job that does not run",
    ),
    known(&["--exitall", "--numjobs="], ALL, "how far the other clones come is a matter of time"),
    known(&["--stats=0", "--write_"], &["file"], "fio writes empty logs"),
    Known {
        words: &["--latency_target="],
        unless: &["--latency_window="],
        at: ALL,
        reason: "without a window fio ends after its first I/O",
    },
    known(&["--allow_file_create=0"], ALL_BUT_EXIT, "fio says nothing"),
    known(
        &["--allow_file_create=0", "--create_serialize=0"],
        ALL,
        "fio does nothing without its file, and calls it a success",
    ),
    known(&["--verify_offset=64", "--verify=sha"], ALL, "the header of fio goes over itself"),
    known(&["--filename=present", "--bs=3k"], ALL_BUT_EXIT, "no block goes beyond size"),
    Known { words: &["trim"], unless: &["--ioengine=null"], at: ALL, reason: "fio cannot trim files" },
    known(
        &["trimwrite", SEVERAL_FILES, "--io_size="],
        ALL_BUT_EXIT,
        "fio ends with the last write of io_size, however many trims that takes",
    ),
    known(
        &["--rw=randrw", ODD_SIZES, "--loops="],
        ALL_BUT_EXIT,
        "fio draws a direction for the part of a block at the end, and leaves it out",
    ),
    known(&["--plids=x"], ALL, "fio takes what is no number"),
    known(&["trimwrite", "--verify"], ALL_BUT_EXIT, "nothing can be read back"),
    known(&["--dp_scheme="], ALL_BUT_EXIT, "the file is named in words of our own"),
    known(&["--bs=64k"], ALL, "fio does nothing with blocks larger than a file"),
    known(&["--bs=16k", "--nrfiles=5"], ALL, "fio does nothing with blocks larger than a file"),
    known(&["--unified_rw_reporting="], &["normal"], "fio prints a line of a group without I/O"),
    known(&["trimwrite", ODD_SIZES, "--ba="], ALL_BUT_EXIT, "no block goes beyond size"),
    known(
        &["--filename=", "--nrfiles=", "--file_service_type=zipf"],
        ALL,
        "fio looks for files that there are not, and ends with signal 11",
    ),
    known(
        &["--fsync=|--fdatasync=|--sync_file_range=", SEVERAL_FILES],
        &["file"],
        "fio takes another file for the sync, and goes on after that one",
    ),
    known(
        &["--fsync=|--fdatasync=|--sync_file_range=", SEVERAL_FILES, "--rw=rw|--rw=randrw"],
        ALL_BUT_EXIT,
        "fio takes another file for the sync, and draws directions anew where a file is done",
    ),
    known(&["--file_service_type=zipf"], &["file"], "fio opens files again that are done"),
];

/// True if a difference at this place is intentional.
pub(super) fn is_declared(words: &str, place: &str) -> bool {
    let applies = |known: &&Known| {
        let has_one_of = |alternatives: &&str| alternatives.split('|').any(|word| words.contains(word));
        known.words.iter().all(has_one_of) && !known.unless.iter().any(|word| words.contains(word))
    };
    KNOWN.iter().filter(applies).any(|known| known.at.iter().any(|start| place.starts_with(start)))
}
