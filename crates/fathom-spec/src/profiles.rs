//! Built-in workloads: job files that come with the program (`--profile`).

use crate::spec::JobSpec;

/// The four phases of tiobench: sequential and random writes, then reads, over the same four files.
const TIOBENCH: &str = "\
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

/// Options that only tiobench has.
pub(crate) const TIOBENCH_OPTIONS: [&str; 4] = ["block", "numruns", "dir", "threads"];

/// The job file of the profile with this name.
pub(crate) fn text(profile: &str) -> Option<&'static str> {
    (profile == "tiobench").then_some(TIOBENCH)
}

/// What the profile's own options mean in terms of job options: names and values.
pub(crate) fn own_options(profile: &str, defaults: &JobSpec) -> Vec<(&'static str, String)> {
    if profile != "tiobench" {
        return Vec::new();
    }
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
