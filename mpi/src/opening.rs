//! The ranks' messages before the run, each once: a line of several ranks is printed once, with the ranks.

use serde::{Deserialize, Serialize};

/// Maximum number of lines kept. A mistake usually gives the same line on every rank; if lines differ, a few
/// hundred are enough.
const MOST_LINES: usize = 200;

/// Messages of some of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opening {
    lines: Vec<Line>,
    left_out: usize,
    /// Number of ranks that cannot run their jobs.
    pub(crate) refused: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    text: String,
    /// The first rank with the line, and the number of ranks.
    first: String,
    ranks: usize,
}

impl Opening {
    /// Messages of one rank: lines of its jobs, or the reasons why it cannot run them.
    pub(crate) fn of(rank: &str, lines: &[String], is_refused: bool) -> Opening {
        let lines = lines.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
        let mut opening = Opening { refused: usize::from(is_refused), ..Opening::default() };
        for text in lines {
            opening.add(Line { text: text.to_owned(), first: rank.to_owned(), ranks: 1 });
        }
        opening
    }

    /// Adds the messages of other ranks.
    pub(crate) fn merge(&mut self, other: Opening) {
        other.lines.into_iter().for_each(|line| self.add(line));
        self.left_out += other.left_out;
        self.refused += other.refused;
    }

    fn add(&mut self, line: Line) {
        match self.lines.iter().position(|own| own.text == line.text) {
            Some(at) => self.lines[at].ranks += line.ranks,
            None if self.lines.len() < MOST_LINES => self.lines.push(line),
            None => self.left_out += 1,
        }
    }

    /// The lines that only some ranks have, with their ranks, and the lines of all ranks that rank 0 has not printed
    /// (`said`).
    pub(crate) fn lines(&self, size: usize, said: &[String]) -> Vec<String> {
        let is_said = |line: &Line| said.iter().any(|text| text.lines().any(|own| own == line.text));
        let named = |line: &Line| match line.ranks {
            ranks if ranks == size => line.text.clone(),
            1 => format!("<{}> {}", line.first, line.text),
            ranks => format!("<{} and {} more> {}", line.first, ranks - 1, line.text),
        };
        let mut lines: Vec<String> = self.lines.iter().filter(|line| !is_said(line)).map(named).collect();
        if self.left_out > 0 {
            lines.push(format!("fathom-mpi: and {} more lines of this kind", self.left_out));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_many_stands_once() {
        let one = |rank: &str, lines: &[&str], is_refused| {
            Opening::of(rank, &lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), is_refused)
        };
        let mut all = one("a", &["common\n", "said"], false);
        all.merge(one("b", &["common", "own", "said"], true));
        all.merge(one("c", &["common", "shared", "said"], false));
        all.merge(one("d", &["common", "shared", "said"], true));
        assert_eq!(all.refused, 2);
        assert_eq!(all.lines(4, &["said\n".to_owned()]), ["common", "<b> own", "<c and 1 more> shared"]);
        for rank in 0..300 {
            all.merge(one("e", &[&format!("line {rank}")], false));
        }
        assert_eq!(all.lines(304, &[]).len(), MOST_LINES + 1);
    }
}
