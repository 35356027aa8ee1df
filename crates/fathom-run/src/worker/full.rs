//! Reports storage without space for an I/O: what ran out, what to do, and what happens to the file.

use super::Worker;
use crate::exhausted;
use crate::message::Message;
use fathom_sys::Errno;
use std::path::Path;

impl Worker<'_> {
    /// Explains fio's line of an I/O that found no space on a file or device of this machine.
    #[cold]
    pub(super) fn report_full(&self, file: u32, errno: Errno) {
        let file = &self.files.list[file as usize];
        if !errno.is_out_of_space() {
            return;
        }
        let path = Path::new(&file.name);
        let advice = match path.metadata() {
            _ if file.is_block_device => {
                "the device has no space for it: if it is thinly provisioned, its pool is full".to_owned()
            }
            Ok(found) => match exhausted::space(errno, path) {
                Some(advice) => format!("{advice}; {}", self.fate(found.len())),
                None => return,
            },
            // The target is a name that the I/O creates, or is on a server.
            Err(_) => match exhausted::space(errno, path).filter(|_| path.parent().is_some_and(Path::is_dir))
            {
                Some(advice) => advice,
                None => return,
            },
        };
        let line = format!("fathom: job {}: {}: {errno}: {advice}", self.plan.name, file.name);
        self.context.messages.send(&Message::Error(line));
    }

    fn fate(&self, length: u64) -> String {
        match self.plan.files.are_removed {
            true => "the file is removed at the end (unlink=1)".to_owned(),
            false => format!("the file stays, with {} MiB", length >> 20),
        }
    }
}
