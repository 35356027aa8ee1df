//! An NVMe namespace: its size, and the layout of its blocks.

use super::error::{MisfitError, NamespaceError};
use crate::protection::{Guard, Layout};
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_spec::JobSpec;
use fathom_sys::nvme;
use fathom_sys::{Errno, file};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// CNS values of Identify: a namespace, and its data specific to the NVM command set.
const NAMESPACE: u8 = 0x00;
const NAMESPACE_OF_COMMAND_SET: u8 = 0x05;
/// The NVM command set.
const NVM: u8 = 0;

/// Properties of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    /// Its number.
    pub(super) id: u32,
    /// Index of the namespace's LBA format.
    pub(super) format: usize,
    /// Number of logical blocks.
    pub(super) blocks: u64,
    /// Data bytes per block.
    pub(super) data_bytes: u32,
    /// Metadata bytes per block.
    pub(super) metadata_bytes: u32,
    /// True if the metadata of a block follows its data in the same buffer.
    pub(super) is_extended: bool,
    /// Protection information of the blocks, if they have any.
    pub(super) protection: Option<Protection>,
}

/// Protection information in the blocks of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protection {
    /// Kind of checksum.
    pub(super) guard: Guard,
    /// True if the protection information is at the start of the metadata instead of at its end.
    pub(super) comes_first: bool,
    /// True for protection type 3, whose reference tags are not block numbers and are not checked.
    pub(super) is_type_3: bool,
}

impl Namespace {
    /// Asks a device.
    pub(super) fn of(fd: RawFd) -> Result<Namespace, NamespaceError> {
        let id = nvme::namespace_id(fd)?;
        let answer = nvme::identify(fd, NAMESPACE, id, NVM).map_err(NamespaceError::NotDescribed)?;
        // Older controllers do not support this query; their guards have 16 bits.
        let more = nvme::identify(fd, NAMESPACE_OF_COMMAND_SET, id, NVM).ok();
        let namespace = Namespace::parse(id, &answer[..], more.as_ref().map(|more| &more[..]))
            .ok_or(NamespaceError::UnknownBlocks)?;
        match namespace.protection {
            Some(protection) if protection.guard.bytes() > namespace.metadata_bytes => {
                Err(NamespaceError::NoRoomForProtection)
            }
            _ => Ok(namespace),
        }
    }

    /// Parses the responses to Identify.
    fn parse(id: u32, answer: &[u8], more: Option<&[u8]>) -> Option<Namespace> {
        const FORMATS: usize = 128;
        const EXTENDED_FORMATS: usize = 12;
        let bytes = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        let blocks = u64::from_le_bytes(answer.get(..8)?.try_into().ok()?);
        let (formatted, protection) = (*answer.get(26)?, *answer.get(29)?);
        let index = usize::from(formatted & 0xf) | usize::from(formatted >> 5 & 3) << 4;
        let format = u32::from_le_bytes(bytes(FORMATS + 4 * index)?);
        let (metadata_bytes, shift) = (format & 0xffff, format >> 16 & 0xff);
        if !(9..32).contains(&shift) {
            return None;
        }
        let extended =
            more.and_then(|more| more.get(EXTENDED_FORMATS + 4 * index..)?.get(..4)?.try_into().ok());
        let guard = match extended.map_or(0, u32::from_le_bytes) >> 7 & 3 {
            0 => Guard::Bits16,
            1 => Guard::Bits32,
            _ => Guard::Bits64,
        };
        let kind = protection & 7;
        Some(Namespace {
            id,
            format: index,
            blocks,
            data_bytes: 1 << shift,
            metadata_bytes,
            is_extended: metadata_bytes > 0 && formatted & 0x10 != 0,
            protection: (kind != 0 && metadata_bytes > 0).then_some(Protection {
                guard,
                comes_first: protection & 8 != 0,
                is_type_3: kind == 3,
            }),
        })
    }

    /// Size of a block in a job's buffers in bytes. Sizes and offsets must be multiples of it. With `pi_act=1`
    /// the controller adds and removes protection information, if the metadata consists of nothing else.
    pub(super) fn block_bytes(&self, pi_act: bool) -> u32 {
        let by_controller = pi_act
            && self.protection.is_some_and(|protection| protection.guard.bytes() == self.metadata_bytes);
        match self.is_extended && !by_controller {
            true => self.data_bytes + self.metadata_bytes,
            false => self.data_bytes,
        }
    }

    /// Size of a block's metadata in a separate buffer, if one is required; in bytes.
    pub(super) fn separate_bytes(&self, pi_act: bool) -> u32 {
        let by_controller = pi_act
            && self.protection.is_some_and(|protection| protection.guard.bytes() == self.metadata_bytes);
        if self.is_extended || by_controller { 0 } else { self.metadata_bytes }
    }
}

impl Namespace {
    /// Layout of the protection information, if the blocks have any.
    pub(super) fn layout(&self) -> Option<Layout> {
        let Protection { guard, comes_first, is_type_3 } = self.protection?;
        let behind = self.metadata_bytes.checked_sub(guard.bytes())?;
        let offset = if comes_first { 0 } else { behind };
        let mut layout = Layout::new(guard, self.data_bytes, self.metadata_bytes, offset);
        if self.is_extended {
            layout = layout.extended();
        }
        Some(if is_type_3 { layout.of_type_3() } else { layout })
    }
}

/// Opens a namespace as a target of this job.
pub(super) fn look_at(job: &JobSpec, plan: &WorkerPlan, path: PathBuf) -> Result<FileEntry, FileError> {
    let name = path.display().to_string();
    let is_generic = is_generic_device(&path);
    if !is_generic {
        let line = "ioengine io_uring_cmd only works with nvme ns generic char devices (/dev/ngXnY)";
        let advice = match std::fs::metadata(&path) {
            Ok(found) if found.file_type().is_block_device() && name.starts_with("/dev/nvme") => {
                format!(
                    "fathom: the device of the same namespace is /dev/ng{}",
                    name.trim_start_matches("/dev/nvme")
                )
            }
            Ok(_) => format!("fathom: {name} is not one"),
            Err(error) => format!("fathom: {name}: {}", Errno::from(error)),
        };
        return Err(FileError::without_line(format!("{line}\n{advice}")));
    }
    let failed = |errno: Errno| FileError::of_call(errno, "open", &path);
    let opened = file::open(&path, libc::O_RDONLY, 0).map_err(failed)?;
    let namespace = Namespace::of(opened.as_raw_fd()).map_err(|why| {
        FileError::without_line(format!("{name}: failed to fetch namespace-id\nfathom: {name}: {why}"))
    })?;
    check_sizes(job, plan, &namespace, &name)
        .map_err(|misfit| failed(Errno(libc::EINVAL)).with_message(misfit.to_string()))?;
    let size = namespace.blocks.saturating_mul(u64::from(namespace.block_bytes(job.private.io_uring.pi_act)));
    Ok(FileEntry::new(path, FileKind::Medium, Some(size)))
}

/// True if the path leads to a device such as `/dev/ngXnY`.
fn is_generic_device(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    let target = std::fs::canonicalize(path).unwrap_or_default();
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    found.file_type().is_char_device() && (name.starts_with("ng") || name.starts_with("nvme"))
}

/// Checks that buffers hold whole blocks and that metadata buffers are large enough.
fn check_sizes(
    job: &JobSpec,
    plan: &WorkerPlan,
    namespace: &Namespace,
    name: &str,
) -> Result<(), MisfitError> {
    let options = &job.private.io_uring;
    let block = u64::from(namespace.block_bytes(options.pi_act));
    let targets = &plan.target_plan;
    let lengths = || targets.used_directions().iter().map(|&direction| &targets.lengths[direction]);
    let (shortest, longest) = (
        lengths().map(|rule| rule.min()).min().unwrap_or(0),
        lengths().map(|rule| rule.max()).max().unwrap_or(0),
    );
    let name = || name.to_owned();
    if shortest % block != 0 {
        let data = u64::from(namespace.data_bytes);
        return Err(match block == data {
            true => MisfitError::PartOfBlock { name: name(), block, shortest },
            false => {
                let better = (shortest / data).max(1) * block;
                MisfitError::PartOfExtendedBlock { name: name(), block, better }
            }
        });
    }
    if namespace.protection.is_some_and(|protection| protection.guard == Guard::Bits32) && !options.pi_act {
        return Err(MisfitError::WideGuards(name()));
    }
    let verifies = plan.verify.is_some();
    if verifies && namespace.is_extended && namespace.protection.is_some() && !options.pi_act {
        return Err(MisfitError::VerifiesProtected(name()));
    }
    let needed = longest / block * u64::from(namespace.separate_bytes(options.pi_act));
    if needed > u64::from(options.md_per_io_size) && (plan.reads_data() || plan.writes_data()) {
        return Err(MisfitError::TooLittleMetadata { name: name(), needed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protection::Wanted;
    use proptest::prelude::*;

    const ALL: Wanted = Wanted { guard: true, reference: true, application: true, tag: 1, mask: 0xffff };

    /// The Identify data of a namespace of 1000 blocks, in this format and with this protection.
    fn answer(formatted: u8, format: u32, protection: u8) -> Vec<u8> {
        let mut answer = vec![0; nvme::IDENTIFICATION];
        answer[..8].copy_from_slice(&1000_u64.to_le_bytes());
        (answer[26], answer[29]) = (formatted, protection);
        let index = usize::from(formatted & 0xf);
        answer[128 + 4 * index..][..4].copy_from_slice(&format.to_le_bytes());
        answer
    }

    #[test]
    fn formats_are_read() {
        let plain = Namespace::parse(1, &answer(0, 9 << 16, 0), None).expect("a namespace");
        assert_eq!((plain.blocks, plain.block_bytes(true), plain.separate_bytes(true)), (1000, 512, 0));
        // This format has 8 bytes of protection information in the same buffer.
        let extended = Namespace::parse(1, &answer(0x11, 9 << 16 | 8, 1), None).expect("a namespace");
        assert_eq!((extended.block_bytes(true), extended.block_bytes(false)), (512, 520));
        assert_eq!(extended.separate_bytes(false), 0);
        // This format has 64 bytes of metadata in a separate buffer, with the protection information at its
        // start.
        let separate = Namespace::parse(1, &answer(2, 12 << 16 | 64, 0xb), None).expect("a namespace");
        assert_eq!((separate.block_bytes(false), separate.separate_bytes(true)), (4096, 64));
        let protection = separate.protection.expect("protection");
        assert!(protection.comes_first && protection.is_type_3);
        let mut more = vec![0; nvme::IDENTIFICATION];
        more[12 + 8..][..4].copy_from_slice(&(2_u32 << 7).to_le_bytes());
        let wide = Namespace::parse(1, &answer(2, 12 << 16 | 16, 1), Some(&more)).expect("a namespace");
        assert_eq!(wide.protection.map(|protection| protection.guard), Some(Guard::Bits64));
        assert_eq!((wide.separate_bytes(true), wide.separate_bytes(false)), (0, 16));
        assert_eq!(Namespace::parse(1, &answer(0, 0, 0), None), None);
    }

    proptest! {
        /// Regardless of what a controller returns, a parsed namespace has blocks, and space for its protection
        /// information.
        #[test]
        fn no_answer_is_too_odd(
            mut answer in proptest::collection::vec(any::<u8>(), 0..600),
            more in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..600)),
            shift in proptest::option::of(9_u8..13),
        ) {
            // Half of the generated responses have a valid format.
            if let (Some(shift), true) = (shift, answer.len() > 131) {
                answer[26] &= 0x90;
                answer[130] = shift;
            }
            let parsed = Namespace::parse(1, &answer, more.as_deref());
            if let Some(found) = parsed.filter(|found| found.data_bytes < 1 << 16) {
                prop_assert!(found.data_bytes >= 512 && found.block_bytes(false) >= found.data_bytes);
                if let Some(layout) = found.layout() {
                    let (mut data, mut separate) = (vec![0; 2 * found.block_bytes(false) as usize], vec![0; 2 * found.separate_bytes(false) as usize]);
                    layout.make(&ALL, 0, &mut data, &mut separate);
                    prop_assert!(layout.check(&ALL, 0, &mut data, &mut separate).is_ok());
                }
            }
        }
    }
}
