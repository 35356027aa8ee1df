//! I/Os have fio's order over passes, files and directions: the expected sequences were recorded with fio 3.41
//! and the same arguments.

use fathom_run::unit::Operation;
use fathom_testing::behaviour::{Behaviour, Service};
use fathom_testing::run::{Simulated, run};

/// Arguments, and fio's I/Os: direction, file, and 4 KiB block.
const ORDERS: &[(&str, &str)] = &[
    (
        "--rw=rw --nrfiles=2 --size=48k --loops=3 --randseed=5",
        "r0:0 r1:0 w0:0 r1:1 r0:1 r1:2 w0:1 w1:0 r0:2 r1:3 w0:2 w1:1 r0:3 r1:4 w0:3 w1:2 w0:4 r1:5 r0:4 w0:5 w1:0 w0:0 w1:1 w0:1 w1:2 r0:0 w1:3 w0:2 w1:4 r0:1 r1:0 r0:2 r1:1 w0:3 w1:5 r0:3",
    ),
    (
        "--rw=rw --nrfiles=3 --size=48k --loops=2 --randseed=3 --file_service_type=sequential",
        "w0:0 r0:0 w0:1 w0:2 r0:1 w0:3 w1:0 w1:1 r1:0 r1:1 r1:2 w1:2 w1:3 w2:0 r2:0 w2:1 r2:1 r2:2 r2:3 r0:0 r0:1 w0:0 w0:1 w0:2",
    ),
    (
        "--rw=rw --nrfiles=3 --size=48k --loops=2 --randseed=3 --file_service_type=roundrobin:3",
        "w0:0 r0:0 w0:1 w1:0 r1:0 w1:1 w2:0 w2:1 w2:2 r0:1 r0:2 r0:3 w1:2 w1:3 w2:3 r2:0 r1:0 r1:1 r1:2 r2:0 r2:1 w2:0 w0:0 w0:1",
    ),
    (
        "--rw=rw --size=40k --loops=3 --rate_iops=1000000",
        "r0:0 r0:1 r0:2 w0:0 r0:3 r0:4 w0:1 w0:2 w0:3 r0:5 w0:4 r0:6 w0:5 r0:7 r0:8 r0:9 w0:6 w0:7 r0:0 r0:1 r0:2 w0:0 r0:3 r0:4 w0:1 w0:2 w0:3 r0:5 w0:4 r0:6",
    ),
    (
        "--rw=randrw --size=40k --loops=3 --randseed=3 --random_generator=tausworthe --thinkcycles=1",
        "w0:5 r0:6 w0:4 w0:9 r0:0 w0:8 w0:1 w0:2 w0:7 r0:3 r0:1 w0:8 w0:2 w0:9 w0:0 r0:3 w0:4 r0:5 r0:6 r0:7 r0:8 r0:5 w0:3 w0:0 w0:6 w0:1 r0:7 w0:4 w0:9 r0:2",
    ),
    (
        "--rw=trimwrite --nrfiles=3 --size=24k --loops=2",
        "t0:0 t1:0 t2:0 w0:0 w1:0 w2:0 t0:1 t1:1 t2:1 w0:1 w1:1 w2:1 t0:0 t1:0 t2:0 w0:0 w1:0 w2:0 t0:1 t1:1 t2:1 w0:1 w1:1 w2:1",
    ),
    (
        "--rw=randtrimwrite --nrfiles=2 --size=40k --random_generator=tausworthe --file_service_type=random",
        "t1:4 w1:4 t0:4 w0:4 t1:3 t0:2 w1:3 t1:0 w1:0 t1:1 w1:1 w0:2 t0:0 t1:2 w1:2 w0:0 t0:1 w0:1 t0:3 w0:3",
    ),
    (
        "--rw=randrw --nrfiles=2 --size=48k --io_size=100k --percentage_random=50 --random_generator=tausworthe",
        "r0:5 r1:0 r0:0 w1:5 r0:3 r1:1 w0:0 w1:0 w0:4 r1:3 w0:5 r1:4 w0:0 r1:0 r0:1 r1:1 w0:1 w1:2 r0:2 r1:2 w1:4 r0:5 r1:0 r0:0 w1:5",
    ),
    (
        "--rw=randrw --size=40k --percentage_random=50 --random_generator=tausworthe --time_based --runtime=1 --thinktime=1000 --thinktime_blocks=10",
        "r0:9 r0:0 r0:1 w0:8 r0:6 r0:7 w0:9 w0:0 w0:5 r0:7 w0:6 r0:8 w0:0 r0:1 r0:2 r0:3 w0:1 w0:4 r0:5 r0:6 w0:9 w0:3 w0:0 w0:1 r0:7 w0:2 r0:7 w0:8 w0:9 w0:0 w0:4 r0:8 r0:9 w0:1 r0:6 w0:2 w0:3 r0:2 r0:3 w0:3 w0:5 r0:0 w0:6 r0:4 r0:0 w0:8 w0:9 r0:1 w0:0 w0:1 w0:9 r0:2 r0:3 w0:0 r0:4 w0:1 r0:6 w0:2 w0:3 r0:7",
    ),
    (
        "--rw=randrw:3 --size=40k --random_generator=tausworthe --time_based --runtime=1 --thinktime=1000 --thinktime_blocks=10",
        "r0:9 r0:0 r0:1 w0:8 r0:2 r0:3 w0:6 w0:7 w0:8 r0:5 w0:9 r0:6 w0:7 r0:7 r0:8 r0:0 w0:8 w0:9 r0:1 r0:2 w0:0 w0:2 w0:3 w0:4 r0:3 w0:5 r0:4 w0:4 w0:5 w0:6 w0:5 r0:0 r0:1 w0:9 r0:2 w0:0 w0:3 r0:3 r0:4 w0:0 w0:1 r0:5 w0:7 r0:6 r0:7 w0:8 w0:9 r0:8 w0:4 w0:5 w0:6 r0:1 r0:2 w0:7 r0:6 w0:8 r0:7 w0:2 w0:3 r0:8",
    ),
];

fn order(run: &Simulated) -> String {
    let ios = run.record.ios();
    let words = ios.iter().map(|io| {
        let letter = ["r", "w", "t"][io.operation as usize];
        format!("{letter}{}:{}", io.file, io.offset / 4096)
    });
    words.collect::<Vec<String>>().join(" ")
}

#[test]
fn orders_are_those_of_fio() {
    for (words, expected) in ORDERS {
        let run = run(words, Behaviour { ends_at_once: true, ..Behaviour::default() });
        let order = order(&run);
        match words.contains("time_based") {
            true => assert!(order.starts_with(expected), "{words}\n{order}"),
            false => assert_eq!(order, *expected, "{words}"),
        }
    }
}

/// The number of times that a loop checks for more work depends on how long it waits for I/Os in flight.
#[test]
fn orders_are_no_matter_of_time() {
    let mix = "--rw=rw --size=40k --randseed=5 --verify=crc32c --loops=4 --iodepth=8";
    let trims = "--rw=trimwrite --nrfiles=3 --file_service_type=random --size=48k --randseed=5 --verify=crc32c \
                 --loops=4 --iodepth=8";
    let paces = ["", "--thinkcycles=1", "--rate_iops=1000000"];
    for words in [mix, trims].iter().flat_map(|words| paces.map(|pace| format!("{words} {pace}"))) {
        let writes = |device: Behaviour| {
            let mut ios = run(&words, device).record.ios();
            ios.retain(|io| io.operation == Operation::Write);
            ios.iter().map(|io| (io.file, io.offset / 4096)).collect::<Vec<(u32, u64)>>()
        };
        let expected = writes(Behaviour::default());
        for seed in 0..20 {
            let service = Service::Uniform(10_000..1_000_000);
            assert_eq!(writes(Behaviour { seed, service, ..Behaviour::default() }), expected, "{words}");
        }
    }
}
