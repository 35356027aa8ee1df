//! The location of the jobs' files: on the mounted file system, or the device itself. Jobs that specify a
//! location are refused. The targets are checked once more in the plan of the run, in case an option that this
//! module does not know leads to another disk.

use super::{NONE, Volume};
use crate::job_text::Section;
use crate::running::as_option;
use crate::{Runner, Target, figures};
use fathom_command::Failure;
use fathom_spec::RunSpec;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Mount point of the file systems. Each sweep has a private mount there, so all runs have the same options.
pub(in crate::sweep) const MOUNT: &str = "/run/fathom-sweep";

/// Options that determine the location of files, which the sweep sets itself.
const OF_PLACE: [&str; 4] = ["directory", "filename", "filename_format", "opendir"];

/// Refuses jobs that specify a location, and those that cannot be relocated. `what` begins the message.
pub(in crate::sweep) fn check_jobs(spec: &RunSpec, has_none: bool) -> Result<(), Failure> {
    for job in &spec.jobs {
        let wrong = |what: &str| Failure::new(format!("job {}: {what}", job.name));
        if job.file.directory.is_some() {
            return Err(wrong(
                "leave out directory=; with --fs, the files are in the root directory of each file system",
            ));
        }
        if job.file.opendir.is_some() {
            return Err(wrong("opendir= needs existing files, but --fs begins with an empty file system"));
        }
        if job.replay.read_iolog.is_some() {
            return Err(wrong(
                "read_iolog= contains names of files and devices, so it cannot be used with --fs",
            ));
        }
        if job.name.starts_with('/') {
            return Err(wrong(
                "a job that is named after a file or device works on that; give it another name",
            ));
        }
        let names = job.file.filename.iter().flat_map(|names| &names.0);
        if let Some(name) = names.chain([&job.file.filename_format]).find(|name| !is_below(Path::new(name))) {
            return Err(wrong(&format!(
                "filename={name} leads elsewhere; with --fs, names are relative: the files lie on each file system, and with none \
                 the device stands for them"
            )));
        }
        if job.buffers.mem.file.is_some() {
            return Err(wrong("leave out the file of mem=; with --fs, jobs only write to the device"));
        }
        let count = job.file.filename.as_ref().map_or(job.file.nrfiles as usize, |names| names.0.len());
        if has_none && count > 1 {
            return Err(wrong(
                "it has several files, but `none` of --fs is a single device; leave out none, or name one file",
            ));
        }
    }
    Ok(())
}

fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Refuses values of `--vary` that move the files.
pub(in crate::sweep) fn check_variation(name: &str) -> Result<(), Failure> {
    match OF_PLACE.contains(&name) {
        true => Err(Failure::new(format!(
            "--vary={name}: --fs determines where the files are; vary only one of them"
        ))),
        false => Ok(()),
    }
}

/// Places the files of the jobs on a file system mounted at `mount`, or on the device.
pub(in crate::sweep) fn put(sections: &mut [Section], kind: &str, device: &Path, mount: &str) {
    let (name, value) = match kind {
        // Colons are escaped, because a colon would end the name.
        NONE => ("filename", as_option(device)),
        _ => ("directory", mount.to_owned()),
    };
    for section in sections {
        section.options.retain(|(own, _)| own != name && (kind != NONE || !OF_PLACE.contains(&own.as_str())));
        if section.name != "global" {
            section.options.push((name.to_owned(), value.clone()));
        }
    }
}

/// Checks the targets of the jobs.
pub(in crate::sweep) fn check_targets(
    spec: &RunSpec,
    kind: &str,
    volume: &Volume,
    mount: &str,
    runner: &dyn Runner,
) -> Result<Vec<Target>, Failure> {
    let targets = runner.targets(spec)?;
    for target in &targets {
        let wrong = |what: &str| Failure::new(format!("job {}: {what}", target.job));
        if !target.is_local || target.paths.is_empty() {
            return Err(wrong(&format!("the engine {} does not use files of this machine", target.engine)));
        }
        let elsewhere = target.paths.iter().find(|path| match kind {
            NONE => **path != volume.device,
            _ => !path.strip_prefix(mount).is_ok_and(is_below),
        });
        if let Some(path) = elsewhere {
            return Err(wrong(&format!(
                "its target would be {}, which is not on the file system",
                path.display()
            )));
        }
        if kind != NONE && target.bytes.is_none() && !target.fills_space {
            return Err(wrong(
                "size= must say how large its files are, in bytes; a new file system has none",
            ));
        }
    }
    let needed = needed(&targets);
    if needed > volume.bytes {
        return Err(Failure::new(format!(
            "{}: it has {}, but the jobs need {}",
            volume.device.display(),
            figures::size(volume.bytes),
            figures::size(needed)
        )));
    }
    Ok(targets)
}

/// Total size of all files; files that several clones share count once.
fn needed(targets: &[Target]) -> u64 {
    let mut by_files: BTreeMap<&[PathBuf], u64> = BTreeMap::new();
    for target in targets {
        let bytes = by_files.entry(&target.paths).or_default();
        *bytes = (*bytes).max(target.bytes.unwrap_or(0));
    }
    by_files.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

/// Number of distinct files.
pub(in crate::sweep) fn files(targets: &[Target]) -> usize {
    let paths: std::collections::BTreeSet<&PathBuf> =
        targets.iter().flat_map(|target| &target.paths).collect();
    paths.len()
}

/// Number of bytes at the start of the device that the jobs use; `None` if they may use the whole device.
pub(in crate::sweep) fn extent(targets: &[Target]) -> Option<u64> {
    let ends = targets.iter().map(|target| Some(target.offset?.saturating_add(target.bytes?)));
    ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_text;

    fn target(path: &str, bytes: Option<u64>, offset: Option<u64>) -> Target {
        Target {
            job: "a".into(),
            engine: "psync".into(),
            is_local: true,
            paths: vec![path.into()],
            bytes,
            offset,
            fills_space: false,
        }
    }

    #[test]
    fn files_that_clones_share_count_once() {
        let own = |path: &str| target(path, Some(10), Some(0));
        assert_eq!((needed(&[own("a"), own("a")]), files(&[own("a"), own("a")])), (10, 1));
        assert_eq!((needed(&[own("a"), own("b")]), files(&[own("a"), own("b")])), (20, 2));
    }

    #[test]
    fn the_extent_is_where_the_last_job_ends() {
        let at = |bytes, offset| target("/dev/sdz", bytes, offset);
        assert_eq!(extent(&[at(Some(10), Some(0)), at(Some(10), Some(5))]), Some(15));
        assert_eq!(extent(&[at(Some(10), None)]), None, "a share of the device");
        assert_eq!(extent(&[at(None, Some(0)), at(Some(10), Some(0))]), None);
    }

    #[test]
    fn files_go_where_the_sweep_says() {
        let job = "[global]\nfilename=g\nbs=4k\n\n[a]\nrw=read\nfilename=x\n\n[b]\nrw=write\n";
        let with = |kind: &str| {
            let mut sections = job_text::read(job);
            put(&mut sections, kind, Path::new("/dev/by:path"), "/mount");
            job_text::text(&sections)
        };
        let of_ext4 = "[global]\nfilename=g\nbs=4k\n\n[a]\nrw=read\nfilename=x\ndirectory=/mount\n\n[b]\nrw=write\n\
                       directory=/mount\n";
        assert_eq!(with("ext4"), of_ext4);
        let of_none = "[global]\nbs=4k\n\n[a]\nrw=read\nfilename=/dev/by\\:path\n\n[b]\nrw=write\nfilename=/dev/by\\:path\n";
        assert_eq!(with(NONE), of_none);
    }
}
