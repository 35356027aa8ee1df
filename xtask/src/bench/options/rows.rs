//! The options of the run loop, one row per line.
//!
//! `--metrics` is missing because its exporter cannot restart the program under valgrind. The open-loop rows
//! have more arrivals than the program can serve under valgrind, but few enough that counting them does not dominate.

use super::row::Goal::{Above, AtMost, NotAbove};
use super::row::{Row, option, pair};

/// The job with a single direction, which most rows are compared with.
pub(super) const READS: &str = "--rw=randread";
const WRITES: &str = "--rw=randwrite";
const ENDLESS: &str = "--number_ios=1000000000";
const FREE_RATE: &str = "--rate_iops=1000000000";
const SPLIT: &str = "--bssplit=4k/60:64k/40 --size=1t";
const SYNCS: &str = "--fsync=32";
const PAUSES: &str = "--thinktime=1 --thinktime_blocks=32";
const FILES: &str = "--nrfiles=64 --file_service_type=roundrobin";
const BATCHES: &str = "--iodepth_batch=16";
const IN_MEMORY: &str = "--rw=randwrite --ioengine=psync --size=256m";
const BOTH: &str = "both";
const ASKED: &str = "both; a grant per I/O while many are in flight";
/// Mean block of `SPLIT`, in KiB.
const SPLIT_KIB: u64 = 28;

/// All rows.
pub(super) const ROWS: &[Row] = &[
    option(READS, AtMost(180, 200), "the draw of a block, the histograms").plain().with_fio(),
    option("--rw=read", Above(0), "the histograms"),
    option(WRITES, Above(30), "content of the buffers"),
    option("--rw=randtrim", Above(20), "as reads"),
    option("--gtod_reduce=1", AtMost(150, 150), "the draw of a block").with_fio(),
    option("--rw=randrw", Above(30), "a draw of the direction").with_fio(),
    option(ENDLESS, Above(5), "all I/Os are granted to the short path"),
    option(FREE_RATE, Above(60), "I/Os are granted until the rate could be reached"),
    option("--rate=1000g", Above(60), "as rate_iops"),
    option(
        "--rate_iops=1000000000 --rate_process=poisson",
        Above(100),
        "I/Os are granted for the gaps drawn ahead, a logarithm per gap",
    ),
    option("--random_distribution=zipf:1.1", Above(60), "the curve in pieces, a hash of the rank").with_fio(),
    option("--random_distribution=pareto:0.2", Above(60), "the curve in pieces"),
    option("--random_distribution=normal:30", Above(120), "twelve draws for a mean").with_fio(),
    option("--random_distribution=zoned:60/10:30/20:10/70", Above(60), "draws of zone and block"),
    option("--norandommap", Above(30), "a draw of fio's generator"),
    option("--random_generator=tausworthe", Above(100), "a draw of fio's generator, the map of blocks"),
    option("--random_generator=tausworthe64", Above(100), "a draw of fio's generator, the map of blocks"),
    option("--random_generator=lfsr", Above(10), "a shift register"),
    option(SPLIT, Above(150), "draws of block and size, the map of blocks").blocks_of(SPLIT_KIB).with_fio(),
    option("--bssplit=4k/60:64k/40 --norandommap --size=1t", Above(80), "draws of block and size")
        .blocks_of(SPLIT_KIB)
        .with_fio(),
    option("--bsrange=4k-64k --size=1t", Above(150), "draws of block and size, the map of blocks")
        .blocks_of(34),
    option(
        "--verify=crc32c --do_verify=0",
        Above(80),
        "the map of blocks: null moves no data, so no block is prepared",
    )
    .over(WRITES),
    option(IN_MEMORY, AtMost(1500, 1500), "content of the buffers, two positional calls").plain().short(),
    option("--verify=crc32c", Above(1000), "content of the blocks, a checksum per write and per read")
        .over(IN_MEMORY)
        .short(),
    option(SYNCS, Above(20), "a sync every 32 writes, which is an I/O itself").over(WRITES),
    option(
        PAUSES,
        Above(60),
        "a grant per I/O while many are in flight, a report of each completion, a sleep every 32 I/Os",
    ),
    option(
        "--thinktime=1 --thinktime_blocks=32 --thinktime_blocks_type=issue",
        Above(60),
        "I/Os are granted up to the next pause, a sleep every 32 I/Os",
    ),
    option(FILES, Above(30), "choice of the file, blocks that each file has drawn ahead"),
    option(
        "--nrfiles=64 --file_service_type=sequential",
        Above(20),
        "choice of the file, blocks that each file has drawn ahead",
    ),
    option("--nrfiles=64 --file_service_type=random", Above(60), "a draw of the file"),
    option("--nrfiles=64 --file_service_type=zipf:1.2", Above(120), "a draw of the file, a power"),
    option("--nrfiles=64 --file_service_type=pareto:0.2", Above(120), "a draw of the file, a power"),
    option("--nrfiles=64 --file_service_type=normal:20", Above(180), "twelve draws for the file"),
    option("--numjobs=4 --offset_increment=1g", Above(5), "nothing: an offset at the start"),
    option("--zonemode=strided --zonesize=1m --zoneskip=1m", Above(60), "the end of each zone"),
    option("--write_lat_log=log", Above(150), "a record for the writer, three lines of text"),
    option("--write_bw_log=log", Above(60), "a record for the writer, a line of text"),
    option("--write_iops_log=log", Above(60), "a record for the writer, a line of text"),
    option("--write_hist_log=log", Above(60), "a record for the writer"),
    option("--write_lat_log=log --log_avg_msec=100", Above(60), "a record for the writer"),
    option("--open_loop=1 --rate_iops=300000", Above(150), "due I/Os are counted ahead, response times"),
    option(
        "--steadystate=iops:1% --steadystate_duration=60",
        Above(5),
        "the supervisor's check, once a second",
    ),
    option(
        "--latency_target=1s --latency_window=1s --latency_percentile=99",
        Above(20),
        "one I/O in flight while it searches",
    ),
    option("--percentage_random=50", Above(40), "a draw per I/O that decides between random and sequential"),
    option("--rw=randread:8", Above(10), "a draw every eight I/Os"),
    option(BATCHES, Above(0), "batches are filled separately from completions").deep(),
    option(
        "--iodepth_batch=16 --iodepth_batch_complete_min=16",
        NotAbove(BATCHES),
        "batches are filled separately from completions",
    )
    .deep(),
    option("--numjobs=64", Above(5), "nothing shared"),
    option("--ramp_time=1ms", Above(5), "one check for the end of the ramp"),
    pair("--rw=randrw", ENDLESS, BOTH),
    pair("--rw=randrw", FREE_RATE, BOTH),
    pair("--rw=randrw", SYNCS, "both; a grant per I/O until 32 writes are done"),
    pair("--rw=randrw", PAUSES, ASKED),
    pair(SPLIT, ENDLESS, BOTH).blocks_of(SPLIT_KIB),
    pair(SPLIT, FREE_RATE, BOTH).blocks_of(SPLIT_KIB),
    pair(SPLIT, PAUSES, ASKED).blocks_of(SPLIT_KIB),
    pair(SPLIT, "--rw=randrw", BOTH).blocks_of(SPLIT_KIB),
    pair(FILES, ENDLESS, BOTH),
    pair(FILES, FREE_RATE, BOTH),
    pair(FILES, PAUSES, ASKED),
    pair(FILES, "--rw=randrw", BOTH),
];
