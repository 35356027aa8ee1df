//! A row of the table of options, and its goal.

/// The goal of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// At most this many instructions per I/O at depth 1 and at depth 32.
    AtMost(u32, u32),
    /// At most this many more than the job without the option.
    Above(u32),
    /// No more than the row with these words.
    NotAbove(&'static str),
    /// At most the sum of the separate costs of both options.
    Parts,
}

/// A job and its goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Arguments of the job that the row is compared with; empty for a baseline job.
    pub(super) over: &'static str,
    /// Arguments that the row adds to `over`.
    pub(super) words: &'static str,
    /// The second option of a pair.
    pub(super) second: &'static str,
    pub(super) goal: Goal,
    /// Purpose of the additional instructions.
    pub(super) bound_by: &'static str,
    /// Mean size of its blocks, in KiB.
    pub(super) kib: u64,
    /// I/Os of the shorter and the longer run.
    pub(super) ios: [u64; 2],
    /// Has an effect only with several I/Os in flight.
    pub(super) deep: bool,
    /// With `--fio`, fio is measured as well.
    pub(super) with_fio: bool,
}

/// An option on its own.
pub(super) const fn option(words: &'static str, goal: Goal, bound_by: &'static str) -> Row {
    Row {
        over: super::rows::READS,
        words,
        second: "",
        goal,
        bound_by,
        kib: 4,
        ios: [30_000, 150_000],
        deep: false,
        with_fio: false,
    }
}

/// A pair of options, each of which also has a separate row.
pub(super) const fn pair(words: &'static str, second: &'static str, bound_by: &'static str) -> Row {
    Row { second, ..option(words, Goal::Parts, bound_by) }
}

impl Row {
    /// Compares the row with a job other than random reads.
    pub(super) const fn over(self, over: &'static str) -> Row {
        Row { over, ..self }
    }

    /// A baseline job.
    pub(super) const fn plain(self) -> Row {
        self.over("")
    }

    pub(super) const fn blocks_of(self, kib: u64) -> Row {
        Row { kib, ..self }
    }

    /// Limits the number of I/Os, for a file with few blocks.
    pub(super) const fn short(self) -> Row {
        Row { ios: [10_000, 60_000], ..self }
    }

    pub(super) const fn deep(self) -> Row {
        Row { deep: true, ..self }
    }

    pub(super) const fn with_fio(self) -> Row {
        Row { with_fio: true, ..self }
    }

    /// Its arguments in addition to those of random reads.
    pub(super) fn name(&self) -> String {
        let over = if self.over == super::rows::READS { "" } else { self.over };
        let words = [over, self.words, self.second].join(" ");
        words.split_whitespace().map(|word| word.trim_start_matches('-')).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn depths(&self) -> &'static [u32] {
        if self.deep { &[32] } else { &[1, 32] }
    }

    /// The whole job.
    pub(super) fn job(&self, depth: u32) -> Vec<String> {
        let job = format!(
            "--name=bench --ioengine=null --bs=4k --size=4g --thread --iodepth={depth} {} {} {}",
            self.over, self.words, self.second
        );
        job.split_whitespace().map(str::to_owned).collect()
    }

    /// Bytes that each clone moves in the shorter and the longer run.
    pub(super) fn sizes(&self) -> [u64; 2] {
        let clones = self.words.split_whitespace().find_map(|word| word.strip_prefix("--numjobs="));
        let clones: u64 = clones.and_then(|number| number.parse().ok()).unwrap_or(1);
        self.ios.map(|ios| ios / clones * self.kib * 1024)
    }
}
