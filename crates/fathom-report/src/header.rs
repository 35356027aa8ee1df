//! The lines above a report: one per job as it is read, the number of processes started, and the files laid
//! out.

use crate::scale::Scale;

/// The content of a job's header line.
#[derive(Clone, Debug, PartialEq)]
pub struct JobHeader {
    /// Name of the job.
    pub name: String,
    /// Number of the reporting group; the first group is 0.
    pub group_id: u32,
    /// The workload's canonical word: `read`, `randrw`, `trimwrite`, ...
    pub workload: String,
    /// Smallest and largest block size of reads, in bytes.
    pub read_block_size: (u64, u64),
    /// Of writes.
    pub write_block_size: (u64, u64),
    /// Of trims.
    pub trim_block_size: (u64, u64),
    /// True if the first size applies to sequential I/O and the second to random I/O (`bs_is_seq_rand`).
    pub sequential_and_random: bool,
    /// Name of the engine.
    pub engine: String,
    /// Queue depth.
    pub queue_depth: u32,
    /// Number of clones; if there are several, a line `...` stands for the others.
    pub clones: u32,
    /// `kb_base`.
    pub kb_base: u32,
    /// `significant_figures`.
    pub significant_figures: u32,
}

impl JobHeader {
    /// Formats the header line, and `...` if the job has clones; every line ends with a newline.
    pub fn lines(&self) -> String {
        let scale = Scale::new(self.kb_base, 8, self.significant_figures);
        let range = |(min, max): (u64, u64)| format!("{}-{}", scale.size(min), scale.size(max));
        let sizes = if self.sequential_and_random {
            format!(
                "(R) {}, (W) {}, bs_is_seq_rand",
                range(self.read_block_size),
                range(self.write_block_size)
            )
        } else {
            format!(
                "(R) {}, (W) {}, (T) {}",
                range(self.read_block_size),
                range(self.write_block_size),
                range(self.trim_block_size)
            )
        };
        let more = if self.clones > 1 { "...\n" } else { "" };
        format!(
            "{}: (g={}): rw={}, bs={sizes}, ioengine={}, iodepth={}\n{more}",
            self.name, self.group_id, self.workload, self.engine, self.queue_depth
        )
    }
}

/// Formats `Starting 1 thread and 2 processes`; clones are counted.
pub fn starting_line(processes: usize, threads: usize) -> String {
    let processes_text = format!("{processes} process{}", if processes == 1 { "" } else { "es" });
    let threads_text = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
    match (threads, processes) {
        (0, _) => format!("Starting {processes_text}"),
        (_, 0) => format!("Starting {threads_text}"),
        _ => format!("Starting {threads_text} and {processes_text}"),
    }
}

/// Formats `NAME: Laying out IO file (1 file / 16MiB)`; the size is truncated to whole MiB.
pub fn layout_line(name: &str, files: usize, total_bytes: u64) -> String {
    let mebibytes = total_bytes >> 20;
    if files == 1 {
        format!("{name}: Laying out IO file (1 file / {mebibytes}MiB)")
    } else {
        format!("{name}: Laying out IO files ({files} files / total {mebibytes}MiB)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> JobHeader {
        JobHeader {
            name: "seqread".into(),
            group_id: 0,
            workload: "read".into(),
            read_block_size: (65536, 65536),
            write_block_size: (4096, 8192),
            trim_block_size: (131_072, 131_072),
            sequential_and_random: false,
            engine: "psync".into(),
            queue_depth: 1,
            clones: 1,
            kb_base: 1024,
            significant_figures: 4,
        }
    }

    #[test]
    fn one_line_per_job() {
        assert_eq!(
            header().lines(),
            "seqread: (g=0): rw=read, bs=(R) 64.0KiB-64.0KiB, (W) 4096B-8192B, (T) 128KiB-128KiB, \
             ioengine=psync, iodepth=1\n"
        );
    }

    #[test]
    fn clones_are_dots() {
        assert!(JobHeader { clones: 4, ..header() }.lines().ends_with("iodepth=1\n...\n"));
    }

    #[test]
    fn sequential_and_random_sizes() {
        let line = JobHeader { sequential_and_random: true, ..header() }.lines();
        assert!(
            line.contains("bs=(R) 64.0KiB-64.0KiB, (W) 4096B-8192B, bs_is_seq_rand, ioengine="),
            "{line}"
        );
    }

    #[test]
    fn starting() {
        assert_eq!(starting_line(1, 0), "Starting 1 process");
        assert_eq!(starting_line(3, 0), "Starting 3 processes");
        assert_eq!(starting_line(0, 1), "Starting 1 thread");
        assert_eq!(starting_line(2, 1), "Starting 1 thread and 2 processes");
        assert_eq!(starting_line(1, 2), "Starting 2 threads and 1 process");
    }

    #[test]
    fn layout() {
        assert_eq!(layout_line("a", 1, 16 << 20), "a: Laying out IO file (1 file / 16MiB)");
        assert_eq!(layout_line("a", 3, (48 << 20) + 5), "a: Laying out IO files (3 files / total 48MiB)");
        assert_eq!(layout_line("a", 1, 4096), "a: Laying out IO file (1 file / 0MiB)");
    }
}
