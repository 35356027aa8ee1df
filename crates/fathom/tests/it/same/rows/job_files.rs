//! Job files.

use super::super::Family;
use super::super::case::job_file;

const JOB_FILES: Family = Family {
    base: "",
    rows: &[
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\n[b]\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\n[b]\nstonewall\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\nnew_group\n[b]\nnew_group\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\ngroup_reporting\n[a]\nrw=write\nnumjobs=2\n[b]\nstonewall\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\n[b]\nwait_for=a\nrw=randread\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\nwait_for_previous\n[b]\nwait_for_previous\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\ndescription=some words\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\nstonewall\n[global]\nbs=8k\n[b]\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=randrw\nrwmixread=70\niodepth=4\nioengine=libaio\n"),
        job_file("[global]\nsize=64k\nnrfiles=3\n[a]\nrw=write\n[b]\nrw=randwrite\nfile_service_type=random\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\nexec_prerun=true\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\nexec_prerun=false\n").differs(&["normal", "terse"], "no disk is counted when no job runs"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\nexec_postrun=echo done\n"),
        job_file("[a]\nsize=64k\nfilename=x\nrw=write\nunlink=1\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\nnumjobs=4\nstonewall\n[b]\nrw=read\nnumjobs=2\nstonewall\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\nstartdelay=100ms\n[b]\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\nexitall\n[a]\nrw=read\nrate_iops=32\n[b]\nrw=read\nrate_iops=1\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\nthread\n[a]\nrw=write\n[b]\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=write\n[b]\nrw=read\nstonewall\nnew_group\n[c]\nrw=randread\nstonewall\n"),
        job_file("[a]\nfilename=x:y\nsize=128k\nrw=write\nbs=8k\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\nopenfiles=1\nnrfiles=2\n"),
        job_file("[global]\nbs=4k\n[fill]\nfilename=f\nsize=128k\nrw=write\n[check]\nstonewall\nfilename=f\nsize=128k\nrw=read\nverify=md5\n").differs(&["stderr", "normal", "terse", "json"], "fio ends at the first wrong block; all are told"),
        job_file("[global]\nbs=4k\nfilename=f\nsize=128k\nverify=crc32c\n[fill]\nrw=write\ndo_verify=0\n[check]\nstonewall\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=randread\nrandseed=5\nrandom_generator=tausworthe\nwrite_iolog=trace\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\nloops=2\n[a]\nrw=write\nfsync=4\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\nunified_rw_reporting=1\n[a]\nrw=randrw\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\nwrite_lat_log=l\n[a]\nrw=read\n[b]\nrw=read\n"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nrw=read\nflow=2\nflow_id=1\n[b]\nrw=read\nflow=-1\nflow_id=1\n").differs(&["exit", "stderr", "normal", "terse", "json", "files"], "a flow has no negative weight"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[a]\nnumjobs=2\nrw=read\n[b]\ngroup_reporting\nnumjobs=2\nrw=write\n").differs(&["normal", "terse", "json"], "fio loses a job where some report as a group"),
        job_file("[global]\nsize=64k\nbs=4k\nfilename=data\n[seq-read]\nrw=read\n[rand write]\nrw=randwrite\n"),
    ],
};

#[test]
fn job_files() {
    super::super::check(&JOB_FILES);
}
