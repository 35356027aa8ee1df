//! Mistakes in jobs, described without fio's messages, for users who do not compare fathom with fio.

use crate::Message;
use serde::Serialize;

/// What is wrong with a job, and in which of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// Number of the line, from 1; `None` if the mistake concerns no line.
    pub line: Option<usize>,
    /// In words.
    pub text: String,
}

/// Selects fathom's own lines from those of the parser, which also contain fio's.
pub fn mistakes(messages: &[Message]) -> Vec<Mistake> {
    let lines = || messages.iter().flat_map(|message| message.text.lines());
    let own = lines().filter_map(|line| line.strip_prefix("fathom: ")).map(|line| {
        let placed = line.strip_prefix("-:");
        let placed = placed.and_then(|rest| rest.split_once(": "));
        match placed.and_then(|(number, text)| Some((number.parse().ok()?, text))) {
            Some((number, text)) => Mistake { line: Some(number), text: text.to_owned() },
            None => Mistake { line: None, text: line.trim_start_matches("command line: ").to_owned() },
        }
    });
    let own: Vec<Mistake> = own.collect();
    match own.is_empty() {
        true => lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| Mistake { line: None, text: line.to_owned() })
            .collect(),
        false => own,
    }
}

/// The mistakes without line numbers, for users who have not seen the job file.
pub fn in_own_words(messages: &[Message]) -> String {
    let told: Vec<String> = mistakes(messages).into_iter().map(|mistake| mistake.text).collect();
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_lines() {
        let messages =
            [Message::stderr("fio: failed parsing bs=zk\nfathom: -:11: option bs=zk: expected a number")];
        let expected = Mistake { line: Some(11), text: "option bs=zk: expected a number".to_owned() };
        assert_eq!(mistakes(&messages), [expected]);
        let other = mistakes(&[Message::stderr("\nfio: what we have no words for\n")]);
        assert_eq!(other, [Mistake { line: None, text: "fio: what we have no words for".to_owned() }]);
    }

    #[test]
    fn mistakes_are_told_once() {
        let told = |text: &str| in_own_words(&[Message::stderr(text)]);
        let messages = "fio: failed parsing bs=zk\nfio: job a dropped\nfathom: -:11: option bs=zk: expected a whole number\n";
        assert_eq!(told(messages), "option bs=zk: expected a whole number");
        assert_eq!(
            told("fathom: a.fio:3: option x=1: no\nfathom: command line: note"),
            "a.fio:3: option x=1: no\nnote"
        );
        assert_eq!(told("\nfio: what we have no words for\n"), "fio: what we have no words for");
    }
}
