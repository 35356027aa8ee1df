//! `rw=trimwrite` and `randtrimwrite`: each block is trimmed, then written, in each file separately.

use super::direction::Directions;
use super::{Target, Targets};
use fathom_stats::Direction;

impl Targets {
    /// The direction of the next target, determined by the file whose turn it is.
    pub(super) fn choose_trim_or_write(&mut self) -> Direction {
        let chosen = self.choose_file();
        self.directions = Directions::TrimThenWrite { file: chosen };
        match chosen {
            Some(file) if self.files[file].trimmed.is_some() => Direction::Write,
            _ => Direction::Trim,
        }
    }

    /// The next target of the chosen file, or of the next file that has one.
    pub(super) fn next_trim_or_write(&mut self) -> Option<Target> {
        loop {
            let chosen = match &mut self.directions {
                Directions::TrimThenWrite { file } => file.take(),
                _ => None,
            };
            let file = chosen.or_else(|| self.choose_file())?;
            if let Some(trimmed) = self.files[file].trimmed.take() {
                return Some(Target { direction: Direction::Write, ..trimmed });
            }
            let target = self.next_in_file(file, Direction::Trim);
            if target.is_some() {
                self.files[file].trimmed = target;
                return target;
            }
            self.finish_file(file as u32);
        }
    }
}
