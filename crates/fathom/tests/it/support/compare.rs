//! Runs the same job on the program under test and on the installed fio.

use super::program::{self, Finished, Launch};
use super::{json, scratch, shape};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A job to run.
pub(crate) struct Case<'a> {
    words: String,
    prepare: Box<dyn Fn(&Path) + 'a>,
}

impl<'a> Case<'a> {
    /// A job given as command-line arguments.
    pub(crate) fn new(words: impl Into<String>) -> Case<'a> {
        Case { words: words.into(), prepare: Box::new(|_| ()) }
    }

    /// Files that must exist in the directory of the run.
    pub(crate) fn prepare(mut self, prepare: impl Fn(&Path) + 'a) -> Case<'a> {
        self.prepare = Box::new(prepare);
        self
    }

    /// Runs the job in both formats; returns the JSON. Both runs must succeed without output on standard error,
    /// and their reports must have the same lines and keys as the installed fio's reports of the same job.
    #[track_caller]
    pub(crate) fn check(&self) -> Value {
        let normal = self.run(&program::path(), "normal").expect_clean();
        let document = json::document(&self.run(&program::path(), "json").expect_clean().stdout);
        match program::reference() {
            Ok(reference) => self.compare(&reference, &normal, &document),
            Err(reason) => fathom_skip::record(&format!("comparison: {reason}")),
        }
        document
    }

    fn run(&self, program: &Path, format: &str) -> Finished {
        let directory = scratch();
        (self.prepare)(directory.path());
        Launch::of(program, directory.path())
            .argument(format!("--output-format={format}"))
            .words(&self.words)
            .timeout(Duration::from_secs(120))
            .run()
    }

    #[track_caller]
    fn compare(&self, reference: &Path, normal: &Finished, document: &Value) {
        let theirs = self.run(reference, "normal");
        let (ours, theirs) = (shape::of(&normal.stdout), shape::of(&theirs.stdout));
        for (number, pair) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(
                pair.0,
                pair.1,
                "line {} of the report of: {}\n{}",
                number + 1,
                self.words,
                normal.stdout
            );
        }
        assert_eq!(ours.len(), theirs.len(), "lines of the report of: {}\n{}", self.words, normal.stdout);

        let theirs = json::document(&self.run(reference, "json").stdout);
        let (ours, theirs) = (json::shape(document), json::shape(&theirs));
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let added: Vec<_> = ours.difference(&theirs).collect();
        assert!(
            missing.is_empty() && added.is_empty(),
            "{}: missing {missing:?}, added {added:?}",
            self.words
        );
    }
}

/// Checks the amount of I/O: `ios` I/Os of `block` bytes in all given directions together.
#[track_caller]
pub(crate) fn expect_ios(document: &Value, directions: &[&str], ios: u64, block: u64) {
    let sum = |key: &str| {
        directions.iter().map(|name| json::total(document, &format!("{name}/{key}"))).sum::<u64>()
    };
    assert_eq!(sum("total_ios"), ios, "I/Os");
    assert_eq!(sum("io_bytes"), ios * block, "bytes");
    assert_eq!((sum("short_ios"), sum("drop_ios")), (0, 0), "short and dropped I/Os");
    for name in directions {
        let counted = json::total(document, &format!("{name}/clat_ns/N"));
        assert_eq!(counted, json::total(document, &format!("{name}/total_ios")), "latencies of {name}");
    }
}
