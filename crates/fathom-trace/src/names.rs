//! The files named by a log, and their numbers.

use crate::error::{Damage, TraceError};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of files, which is more than a run could have open.
const MOST_FILES: usize = 1 << 16;

/// The number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Device {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// The way in which a log names a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileName {
    /// A file by its path.
    Path(String),
    /// A device by its number.
    Device(Device),
    /// A volume of another system, by its name in that system.
    Volume(String),
}

/// Assigns numbers to names, in order of first use.
#[derive(Debug, Default)]
pub(crate) struct Names {
    list: Vec<FileName>,
    numbers: HashMap<FileName, u32>,
    /// The file used last, which is compared first because most logs name one file many times in a row.
    last: Option<u32>,
}

impl Names {
    /// Returns all names so far, by number.
    pub(crate) fn list(&self) -> &[FileName] {
        &self.list
    }

    /// Returns the number of a path.
    pub(crate) fn number_of_path(&mut self, path: &str) -> Result<u32, TraceError> {
        if let Some(last) = self.last
            && matches!(&self.list[last as usize], FileName::Path(name) if name == path)
        {
            return Ok(last);
        }
        self.number(FileName::Path(path.to_owned()))
    }

    /// Returns the number of a device.
    pub(crate) fn number_of_device(&mut self, device: Device) -> Result<u32, TraceError> {
        if let Some(last) = self.last
            && self.list[last as usize] == FileName::Device(device)
        {
            return Ok(last);
        }
        self.number(FileName::Device(device))
    }

    /// Returns the number of a volume.
    pub(crate) fn number_of_volume(&mut self, volume: &str) -> Result<u32, TraceError> {
        if let Some(last) = self.last
            && matches!(&self.list[last as usize], FileName::Volume(name) if name == volume)
        {
            return Ok(last);
        }
        self.number(FileName::Volume(volume.to_owned()))
    }

    fn number(&mut self, name: FileName) -> Result<u32, TraceError> {
        let number = match self.numbers.get(&name) {
            Some(number) => *number,
            None if self.list.len() >= MOST_FILES => {
                return Err(Damage::TooManyFiles(MOST_FILES).into());
            }
            None => {
                let number = self.list.len() as u32;
                self.list.push(name.clone());
                self.numbers.insert(name, number);
                number
            }
        };
        self.last = Some(number);
        Ok(number)
    }
}
