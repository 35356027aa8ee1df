//! `--profile=tiobench`: sequential and random writes, then reads, over the same four files.

use super::Profile;
use crate::job_file;
use crate::spec::JobSpec;

/// The four phases.
const JOBS: &str = "\
[global]
size=4*1024*$mb_memory
buffered=0
timeout=600
group_reporting
thread
overwrite=1
filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4
ioengine=sync
[seqwrite]
name=seqwrite
rw=write
end_fsync=1
[randwrite]
name=randwrite
stonewall
rw=randwrite
end_fsync=1
[seqread]
name=seqread
stonewall
rw=read
[randread]
name=randread
stonewall
rw=randread
";

pub(super) const PROFILE: Profile = Profile {
    name: "tiobench",
    own_options: &["block", "numruns", "dir", "threads"],
    meanings,
    notes: |_| Vec::new(),
    jobs: |_, source| job_file::read_text(JOBS, "tiobench", source),
};

fn meanings(defaults: &JobSpec) -> Vec<(&'static str, String)> {
    let own = &defaults.private.tiobench;
    let block = Some(own.block).filter(|_| defaults.is_set("block"));
    [
        ("bs", block.map(|bytes| bytes.to_string())),
        ("loops", own.numruns.map(|count| count.to_string())),
        ("directory", own.dir.clone()),
        ("numjobs", own.threads.map(|count| count.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}
