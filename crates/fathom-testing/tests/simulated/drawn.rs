//! Jobs and devices for property tests.

use fathom_testing::behaviour::{Behaviour, Service};
use proptest::prelude::*;

/// A device without faults, with arbitrary speed and order.
pub(crate) fn sound_device() -> impl Strategy<Value = Behaviour> {
    let service = prop_oneof![
        (1_000u64..300_000).prop_map(Service::Fixed),
        (1_000u64..50_000, 1u64..500_000).prop_map(|(from, width)| Service::Uniform(from..from + width)),
        (1_000u64..200_000).prop_map(Service::Exponential),
    ];
    let stall = (0u64..20_000_000, 1u64..2_000_000_000).prop_map(|(after, lasts)| {
        let from = fathom_testing::run::BEGIN_NS + after;
        from..from + lasts
    });
    (any::<u64>(), service, 0u32..5, any::<bool>(), any::<bool>(), prop::option::weighted(0.3, stall))
        .prop_map(|(seed, service, channels, ends_at_once, ends_rare_ones_at_once, stall)| Behaviour {
            seed,
            service,
            channels,
            ends_at_once,
            ends_rare_ones_at_once,
            stalls: stall.into_iter().collect(),
            ..Behaviour::default()
        })
}

/// A device that may accept I/Os in parts and transfer them partially.
pub(crate) fn awkward_device() -> impl Strategy<Value = Behaviour> {
    (sound_device(), 0u32..300, 0u32..300, 0u32..10).prop_map(
        |(behaviour, short_permille, refused_permille, longest_refusal)| Behaviour {
            short_permille,
            refused_permille,
            longest_refusal,
            ..behaviour
        },
    )
}

/// A device on which I/Os may also fail.
pub(crate) fn failing_device() -> impl Strategy<Value = Behaviour> {
    let errnos = prop::sample::select(vec![libc::EIO, libc::ENOSPC, libc::EINVAL, libc::ETIMEDOUT]);
    (awkward_device(), 0u32..30, prop::collection::vec((0u64..400, errnos), 0..3)).prop_map(
        |(behaviour, failing_permille, failing)| Behaviour { failing_permille, failing, ..behaviour },
    )
}

/// The arguments of a job without verification: pattern, depth, rate, and end.
pub(crate) fn job() -> impl Strategy<Value = String> {
    let direction = words(&[
        "--rw=read",
        "--rw=write",
        "--rw=randread",
        "--rw=randwrite",
        "--rw=randrw",
        "--rw=rw --rwmixread=70",
        "--rw=trim",
        "--rw=randtrim",
        "--rw=trimwrite",
        "--rw=write:8k",
    ]);
    let lengths =
        words(&["--bs=4k", "--bs=512", "--bs=4k,8k,16k", "--bsrange=1k-16k", "--bssplit=4k/60:8k/40"]);
    let depth = words(&[
        "--iodepth=1",
        "--iodepth=2",
        "--iodepth=8",
        "--iodepth=32",
        "--iodepth=8 --iodepth_batch=4",
        "--iodepth=16 --iodepth_batch=8 --iodepth_batch_complete_min=4 --iodepth_low=4",
        "--iodepth=16 --iodepth_batch_complete_max=3",
        "--iodepth=4 --iodepth_batch_complete_min=0",
    ]);
    let pace = words(&[
        "",
        "",
        "",
        "--rate_iops=5000",
        "--rate=4m --rate_process=poisson",
        "--rate_min=1 --rate=8m",
        "--rate_iops=3000,2000 --rate_ignore_thinktime=1 --thinktime=50us",
        "--thinktime_iotime=1ms --thinktime=200us",
        "--thinktime=100us --thinktime_blocks=5",
        "--thinktime=1ms --thinktime_spin=50us --thinktime_blocks=20",
    ]);
    let end = words(&[
        "--size=1m",
        "--size=100k",
        "--size=64k --loops=3",
        "--size=1m --io_size=300k",
        "--size=256k --io_size=1m",
        "--size=1m --number_ios=50",
        "--size=256k --time_based --runtime=20ms",
        "--size=4m --runtime=5ms",
        "--size=256k --time_based --ramp_time=5ms --runtime=10ms",
        "--size=400k --nrfiles=3 --file_service_type=random",
    ]);
    let more = words(&[
        "",
        "",
        "--fsync=10",
        "--fdatasync=7 --end_fsync=1",
        "--disable_lat=1",
        "--disable_slat=1 --disable_clat=1",
        "--lat_percentiles=1 --slat_percentiles=1",
        "--clocksource=cpu --gtod_reduce=1",
        "--serialize_overlap=1",
        "--norandommap=1 --percentage_random=50",
        "--random_distribution=zipf:1.2 --rwmixread=30",
        "--zonemode=strided --zonesize=16k --zoneskip=16k",
        "--sync_file_range=write:6",
        "--rw_sequencer=identical --openfiles=1",
        "--refill_buffers=1 --buffer_compress_percentage=40",
        "--iodepth_batch_complete_min=8 --iodepth_batch_complete_max=16",
        "--max_latency=400us",
        "--latency_target=500us --latency_window=2ms --latency_percentile=90",
        "--write_barrier=5",
    ]);
    (direction, lengths, depth, pace, end, more).prop_map(|(direction, lengths, depth, pace, end, more)| {
        format!("{direction} {lengths} {depth} {pace} {end} {more}")
    })
}

/// Selects one of these.
pub(crate) fn words(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}
