//! Distributions of random offsets.

use super::super::Family;
use super::super::case::same;

const DISTRIBUTIONS: Family = Family {
    base: "--name=a --filename=data --size=512k --bs=4k --random_generator=tausworthe --write_iolog=trace",
    rows: &[
        same("--rw=randread --random_distribution=zipf:1.2"),
        same("--rw=randread --random_distribution=zipf:0.8"),
        same("--rw=randread --random_distribution=zipf:1.1:0.5"),
        same("--rw=randread --random_distribution=pareto:0.2"),
        same("--rw=randread --random_distribution=pareto:0.9"),
        same("--rw=randread --random_distribution=normal:20"),
        same("--rw=randread --random_distribution=normal:5"),
        same("--rw=randread --random_distribution=zoned:60/10:30/20:8/30:2/40"),
        same("--rw=randread --random_distribution=zoned:50/50:50/50"),
        same("--rw=randread --random_distribution=zoned_abs:60/64k:40/448k"),
        same("--rw=randread --random_distribution=random"),
        same("--rw=randwrite --random_distribution=zipf:1.2 --loops=2"),
        same("--rw=randwrite --random_distribution=zipf:0.8 --loops=2"),
        same("--rw=randwrite --random_distribution=zipf:1.1:0.5 --loops=2"),
        same("--rw=randwrite --random_distribution=pareto:0.2 --loops=2"),
        same("--rw=randwrite --random_distribution=pareto:0.9 --loops=2"),
        same("--rw=randwrite --random_distribution=normal:20 --loops=2"),
        same("--rw=randrw --random_distribution=zipf:1.1"),
        same("--rw=randrw --random_distribution=zoned:60/10:40/90"),
        same("--rw=randrw --random_distribution=zipf:1.1,pareto:0.3").differs(
            &["exit", "stderr", "normal", "terse", "json", "files"],
            "fio reads as far as the comma",
        ),
        same("--rw=randread --random_distribution=zipf:1.2 --norandommap"),
        same("--rw=randread --random_distribution=pareto:0.3 --norandommap"),
        same("--rw=randread --random_distribution=normal:10 --norandommap"),
        same("--rw=randread --random_distribution=zoned:60/10:40/90 --norandommap"),
        same("--rw=randread --random_distribution=zipf:1.2 --randseed=9"),
        same("--rw=randread --random_distribution=zipf:1.2 --numjobs=1 --iodepth=4"),
    ],
};

#[test]
fn distributions() {
    super::super::check(&DISTRIBUTIONS);
}
