//! The table of figures and goals.

use super::row::{Goal, Row};
use super::{Figures, plain_of, row_of};
use crate::bench::programs::Program;

/// Tolerance in instructions. The run loop checks its clock every 10 ms and the supervisor polls the loop, so
/// counts vary slightly with the load of the machine.
const NOISE: f64 = 4.0;
/// Allowance for a pair: instructions that neither option costs alone.
const TOGETHER: f64 = 15.0;

/// All rows as a Markdown table.
pub(super) fn markdown(rows: &[Row], figures: &Figures, with_fio: bool) -> String {
    let table = Table { figures, with_fio };
    let mut head =
        ["option", "depth 1", "added", "depth 32", "added", "goal", "met"].map(str::to_owned).to_vec();
    let mut align = "|---|---:|---:|---:|---:|---|---|".to_owned();
    if with_fio {
        head.push("fio, depth 1 / 32".to_owned());
        align.push_str("---:|");
    }
    head.push("what the instructions do".to_owned());
    align.push_str("---|");
    let lines = rows.iter().map(|row| line(&table.cells(row)));
    [line(&head), align].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

struct Table<'a> {
    figures: &'a Figures,
    with_fio: bool,
}

impl Table<'_> {
    fn cells(&self, row: &Row) -> Vec<String> {
        let name = row.name().split(' ').map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
        let mut cells = vec![name];
        let mut met = "yes".to_owned();
        for depth in [1, 32] {
            if !row.depths().contains(&depth) {
                cells.extend(["–".to_owned(), "–".to_owned()]);
                continue;
            }
            match self.figure(row, depth) {
                Ok(figure) => cells.push(format!("{figure:.0}")),
                Err(reason) => {
                    cells.push("–".to_owned());
                    met = format!("not measured: {reason}");
                }
            }
            cells.push(self.added(row, depth).map_or_else(|| "–".to_owned(), |added| format!("{added:+.0}")));
            match self.is_met(row, depth) {
                _ if met.starts_with("not measured") => {}
                Some(true) => {}
                Some(false) => met = "**no**".to_owned(),
                None => met = "not measured: the row that it is compared with".to_owned(),
            }
        }
        cells.push(self.goal(row));
        cells.push(met);
        if self.with_fio {
            cells.push(self.fio(row));
        }
        cells.push(row.bound_by.to_owned());
        cells
    }

    fn figure(&self, row: &Row, depth: u32) -> Result<f64, String> {
        let figure = self.figures.get(&(Program::Fathom, row.name(), depth));
        figure.cloned().unwrap_or_else(|| Err("not wanted".to_owned()))
    }

    /// Additional cost over the job that the row is compared with.
    fn added(&self, row: &Row, depth: u32) -> Option<f64> {
        let plain = self.figure(&plain_of(row)?, depth).ok()?;
        Some(self.figure(row, depth).ok()? - plain)
    }

    /// `None` if the row, or a row that it is compared with, was not measured.
    fn is_met(&self, row: &Row, depth: u32) -> Option<bool> {
        let (figure, limit) = match row.goal {
            Goal::AtMost(one, many) => {
                (self.figure(row, depth).ok()?, f64::from(if depth == 1 { one } else { many }))
            }
            Goal::Above(limit) => (self.added(row, depth)?, f64::from(limit)),
            Goal::NotAbove(words) => (self.figure(row, depth).ok()?, self.figure(row_of(words), depth).ok()?),
            Goal::Parts => (self.added(row, depth)?, self.parts(row, depth)? + TOGETHER),
        };
        Some(figure <= limit + NOISE)
    }

    /// Sum of the separate costs of both options of a pair.
    fn parts(&self, row: &Row, depth: u32) -> Option<f64> {
        Some(self.added(row_of(row.words), depth)? + self.added(row_of(row.second), depth)?)
    }

    fn goal(&self, row: &Row) -> String {
        match row.goal {
            Goal::AtMost(one, many) if one == many => format!("{one}"),
            Goal::AtMost(one, many) => format!("{one}, {many}"),
            Goal::Above(limit) => format!("+{limit}"),
            Goal::NotAbove(words) => format!("that of `{}`", row_of(words).name()),
            Goal::Parts => {
                let of = |depth| {
                    self.parts(row, depth).map_or("–".to_owned(), |sum| format!("{:+.0}", sum + TOGETHER))
                };
                format!("{}, {}", of(1), of(32))
            }
        }
    }

    fn fio(&self, row: &Row) -> String {
        let of = |depth| match self.figures.get(&(Program::Fio, row.name(), depth)) {
            Some(Ok(figure)) => format!("{figure:.0}"),
            _ => "–".to_owned(),
        };
        format!("{} / {}", of(1), of(32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The goal cell: figures at depth 1 and at depth 32.
    fn met(row: &Row, figures: &[(&Row, f64, f64)]) -> String {
        let known: Figures = figures
            .iter()
            .flat_map(|(row, one, many)| {
                [(1, *one), (32, *many)].map(|(depth, figure)| (row.name(), depth, figure))
            })
            .map(|(name, depth, figure)| ((Program::Fathom, name, depth), Ok(figure)))
            .collect();
        let cells = Table { figures: &known, with_fio: false }.cells(row);
        cells[cells.len() - 2].clone()
    }

    #[test]
    fn what_costs_more_than_its_goal_is_marked_at_either_depth() {
        let (plain, row) = (row_of("--rw=randread"), row_of("--number_ios=1000000000"));
        assert_eq!(met(row, &[(plain, 250.0, 300.0), (row, 255.0, 305.0)]), "yes");
        assert_eq!(met(row, &[(plain, 250.0, 300.0), (row, 250.0, 315.0)]), "**no**");
        assert_eq!(met(row, &[(plain, 250.0, 300.0), (row, 265.0, 300.0)]), "**no**");
        assert_eq!(met(plain, &[(plain, 180.0, 200.0)]), "yes");
        assert_eq!(met(plain, &[(plain, 180.0, 220.0)]), "**no**");
    }

    #[test]
    fn a_pair_costs_what_its_parts_do() {
        let pair = super::super::ROWS
            .iter()
            .find(|row| row.words == "--rw=randrw" && row.second == "--number_ios=1000000000")
            .expect("a pair");
        let (plain, mixed, ended) = (row_of("--rw=randread"), row_of(pair.words), row_of(pair.second));
        let parts = [(plain, 250.0, 300.0), (mixed, 280.0, 330.0), (ended, 250.0, 300.0)];
        let with = |figure: f64| [parts.as_slice(), &[(pair, figure, figure + 50.0)]].concat();
        assert_eq!(met(pair, &with(285.0)), "yes");
        assert_eq!(met(pair, &with(310.0)), "**no**");
    }

    #[test]
    fn a_batch_is_no_dearer_than_one_without_a_minimum() {
        let row = row_of("--iodepth_batch=16 --iodepth_batch_complete_min=16");
        let without = row_of("--iodepth_batch=16");
        assert_eq!(met(row, &[(without, 0.0, 300.0), (row, 0.0, 300.0)]), "yes");
        assert_eq!(met(row, &[(without, 0.0, 300.0), (row, 0.0, 350.0)]), "**no**");
    }

    #[test]
    fn what_was_not_measured_is_not_called_met() {
        let row = row_of("--rw=randrw");
        assert!(met(row, &[]).starts_with("not measured"));
        assert!(met(row, &[(row, 250.0, 300.0)]).starts_with("not measured"));
    }
}
