//! The cost of each option in user-space instructions per I/O, measured on the null engine, alone and in
//! pairs, relative to the job without it. An option may cost its own work but must not push the job onto a
//! slower path, so each has a goal, and the table marks options that miss it.

mod row;
mod rows;
mod table;

use super::callgrind;
use super::programs::{Program, Programs};
use row::{Goal, Row};
use rows::ROWS;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

/// Instructions per I/O by program, row and depth, or the reason why they could not be measured.
type Figures = HashMap<(Program, String, u32), Result<f64, String>>;

/// A requested measurement.
type Wanted = (Program, Row, u32);

/// Measures the rows whose name contains `only` and the rows that they are compared with, and prints their table.
pub(super) fn run(programs: &Programs, only: Option<&str>, with_fio: bool) -> Result<(), String> {
    callgrind::is_installed()?;
    let rows: Vec<Row> =
        ROWS.iter().copied().filter(|row| only.is_none_or(|text| row.name().contains(text))).collect();
    let figures = measure(programs, &wanted(&rows, with_fio));
    programs.check()?;
    println!("{}", table::markdown(&rows, &figures, with_fio));
    Ok(())
}

/// Finds the row with these words, which another row refers to.
fn row_of(words: &str) -> &'static Row {
    let found = ROWS.iter().find(|row| row.words == words && row.second.is_empty());
    found.unwrap_or_else(|| panic!("no row has the words {words}"))
}

/// The rows that a row is compared with.
fn compared_with(row: &Row) -> Vec<Row> {
    let named = match row.goal {
        Goal::NotAbove(words) => vec![words],
        Goal::Parts => vec![row.words, row.second],
        Goal::AtMost(..) | Goal::Above(_) => Vec::new(),
    };
    let named = named.into_iter().map(row_of).flat_map(|row| [Some(*row), plain_of(row)]);
    named.chain([plain_of(row)]).flatten().collect()
}

fn plain_of(row: &Row) -> Option<Row> {
    (!row.over.is_empty()).then(|| *row_of(row.over))
}

/// All measurements that the rows need, without duplicates.
fn wanted(rows: &[Row], with_fio: bool) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut add = |program, row: Row, depth| {
        if !wanted.iter().any(|known| key(known) == key(&(program, row, depth))) {
            wanted.push((program, row, depth));
        }
    };
    for row in rows {
        for &depth in row.depths() {
            for held in compared_with(row) {
                add(Program::Fathom, held, depth);
            }
            add(Program::Fathom, *row, depth);
            if with_fio && row.with_fio {
                add(Program::Fio, *row, depth);
            }
        }
    }
    wanted
}

fn key((program, row, depth): &Wanted) -> (Program, String, u32) {
    (*program, row.name(), *depth)
}

/// Measures in parallel, because instruction counts do not depend on the load.
fn measure(programs: &Programs, wanted: &[Wanted]) -> Figures {
    let next = AtomicUsize::new(0);
    let figures = Mutex::new(Figures::new());
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(what) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let figure = figure(programs, what);
                    let (program, name, depth) = key(what);
                    eprintln!("{program:?}, {name}, depth {depth}: {figure:?}");
                    let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
                    figures.insert((program, name, depth), figure);
                }
            });
        }
    });
    figures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn figure(programs: &Programs, (program, row, depth): &Wanted) -> Result<f64, String> {
    let sizes = match program {
        // Ten times the instructions per I/O and no disturbing events: fewer I/Os are enough.
        Program::Fio => row.sizes().map(|bytes| bytes / 5),
        Program::Fathom => row.sizes(),
    };
    callgrind::per_io(programs, *program, &row.job(*depth), sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let names: HashSet<String> = ROWS.iter().map(Row::name).collect();
        assert_eq!(names.len(), ROWS.len());
    }

    #[test]
    fn every_row_that_is_named_exists_and_has_the_depths_of_the_one_that_names_it() {
        for row in ROWS {
            for held in compared_with(row) {
                assert!(row.depths().iter().all(|depth| held.depths().contains(depth)), "{}", row.name());
            }
        }
    }

    #[test]
    fn words_are_options() {
        for row in ROWS {
            assert!(row.job(32).iter().all(|word| word.starts_with("--")), "{}", row.name());
        }
    }

    #[test]
    fn what_a_row_is_compared_with_is_measured_with_it_and_once() {
        let row = ROWS.iter().find(|row| row.second == "--fsync=32").expect("a pair with syncs");
        let names: Vec<(String, u32)> =
            wanted(&[*row], true).iter().map(|(_, row, depth)| (row.name(), *depth)).collect();
        for depth in [1, 32] {
            for name in
                ["rw=randrw fsync=32", "rw=randrw", "rw=randread", "rw=randwrite fsync=32", "rw=randwrite"]
            {
                let name = (name.to_owned(), depth);
                assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{name:?} in {names:?}");
            }
        }
        assert_eq!(names.len(), 10);
    }

    #[test]
    fn clones_share_the_ios() {
        let row = row_of("--numjobs=64");
        assert_eq!(row.sizes().map(|bytes| bytes * 64 / 4096 / 1000), [29, 149]);
    }
}
