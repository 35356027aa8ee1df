//! The history of one figure, with one point per tick.

use std::collections::VecDeque;

/// Maximum number of points; no terminal has more columns.
const LENGTH: usize = 1024;

/// The history of a figure; `None` for ticks without a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    points: VecDeque<Option<u64>>,
}

impl History {
    pub(crate) fn push(&mut self, value: Option<u64>) {
        if self.points.len() == LENGTH {
            self.points.pop_front();
        }
        self.points.push_back(value);
    }

    /// True if the figure ever had a value other than 0.
    pub(crate) fn has_values(&self) -> bool {
        self.points.iter().flatten().any(|&value| value > 0)
    }

    /// Returns the newest points, one per column: the last column is the newest, and columns without a point
    /// come first.
    pub(crate) fn columns(&self, width: usize) -> Vec<Option<u64>> {
        let shown = width.min(self.points.len());
        let newest = self.points.iter().skip(self.points.len() - shown).copied();
        std::iter::repeat_n(None, width - shown).chain(newest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_at_the_right() {
        let mut history = History::default();
        assert_eq!(history.columns(2), [None, None]);
        history.push(Some(1));
        assert_eq!(history.columns(3), [None, None, Some(1)]);
        for value in 2..=LENGTH as u64 + 1 {
            history.push(Some(value));
        }
        assert_eq!(history.columns(2), [Some(LENGTH as u64), Some(LENGTH as u64 + 1)]);
        assert_eq!(history.columns(LENGTH + 1)[..2], [None, Some(2)]);
    }
}
