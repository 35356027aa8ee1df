//! I/O that other programs did on a job's devices: the kernel's counters minus the I/O of the run's jobs.

use super::{Evidence, own_sectors};
use crate::figures;
use fathom_results::model::DiskResult;
use fathom_stats::Direction;

/// I/O of a device beyond this multiple of the jobs' I/O is attributed to other programs.
const OWN: f64 = 1.1;
/// Multiple of the jobs' bytes that a file system may write, because of its journal and metadata.
const OF_FILE_SYSTEM: f64 = 3.0;

/// I/O on the job's devices that did not belong to the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OtherIo {
    /// Number of reads and of writes.
    pub(crate) ios: [f64; 2],
    /// Their bytes.
    pub(crate) bytes: [f64; 2],
    /// Percentage of the time that I/Os spent in the devices.
    pub(crate) time_share: f64,
}

impl OtherIo {
    /// A phrase such as
    /// `18.0k writes (1.10 GiB) from outside this run: 95.1 % of the time that I/Os spent in the device`.
    pub(crate) fn told(&self) -> String {
        let part = |(direction, name): (usize, &str)| {
            (self.ios[direction] >= 0.5).then(|| {
                format!(
                    "{} {name} ({})",
                    figures::count(self.ios[direction].round()),
                    figures::size(self.bytes[direction] as u64)
                )
            })
        };
        let parts: Vec<String> = [(0, "reads"), (1, "writes")].into_iter().filter_map(part).collect();
        format!(
            "{} from outside this run: {} of the time that I/Os spent in the device",
            parts.join(" and "),
            figures::percent(self.time_share)
        )
    }
}

impl Evidence<'_> {
    /// I/O of other programs; `None` if the result does not show any.
    pub(crate) fn other_io(&self) -> Option<OtherIo> {
        let disks: Vec<&DiskResult> = self.disks().collect();
        let jobs: Vec<_> = self.neighbours().collect();
        let counts_bytes = |disk: &&DiskResult| disk.read_sectors + disk.write_sectors > 0;
        if self.shares_counters()
            || !disks.iter().any(counts_bytes)
            || jobs.iter().any(|job| job.mixed.is_some())
        {
            return None;
        }
        let is_direct = jobs.iter().all(|job| self.of_job(job).is_direct());
        let (mut found, mut others_ms, mut all_ms) =
            (OtherIo { ios: [0.0; 2], bytes: [0.0; 2], time_share: 0.0 }, 0.0, 0.0);
        for direction in [0, 1] {
            let sum = |value: &dyn Fn(&DiskResult) -> u64| {
                disks.iter().map(|disk| own_sectors(disk, &disks, |disk| value(disk)) as f64).sum::<f64>()
            };
            let moved = 512.0 * sum(&|disk| [disk.read_sectors, disk.write_sectors][direction]);
            let ios = sum(&|disk| [disk.read_ios, disk.write_ios][direction]);
            let ticks = sum(&|disk| [disk.read_ticks, disk.write_ticks][direction]);
            all_ms += ticks;
            let own: f64 = jobs
                .iter()
                .filter_map(|job| job.directions()[direction])
                .map(|figures| figures.io_bytes as f64)
                .sum();
            // A device may do more I/O than the jobs without other programs: trims cause metadata writes, and
            // caches read ahead and write back at any time.
            let is_told = match direction {
                _ if is_direct => true,
                0 => false,
                _ => jobs.iter().all(|job| job.is_idle(Direction::Write) && job.is_idle(Direction::Trim)),
            };
            let lies_on_files = self.run.host.as_ref().is_none_or(|host| !host.file_systems.is_empty());
            let most = if direction == 1 && own > 0.0 && lies_on_files { OF_FILE_SYSTEM } else { OWN };
            if !is_told || moved <= most * own {
                continue;
            }
            let share = (moved - own) / moved;
            found.ios[direction] = ios * share;
            found.bytes[direction] = moved - own;
            others_ms += ticks * share;
        }
        found.time_share = 100.0 * others_ms / f64::max(all_ms, 1.0);
        (found.bytes[0] + found.bytes[1] > 0.0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(job: &str, disk: &str) -> Option<OtherIo> {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a",{job}}}],"disk_util":[{{"name":"sda",{disk}}}],
            "fathom host":{{"devices":[{{"name":"sda"}}]}}}}"#
        );
        let run = fathom_results::parse(&text, "text").expect("reads");
        Evidence::of(&run, 0).other_io()
    }

    #[test]
    fn what_no_job_did_was_done_by_others() {
        let reads = r#""job options":{"direct":"1"},"read":{"total_ios":100,"io_bytes":409600}"#;
        let own = r#""read_ios":100,"read_sectors":800,"read_ticks":50"#;
        assert_eq!(others(reads, own), None);
        let hammered = format!(r#"{own},"write_ios":18000,"write_sectors":144000,"write_ticks":950"#);
        let found = others(reads, &hammered).expect("others");
        assert_eq!((found.ios, found.time_share), ([0.0, 18000.0], 95.0));
        assert_eq!(
            found.told(),
            "18.0k writes (70.3 MiB) from outside this run: 95.0 % of the time that I/Os spent in the device"
        );
        // The cache reads ahead, but writes only data that the job has written.
        let buffered = reads.replace("\"1\"", "\"0\"");
        assert_eq!(others(&buffered, &own.replace("800", "8000")), None);
        assert!(others(&buffered, &hammered).is_some());
        assert!(others(reads, &own.replace("800", "8000")).is_some_and(|found| found.time_share == 90.0));
    }
}
