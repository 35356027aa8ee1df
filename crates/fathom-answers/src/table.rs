//! Tables for the terminal, in Markdown, and as CSV.

use crate::{columns, output};
use fathom_command::{Failure, Streams};
use maud::{Markup, html};
use std::fmt::Write as _;

/// Minimum width of a name on a terminal.
const LEAST_NAME: usize = 12;

/// Output format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// Markdown, for web pages and issues.
    Markdown,
    /// For spreadsheets.
    Csv,
    /// For programs.
    Json,
}

/// The values of `--format`.
pub(crate) const FORMATS: [(&str, Format); 4] =
    [("text", Format::Text), ("markdown", Format::Markdown), ("csv", Format::Csv), ("json", Format::Json)];

/// Prints formatted output. Text for people is printed in characters that the terminal supports, other formats
/// unchanged.
pub(crate) fn print_as(format: Format, streams: &mut Streams<'_>, text: &str) -> Result<(), Failure> {
    match format {
        Format::Text => output::print(streams, text),
        _ => Ok(streams.out.write_all(text.as_bytes())?),
    }
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
    /// Left-aligned; truncated if the terminal is too narrow for the whole table.
    Name,
}

/// Headings and rows of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|(heading, align)| ((*heading).to_owned(), *align));
        Table { columns: columns.collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn cell<'a>(&self, row: &'a [String], column: usize) -> &'a str {
        row.get(column).map_or("", String::as_str)
    }

    fn align(&self, column: usize) -> Align {
        self.columns[column].1
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let heading = columns::width(&self.columns[column].0);
            self.rows.iter().map(|row| columns::width(self.cell(row, column))).fold(heading, usize::max)
        };
        (0..self.columns.len()).map(width).collect()
    }

    /// Widths of the columns for lines of at most `limit` columns: the widest names are truncated, but not
    /// below the minimum.
    fn widths_within(&self, limit: usize) -> Vec<usize> {
        const GAP: usize = 2;
        let mut widths = self.widths();
        let mut excess =
            (widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)).saturating_sub(limit);
        while excess > 0 {
            let names = (0..widths.len()).filter(|&column| self.align(column) == Align::Name);
            let Some(widest) = names.max_by_key(|&column| widths[column]) else { break };
            if widths[widest] <= LEAST_NAME {
                break;
            }
            widths[widest] -= 1;
            excess -= 1;
        }
        widths
    }

    /// Columns separated by two spaces, with `indent` spaces before each line. Names are truncated if lines
    /// would otherwise be longer than `limit`.
    pub(crate) fn text(&self, indent: usize, limit: Option<usize>) -> String {
        let widths = match limit {
            Some(limit) => self.widths_within(limit.saturating_sub(indent)),
            None => self.widths(),
        };
        let mut text = String::new();
        let headings: Vec<String> = self.columns.iter().map(|(heading, _)| heading.clone()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = " ".repeat(indent);
            for (column, &width) in widths.iter().enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                let cell = self.cell(row, column);
                line.push_str(gap);
                line.push_str(&match self.align(column) {
                    Align::Left => columns::left(cell, width),
                    Align::Right => columns::right(cell, width),
                    Align::Name => columns::left(&columns::cut(cell, width), width),
                });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// A table in GitHub's Markdown, which most other renderers accept.
    pub(crate) fn markdown(&self) -> String {
        // Vertical bars are escaped, because a bar would end the cell.
        let escape = |cell: &String| cell.replace('|', "\\|");
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(escape).collect()).collect();
        let escaped = Table { columns: self.columns.clone(), rows };
        escaped.markdown_lines()
    }

    fn markdown_lines(&self) -> String {
        let widths: Vec<usize> = self.widths().into_iter().map(|width| width.max(3)).collect();
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            text.push('|');
            cells.for_each(|cell| {
                let _ = write!(text, " {cell} |");
            });
            text.push('\n');
        };
        let pad = |cell: &str, column: usize| match self.align(column) {
            Align::Left | Align::Name => columns::left(cell, widths[column]),
            Align::Right => columns::right(cell, widths[column]),
        };
        line(&mut self.columns.iter().enumerate().map(|(column, (heading, _))| pad(heading, column)));
        line(&mut widths.iter().enumerate().map(|(column, &width)| match self.align(column) {
            Align::Left | Align::Name => "-".repeat(width),
            Align::Right => format!("{}:", "-".repeat(width - 1)),
        }));
        for row in &self.rows {
            line(&mut (0..widths.len()).map(|column| pad(self.cell(row, column), column)));
        }
        text
    }

    /// The first headings, as a name that distinguishes the table from others on a page.
    fn name(&self) -> String {
        let headings: Vec<&str> = self
            .columns
            .iter()
            .take(3)
            .map(|(heading, _)| heading.as_str())
            .filter(|name| !name.is_empty())
            .collect();
        headings.join(", ")
    }

    /// An HTML table, with headings marked for screen readers. If it is wider than the screen, it can be
    /// scrolled with the keyboard.
    pub(crate) fn html(&self) -> Markup {
        self.html_with(&|_, cell| html! { (cell) })
    }

    /// The same table with cells that are more than their text; `of_cell` is told the heading of the column.
    pub(crate) fn html_with(&self, of_cell: &dyn Fn(&str, &str) -> Markup) -> Markup {
        let class = |column: usize| (self.align(column) == Align::Right).then_some("right");
        html! {
            div.scroll tabindex="0" role="region" aria-label={ "Table: " (self.name()) } { table {
                thead { tr {
                    @for (column, (heading, _)) in self.columns.iter().enumerate() {
                        th scope="col" class=[class(column)] { (heading) }
                    }
                } }
                tbody { @for row in &self.rows { tr {
                    @for column in 0..self.columns.len() {
                        @let cell = of_cell(&self.columns[column].0, self.cell(row, column));
                        @if column == 0 { th scope="row" class=[class(column)] { (cell) } }
                        @else { td class=[class(column)] { (cell) } }
                    }
                } } }
            } }
        }
    }

    /// Comma-separated values as in RFC 4180, with a line of headings.
    pub(crate) fn csv(&self) -> String {
        let headings: Vec<String> = self.columns.iter().map(|(heading, _)| quoted(heading)).collect();
        let mut text = headings.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> =
                (0..self.columns.len()).map(|column| quoted(self.cell(row, column))).collect();
            text.push_str(&(cells.join(",") + "\n"));
        }
        text
    }
}

/// A cell of comma-separated values.
pub(crate) fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("name", Align::Left), ("IOPS", Align::Right)]);
        table.row(vec!["µ a|b".into(), "7".into()]);
        table.row(vec!["x, \"y\"".into()]);
        table
    }

    #[test]
    fn in_columns() {
        assert_eq!(table().text(1, None), " name    IOPS\n µ a|b      7\n x, \"y\"\n");
    }

    #[test]
    fn wide_letters_take_two_columns() {
        let mut table = Table::new(&[("名前", Align::Left), ("IOPS", Align::Right)]);
        table.row(vec!["読み込み".into(), "7".into()]);
        table.row(vec!["e\u{301}".into(), "12".into()]);
        assert_eq!(table.text(0, None), "名前      IOPS\n読み込み     7\ne\u{301}           12\n");
        assert_eq!(table.markdown().lines().last(), Some("| e\u{301}        |   12 |"));
    }

    #[test]
    fn only_names_are_cut() {
        let mut table = Table::new(&[("job", Align::Name), ("file", Align::Name), ("verdict", Align::Left)]);
        table.row(vec!["j".repeat(40), "x".into(), "not distinguishable".into()]);
        let text = table.text(2, Some(50));
        assert!(text.lines().all(|line| columns::width(line) <= 50), "{text}");
        assert!(text.contains("jjj…jjj") && text.contains("  not distinguishable"), "{text}");
        // Names stay long enough to be distinguished, even if lines then become too long.
        assert!(table.text(2, Some(10)).contains("jjjjjj…jjjjj  x "), "{}", table.text(2, Some(10)));
        assert!(table.text(2, None).contains(&"j".repeat(40)) && table.markdown().contains(&"j".repeat(40)));
    }

    #[test]
    fn in_markdown() {
        let wanted = "| name   | IOPS |\n| ------ | ---: |\n| µ a\\|b |    7 |\n| x, \"y\" |      |\n";
        assert_eq!(table().markdown(), wanted);
    }

    #[test]
    fn as_csv() {
        assert_eq!(table().csv(), "name,IOPS\nµ a|b,7\n\"x, \"\"y\"\"\",\n");
    }
}
