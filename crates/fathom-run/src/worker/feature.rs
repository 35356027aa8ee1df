//! A feature of a job, and what it needs of the run loop.
//!
//! The short path of the loop is for jobs without features. A feature says which parts of it an I/O of the job cannot take, and the
//! flags of the loop follow from the sum: nobody keeps lists of features by hand.

use std::ops::BitOr;

/// What a feature needs of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// It has a say in what comes next, and when.
    pub(super) choice: bool,
    /// It does something with an I/O before the engine gets it.
    pub(super) preparation: bool,
    /// It hears of each I/O when it has been handed over.
    pub(super) handing_over: bool,
    /// It hears of the end of each I/O.
    pub(super) ends: bool,
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs {
            choice: self.choice | other.choice,
            preparation: self.preparation | other.preparation,
            handing_over: self.handing_over | other.handing_over,
            ends: self.ends | other.ends,
        }
    }
}

/// A part of a job that takes part in its I/O.
pub(super) trait Feature {
    /// What it needs.
    fn needs(&self) -> Needs;
}

impl<F: Feature> Feature for Option<Box<F>> {
    /// What a job does not have needs nothing.
    fn needs(&self) -> Needs {
        self.as_ref().map_or(Needs::default(), |feature| feature.needs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Holding;

    impl Feature for Holding {
        fn needs(&self) -> Needs {
            Needs { choice: true, ..Needs::default() }
        }
    }

    #[test]
    fn needs_add_up() {
        let (none, ends) = (Needs::default(), Needs { ends: true, ..Needs::default() });
        assert_eq!(None::<Box<Holding>>.needs(), none);
        let both = Some(Box::new(Holding)).needs() | ends;
        assert_eq!(both, Needs { choice: true, ends: true, ..none });
        assert_eq!(both | none, both);
    }
}
