//! Random verify jobs.

use crate::chance::Chance;

/// The format of blocks, and the engine that writes them.
pub(crate) fn layout(chance: &mut Chance) -> String {
    let kind = chance.one(&[
        "md5", "crc64", "crc32c", "xxhash", "sha1", "sha256", "sha512", "sha3-256", "crc32", "crc16",
        "sha3-512",
    ]);
    let engine = chance.one(&[
        "psync",
        "sync",
        "pvsync",
        "pvsync2",
        "libaio --iodepth=8",
        "libaio --iodepth=16 --thread",
        "io_uring --iodepth=16",
        "io_uring --iodepth=4 --thread",
        "posixaio --iodepth=4",
        "mmap",
        "io_uring --iodepth=8 --direct=0",
        "psync --iodepth=4 --io_submit_mode=offload",
    ]);
    let size = chance.one(&["4k", "512", "16k", "64k", "512-16k", "1k-9k", "4k-32k"]);
    let sizes = if size.contains('-') { format!("--bsrange={size}") } else { format!("--bs={size}") };
    let interval = match size.starts_with("512") || size.starts_with("1k") {
        true => chance.sometimes(30, &["--verify_interval=512"]),
        false => chance.sometimes(30, &["--verify_interval=512", "--verify_interval=4096"]),
    };
    let has_room = interval.is_empty() && !size.starts_with("512");
    let offset = if has_room { chance.sometimes(20, &["--verify_offset=256"]) } else { "" };
    let threads = chance.sometimes(15, &["--verify_async=2"]);
    let format = chance.sometimes(15, &["--verify_header_format=first"]);
    format!("--verify={kind} --ioengine={engine} {sizes} {interval} {offset} {threads} {format}")
}

/// The order of operations; nothing here depends on time, so that a second run can repeat it.
pub(crate) fn order(chance: &mut Chance) -> String {
    let mode = chance.one(&[
        "write",
        "randwrite",
        "rw",
        "randrw",
        "write:8k",
        "write:-32k",
        "randwrite:4",
        "trimwrite",
        "randtrimwrite",
    ]);
    let trims = match mode.contains("trim") {
        true => "",
        false => chance.sometimes(15, &["--trim_percentage=30", "--trim_percentage=40 --trim_verify_zero=1"]),
    };
    let words = [
        chance.sometimes(40, &["--norandommap"]),
        chance.sometimes(20, &["--loops=2", "--loops=3"]),
        chance.sometimes(30, &["--io_size=300k", "--io_size=2m", "--io_size=700k", "--io_size=70k"]),
        chance.sometimes(20, &["--number_ios=20", "--number_ios=300"]),
        trims,
        chance.sometimes(
            25,
            &[
                "--random_distribution=zipf:1.1",
                "--random_distribution=pareto:0.3",
                "--random_distribution=normal:20",
                "--random_generator=lfsr",
                "--random_generator=tausworthe64",
                "--percentage_random=50",
            ],
        ),
        chance.sometimes(
            35,
            &[
                "--filename=one:two:three",
                "--filename=one:two --file_service_type=random",
                "--nrfiles=3 --openfiles=2",
                "--offset=64k",
                "--offset=8k --size=100k",
            ],
        ),
        chance.sometimes(20, &["--fsync=8", "--fdatasync=3", "--end_fsync=1", "--sync=1"]),
        chance.one(&["--do_verify=0", "--do_verify=1"]),
    ];
    format!("--rw={mode} {}", words.join(" "))
}

/// File names for orders that do not name any.
pub(crate) fn names(order: &str) -> &'static str {
    if order.contains("--filename") || order.contains("--nrfiles") { "" } else { "--filename=data" }
}
