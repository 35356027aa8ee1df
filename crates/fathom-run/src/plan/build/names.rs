//! Builds the names of files from options.

use super::Subject;
use crate::plan::Plan;
use crate::plan::model::files::{Names, NamesPlan, TreePlan};
use fathom_spec::hosts::{FileOwner, HostPlace};
use fathom_spec::value::{FileNames, split_file_names};
use fathom_spec::{JobSpec, RunSpec, directories_of_tree};
use std::path::PathBuf;

/// A clone of a job on this host, as far as file names depend on it.
#[derive(Clone, Copy)]
struct Clone<'a> {
    spec: &'a RunSpec,
    job: &'a JobSpec,
    subjob: u32,
}

impl Plan {
    /// The names of the files of a job's first clone on the host of `spec`, unless they come from a log.
    pub fn names_of(spec: &RunSpec, job: &JobSpec) -> NamesPlan {
        names(&Clone { spec, job, subjob: 0 })
    }
}

/// The names of the files of a clone.
pub(super) fn names_plan(subject: &Subject<'_>) -> NamesPlan {
    let clone = Clone { spec: subject.spec, job: subject.job, subjob: subject.place.subjob };
    match subject.log {
        Some(log) => NamesPlan {
            directory: directory(&clone),
            names: Names::Listed(log.files.clone()),
            device: None,
            opened_directory: None,
        },
        None => names(&clone),
    }
}

fn names(clone: &Clone<'_>) -> NamesPlan {
    let (job, options) = (clone.job, &clone.job.file);
    let directory = directory(clone);
    let wanted = options.nrfiles.max(1) as usize;
    let names = match (&options.filename, &options.opendir) {
        (Some(FileNames(names)), _) => {
            let count = if job.is_set("nrfiles") { wanted.min(names.len()) } else { names.len() };
            // With `--client`, clients that share a directory have separate files in it, as in fio.
            let before = client(clone).filter(|_| directory.is_some()).map(|client| format!("{client}."));
            let before = before.unwrap_or_default();
            Names::Listed(
                names[..count].iter().map(|name| PathBuf::from(format!("{before}{name}"))).collect(),
            )
        }
        // The job uses the files in the `opendir` directory, so it names none itself.
        (None, Some(_)) => Names::Listed(Vec::new()),
        (None, None) => {
            let before = match (client(clone).filter(|_| directory.is_some()), host(clone)) {
                (Some(owner), _) => format!("{owner}."),
                (None, Some(owner)) => format!("{owner}."),
                (None, None) => String::new(),
            };
            let mut texts = texts_around_number(clone);
            let at = start_of_name(&texts[0]);
            texts[0].insert_str(at, &before);
            let tree = tree(clone, &before);
            Names::Numbered { texts, count: wanted, tree }
        }
    };
    // A job without file names that is named after a device uses that device.
    let may_be_device = options.filename.is_none() && options.nrfiles <= 1 && options.tree_files == 0;
    NamesPlan {
        directory,
        names,
        device: may_be_device.then(|| job.section.clone()),
        opened_directory: options.opendir.clone(),
    }
}

/// Position in a name after leading `/`, `./` and `../`, where text is inserted.
fn start_of_name(text: &str) -> usize {
    let mut at = 0;
    while let Some(step) = ["/", "./", "../"].iter().find(|step| text[at..].starts_with(**step)) {
        at += step.len();
    }
    at
}

/// The directory tree of a clone; clones do not share trees.
fn tree(clone: &Clone<'_>, before: &str) -> Option<TreePlan> {
    let options = &clone.job.file;
    let count =
        directories_of_tree(options.tree_width, options.tree_depth).filter(|_| options.tree_files > 0)?;
    Some(TreePlan {
        root: format!("{before}{}.{}.tree", clone.job.section, clone.subjob),
        width: options.tree_width as usize,
        directories: count as usize,
        files: options.tree_files as usize,
    })
}

/// The client whose files must be distinct from those of other clients, as with fio (`unique_filename`).
fn client<'a>(clone: &Clone<'a>) -> Option<&'a str> {
    match &clone.spec.place.as_ref()?.owner {
        FileOwner::Client(address) if clone.job.file.unique_filename => address.as_deref(),
        _ => None,
    }
}

/// The host whose generated files must be distinct from other hosts', unless `split` divides them.
fn host(clone: &Clone<'_>) -> Option<String> {
    let Clone { spec, job, .. } = *clone;
    let place = spec.place.as_ref().filter(|place| job.has_files_of_host(place))?;
    host_in_names(spec, job, place)
}

/// The host whose files the job uses, as part of their names.
fn host_in_names(spec: &RunSpec, job: &JobSpec, place: &HostPlace) -> Option<String> {
    Some(place.name_of(host_worked_on(spec, job)?).replace('/', "_"))
}

/// Prefix of verify states outside of a run over hosts; a controller replaces it with the host's name.
pub(super) const LOCAL: &str = "local";

/// Prefix of verify states: hosts that share a directory keep their states apart, and a later run finds them again.
pub(super) fn state_owner(spec: &RunSpec, job: &JobSpec) -> String {
    let place = spec.place.as_ref().filter(|place| place.owner == FileOwner::Host);
    place.and_then(|place| host_in_names(spec, job, place)).unwrap_or_else(|| LOCAL.to_owned())
}

/// Number of the host whose files, or share of files, the job uses: this host, unless `host_rotation` names
/// another. `None` if the host does not run the job.
pub(super) fn host_worked_on(spec: &RunSpec, job: &JobSpec) -> Option<u32> {
    let host = spec.place.as_ref()?;
    let runners = host.runners(job.wanted_hosts());
    let at = runners.iter().position(|runner| *runner == host.index)?;
    let further = job.io_type.host_rotation as usize % runners.len();
    runners.get((at + further) % runners.len()).copied()
}

/// The directory of a clone: directories are assigned to clones in turn. Clones of a job that names its files
/// share these files, so all of them use the first directory.
fn directory(clone: &Clone<'_>) -> Option<String> {
    let options = &clone.job.file;
    let list = split_file_names(options.directory.as_deref()?);
    let place = if options.filename.is_some() { 0 } else { clone.subjob as usize };
    list.get(place % list.len().max(1)).cloned()
}

/// Expands `filename_format` except for the number of the file. Keywords are case-insensitive.
fn texts_around_number(clone: &Clone<'_>) -> Vec<String> {
    let keywords = [
        ("$jobname", Some(clone.job.section.clone())),
        ("$jobnum", Some(clone.subjob.to_string())),
        ("$filenum", None),
        ("$clientuid", Some(client(clone).unwrap_or("").to_owned())),
    ];
    let mut texts = Vec::new();
    let mut text = String::new();
    let mut rest = clone.job.file.filename_format.as_str();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::names::planned_paths;
    use fathom_spec::{Outcome, SystemSource, parse};

    /// The first file of a job on each of three hosts: a/b, b and c.
    fn names_on_hosts(words: &str) -> Vec<String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let outcome = parse("fathom", &words, &SystemSource::new(4096));
        let Outcome::Run(mut spec) = outcome else { panic!("{words:?}: {outcome:?}") };
        let name = |index| {
            let hosts = ["a/b", "b", "c"].map(str::to_owned).to_vec();
            spec.place = Some(HostPlace { index, hosts, ..HostPlace::default() });
            planned_paths(&Plan::names_of(&spec, &spec.jobs[0]))[0].display().to_string()
        };
        (0..3).map(name).collect()
    }

    #[test]
    fn hosts_have_generated_files_of_their_own_below_a_directory() {
        let names = |words: &str| names_on_hosts(&format!("--name=w --size=4k {words}"));
        assert_eq!(names("--directory=/tmp"), ["/tmp/a_b.w.0.0", "/tmp/b.w.0.0", "/tmp/c.w.0.0"]);
        assert_eq!(names("--directory=/tmp --host_rotation=4")[2], "/tmp/a_b.w.0.0");
        assert_eq!(names("--directory=/tmp --filename_format=../$jobname/$filenum")[1], "/tmp/../b.w/0");
        assert_eq!(
            names("--directory=/tmp --tree_files=2 --ioengine=filecreate")[1],
            "/tmp/b.w.0.tree/b.w.0.0"
        );
        for words in [
            "",
            "--directory=/tmp --filename=f",
            "--directory=/tmp --unique_filename=0",
            "--directory=/tmp --split=hosts",
        ] {
            let names = names(words);
            assert!(names.iter().all(|name| *name == names[0]), "{words}: {names:?}");
        }
    }

    #[test]
    fn rotation_counts_the_hosts_that_run_the_job() {
        let names = names_on_hosts("--name=w --size=4k --directory=/tmp --host=b,c --host_rotation=1");
        assert_eq!(names[1..], ["/tmp/c.w.0.0", "/tmp/b.w.0.0"]);
    }
}
