//! Limits on amount, rate and time.

use super::super::Family;
use super::super::case::same;

const LIMITS: Family = Family {
    base: "--name=a --filename=data --size=256k --bs=4k",
    rows: &[
        same("--rw=read --number_ios=10"),
        same("--rw=write --number_ios=37 --thinktime=500 --thinktime_blocks=5 --rate_iops=5000"),
        same("--rw=write --number_ios=50 --thinktime=500 --thinktime_blocks=5 --ioengine=libaio --iodepth=4"),
        same(
            "--rw=write --number_ios=50 --thinktime=500 --thinktime_blocks=5 --thinktime_blocks_type=issue --fsync=7",
        ),
        same("--rw=randread --number_ios=29 --rate=100m --ioengine=io_uring --iodepth=8"),
        same(
            "--rw=write --bsrange=4k-16k --random_generator=tausworthe --number_ios=11 --fsync=4 --rate=50m",
        ),
        same("--rw=write --number_ios=30 --fsync=7 --loops=2"),
        same("--rw=write --number_ios=10"),
        same("--rw=randread --number_ios=0"),
        same("--rw=randrw --number_ios=33"),
        same("--rw=read --loops=2"),
        same("--rw=read --loops=3 --number_ios=20"),
        same("--rw=write --io_size=1m"),
        same("--rw=write --io_size=64k"),
        same("--rw=randwrite --io_size=1m"),
        same("--rw=randwrite --io_size=100k --random_generator=tausworthe"),
        same("--rw=rw --rate_iops=2000,1000 --rwmixread=100"),
        same("--rw=randrw --rate_iops=2000,1000 --rwmixwrite=100"),
        same("--rw=read --runtime=1 --rate_iops=20"),
        same("--rw=read --time_based --runtime=1 --rate_iops=10"),
        same("--rw=read --runtime=300ms --time_based"),
        same("--rw=read --ramp_time=1 --time_based --runtime=1"),
        same("--rw=write --rate=256k"),
        same("--rw=randrw --rate=256k,128k"),
        same("--rw=read --rate_iops=100"),
        same("--rw=read --rate_iops=100,50"),
        same("--rw=read --rate_process=poisson --rate_iops=100"),
        same("--rw=read --rate_min=1 --rate=10m"),
        same("--rw=write --thinktime=1000"),
        same("--rw=write --thinktime=1000 --thinktime_blocks=4"),
        same("--rw=write --thinktime=2000 --thinktime_spin=500"),
        same("--rw=read --startdelay=1"),
        same("--rw=read --start_delay=200ms"),
        same("--rw=read --rate_cycle=100 --rate=1m"),
        same("--rw=write --thinktime=500 --thinktime_blocks=2 --thinktime_blocks_type=complete"),
        same("--rw=read --max_latency=10s"),
        same("--rw=read --timeout=2"),
        same("--rw=write --io_limit=64k"),
        same("--rw=read --loops=0"),
        same("--rw=read --thinktime_iotime=1ms --thinktime=1ms"),
        same("--rw=read --size=64k --io_size=64k --time_based --runtime=1 --rate_iops=50"),
        same(
            "--rw=read --latency_target=100ms --latency_window=100ms --latency_percentile=99 --time_based --runtime=1 --ioengine=libaio --iodepth=4",
        ),
        same(
            "--rw=read --steadystate=iops:50% --steadystate_duration=1s --time_based --runtime=3 --rate_iops=100",
        ),
        same("--rw=read --ss=bw:30% --ss_dur=1 --time_based --runtime=3 --rate_iops=100"),
        same("--rw=read --ss=iops_slope:50% --ss_dur=1 --ss_ramp=1 --time_based --runtime=4 --rate_iops=50"),
        same("--rw=read --rate_ignore_thinktime=1 --rate=1m --thinktime=1ms"),
        same("--rw=read --gtod_reduce=1 --rate_iops=100"),
        same("--rw=write --end_fsync=1 --loops=2"),
    ],
};

#[test]
fn limits() {
    super::super::check(&LIMITS);
}
