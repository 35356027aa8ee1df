//! Block sizes, their alignment, and the map of random blocks.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;
use crate::value::{Distribution, Rw, SizeSpec};
use fathom_stats::Direction;

/// Turns the map off if it cannot track the blocks: they do not start at multiples of their size, or directions
/// have different alignments. An alignment equal to the default has no effect.
pub(super) fn alignment_turns_map_off(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let aligned = Direction::ALL.iter().any(|direction| {
        job.block_size.ba[*direction].is_some_and(|align| align != job.smallest_block(*direction))
    });
    let rw = job.io_type.rw.rw;
    let used =
        [(rw.reads(), Direction::Read), (rw.writes(), Direction::Write), (rw.trims(), Direction::Trim)];
    let mut of_used = used.iter().filter(|(is_used, _)| *is_used).filter_map(|(_, d)| job.block_size.ba[*d]);
    let differ = of_used.next().is_some_and(|first| of_used.any(|align| align != first));
    if (aligned || differ) && job.io_type.rw.rw.is_random() && !job.io_type.norandommap {
        review.warn("fio: Any use of blockalign= turns off randommap");
        job.io_type.norandommap = true;
    }
    Ok(())
}

/// Turns the map off for a distribution that prefers some blocks, because these must be able to repeat.
pub(super) fn distribution_turns_map_off(job: &mut JobSpec, _: &mut Review<'_>) -> Result<(), Rejected> {
    if job.io_type.random_distribution != Distribution::Random {
        job.io_type.norandommap = true;
    }
    Ok(())
}

/// Warns about block sizes that direct I/O does not support, because it requires whole sectors.
pub(super) fn warn_unaligned_direct(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.block_size.bs_unaligned && job.io_type.direct {
        review.warn("fio: bs_unaligned may not work with raw io");
    }
    Ok(())
}

/// Refuses blocks whose length does not fit into 32 bits; the kernel moves less than 2 GiB at a time anyway.
pub(super) fn check_longest(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let longest = Direction::ALL.iter().map(|direction| job.largest_block(*direction)).max().unwrap_or(0);
    if longest > u64::from(u32::MAX) {
        return Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {}: a block size of {longest} is too large: an I/O has at most {} bytes",
                job.name,
                u32::MAX
            ),
        ));
    }
    Ok(())
}

/// Notes that the block size of writes has no effect if each write covers exactly the blocks that were trimmed
/// before it.
pub(super) fn note_size_of_trimmed(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let mode = job.io_type.rw.rw;
    let differ = job.block_sizes(Direction::Write) != job.block_sizes(Direction::Trim);
    if matches!(mode, Rw::TrimWrite | Rw::RandTrimWrite) && differ {
        let name = &job.name;
        review.note(format!(
            "fathom: job {name}: the block size of writes has no effect with rw={mode}: each write has the size of the trim before it"
        ));
    }
    Ok(())
}

/// Refuses a size that has no room for a block.
pub(super) fn check_size(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let Some(SizeSpec::Bytes(size)) = job.size.size else {
        return Ok(());
    };
    let smallest = Direction::ALL.iter().map(|direction| job.smallest_block(*direction)).min().unwrap_or(0);
    if size > 0 && size < smallest {
        return Err(review.refuse(
            &job.origin,
            format!("fio: size too small, must not be less than minimum block size: {size} < {smallest}"),
            format!("job {}: make size at least {smallest}, or the block size smaller", job.name),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};

    #[test]
    fn size_has_room_for_a_block() {
        let line = "fio: size too small, must not be less than minimum block size:";
        assert_eq!(refusal("--name=a --size=4"), format!("{line} 4 < 4096"));
        assert_eq!(refusal("--name=a --bs=128k --size=64k"), format!("{line} 65536 < 131072"));
        assert_eq!(refusal("--name=a --bsrange=8k-16k --size=4k"), format!("{line} 4096 < 8192"));
        assert_eq!(refusal("--name=a --bssplit=64k/50:32k/50 --size=16k"), format!("{line} 16384 < 32768"));
        quiet_job("--name=a --bs=4k,128k --size=64k");
    }

    #[test]
    fn writes_of_what_was_trimmed_have_its_size() {
        let (_, lines) = job("--name=a --rw=randtrimwrite --bs=4k,8k,16k");
        let note = "fathom: job a: the block size of writes has no effect with rw=randtrimwrite: each write has the size of the trim before it";
        assert_eq!(lines, [note]);
        quiet_job("--name=a --rw=trimwrite --bs=4k,8k,8k");
        quiet_job("--name=a --rw=randrw --bs=4k,8k,16k");
    }

    #[test]
    fn an_io_has_less_than_4_gib() {
        let problem = "a block size of 8589934592 is too large";
        for words in ["--bs=8g", "--bsrange=4k-8g", "--bssplit=4k/50:8g/50", "--bs=4k,8g"] {
            let line = refusal(&format!("--name=a --size=16g {words}"));
            assert!(line.contains(problem), "{words}: {line}");
        }
        quiet_job("--name=a --bs=4294967295 --size=16g");
    }

    #[test]
    fn alignment_and_distributions_turn_the_map_off() {
        let (aligned, lines) = job("--name=a --rw=randread --ba=512");
        assert!(aligned.unwrap().io_type.norandommap);
        assert_eq!(lines, ["fio: Any use of blockalign= turns off randommap"]);
        assert!(!quiet_job("--name=a --rw=read --ba=512").io_type.norandommap);
        for same in [
            "--ba=4k",
            "--bs=4k,8k --ba=4k,8k",
            "--bsrange=8k-32k --ba=8k",
            "--bssplit=4k/50:8k/50 --blockalign=4k",
        ] {
            assert!(!quiet_job(&format!("--name=a --rw=randwrite {same}")).io_type.norandommap, "{same}");
        }
        for different in ["--ba=8k", "--bs=4k,8k --ba=4k", "--bsrange=8k-32k --ba=4k"] {
            let (job, lines) = job(&format!("--name=a --rw=randwrite {different}"));
            assert!(job.unwrap().io_type.norandommap, "{different}");
            assert_eq!(lines.len(), 1, "{different}");
        }
        let (mixed, lines) = job("--name=a --rw=randrw --bs=4k,8k --ba=4k,8k");
        assert!(mixed.unwrap().io_type.norandommap);
        assert_eq!(lines, ["fio: Any use of blockalign= turns off randommap"]);
        assert!(quiet_job("--name=a --rw=randread --random_distribution=zipf:1.2").io_type.norandommap);
        assert!(!quiet_job("--name=a --rw=randread").io_type.norandommap);
    }

    #[test]
    fn unaligned_sizes_and_direct_io_get_a_warning() {
        let (_, lines) = job("--name=a --bs_unaligned --direct=1");
        assert_eq!(lines, ["fio: bs_unaligned may not work with raw io"]);
    }
}
