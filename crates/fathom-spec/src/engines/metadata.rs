//! Metadata engines, which work on names and attributes but never on data: `filecreate`, `filestat`,
//! `filedelete`, `dircreate`, `dirstat`, `dirdelete`. Each I/O is one operation on one target, and a pass
//! visits each target once.

use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review, Rule, filestat};
use crate::options::file::{LockFile, ZoneMode};
use crate::spec::JobSpec;
use crate::value::Rw;
use serde::{Deserialize, Serialize};

/// The operation on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameOperation {
    /// The target is created.
    Create,
    /// The target's attributes are read.
    Stat,
    /// It is removed.
    Delete,
}

/// What a metadata engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The operation that is performed on each target.
    pub operation: NameOperation,
    /// True if the targets are directories instead of files.
    pub on_directories: bool,
}

impl Metadata {
    /// True if the operation changes the set of names.
    pub const fn changes_names(self) -> bool {
        !matches!(self.operation, NameOperation::Stat)
    }

    /// True if the I/Os themselves create the targets, so that no layout is needed.
    pub const fn makes_targets(self) -> bool {
        matches!(self.operation, NameOperation::Create)
    }

    /// The operation's name in fio's error lines.
    pub const fn call(self) -> &'static str {
        match self.operation {
            NameOperation::Create => "open",
            NameOperation::Stat => "stat",
            NameOperation::Delete => "delete",
        }
    }

    /// The operation: `create`, `stat`, `delete`.
    pub const fn word(self) -> &'static str {
        match self.operation {
            NameOperation::Create => "create",
            NameOperation::Stat => "stat",
            NameOperation::Delete => "delete",
        }
    }

    /// Plural of the operation: `creates`, `stats`, `deletes`.
    pub const fn plural(self) -> &'static str {
        match self.operation {
            NameOperation::Create => "creates",
            NameOperation::Stat => "stats",
            NameOperation::Delete => "deletes",
        }
    }
}

const fn engine(
    name: &'static str,
    summary: &'static str,
    operation: NameOperation,
    on_directories: bool,
) -> EngineDef {
    EngineDef::new(name, summary)
        .built()
        .queues_from(2)
        .on_names(Metadata { operation, on_directories })
        .with_rules(RULES)
}

/// `ioengine=filecreate`
pub const FILECREATE: EngineDef =
    engine("filecreate", "open(2) with O_CREAT, and close(2)", NameOperation::Create, false);

/// `ioengine=filestat`
pub const FILESTAT: EngineDef =
    engine("filestat", "stat(2), lstat(2) or statx(2) of files", NameOperation::Stat, false)
        .with_options(filestat::TABLE);

/// `ioengine=filedelete`
pub const FILEDELETE: EngineDef = engine("filedelete", "unlink(2)", NameOperation::Delete, false);

/// `ioengine=dircreate`
pub const DIRCREATE: EngineDef = engine("dircreate", "mkdir(2)", NameOperation::Create, true);

/// `ioengine=dirstat`
pub const DIRSTAT: EngineDef =
    engine("dirstat", "stat(2), lstat(2) or statx(2) of directories", NameOperation::Stat, true)
        .with_options(filestat::TABLE);

/// `ioengine=dirdelete`
pub const DIRDELETE: EngineDef = engine("dirdelete", "rmdir(2)", NameOperation::Delete, true);

const RULES: &[Rule] = &[refuse_what_has_no_meaning, note_what_has_no_effect];

/// Refuses options about data that have no equivalent for metadata operations.
fn refuse_what_has_no_meaning(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let makes_targets =
        review.engine_of(job).and_then(|engine| engine.metadata).is_some_and(Metadata::makes_targets);
    let wrong = [
        (
            matches!(job.io_type.rw.rw, Rw::TrimWrite | Rw::RandTrimWrite),
            "rw=trimwrite does each I/O twice, but each name allows only one operation; use rw=read",
        ),
        (job.file.zonemode != ZoneMode::None, "zonemode= divides data, and there is none; leave it out"),
        (job.replay.read_iolog.is_some(), "read_iolog= replays I/O on data, and there is none; leave it out"),
        (job.size.fill_device, "fill_device= takes space for data, and there is none; leave it out"),
        (
            makes_targets && !job.file.allow_file_create,
            "allow_file_create=0 forbids everything that the job would do",
        ),
    ];
    let (name, engine) = (job.name.clone(), job.engine.ioengine.name.clone());
    for (is_wrong, why) in wrong {
        if is_wrong {
            return Err(
                review.refuse_in_our_words(&job.origin, format!("job {name}: ioengine={engine}: {why}"))
            );
        }
    }
    Ok(())
}

/// Prints notes about options that fio accepts although they have no effect.
fn note_what_has_no_effect(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let (name, engine) = (job.name.clone(), job.engine.ioengine.name.clone());
    let locks = std::mem::replace(&mut job.file.lockfile, LockFile::None) != LockFile::None;
    let options = &mut job.io_type;
    let without_effect = [
        ("fsync", std::mem::take(&mut options.fsync) != 0),
        ("fdatasync", std::mem::take(&mut options.fdatasync) != 0),
        ("write_barrier", std::mem::take(&mut options.write_barrier) != 0),
        ("sync_file_range", options.sync_file_range.take().is_some()),
        ("end_fsync", std::mem::take(&mut options.end_fsync)),
        ("fsync_on_close", std::mem::take(&mut options.fsync_on_close)),
        ("lockfile", locks),
    ];
    for (option, _) in without_effect.into_iter().filter(|(_, is_set)| *is_set) {
        review.note(format!(
            "fathom: job {name}: {option} has no effect with ioengine={engine}: no file is open"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::resolve::testing::{job, quiet_job, refusal};

    #[test]
    fn what_has_no_meaning_is_refused() {
        for (words, said) in [
            ("--ioengine=filestat --rw=trimwrite", "each I/O twice"),
            ("--ioengine=dirstat --zonemode=strided --zonesize=4k", "zonemode="),
            ("--ioengine=filedelete --fill_device=1", "fill_device="),
            ("--ioengine=dircreate --allow_file_create=0", "forbids everything"),
        ] {
            let line = refusal(&format!("--name=a --filesize=4k {words}"));
            assert!(line.contains(said), "{words}: {line}");
        }
        quiet_job("--name=a --ioengine=filestat --filesize=4k --allow_file_create=0");
    }

    #[test]
    fn syncs_of_no_data_are_told() {
        let (spec, lines) =
            job("--name=a --ioengine=filecreate --filesize=4k --fsync=1 --end_fsync=1 --lockfile=exclusive");
        assert_eq!(lines.len(), 3, "{lines:?}");
        let spec = spec.expect("a job");
        assert_eq!((spec.io_type.fsync, spec.io_type.end_fsync), (0, false));
    }
}
