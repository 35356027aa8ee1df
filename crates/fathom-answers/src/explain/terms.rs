//! The terms of a report, explained.

/// A term of a report, or a line of it, with its explanation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// The starts of lines that the term explains, in lower case; the first one is its name.
    pub(super) names: &'static [&'static str],
    /// Its meaning.
    pub(super) text: &'static str,
}

const fn term(names: &'static [&'static str], text: &'static str) -> Term {
    Term { names, text }
}

/// All terms, in the order of a report. A longer name precedes any shorter one that is a prefix of it.
pub(super) const TERMS: &[Term] = &[
    term(
        &["jobs:"],
        "The progress line of a run: the number of running jobs, their open files (f=), a letter for the state of each job, the share \
         done, read and write rates (r=, w=) in bytes and I/Os per second since the last line, and the remaining time (eta). The \
         letters: P not started, C created, I setting up, p pre-reading, / ramp time, R and r sequential and random reads, W and w \
         writes, M and m both, D and d trims, V verifying, F final fsync, f finishing, E ended, _ reaped, X failed, K killed.",
    ),
    term(
        &["run status group"],
        "The totals of a group of jobs: total bandwidth, followed by the range from the slowest to the fastest job, bytes transferred, \
         and the shortest and longest run time. new_group and stonewall separate groups.",
    ),
    term(
        &["disk stats"],
        "The kernel's counters for each block device under the files, from start to end of the run, including \
        I/O of other programs: ios = reads/writes, sectors = 512-byte units, merge = I/Os merged with \
        others, ticks = total milliseconds that I/Os took, in_queue = the same for all I/Os in the queue, \
        util = share of the time with at least one I/O in flight. A util of 100 % means that the device \
        always had something to do, not that it could do no more.",
    ),
    term(
        &["slat"],
        "Submission latency: from the moment the job begins to issue an I/O until the kernel has accepted it. Synchronous engines have \
         none. If it is large, the submission call is blocking: a full queue, a file system that allocates or locks, or \
         asynchronous I/O without direct=1.",
    ),
    term(
        &["clat percentiles", "lat percentiles", "slat percentiles"],
        "The share of I/Os that completed within a latency: 99.00th=[1500] means that 99 % took at most 1500 of the unit in the heading, \
         and 1 % took longer. They come from a histogram with bins less than 1.6 % wide. The 50th is the median; a tail far above \
         it is what users of a busy system notice.",
    ),
    term(
        &["clat"],
        "Completion latency: from the moment the kernel has accepted an I/O until the job sees its completion. With synchronous engines \
         it is the total latency.",
    ),
    term(
        &["lat (nsec)", "lat (usec)", "lat (msec)", "latency_ns", "latency_us", "latency_ms"],
        "Followed by min= and avg=: the total latency of an I/O, submission plus completion. Followed by shares: the distribution of \
         completion latencies. 250=10.94% means that 10.94 % of the I/Os took longer than the previous bound and at most 250 of \
         the unit.",
    ),
    term(
        &["latency_target line", "latency   :"],
        "The line after `issued rwts`: the settings of latency_target and the depth it found. target=0 means that there is no target; \
         depth is then iodepth.",
    ),
    term(
        &["lat"],
        "Total latency of an I/O, from the moment the job begins to issue it until it sees the completion: submission (slat) plus \
         completion (clat).",
    ),
    term(
        &["bw=", "bw"],
        "Bandwidth. In capitals (BW=) it is bytes transferred over the run time, first in powers of 1024, then in parentheses in powers \
         of 1000. The line `bw ( KiB/s): min=, max=, per=, avg=, stdev=, samples=` shows how steady it was: the bandwidth of one \
         clone in short intervals (bwavgtime). per= is the job's share of its group.",
    ),
    term(
        &["iops"],
        "I/Os per second. In capitals (IOPS=) it is all I/Os over the run time. The line `iops : min=, max=, ...` shows short \
         intervals (iopsavgtime).",
    ),
    term(
        &["cpu", "usr_cpu", "sys_cpu"],
        "CPU usage of the job's processes: usr= in the program, sys= in the kernel on its behalf, in percent of one CPU per clone; ctx= \
         context switches, majf= and minf= page faults that did and did not need a disk. If usr and sys add up to nearly 100, the \
         CPU was the limit.",
    ),
    term(
        &["io depths", "iodepth_level"],
        "How many I/Os were in flight when one more was issued: 16=70.6% means that 70.6 % found 16 to 31. A depth below iodepth means \
         that the job could not keep the queue full.",
    ),
    term(
        &["submit", "iodepth_submit"],
        "How many I/Os one call submitted: 4=100% means 1 to 4 at a time. Larger batches cost less CPU per I/O (iodepth_batch).",
    ),
    term(
        &["complete", "iodepth_complete"],
        "How many completions one call reaped, in the same steps as `submit`.",
    ),
    term(
        &["issued rwts", "issued rwt"],
        "How many reads, writes, trims and syncs were issued (total=), how many of them moved less than requested (short=), and how many \
         were dropped (dropped=). Look into anything but 0 in short and dropped.",
    ),
    term(
        &["read:", "write:", "trim:"],
        "The figures of one direction: I/Os per second, bandwidth in powers of 1024 and 1000, and bytes over run time in parentheses. \
         Indented under `Run status group`, it is the sum over the group's jobs.",
    ),
    term(
        &["groupid"],
        "The header of a job's figures: its group, the number of clones merged into it (jobs=), the error that ended it (err= 0 is none, \
         otherwise an errno), the process id of the first clone, and the time of the report.",
    ),
    term(
        &["err="],
        "The error that ended a job: 0 is none, otherwise an errno, such as 5 for EIO and 28 for ENOSPC.",
    ),
    term(
        &["util"],
        "Share of the time in which a device had at least one I/O in flight. Disks that process one I/O at a time are saturated at 100 %; \
         SSDs and arrays are not.",
    ),
    term(
        &["ios"],
        "I/Os that the kernel counted for the device: reads before the slash, writes after it. Merged I/Os count once.",
    ),
    term(&["merge"], "I/Os that the kernel merged with a neighbour before it sent them to the device."),
    term(
        &["ticks"],
        "Total milliseconds that I/Os spent in the queue and in the device. Divide it by ios for the mean.",
    ),
    term(
        &["in_queue"],
        "Total milliseconds in the queue and in the device, over all I/Os including flushes.",
    ),
    term(&["sectors"], "Amounts in units of 512 bytes, whatever the device's own sector size."),
    term(&["ctx"], "Context switches: how often the job lost the CPU or went to sleep."),
    term(
        &["majf", "minf"],
        "Page faults that needed a disk (major) and those that did not (minor). Major ones distort a test.",
    ),
    term(&["per="], "This job's share of its group's bandwidth, from the interval samples."),
    term(
        &["samples="],
        "The number of intervals from which min, max, avg and stdev of the line are computed.",
    ),
    term(
        &["stdev"],
        "Standard deviation: how far values are from their mean. Latencies are not symmetric around the mean, so percentiles say more.",
    ),
    term(
        &["doubtful", "doubt", "caveats"],
        "A figure that may mislead, by one of the checks of docs/verdict.md; the sentence that says why is a doubt. For example, the rate fell, the queue depth was not \
         reached, a control group limit was reached, the job waited for a CPU, a cache answered, or others used the device.",
    ),
    term(
        &["processor_wait_ms"],
        "In `fathom jobs` of fathom's JSON: total ms in which the clones of a job were runnable but had no CPU. If this is a large share \
         of the run time, the figures reflect a busy machine, not the storage.",
    ),
    term(
        &["stolen_ms", "stolen"],
        "In `fathom jobs` of fathom's JSON: CPU time that the hypervisor gave to other virtual machines while the job ran, in ms over all CPUs.",
    ),
    term(
        &["limits", "cpu.max", "cpu.stat", "io.max", "io.stat", "throttled"],
        "In `fathom jobs` of fathom's JSON: control group limits for the job, in its own group and its parents, and the counters while it \
         ran: periods in which the group was throttled (cpu.max, cpu.stat), and bytes and I/Os per second of a device (io.max, \
         io.stat). In version 1 of control groups they are cpu.cfs_quota_us and blkio.throttle.*.",
    ),
    term(
        &["queue depth", "depth reached", "depth"],
        "How many I/Os are in flight at a time. iodepth (asynchronous engines) and numjobs request it; the depth reached is rate times \
         latency (Little's law). Devices process many I/Os in parallel, so a small depth measures the latency of a single I/O, a \
         large depth what the device can do.",
    ),
    term(
        &["verdict", "bottleneck"],
        "Why a job was not faster, according to `fathom explain`, with the figures that show it. Causes that rule out the storage (no \
         storage, memory, a cache) are checked first, then limits and other work, and only then the device or the queue depth.",
    ),
    term(
        &["confidence interval", "95 % ci", "ci", "interval"],
        "The range that contains the true value with 95 % confidence, if runs vary by chance. If the interval \
        of the difference of two settings contains zero, these runs cannot distinguish them.",
    ),
    term(
        &["hedges_g", "hedges g", "effect (g)", "g"],
        "Effect size in `fathom compare`: the difference of the means divided by the standard deviation of the runs. Beyond 0.8 in either direction it is large.",
    ),
    term(
        &["not distinguishable"],
        "The interval of a difference contains zero: it may be chance. More runs narrow the interval.",
    ),
    term(
        &[
            "fathom timeline",
            "fathom host",
            "fathom jobs",
            "fathom notes",
            "fathom stages",
            "fathom quick",
            "fathom verdict",
            "fathom facts",
        ],
        "Keys that fathom adds to fio's JSON: rates and latencies over time, the machine, how jobs were run, \
        notes, the devices stage by stage, the grid of `fathom quick` with its doubts, the verdict on the \
        figures, and the facts that it is based on.",
    ),
    term(
        &["fathom mounts", "file_systems", "transport", "daemon"],
        "Fathom's JSON about network file systems and file systems in user space: in `fathom host` the mount, \
        the protocol of its client (transport) and the process that serves it (daemon), in `fathom mounts` \
        the bytes that went through that process, the network interfaces or the kernel's client while the \
        jobs ran.",
    ),
    term(&["short"], "I/Os that moved less than requested, for example at the end of a file."),
    term(&["dropped"], "I/Os that were dropped without being done."),
    term(&["percentile"], "The latency within which that share of the I/Os completed."),
    term(
        &["p50", "p90", "p95", "p99", "p99.9", "p99.99", "median"],
        "A percentile: p99 is the latency within which 99 % of the I/Os completed; 1 % took longer. p50 is the median. A p99.9 needs \
         10,000 I/Os before it says much.",
    ),
    term(
        &["bandwidth", "throughput", "mb/s", "gb/s", "kb/s", "mib/s", "gib/s", "kib/s"],
        "How much data moved per second: I/Os per second times their size. 1 MB/s is a million bytes per second, 1 MiB/s is 1,048,576; \
         lines in the form of fio have both. Large sequential blocks measure it best.",
    ),
    term(
        &["latency"],
        "How long an I/O took. fio's reports split it: slat until the kernel accepted the I/O, clat from then until it completed, lat both \
         together. Look at percentiles (p50, p99): a mean hides the slow ones. `latency   :` in a report is the line of latency_target.",
    ),
    term(
        &["response time", "resp"],
        "In an open loop, the time from the moment an I/O was due until it completed, its wait for its turn included. It is what users of \
         a busy system see; lat leaves that wait out.",
    ),
    term(
        &["knee"],
        "Of a response curve (fathom curve), the load with the most rate per mean response time. Beyond it, more load costs more waiting \
         than it brings.",
    ),
    term(
        &["slo"],
        "A limit for response times, such as p99<2ms. fathom curve --slo finds the highest load that meets it.",
    ),
    term(
        &["random"],
        "I/O anywhere in the file or device, as databases and virtual machines do it (rw=randread, randwrite, randrw). Each block is chosen \
         by a generator of random numbers; without norandommap, each is used once before any is used again. I/Os per second and \
         percentiles describe it best.",
    ),
    term(
        &["sequential"],
        "I/O one block after the other, as copies and backups do it (rw=read, write, rw). The system reads ahead, and devices can combine \
         neighbours. Bandwidth describes it best.",
    ),
    term(
        &["backlog"],
        "In an open loop, I/Os that were due and waited for their turn: their mean number in a table of fathom curve. If it grows throughout \
         the run, the load is more than the storage sustains.",
    ),
    term(
        &["offered", "offered load", "arrivals"],
        "In an open loop, the I/Os per second that were due by the schedule, whether or not the storage kept up.",
    ),
    term(
        &["served"],
        "In an open loop, the I/Os per second that completed. Below the offered load, the rest waits in the backlog.",
    ),
    term(
        &["own delay", "own_delay_ns"],
        "In an open loop, how late the tester itself began an I/O that was due and had a free slot: delay of the machine that measures, not \
         of the storage.",
    ),
    term(
        &["start delay", "start_delay_ns"],
        "In an open loop, how long after it was due an I/O began: its wait for a free slot, and the tester's own delay.",
    ),
    term(&["zone resets"], "How many zones of a zoned device were reset before they were written again."),
];

/// The term at the beginning of a report line.
pub(super) fn of_line(line: &str) -> Option<&'static Term> {
    let line = line.trim().trim_start_matches('|').trim_start().to_lowercase();
    // The lines `clat (usec): min=...`, `clat percentiles (usec):` and `iops : min=...` begin with their term.
    let begins = |name: &str| {
        let Some(rest) = line.strip_prefix(name) else { return false };
        let ends_in_letter = name.ends_with(|letter: char| letter.is_alphanumeric());
        !ends_in_letter || !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
    };
    // The line `read: IOPS=...` is recognised before `read`, which is a value of rw.
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
            ("     latency   : target=0, window=0, percentile=100.00%, depth=16", "latency_target line"),
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
