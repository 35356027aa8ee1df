//! What a history is opened for.

/// What a history is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading; the history must exist.
    Read,
    /// Adding and removing runs; the history is created if there is none.
    Write,
    /// Adding runs to a history that was there before: one that is gone meanwhile is not replaced by an empty one.
    Again,
}
