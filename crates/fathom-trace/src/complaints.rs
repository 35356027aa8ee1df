//! Problems of a log after which the rest of it can still be read.

/// Maximum number of complaints that are kept verbatim.
const KEPT: usize = 8;
/// Maximum number of characters of a line that a complaint quotes.
const QUOTED: usize = 200;

/// The non-fatal problems of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaints {
    /// The first few complaints.
    pub first: Vec<String>,
    /// Total number.
    pub count: u64,
}

impl Complaints {
    pub(crate) fn add(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(text());
        }
    }

    /// Moves the complaints of `other` to this list.
    pub(crate) fn take(&mut self, other: &mut Complaints) {
        if other.count == 0 {
            return;
        }
        self.count += other.count;
        let room = KEPT.saturating_sub(self.first.len());
        self.first.extend(other.first.drain(..).take(room));
        *other = Complaints::default();
    }
}

/// Returns a line as a complaint quotes it.
pub(crate) fn quoted(line: &[u8]) -> String {
    String::from_utf8_lossy(line.trim_ascii()).chars().take(QUOTED).collect()
}
