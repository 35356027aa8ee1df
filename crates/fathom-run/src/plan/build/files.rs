//! From options to files: names, sizes, layout, and how they are opened.

use super::Subject;
use crate::plan::model::amounts::Amounts;
use crate::plan::model::files::{
    Advice, FilesPlan, LayoutPlan, Names, NamesPlan, OpenPlan, PartPlan, TreePlan,
};
use crate::random::Seeds;
use fathom_spec::options::io_type::FadviseHint;
use fathom_spec::value::{FileNames, split_file_names};
use fathom_spec::{RunSpec, directories_of_tree};
use std::path::PathBuf;

/// What a job says about its files.
pub(super) fn files_plan(subject: &Subject<'_>) -> FilesPlan {
    let (job, options) = (subject.job, &subject.job.file);
    let has_storage = subject.engine.has_storage();
    FilesPlan {
        names: names(subject),
        kind: options.filetype,
        are_mapped: subject.engine.maps_files,
        part: part(subject),
        layout: layout(subject),
        opening: opening(subject),
        lock: options.lockfile,
        scheduler: options.ioscheduler.clone(),
        are_renewed: options.unlink_each_loop && has_storage && !subject.spec.program.readonly,
        are_removed: options.unlink && has_storage && !subject.spec.program.readonly,
        seeds: Seeds::new(job.io_type.randseed, subject.place.thread_number),
    }
}

/// How much a job asks for.
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

/// Clones that offset_increment counts before this one: on this host, or on all hosts that share the files.
fn clones_before(subject: &Subject<'_>) -> u32 {
    let Subject { spec, job, place, .. } = subject;
    let hosts_before = match &spec.place {
        Some(host) if job.io_type.offset_increment_over_hosts => host.index,
        _ => 0,
    };
    place.subjob.saturating_add(hosts_before.saturating_mul(job.job_description.numjobs))
}

/// Clones that it counts in all.
fn all_clones(subject: &Subject<'_>) -> u32 {
    let Subject { spec, job, .. } = subject;
    let hosts = match &spec.place {
        Some(host) if job.io_type.offset_increment_over_hosts => host.hosts.len() as u32,
        _ => 1,
    };
    job.job_description.numjobs.saturating_mul(hosts)
}

fn names(subject: &Subject<'_>) -> NamesPlan {
    let options = &subject.job.file;
    let directory = directory(subject);
    if let Some(log) = subject.log {
        let names = Names::Listed(log.files.clone());
        return NamesPlan { directory, names, device: None, opened_directory: None };
    }
    let wanted = options.nrfiles.max(1) as usize;
    // Clients that share a directory have files of their own in it.
    let before = client(subject)
        .filter(|_| directory.is_some())
        .map_or_else(String::new, |client| format!("{client}."));
    let names = match (&options.filename, &options.opendir) {
        (Some(FileNames(names)), _) => {
            let count = if subject.job.is_set("nrfiles") { wanted.min(names.len()) } else { names.len() };
            Names::Listed(
                names[..count].iter().map(|name| PathBuf::from(format!("{before}{name}"))).collect(),
            )
        }
        // The directory of `opendir` has the files.
        (None, Some(_)) => Names::Listed(Vec::new()),
        (None, None) => {
            let mut texts = texts_around_number(subject);
            texts[0].insert_str(0, &before);
            let tree = tree(subject, &before);
            Names::Numbered { texts, count: wanted, tree }
        }
    };
    // A job named after a device works on that device.
    let may_be_device = options.filename.is_none() && options.nrfiles <= 1 && options.tree_files == 0;
    NamesPlan {
        directory,
        names,
        device: may_be_device.then(|| subject.job.section.clone()),
        opened_directory: options.opendir.clone(),
    }
}

/// The tree of a clone, which no other clone has.
fn tree(subject: &Subject<'_>, before: &str) -> Option<TreePlan> {
    let options = &subject.job.file;
    let count =
        directories_of_tree(options.tree_width, options.tree_depth).filter(|_| options.tree_files > 0)?;
    Some(TreePlan {
        root: format!("{before}{}.{}.tree", subject.job.section, subject.place.subjob),
        width: options.tree_width as usize,
        directories: count as usize,
        files: options.tree_files as usize,
    })
}

/// The client whose files must not be those of another (`unique_filename`).
fn client<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    let spec: &'a RunSpec = subject.spec;
    spec.place.as_ref().and_then(|place| place.client.as_deref()).filter(|_| subject.job.file.unique_filename)
}

/// The directory of a clone: the list is dealt out in turn, but clones that name their files share them, in the first one.
fn directory(subject: &Subject<'_>) -> Option<String> {
    let options = &subject.job.file;
    let list = split_file_names(options.directory.as_deref()?);
    let place = if options.filename.is_some() { 0 } else { subject.place.subjob as usize };
    list.get(place % list.len().max(1)).cloned()
}

/// Fills in `filename_format` but for the number of the file. Keywords are found whatever their case.
fn texts_around_number(subject: &Subject<'_>) -> Vec<String> {
    let keywords = [
        ("$jobname", Some(subject.job.section.clone())),
        ("$jobnum", Some(subject.place.subjob.to_string())),
        ("$filenum", None),
        ("$clientuid", Some(client(subject).unwrap_or("").to_owned())),
    ];
    let mut texts = Vec::new();
    let mut text = String::new();
    let mut rest = subject.job.file.filename_format.as_str();
    'text: while !rest.is_empty() {
        for (keyword, value) in &keywords {
            if rest.len() >= keyword.len()
                && rest.is_char_boundary(keyword.len())
                && rest[..keyword.len()].eq_ignore_ascii_case(keyword)
            {
                match value {
                    Some(value) => text.push_str(value),
                    None => texts.push(std::mem::take(&mut text)),
                }
                rest = &rest[keyword.len()..];
                continue 'text;
            }
        }
        let mut characters = rest.chars();
        text.extend(characters.next());
        rest = characters.as_str();
    }
    texts.push(text);
    texts
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
        // The kernel counts its hints from 1; 0 stands for a hint that was never given.
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
