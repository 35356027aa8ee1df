//! `--debug`: classes of events for which a run prints lines.

use crate::message::Message;
use serde::{Deserialize, Serialize};

/// All classes, in the order in which help lists them.
const CLASSES: [(&str, Option<DebugClass>); 20] = [
    ("process", Some(DebugClass::Process)),
    ("file", Some(DebugClass::File)),
    ("io", Some(DebugClass::Io)),
    ("mem", Some(DebugClass::Memory)),
    ("blktrace", None),
    ("verify", None),
    ("random", Some(DebugClass::Random)),
    ("parse", None),
    ("diskutil", None),
    ("job", None),
    ("mutex", None),
    ("profile", None),
    ("time", None),
    ("net", None),
    ("rate", None),
    ("compress", None),
    ("steadystate", None),
    ("helperthread", None),
    ("zbd", None),
    ("sprandom", None),
];

/// A class for which fathom prints lines. fio's other classes are accepted, with a note that fathom has no
/// lines for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DebugClass {
    /// Clones and their stages.
    Process,
    /// Opening and closing of files.
    File,
    /// Start and completion of every I/O.
    Io,
    /// Buffers.
    Memory,
    /// Seeds.
    Random,
}

impl DebugClass {
    /// Name of the class on the command line and in its lines.
    pub fn word(self) -> &'static str {
        CLASSES.iter().find(|(_, class)| *class == Some(self)).map_or("", |(name, _)| name)
    }

    /// A line of this class from a process or thread, in fio's layout.
    pub fn line(self, pid: u32, text: &str) -> String {
        format!("{:<8} {pid:<5} {text}", self.word())
    }
}

/// What `--debug` selects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugOptions {
    classes: Vec<DebugClass>,
    /// If set, only lines of this clone are printed; clones are counted from 1.
    job: Option<u32>,
}

impl DebugOptions {
    /// True if lines of this class are selected for this clone.
    pub fn shows(&self, class: DebugClass, clone: u32) -> bool {
        self.classes.contains(&class) && self.job.is_none_or(|only| only == clone)
    }

    /// The names listed by help.
    pub(crate) fn names() -> String {
        CLASSES.iter().map(|(name, _)| *name).chain(["all"]).collect::<Vec<&str>>().join(",")
    }

    /// Adds the classes in a list; returns messages about them. `job:N` selects lines of clone N only, and so
    /// does a class followed by `:N`.
    pub(crate) fn add(&mut self, list: &str) -> Vec<Message> {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.flat_map(|word| self.add_one(word)).collect()
    }

    fn add_one(&mut self, word: &str) -> Vec<Message> {
        let (name, number) = match word.split_once(':') {
            Some((name, number)) => (name, number.parse::<u32>().ok()),
            None => (word, None),
        };
        if name == "all" {
            self.classes = CLASSES.iter().filter_map(|(_, class)| *class).collect();
            return vec![Message::stdout("fio: set all debug options")];
        }
        let Some((_, class)) = CLASSES.iter().find(|(own, _)| *own == name) else {
            return vec![Message::stderr(format!("fio: debug mask {name} not found"))];
        };
        self.job = number.or(self.job);
        match (name, number, class) {
            ("job", None, _) => vec![Message::stderr("fio: missing job number")],
            ("job", Some(number), _) => vec![Message::stdout(format!("fio: set debug jobno {number}"))],
            (_, _, Some(class)) => {
                self.classes.push(*class);
                vec![Message::stdout(format!("fio: set debug option {word}"))]
            }
            (_, _, None) => vec![
                Message::stdout(format!("fio: set debug option {word}")),
                Message::stderr(format!("fathom: --debug={name}: there are no lines of this class")),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(list: &str) -> (DebugOptions, Vec<String>) {
        let mut options = DebugOptions::default();
        let said = options.add(list).into_iter().map(|message| message.text).collect();
        (options, said)
    }

    #[test]
    fn classes_are_set_one_by_one() {
        let (options, said) = said("io,random");
        assert_eq!(said, ["fio: set debug option io", "fio: set debug option random"]);
        assert!(options.shows(DebugClass::Io, 1) && options.shows(DebugClass::Random, 7));
        assert!(!options.shows(DebugClass::File, 1));
    }

    #[test]
    fn one_clone_can_be_singled_out() {
        for list in ["job:2,io", "io:2"] {
            let (options, _) = said(list);
            assert!(options.shows(DebugClass::Io, 2) && !options.shows(DebugClass::Io, 1), "{list}");
        }
        assert_eq!(said("job").1, ["fio: missing job number"]);
        assert_eq!(said("job:3").1, ["fio: set debug jobno 3"]);
    }

    #[test]
    fn every_name_of_fio_is_known() {
        let all = DebugOptions::names();
        for name in all.split(',').filter(|name| !matches!(*name, "all" | "job")) {
            assert_eq!(said(name).1[0], format!("fio: set debug option {name}"));
        }
        assert_eq!(said("all").1, ["fio: set all debug options"]);
        assert_eq!(
            said("nonsense,mem").1,
            ["fio: debug mask nonsense not found", "fio: set debug option mem"]
        );
    }

    #[test]
    fn lines_are_laid_out_as_fio_does() {
        assert_eq!(DebugClass::Io.line(42, "x"), "io       42    x");
        assert_eq!(DebugClass::Process.line(123456, "x"), "process  123456 x");
    }
}
