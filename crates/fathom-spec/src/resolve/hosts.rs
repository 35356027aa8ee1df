//! Files of a job that several hosts run: separate files per host (`unique_filename`), shares of common files
//! (`split`), and reading another host's files (`host_rotation`).

use super::Review;
use crate::diagnostic::Rejected;
use crate::hosts::{FileOwner, HostPlace};
use crate::options::file::ZoneMode;
use crate::options::io_type::Split;
use crate::spec::JobSpec;

/// Notes that the option has no effect with a single host, whose names cannot collide with others.
pub(super) fn note_unique_filename(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.is_set("unique_filename") && review.host.is_none() {
        review.note(format!(
            "fathom: job {}: unique_filename has no effect without --client or --hosts",
            job.name
        ));
    }
    Ok(())
}

/// Requires of `split` that the data consists of blocks, has an end, and is in files that all hosts see.
pub(super) fn check_split(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let split = job.io_type.split;
    if split == Split::None {
        return Ok(());
    }
    let engine = review.engine_of(job);
    let has_data = engine.is_none_or(|engine| engine.moves_data() && engine.has_storage());
    let has_one_file = job.file.filename.is_some() || job.file.opendir.is_some();
    let reasons = [
        (!has_data, "this engine has no data to divide"),
        (job.replay.read_iolog.is_some(), "the log determines the offsets (read_iolog)"),
        (
            job.io_type.offset_increment_over_hosts,
            "offset_increment_over_hosts already gives each host its place",
        ),
        (
            split == Split::Clones && job.is_set("offset_increment"),
            "offset_increment already gives each clone its place; use split=hosts with it",
        ),
        (
            split == Split::Clones && !has_one_file,
            "without filename=, each clone has its own file; name one, or use split=hosts",
        ),
        (job.size.file_append, "appended data has no fixed size to divide (file_append)"),
        (
            job.size.fill_device,
            "a device or file system that is filled has no fixed size to divide (fill_device)",
        ),
        (
            job.file.zonemode == ZoneMode::Zbd,
            "it does not support zones (zonemode=zbd); use offset_increment_over_hosts",
        ),
        (
            job.is_set("unique_filename") && job.file.unique_filename,
            "hosts with their own files have no common file to divide; remove unique_filename",
        ),
    ];
    let reason = reasons.into_iter().find_map(|(is_wrong, reason)| is_wrong.then_some(reason));
    match reason {
        Some(reason) => {
            Err(review.refuse_in_our_words(&job.origin, format!("job {}: split={split}: {reason}", job.name)))
        }
        None => Ok(()),
    }
}

/// Requires of `host_rotation` that hosts work on different data.
pub(super) fn check_rotation(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if job.io_type.host_rotation == 0 {
        return Ok(());
    }
    let Some(host) = review.host else {
        review.note(format!("fathom: job {}: host_rotation has no effect without --hosts", job.name));
        return Ok(());
    };
    if job.has_part_of_host() || job.has_files_of_host(host) {
        return Ok(());
    }
    Err(review.refuse_in_our_words(
        &job.origin,
        format!(
            "job {}: host_rotation needs something that each host has for itself: generated files in a directory=, split=hosts, or \
             offset_increment_over_hosts=1",
            job.name
        ),
    ))
}

impl JobSpec {
    /// Hosts and groups that run the job; empty if it names none, so that all hosts run it.
    pub fn wanted_hosts(&self) -> &[String] {
        self.threads.host.as_ref().map_or(&[], |names| &names.0)
    }

    /// True if each host works on its own part of the files.
    pub fn has_part_of_host(&self) -> bool {
        self.io_type.split != Split::None || self.io_type.offset_increment_over_hosts
    }

    /// True if the job's names are generated in a directory that has separate names for each host
    /// (`unique_filename`).
    pub fn has_files_of_host(&self, host: &HostPlace) -> bool {
        let file = &self.file;
        let are_generated = file.directory.is_some()
            && file.filename.is_none()
            && file.opendir.is_none()
            && self.replay.read_iolog.is_none();
        are_generated
            && file.unique_filename
            && self.io_type.split == Split::None
            && host.owner == FileOwner::Host
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job};

    #[test]
    fn alone_there_are_no_files_of_hosts() {
        for option in ["unique_filename=0", "host_rotation=1"] {
            let (_, lines) = job(&format!("--name=a --size=4k --{option}"));
            assert!(lines.len() == 1 && lines[0].contains("has no effect without"), "{lines:?}");
        }
        quiet_job("--name=a --size=4k --split=hosts");
    }

    #[test]
    fn what_cannot_be_divided_says_why() {
        for (options, reason) in [
            ("--ioengine=null", "this engine has no data"),
            ("--ioengine=filecreate --directory=/tmp", "this engine has no data"),
            ("--offset_increment_over_hosts=1", "already gives each host its place"),
            ("--offset_increment=4k --split=clones --filename=f", "already gives each clone its place"),
            ("--split=clones", "each clone has its own file"),
            ("--file_append=1 --rw=write", "appended data"),
            ("--fill_device=1 --rw=write", "that is filled"),
            ("--unique_filename=1", "remove unique_filename"),
        ] {
            let (accepted, lines) = job(&format!("--name=a --size=1m --split=hosts {options}"));
            assert!(accepted.is_none(), "{options}");
            assert!(lines.iter().any(|line| line.contains(reason)), "{options}: {lines:?}");
        }
        quiet_job("--name=a --size=1m --split=clones --filename=f --numjobs=4");
        quiet_job("--name=a --size=1m --split=hosts --offset_increment=1m --numjobs=4");
    }
}
