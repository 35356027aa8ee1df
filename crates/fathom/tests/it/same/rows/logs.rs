//! Logs: their names, columns and offsets.

use super::super::Family;
use super::super::case::same;

const LOGS: Family = Family {
    base: "--name=a --filename=data --size=128k --bs=4k",
    rows: &[
        same("--rw=write --write_bw_log=l"),
        same("--rw=write --write_iops_log=l"),
        same("--rw=write --write_lat_log=l"),
        same("--rw=write --write_bw_log=l --log_offset=1"),
        same("--rw=randrw --random_generator=tausworthe --write_lat_log=l --log_offset=1"),
        same("--rw=write --write_lat_log=l --log_max_value=1 --log_avg_msec=100"),
        same("--rw=write --write_bw_log=l --log_avg_msec=100 --rate_iops=200"),
        same("--rw=write --write_lat_log=l --per_job_logs=0"),
        same("--rw=write --write_lat_log=l --per_job_logs=0 --numjobs=2"),
        same("--rw=write --write_lat_log"),
        same("--rw=write --write_bw_log"),
        same("--rw=write --write_iops_log=dir/l").differs(
            &["exit", "stderr", "normal", "terse", "json", "files"],
            "the run does not start without its log",
        ),
        same("--rw=write --write_lat_log=l --log_compression=64k"),
        same("--rw=write --write_lat_log=l --log_store_compressed=1 --log_compression=64k"),
        same("--rw=write --write_hist_log=l --log_hist_msec=100 --rate_iops=100"),
        same("--rw=write --write_hist_log=l --log_hist_msec=100 --log_hist_coarseness=3 --rate_iops=100"),
        same("--rw=read --write_lat_log=l --disable_slat=1"),
        same("--rw=read --write_lat_log=l --disable_lat=1"),
        same("--rw=read --write_lat_log=l --disable_clat=1"),
        same("--rw=read --write_lat_log=l --log_prio=1"),
        same(
            "--rw=randread --random_generator=tausworthe --write_lat_log=l --log_offset=1 --ioengine=libaio --iodepth=4",
        ),
        same("--rw=read --write_lat_log=l --log_issue_time=1 --log_offset=1"),
        same("--rw=read --write_bw_log=l --log_unix_epoch=1"),
        same("--rw=read --write_lat_log=l --log_alternate_epoch=1"),
        same("--rw=read --write_lat_log=l --log_entries=16"),
        same("--rw=randrw --random_generator=tausworthe --write_lat_log=l --bsrange=4k-16k --log_offset=1"),
        same("--rw=read --write_lat_log=l --write_bw_log=m --write_iops_log=n"),
        same("--rw=read --write_iolog=trace --write_lat_log=l"),
        same("--rw=write --write_lat_log=l --log_window_value=both --log_avg_msec=50 --rate_iops=200"),
        same("--rw=write --write_lat_log=l --write_iops_log=l --log_window_value=both --log_offset=1"),
        same("--rw=read --write_bw_log=l --bwavgtime=100 --rate_iops=100"),
        same("--rw=read --numjobs=2 --write_lat_log=l"),
        same("--rw=read --write_lat_log=l.log"),
        same("--rw=write --write_lat_log=l --fsync=8"),
        same("--rw=trim --ioengine=null --write_lat_log=l --log_offset=1"),
        same("--rw=trimwrite --ioengine=null --write_lat_log=l --log_offset=1"),
    ],
};

#[test]
fn logs() {
    super::super::check(&LOGS);
}
