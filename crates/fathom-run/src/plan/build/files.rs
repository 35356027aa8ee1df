//! Builds the plan of files from options: sizes, layout, and how they are opened.

use super::{Subject, names};
use crate::plan::model::amounts::Amounts;
use crate::plan::model::files::{Advice, FilesPlan, LayoutPlan, OpenPlan, PartPlan, Share};
use crate::random::Seeds;
use fathom_spec::options::io_type::{FadviseHint, Split};

/// The file plan of a job.
pub(super) fn files_plan(subject: &Subject<'_>) -> FilesPlan {
    let (job, options) = (subject.job, &subject.job.file);
    let may_remove = subject.engine.has_storage() && !subject.spec.program.readonly && !job.only_checks();
    FilesPlan {
        names: names::names_plan(subject),
        kind: options.filetype,
        are_mapped: subject.engine.maps_files,
        part: part(subject),
        layout: layout(subject),
        opening: opening(subject),
        lock: options.lockfile,
        scheduler: options.ioscheduler.clone(),
        are_renewed: options.unlink_each_loop && may_remove,
        are_removed: options.unlink && may_remove,
        seeds: Seeds::new(job.io_type.randseed, subject.place.thread_number),
    }
}

/// The amounts that a job requests.
pub(super) fn amounts(subject: &Subject<'_>) -> Amounts {
    let job = subject.job;
    Amounts {
        size: job.size.size,
        io_size: job.size.io_size,
        offset: job.io_type.offset,
        offset_increment: job.io_type.offset_increment,
        increments: clones_before(subject),
    }
}

/// Number of clones that precede this one for `offset_increment`: on this host, or on all hosts that share the
/// files.
fn clones_before(subject: &Subject<'_>) -> u32 {
    let Subject { spec, job, place, .. } = subject;
    let hosts_before = match names::host_worked_on(spec, job) {
        Some(host) if job.io_type.offset_increment_over_hosts => host,
        _ => 0,
    };
    place.subjob.saturating_add(hosts_before.saturating_mul(job.job_description.numjobs))
}

/// Total number of clones among which `offset_increment` counts.
fn all_clones(subject: &Subject<'_>) -> u32 {
    let Subject { spec, job, .. } = subject;
    let hosts = match &spec.place {
        Some(host) if job.io_type.offset_increment_over_hosts => host.hosts.len() as u32,
        _ => 1,
    };
    job.job_description.numjobs.saturating_mul(hosts)
}

/// The clone's share of the data set (`split`).
fn share(subject: &Subject<'_>) -> Option<Share> {
    let Subject { spec, job, place, .. } = subject;
    let clones = match job.io_type.split {
        Split::None => return None,
        Split::Hosts => 1,
        Split::Clones => job.job_description.numjobs.max(1),
    };
    let (number, hosts) = match (&spec.place, names::host_worked_on(spec, job)) {
        (Some(host), Some(worked_on)) => {
            let runners = host.runners(job.wanted_hosts());
            (runners.iter().position(|runner| *runner == worked_on).unwrap_or(0) as u32, runners.len() as u32)
        }
        // A single host works on the whole data set.
        _ => (0, 1),
    };
    Some(Share {
        number: number.saturating_mul(clones).saturating_add(place.subjob % clones),
        of: hosts.saturating_mul(clones),
    })
}

fn part(subject: &Subject<'_>) -> PartPlan {
    let job = subject.job;
    let alignment = match job.io_type.offset_align {
        0 => subject.targets.smallest_length(),
        given => given,
    };
    PartPlan {
        fills_space: job.size.fills_space(),
        lengths: job.size.filesize,
        alignment,
        later_clones: all_clones(subject).saturating_sub(1),
        share: share(subject),
        appends: job.size.file_append && subject.directions()[1],
        pattern: job.io_type.rw.rw,
    }
}

fn layout(subject: &Subject<'_>) -> LayoutPlan {
    let options = &subject.job.file;
    LayoutPlan {
        creates: options.allow_file_create,
        is_all: options.create_only,
        happens_at_open: options.create_on_open,
        by_worker: !options.create_serialize,
        content_needed: subject.job.io_type.overwrite
            || options.pre_read
            || subject.targets.directions.reads(),
        fills_device: subject.job.size.fill_device,
        reservation: options.fallocate,
        syncs: options.create_fsync,
        overwrites_used: options.allow_mounted_write,
        pre_reads: options.pre_read,
    }
}

fn opening(subject: &Subject<'_>) -> OpenPlan {
    let options = &subject.job.io_type;
    OpenPlan {
        direct: options.direct || subject.job.engine.atomic,
        sync: options.sync,
        invalidates: options.invalidate,
        // The kernel numbers its hints from 1; 0 means that none was given.
        write_hint: options.write_hint.map(|hint| hint as u64 + 1),
        advice: match options.fadvise_hint {
            FadviseHint::None => None,
            FadviseHint::Auto if subject.targets.random => Some(Advice::Random),
            FadviseHint::Auto | FadviseHint::Sequential => Some(Advice::Sequential),
            FadviseHint::Random => Some(Advice::Random),
            FadviseHint::NoReuse => Some(Advice::NoReuse),
        },
    }
}
