//! Directions and patterns.

use super::super::Family;
use super::super::case::same;

const DIRECTIONS: Family = Family {
    base: "--name=a --filename=data --size=256k --random_generator=tausworthe --write_iolog=trace",
    rows: &[
        same("--rw=read"),
        same("--rw=write"),
        same("--rw=randread"),
        same("--rw=randwrite"),
        same("--rw=rw"),
        same("--rw=randrw"),
        same("--rw=readwrite"),
        same("--rw=trim --ioengine=null"),
        same("--rw=randtrim --ioengine=null"),
        same("--rw=trimwrite --ioengine=null"),
        same("--rw=randtrimwrite --ioengine=null"),
        same("--rw=read:4k"),
        same("--rw=read:8k"),
        same("--rw=write:4k"),
        same("--rw=write:-8k"),
        same("--rw=read:-4k"),
        same("--rw=rw:8k"),
        same("--rw=trimwrite:4k --ioengine=null"),
        same("--rw=randread:4"),
        same("--rw=randwrite:8"),
        same("--rw=randrw:4"),
        same("--rw=randread:1"),
        same("--rw=randtrim:4 --ioengine=null"),
        same("--rw=rw --rwmixread=0"),
        same("--rw=rw --rwmixread=1"),
        same("--rw=rw --rwmixread=30"),
        same("--rw=rw --rwmixread=80"),
        same("--rw=rw --rwmixread=99"),
        same("--rw=rw --rwmixread=100"),
        same("--rw=rw --rwmixwrite=25"),
        same("--rw=rw --rwmixread=70 --loops=2"),
        same("--rw=randrw --rwmixread=0"),
        same("--rw=randrw --rwmixread=1"),
        same("--rw=randrw --rwmixread=30"),
        same("--rw=randrw --rwmixread=80"),
        same("--rw=randrw --rwmixread=99"),
        same("--rw=randrw --rwmixread=100"),
        same("--rw=randrw --rwmixwrite=25"),
        same("--rw=randrw --rwmixread=70 --loops=2"),
        same("--rw=rw:4k --rw_sequencer=identical"),
        same("--rw=randread:4 --rw_sequencer=identical"),
        same("--rw=randread:4 --rw_sequencer=sequential"),
        same("--rw=rw:2 --rw_sequencer=identical"),
        same("--rw=randread:8 --rw_sequencer=identical"),
        same("--rw=randwrite:2 --rw_sequencer=sequential"),
        same("--rw=randread --percentage_random=50"),
        same("--rw=randrw --percentage_random=50,20"),
        same("--rw=randwrite --percentage_random=0"),
        same("--rw=randread --percentage_random=100"),
        same("--rw=randwrite --percentage_random=0 --size=130k"),
        same("--rw=randwrite --percentage_random=50 --io_size=1m --randseed=2"),
        same("--rw=randrw --percentage_random=50 --io_size=1m --randseed=3"),
        same("--rw=randwrite:4 --percentage_random=50"),
        same("--rw=randrw:4 --io_size=1m --randseed=1"),
        same("--rw=rw --io_size=512k --size=130k"),
        same("--rw=randwrite --verify=md5"),
        same("--rw=randtrimwrite --ioengine=null --io_size=600k"),
        same("--rw=trimwrite --ioengine=null --io_size=400k"),
        same("--rw=trimwrite --ioengine=null --number_ios=10"),
    ],
};

#[test]
fn directions() {
    super::super::check(&DIRECTIONS);
}

const ORDERS: Family = Family {
    base: "--name=a --filename=data --size=256k --random_generator=tausworthe --write_iolog=trace",
    rows: &[
        same("--rw=randread --norandommap"),
        same("--rw=randwrite --norandommap"),
        same("--rw=randrw --norandommap"),
        same("--rw=randread --randseed=1"),
        same("--rw=randread --randseed=42"),
        same("--rw=randread --randseed=1234567"),
        same("--rw=randrw --randseed=7"),
        same("--rw=randread --allrandrepeat=1"),
        same("--rw=randread --randrepeat=1 --loops=2"),
        same("--rw=randwrite --loops=3"),
        same("--rw=randread --softrandommap=1"),
        same("--rw=randread --random_generator=tausworthe64"),
        same("--rw=randread --random_generator=tausworthe64 --bssplit=4k/50:8k/50"),
        same("--rw=randread --random_generator=tausworthe64 --bsrange=4k-16k"),
        same("--rw=randread --random_generator=lfsr"),
        same("--rw=randwrite --random_generator=lfsr --norandommap"),
        same("--rw=randread --random_generator=lfsr --size=1m"),
        same("--rw=randread --randseed=5 --random_generator=tausworthe64 --norandommap"),
        same("--rw=randread --norandommap --loops=2"),
        same("--rw=randwrite --norandommap --io_size=1m"),
        same("--rw=rw --loops=3 --thinkcycles=4"),
        same("--rw=rw --loops=3 --rwmixread=70 --rate_iops=1000000"),
        same("--rw=randrw --loops=2 --randseed=3 --thinktime=1"),
        same("--rw=randrw --io_size=1m --rate=1000m"),
        same("--rw=rw --loops=2 --randseed=5"),
    ],
};

#[test]
fn orders() {
    super::super::check(&ORDERS);
}
