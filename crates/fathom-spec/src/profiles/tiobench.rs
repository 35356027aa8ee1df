//! `--profile=tiobench`: sequential and random writes, then reads, over the same four files.

use super::Profile;
use crate::job_file;
use crate::spec::JobSpec;

/// The four phases.
const JOBS: &str = "\
[global]
thread
ioengine=sync
direct=1
end_fsync=1
timeout=600
filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4
size=4*1024*$mb_memory
[seqwrite]
rw=write
[randwrite]
stonewall
rw=randwrite
[seqread]
stonewall
rw=read
[randread]
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
