//! Options that set others: pairs of opposites, and switches for several. The last one wins.

use crate::spec::JobSpec;
use crate::value::CpuList;

/// Sets the counterpart of an option that was just given.
pub(crate) fn follow(job: &mut JobSpec, option: &str) {
    let io_type = &mut job.io_type;
    match option {
        "direct" => io_type.buffered = !io_type.direct,
        "buffered" => io_type.direct = !io_type.buffered,
        "rwmixread" => io_type.rwmixwrite = 100u32.saturating_sub(io_type.rwmixread),
        "rwmixwrite" => io_type.rwmixread = 100u32.saturating_sub(io_type.rwmixwrite),
        "cpumask" => job.threads.cpus_allowed = job.threads.cpumask.map(CpuList::from_mask),
        "gtod_reduce" if job.measurement.gtod_reduce => {
            let measurement = &mut job.measurement;
            measurement.disable_lat = true;
            measurement.disable_clat = true;
            measurement.disable_slat = true;
            measurement.clat_percentiles = false;
            measurement.lat_percentiles = false;
            measurement.slat_percentiles = false;
        }
        "name" => {
            if let Some(name) = &job.job_description.name {
                job.name.clone_from(name);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::quiet_job;
    use crate::value::CpuList;

    #[test]
    fn the_last_of_a_pair_wins() {
        let job = quiet_job("--name=a --buffered=0");
        assert!(job.io_type.direct && !job.io_type.buffered);
        let job = quiet_job("--name=a --direct=1 --buffered=1");
        assert!(!job.io_type.direct && job.io_type.buffered);
        let job = quiet_job("--name=a --rwmixread=70");
        assert_eq!((job.io_type.rwmixread, job.io_type.rwmixwrite), (70, 30));
        let job = quiet_job("--name=a --rwmixread=70 --rwmixwrite=90");
        assert_eq!((job.io_type.rwmixread, job.io_type.rwmixwrite), (10, 90));
    }

    #[test]
    fn gtod_reduce_turns_latencies_off_until_they_are_turned_on() {
        let measurement = quiet_job("--name=a --disable_clat=0 --gtod_reduce=1").measurement;
        assert!(measurement.disable_lat && measurement.disable_clat && measurement.disable_slat);
        assert!(!measurement.disable_bw_measurement && !measurement.clat_percentiles);
        let measurement = quiet_job("--name=a --gtod_reduce=1 --disable_clat=0").measurement;
        assert!(measurement.disable_lat && !measurement.disable_clat && !measurement.clat_percentiles);
        assert!(quiet_job("--name=a --gtod_reduce=0").measurement.clat_percentiles);
    }

    #[test]
    fn a_mask_is_a_list_of_cpus() {
        assert_eq!(quiet_job("--name=a --cpumask=5").threads.cpus_allowed, Some(CpuList(vec![0, 2])));
    }
}
