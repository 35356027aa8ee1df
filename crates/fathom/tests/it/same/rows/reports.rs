//! Reports in all formats.

use super::super::Family;
use super::super::case::same;

const REPORTS: Family = Family {
    base: "--name=a --filename=data --size=128k --bs=4k",
    rows: &[
        same("--output-format=normal --rw=read"),
        same("--output-format=json --rw=read"),
        same("--output-format=json+ --rw=read"),
        same("--output-format=terse --rw=read"),
        same("--output-format=terse,json --rw=read"),
        same("--output-format=json,normal --rw=read"),
        same("--output-format=normal,terse,json+ --rw=read"),
        same("--minimal --rw=read"),
        same("--minimal --terse-version=2 --rw=read"),
        same("--output-format=terse --terse-version=4 --rw=read"),
        same("--output-format=terse --terse-version=5 --rw=read"),
        same("--append-terse --rw=read"),
        same("--output-format=normal --append-terse --rw=read"),
        same("--output=out --output-format=json --rw=read"),
        same("--output=out --rw=read"),
        same("--output-format=nosuch --rw=read"),
        same("--output-format=json --group_reporting --numjobs=2 --rw=read"),
        same("--output-format=json+ --lat_percentiles=1 --rw=read"),
        same("--output-format=json --slat_percentiles=1 --iodepth=4 --ioengine=libaio --rw=read"),
        same("--output-format=json --clat_percentiles=0 --rw=read"),
        same("--output-format=normal --percentile_list=50:90:99.5 --rw=read"),
        same("--output-format=json --percentile_list=1:50 --rw=read"),
        same("--output-format=normal --significant_figures=8 --rw=read"),
        same("--output-format=normal --kb_base=1000 --rw=read"),
        same("--output-format=normal --unit_base=8 --rw=read"),
        same("--output-format=normal --unit_base=1 --rw=read"),
        same("--output-format=normal --disk_util=0 --rw=read"),
        same("--output-format=json --disk_util=0 --rw=read"),
        same("--output-format=normal --gtod_reduce=1 --rw=read"),
        same("--output-format=json --gtod_reduce=1 --rw=read"),
        same("--output-format=normal --disable_lat=1 --rw=read"),
        same("--output-format=normal --disable_slat=1 --disable_clat=1 --rw=read"),
        same("--output-format=normal --disable_clat=1 --rw=write --fsync=3"),
        same("--output-format=json --gtod_reduce=1 --rw=write --fsync=3"),
        same("--output-format=json --disable_bw_measurement=1 --rw=read"),
        same("--output-format=json --unified_rw_reporting=mixed --rw=read"),
        same("--output-format=normal --unified_rw_reporting=both --rw=read")
            .differs(&["normal"], "fio leaves the units of the mixed rate out"),
        same("--output-format=normal --description=words --rw=read"),
        same("--output-format=json --description=words --rw=read"),
        same("--output-format=json --eta=never --rw=read"),
        same("--output-format=normal --eta=never --rw=read"),
        same("--output-format=json --status-interval=10 --rw=read"),
        same("--output-format=normal --max-jobs=4 --rw=read"),
        same("--output-format=terse --numjobs=3 --group_reporting --rw=read"),
        same("--output-format=terse --numjobs=3 --rw=read"),
        same("--output-format=json+ --numjobs=2 --group_reporting --lat_percentiles=1 --rw=read"),
        same("--output-format=normal --percentile_list=50 --rw=read"),
        same("--output-format=normal --stats=0 --rw=read"),
        same("--output-format=json --stats=0 --rw=read").differs(&["json"], "fio has an empty entry"),
        same("--output-format=normal --thread --rw=read"),
        same("--bandwidth-log --output-format=normal --rw=read")
            .differs(&["file"], "fio writes nothing without a status line"),
        same("--output-format=json --cpus_allowed=0 --rw=read"),
        same("--output-format=json --prioclass=2 --prio=4 --rw=read"),
        same("--output-format=normal --nice=5 --rw=read"),
        same("--output-format=json --write_bw_log=l --log_avg_msec=100 --rw=read")
            .differs(&["file"], "fio leaves the last window out"),
        same("--output-format=json --warnings-fatal --rw=read"),
    ],
};

#[test]
fn reports() {
    super::super::check(&REPORTS);
}
