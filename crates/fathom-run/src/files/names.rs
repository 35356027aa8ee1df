//! Names of the files of a clone.
//!
//! With `directory=`, every file of a job lies below that directory, however its name begins: `/b` in `d` is `d//b`.
//! Only so does a job write where it says. A name that goes up (`../b`) does say so.

use crate::plan::WorkerPlan;
use fathom_spec::JobSpec;
use fathom_spec::value::{FileNames, split_file_names};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The paths that a clone works on, in order.
pub fn paths(plan: &WorkerPlan, job: &JobSpec) -> Vec<PathBuf> {
    if plan.replay.is_some() {
        return planned_paths(plan, job);
    }
    let directory = directory_of(plan, job);
    let job_is_a_device =
        job.file.filename.is_none() && job.file.nrfiles <= 1 && is_special_file(Path::new(&job.name));
    let mut paths = match job_is_a_device {
        true => vec![below(directory.as_deref(), &job.name)],
        false => planned_paths(plan, job),
    };
    if let Some(opened) = &job.file.opendir {
        let mut found = Vec::new();
        add_directory(Path::new(opened), &mut found);
        paths.extend(found.iter().map(|path| below(directory.as_deref(), path)));
    }
    paths
}

/// A name below a directory. Unlike [`Path::join`] it keeps to the directory if the name begins with a slash.
fn below(directory: Option<&str>, name: impl AsRef<OsStr>) -> PathBuf {
    let Some(directory) = directory else { return PathBuf::from(name.as_ref()) };
    let mut path = OsString::from(directory);
    path.push("/");
    path.push(name);
    PathBuf::from(path)
}

/// Adds the files and devices below a directory, in the order of their names; links are not followed.
fn add_directory(directory: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    for path in found {
        let Ok(kind) = std::fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else {
            continue;
        };
        if kind.is_dir() {
            add_directory(&path, paths);
        } else if kind.is_file() || kind.is_block_device() || kind.is_char_device() {
            paths.push(path);
        }
    }
}

/// The same by the words of the plan alone, without a look at any file.
pub fn planned_paths(plan: &WorkerPlan, job: &JobSpec) -> Vec<PathBuf> {
    let directory = directory_of(plan, job);
    if let Some(replay) = &plan.replay {
        return replay.files.iter().map(|path| below(directory.as_deref(), path)).collect();
    }
    let named = |name: &str| below(directory.as_deref(), name);
    // The directory of `opendir` has the files.
    if job.file.opendir.is_some() && job.file.filename.is_none() {
        return Vec::new();
    }
    let wanted = job.file.nrfiles.max(1) as usize;
    if let Some(FileNames(names)) = &job.file.filename {
        let count = if job.is_set("nrfiles") { wanted.min(names.len()) } else { names.len() };
        return names[..count].iter().map(|name| named(name)).collect();
    }
    (0..wanted).map(|number| named(&generated(&job.file.filename_format, job, plan.subjob, number))).collect()
}

/// The directory of a clone: the list is dealt out in turn, but clones that name their files share them, in the first one.
fn directory_of(plan: &WorkerPlan, job: &JobSpec) -> Option<String> {
    let list = split_file_names(job.file.directory.as_deref()?);
    let place = if job.file.filename.is_some() { 0 } else { plan.subjob as usize };
    list.get(place % list.len().max(1)).cloned()
}

/// A job named after a device works on that device.
fn is_special_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_block_device() || kind.is_char_device()
    })
}

/// Fills in `filename_format`. Keywords are found whatever their case.
fn generated(format: &str, job: &JobSpec, subjob: u32, number: usize) -> String {
    // A slash in a job name must not make directories out of it.
    let keywords = [
        ("$jobname", job.name.replace('/', "_")),
        ("$jobnum", subjob.to_string()),
        ("$filenum", number.to_string()),
        ("$clientuid", String::new()),
    ];
    let mut name = String::new();
    let mut rest = format;
    'text: while !rest.is_empty() {
        for (keyword, value) in &keywords {
            if rest.len() >= keyword.len()
                && rest.is_char_boundary(keyword.len())
                && rest[..keyword.len()].eq_ignore_ascii_case(keyword)
            {
                name.push_str(value);
                rest = &rest[keyword.len()..];
                continue 'text;
            }
        }
        let mut characters = rest.chars();
        name.extend(characters.next());
        rest = characters.as_str();
    }
    name
}
