//! The words of a report, explained.

/// A word or line of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// How it begins in a report, in lower case; the first is its name.
    pub(super) names: &'static [&'static str],
    /// What it says.
    pub(super) text: &'static str,
}

const fn term(names: &'static [&'static str], text: &'static str) -> Term {
    Term { names, text }
}

/// In the order of a report; a longer name stands before a shorter one that begins it.
pub(super) const TERMS: &[Term] = &[
    term(
        &["jobs:"],
        "The line that is drawn while jobs run: how many are running, how many files they have open (f=), what each of them does as a \
         letter, the share that is done, rates of reads and writes (r=, w=) in bytes and I/Os per second since the last line, and the \
         time to go (eta). The letters: P not started, C created, I setting up, p reading ahead, / ramp time, R and r sequential and \
         random reads, W and w writes, M and m both, D and d trims, V verifying, F last fsync, f finishing, E ended, _ collected, \
         X failed, K killed.",
    ),
    term(
        &["run status group"],
        "The sum of a group of jobs: bandwidth of all together with that of the slowest and the fastest in the range behind it, bytes \
         moved, and the shortest and longest run time. Jobs that share a group are not separated by new_group or stonewall.",
    ),
    term(
        &["disk stats"],
        "What the kernel counted for each block device below the files, from the start of the run to its end, whoever caused it: \
         ios = I/Os read/written, sectors = 512-byte units, merge = I/Os joined to others before they were sent, ticks = milliseconds \
         that I/Os took, added up, in_queue = the same for all in the queue, util = share of the time with at least one I/O under \
         way. A util of 100 % means that the device always had something to do, not that it could do no more.",
    ),
    term(
        &["slat"],
        "Submission latency: from the moment the job begins to issue an I/O until the kernel has taken it. Engines that wait for each \
         I/O have none. When it is large, the call that should only hand over is blocking: a full queue, a file system that allocates \
         or locks, or asynchronous I/O without direct=1.",
    ),
    term(
        &["clat percentiles", "lat percentiles", "slat percentiles"],
        "The share of I/Os that ended within a latency: 99.00th=[1500] says that 99 % took at most 1500 of the unit in the heading, and \
         1 % took longer. They are taken from a histogram whose bins are less than 1.6 % wide. The 50th is the median; a tail far \
         above it is what users of a busy system feel.",
    ),
    term(
        &["clat"],
        "Completion latency: from the moment the kernel has an I/O until the job learns that it has ended. With engines that wait for \
         each I/O it is the whole latency.",
    ),
    term(
        &["lat (nsec)", "lat (usec)", "lat (msec)", "latency_ns", "latency_us", "latency_ms"],
        "With min= and avg= behind it: the whole latency of an I/O, submission and completion together. With shares behind it: how \
         the completion latencies are spread. 250=10.94% says that 10.94 % of the I/Os took longer than the bound before it and at \
         most 250 of the unit.",
    ),
    term(
        &["latency"],
        "The line behind `issued rwts`: what latency_target asked for and what depth it led to. target=0 says that nothing was asked \
         for; depth is then that of iodepth.",
    ),
    term(
        &["lat"],
        "The whole latency of an I/O, from the moment the job begins to issue it until it knows that it has ended: submission (slat) and \
         completion (clat) together.",
    ),
    term(
        &["bw=", "bw"],
        "Bandwidth. With capital letters (BW=) it is bytes moved over the run time, first in powers of 1024, in parentheses in powers of \
         1000. The line `bw ( KiB/s): min=, max=, per=, avg=, stdev=, samples=` shows the bandwidth of short intervals of one clone \
         (bwavgtime): how steady it was. per= is the share of this job in its group.",
    ),
    term(
        &["iops"],
        "I/Os per second. With capital letters (IOPS=) it is all I/Os over the run time. The line `iops : min=, max=, ...` shows short \
         intervals (iopsavgtime).",
    ),
    term(
        &["cpu", "usr_cpu", "sys_cpu"],
        "Processor use of the job's processes while they ran: usr= in the program, sys= in the kernel on its behalf, percent of one \
         processor for each clone; ctx= context switches, majf= and minf= page faults that did and did not need a disk. usr and sys \
         near 100 together mean that the processor was the limit.",
    ),
    term(
        &["io depths", "iodepth_level"],
        "How many I/Os were in flight when one more was issued: 16=70.6% says that 70.6 % found 16 to 31. A depth below iodepth says \
         that the job could not keep the queue full.",
    ),
    term(
        &["submit", "iodepth_submit"],
        "How many I/Os were handed over by one call: 4=100% says 1 to 4 at a time. More at a time costs less CPU per I/O \
         (iodepth_batch).",
    ),
    term(
        &["complete", "iodepth_complete"],
        "How many ended I/Os were collected by one call, in the same steps as `submit`.",
    ),
    term(
        &["issued rwts", "issued rwt"],
        "How many reads, writes, trims and syncs were issued (total=), how many of them moved less than asked for (short=), and how many \
         were given up (dropped=). Anything but 0 in short and dropped deserves a look.",
    ),
    term(
        &["read:", "write:", "trim:"],
        "The figures of one direction: I/Os per second, bandwidth in powers of 1024 and 1000, and bytes over run time in parentheses. \
         Indented under `Run status group` it is the sum over the jobs of the group.",
    ),
    term(
        &["groupid"],
        "The header of a job's figures: its group, the clones that are merged into it (jobs=), the error that ended it (err= 0 is none; \
         otherwise a number of errno), the process id of the first clone, and when the report was made.",
    ),
    term(
        &["err="],
        "The error that ended a job: 0 is none, otherwise a number of errno, such as 5 for EIO and 28 for ENOSPC.",
    ),
    term(
        &["util"],
        "Share of the time in which a device had at least one I/O under way. Disks that work on one I/O at a time are full at 100 %; SSDs \
         and arrays are not.",
    ),
    term(
        &["ios"],
        "I/Os that the kernel counted for the device, reads before the stroke, writes behind it. Merged ones count once.",
    ),
    term(&["merge"], "I/Os that were joined to a neighbour before they were sent to the device."),
    term(
        &["ticks"],
        "Milliseconds that I/Os spent in the queue and in the device, added up over all of them. Over ios it is their mean time.",
    ),
    term(
        &["in_queue"],
        "Milliseconds in the queue and in the device, added up over all I/Os, flushes among them.",
    ),
    term(&["sectors"], "Amounts in units of 512 bytes, whatever the size of the device's own sectors is."),
    term(
        &["ctx"],
        "Context switches: how often the processor was given to somebody else or the job went to sleep.",
    ),
    term(
        &["majf", "minf"],
        "Page faults that needed a disk (major) and those that did not (minor). Major ones during a test spoil it.",
    ),
    term(
        &["per="],
        "The share of this job's bandwidth in that of its group, from the samples of its intervals.",
    ),
    term(&["samples="], "The number of intervals that min, max, avg and stdev of the line are made of."),
    term(
        &["stdev"],
        "Standard deviation: how far values lie from their mean. Latencies are not spread evenly around it, so percentiles say more.",
    ),
    term(
        &["doubtful", "doubt", "to bear in mind"],
        "How `fathom quick` marks a figure that may not be what it seems. The sentences beside the grid say why: the rate fell, the depth \
         was not reached, a limit of a control group was met, the job waited for a CPU, a cache answered, or others used the device.",
    ),
    term(
        &["processor_wait_ms"],
        "In `fathom jobs` of fathom's JSON: how long the clones of a job were ready to run and had no CPU, ms added up. A large share of \
         the run time says that the figures are those of a busy machine, not of the storage.",
    ),
    term(
        &["stolen_ms", "stolen"],
        "In `fathom jobs` of fathom's JSON: CPU time that the hypervisor gave to other virtual machines while the job ran, ms over all CPUs.",
    ),
    term(
        &["limits", "cpu.max", "cpu.stat", "io.max", "io.stat", "throttled"],
        "In `fathom jobs` of fathom's JSON: limits that control groups set to the job, in its own group and those above it, and what was \
         counted of them while it ran: periods in which the group was held back (cpu.max, cpu.stat), and bytes and I/Os per second of a \
         device (io.max, io.stat). In version 1 of control groups they are cpu.cfs_quota_us and blkio.throttle.*.",
    ),
    term(
        &["queue depth", "depth reached", "depth"],
        "How many I/Os are in flight at a time. Asked for with iodepth (asynchronous engines) and numjobs; what was reached follows from \
         rate times latency (Little's law). Devices work on many at once, so a small depth measures the latency of a single I/O, a large \
         one what the device can do.",
    ),
    term(
        &["verdict", "bottleneck"],
        "What `fathom explain` holds for the reason that a job was not faster, with the figures that say so. What leaves the storage out (no \
         storage, memory, a cache) is decided first, then limits and other work, and only then the device or the queue depth.",
    ),
    term(
        &["confidence interval", "95 % ci", "ci", "interval"],
        "The range that holds the true value with 95 % confidence, if runs scatter by chance. Two settings whose difference has an interval \
         around zero cannot be told apart by these runs.",
    ),
    term(
        &["hedges_g", "hedges g", "effect (g)", "g"],
        "Effect size in `fathom compare`: the difference of the means over the scatter of the runs. Beyond 0.8 in either direction it is large.",
    ),
    term(
        &["not distinguishable"],
        "The interval of a difference holds zero: it may be chance. More runs make the interval narrower.",
    ),
    term(
        &["fathom timeline", "fathom host", "fathom jobs", "fathom notes", "fathom stages", "fathom quick"],
        "Members of fathom's JSON beside those of fio: the course of the run, the machine, how jobs were run, what a reader must know, the \
         devices stage by stage, and the grid of `fathom quick` with its doubts.",
    ),
    term(&["short"], "I/Os that moved less than asked for, for example at the end of a file."),
    term(&["dropped"], "I/Os that were given up without being done."),
    term(&["percentile"], "The latency within which that share of the I/Os ended."),
    term(&["zone resets"], "How many zones of a zoned device were reset so that they could be written anew."),
];

/// The term that a line of a report begins with.
pub(super) fn of_line(line: &str) -> Option<&'static Term> {
    let line = line.trim().trim_start_matches('|').trim_start().to_lowercase();
    // `clat (usec): min=...`, `clat percentiles (usec):` and `iops        : min=...` all begin with their name.
    let begins = |name: &str| {
        let Some(rest) = line.strip_prefix(name) else { return false };
        let ends_in_letter = name.ends_with(|letter: char| letter.is_alphanumeric());
        !ends_in_letter || !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
    };
    // `read: IOPS=...` before `read`, which is a value of rw.
    let exact = TERMS.iter().find(|term| term.names.contains(&line.as_str()));
    exact.or_else(|| TERMS.iter().find(|term| term.names.iter().any(|name| begins(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_report_are_known() {
        for (line, name) in [
            ("    clat (usec): min=125, max=534672, avg=13684.88, stdev=35875.24", "clat"),
            ("    clat percentiles (usec):", "clat percentiles"),
            ("     lat (usec): min=141, max=534680", "lat (nsec)"),
            ("lat", "lat"),
            ("  lat (msec)   : 2=14.37%, 4=9.56%", "lat (nsec)"),
            ("   bw (  KiB/s): min=  128, max=16432, per=9.80%", "bw="),
            ("   iops        : min=   32, max= 4108", "iops"),
            ("  cpu          : usr=0.40%, sys=4.20%, ctx=30632, majf=0, minf=105", "cpu"),
            ("  IO depths    : 1=0.1%, 2=0.1%", "io depths"),
            ("     submit    : 0=0.0%, 4=100.0%", "submit"),
            ("     issued rwt: total=0,51200,0, short=0,0,0, dropped=0,0,0", "issued rwts"),
            ("     latency   : target=0, window=0, percentile=100.00%, depth=16", "latency"),
            ("Run status group 0 (all jobs):", "run status group"),
            ("  WRITE: bw=40.6MiB/s (42.6MB/s), 40.6MiB/s-40.6MiB/s", "read:"),
            ("  sdb: ios=0/46893", ""),
            ("Disk stats (read/write):", "disk stats"),
            ("Jobs: 4 (f=4): [_(2),w(1)][75.0%]", "jobs:"),
        ] {
            assert_eq!(of_line(line).map_or("", |term| term.names[0]), name, "{line}");
        }
    }
}
