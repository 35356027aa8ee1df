//! The files of a recording and their numbers.

use super::look::Found;
use fathom_trace::files::FileEntry;
use std::collections::HashMap;
use std::time::SystemTime;

/// Files that are remembered; more get other numbers when they are seen again.
const MOST: usize = 1 << 17;

#[derive(Clone, Copy, Debug)]
struct Known {
    id: u32,
    born: Option<SystemTime>,
}

/// Gives files their numbers.
#[derive(Debug)]
pub(crate) struct Files {
    /// By device and inode.
    known: HashMap<(u64, u64), Known>,
    /// Where each ends, as far as it is known: appends go there.
    ends: HashMap<u32, u64>,
    last: u32,
    with_names: bool,
    /// Files that the trace does not have yet.
    new: Vec<FileEntry>,
    unknown: u64,
}

impl Files {
    pub(crate) fn new(with_names: bool) -> Files {
        Files {
            known: HashMap::new(),
            ends: HashMap::new(),
            last: 0,
            with_names,
            new: Vec::new(),
            unknown: 0,
        }
    }

    pub(crate) fn with_names(&self) -> bool {
        self.with_names
    }

    /// The number of a file.
    pub(crate) fn number(&mut self, found: &Found) -> u32 {
        let key = (found.device, found.inode);
        if let Some(known) = self.known.get(&key).filter(|known| known.born == found.born) {
            let id = known.id;
            // Others may have written to it.
            let end = self.ends.entry(id).or_default();
            *end = (*end).max(found.size);
            return id;
        }
        if self.known.len() >= MOST {
            self.known.clear();
            self.ends.clear();
        }
        let id = self.next();
        self.known.insert(key, Known { id, born: found.born });
        self.ends.insert(id, found.size);
        self.new.push(FileEntry { id, kind: found.kind, size: found.size, name: found.name.clone() });
        id
    }

    /// A number for a file that could not be looked up so far.
    pub(crate) fn unknown(&mut self) -> u32 {
        self.next()
    }

    /// A file with such a number was not found.
    pub(crate) fn not_found(&mut self, id: u32) {
        self.unknown += 1;
        self.new.push(FileEntry { id, ..FileEntry::default() });
    }

    fn next(&mut self) -> u32 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    /// The number of a file that is known, by the kernel's number of its device and its inode.
    pub(crate) fn by_inode(&self, device: u32, inode: u64) -> Option<u32> {
        let device = libc::makedev(device >> 20, device & 0xf_ffff);
        self.known.get(&(device, inode)).map(|known| known.id)
    }

    /// Where a file ends.
    pub(crate) fn end(&self, id: u32) -> Option<u64> {
        self.ends.get(&id).copied()
    }

    /// Data was written up to here.
    pub(crate) fn wrote(&mut self, id: u32, end: u64) {
        if let Some(known) = self.ends.get_mut(&id) {
            *known = (*known).max(end);
        }
    }

    /// The file got another size.
    pub(crate) fn resized(&mut self, id: u32, size: u64) {
        if let Some(known) = self.ends.get_mut(&id) {
            *known = size;
        }
    }

    /// Opens whose file could not be looked up.
    pub(crate) fn unknown_files(&self) -> u64 {
        self.unknown
    }

    /// Files that were not taken yet.
    pub(crate) fn take_new(&mut self) -> Vec<FileEntry> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_trace::files::FileKind;

    #[test]
    fn files_keep_their_numbers() {
        let mut files = Files::new(false);
        let found = |inode, born| Found {
            kind: FileKind::Regular,
            device: libc::makedev(8, 1),
            inode,
            born,
            size: 10,
            name: Vec::new(),
        };
        let later = Some(SystemTime::UNIX_EPOCH);
        let numbers =
            [found(1, None), found(2, None), found(1, None), found(1, later)].map(|file| files.number(&file));
        assert_eq!(numbers, [1, 2, 1, 3], "a file that was made again is another");
        assert_eq!((files.by_inode(8 << 20 | 1, 2), files.by_inode(8 << 20, 2)), (Some(2), None));
        assert_eq!(files.unknown(), 4);
        files.not_found(4);
        assert_eq!((files.unknown_files(), files.take_new().len()), (1, 4));
        files.wrote(2, 100);
        assert_eq!(files.end(2), Some(100));
        files.resized(2, 5);
        assert_eq!((files.end(2), files.end(4)), (Some(5), None));
    }
}
