//! A feature of a job, and its demands on the run loop. The fast path of the loop is for jobs without features.
//! A feature declares which parts of that path an I/O of the job cannot take, and the flags of the loop follow
//! from all declarations together, so no list of features is maintained by hand.

use std::ops::BitOr;

/// How often a feature decides about the next I/O, in order of cost; the most expensive choice of any feature
/// applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    /// Never.
    #[default]
    Never,
    /// The feature knows how many I/Os may be issued before its next decision, regardless of which ones.
    AtTimes,
    /// Before each I/O.
    EachIo,
}

/// What a feature demands of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// How often the feature decides which I/O comes next, and when.
    pub(super) choice: Choice,
    /// True if the feature prepares an I/O before the engine gets it.
    pub(super) preparation: bool,
    /// True if the feature is notified of each submitted I/O.
    pub(super) handing_over: bool,
    /// Minimum latency of the completions that the feature is notified of, in ns: 0 for all, `None` for none.
    pub(super) ends_from_ns: Option<u64>,
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs {
            choice: self.choice.max(other.choice),
            preparation: self.preparation | other.preparation,
            handing_over: self.handing_over | other.handing_over,
            ends_from_ns: self.ends_from_ns.into_iter().chain(other.ends_from_ns).min(),
        }
    }
}

/// A component of a job that takes part in its I/O.
pub(super) trait Feature {
    /// Its needs.
    fn needs(&self) -> Needs;
}

impl<F: Feature> Feature for Option<Box<F>> {
    /// The demands of a feature; an absent one makes none.
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
            Needs { choice: Choice::AtTimes, ..Needs::default() }
        }
    }

    #[test]
    fn needs_add_up() {
        let (none, ends) = (Needs::default(), Needs { ends_from_ns: Some(0), ..Needs::default() });
        assert_eq!(None::<Box<Holding>>.needs(), none);
        let both = Some(Box::new(Holding)).needs() | ends;
        assert_eq!(both, Needs { choice: Choice::AtTimes, ends_from_ns: Some(0), ..none });
        assert_eq!(both | none, both);
        let each = Needs { choice: Choice::EachIo, ..none };
        assert_eq!((both | each).choice, Choice::EachIo);
        let slow = Needs { ends_from_ns: Some(1000), ..none };
        assert_eq!(((none | slow).ends_from_ns, (ends | slow).ends_from_ns), (Some(1000), Some(0)));
    }
}
