//! The results of a sweep: a row per cell and job, with the values of all runs for each figure.

use super::file_systems::{DIMENSION, Volume};
use super::labels::{self, Label};
use super::record::RecordedSweep;
use crate::checks;
use crate::evidence::device_share;
use crate::figures as texts;
use crate::measures::comparison::{Sample, Summary, summary};
use crate::measures::workload::{Workload, workloads};
use crate::measures::{Figure, FigureOf};
use fathom_command::Failure;
use fathom_stats::inference::difference::{Ratio, ratio};

/// Start of the note about reads that the page cache served.
const FROM_MEMORY: &str = "memory answered";

/// The table.
pub(crate) struct Results {
    /// Headings of the varied options, preceded by `job` if there are several.
    pub(crate) options: Vec<String>,
    /// Names of the options, for programs.
    pub(crate) option_names: Vec<String>,
    /// The figures with their headings.
    pub(crate) figures: Vec<(FigureOf, String)>,
    /// Names of the jobs; a single empty name before the first run.
    pub(crate) jobs: Vec<String>,
    /// The rows in the order of the grid.
    pub(crate) rows: Vec<Row>,
    /// Number of requested runs of each cell.
    pub(crate) repeats: u32,
    /// Number of requested runs that are finished, and number of requested runs.
    pub(crate) done: (usize, usize),
    /// Number of valid runs beyond those requested.
    pub(crate) further: usize,
    /// Target of the file systems, if they vary.
    pub(crate) volume: Option<Volume>,
    /// Wrong figures and doubts in the runs, by the checks.
    pub(crate) doubts: Vec<String>,
}

/// A cell, or one job of a cell.
pub(crate) struct Row {
    /// Name of the job.
    pub(crate) job: String,
    /// Names of the values of the varied options.
    pub(crate) names: Vec<String>,
    /// The values of the varied options.
    pub(crate) values: Vec<String>,
    /// Number of valid runs.
    pub(crate) runs: usize,
    /// Notes about the row's figures, or the reason why it has none.
    pub(crate) notes: Vec<String>,
    /// Summary of each figure, if there are enough runs.
    pub(crate) verdicts: Vec<Option<RowVerdict>>,
    /// Values of each figure in all runs.
    samples: Vec<Vec<f64>>,
}

/// A row's figure compared with the best row of the same job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RowVerdict {
    /// Better than the second best row by more than chance.
    Best,
    /// The difference from the best row may be chance. The best row itself also has this verdict if no row is
    /// clearly best.
    NotDistinguishable,
    /// Worse than the best row; holds the value as a multiple of that row's value.
    Worse(Ratio),
}

/// The best row of a figure.
pub(crate) enum Best {
    /// Better than the second best by this ratio.
    Found { row: usize, second: usize, ratio: Ratio },
    /// The two best rows are not distinguishable.
    Undecided { row: usize, second: usize },
    /// Too few rows or runs for a verdict.
    None,
}

impl Results {
    /// The table of the runs so far. The default figures depend on the jobs.
    pub(crate) fn new(
        recorded: &RecordedSweep,
        figures: &[FigureOf],
        labels: &[Label],
    ) -> Result<Results, Failure> {
        let plan = &recorded.plan;
        let usual = if plan.volume.is_some() { labels::of_file_systems() } else { Vec::new() };
        let labels = &[labels, &usual].concat()[..];
        let cells: Vec<Vec<Vec<Workload>>> = (0..plan.cells())
            .map(|cell| recorded.runs_of(cell).iter().map(|run| workloads(&run.report)).collect())
            .collect();
        let all: Vec<&Workload> = cells.iter().flatten().flatten().collect();
        let mut jobs: Vec<&str> = Vec::new();
        for workload in &all {
            if !jobs.contains(&workload.name.as_str()) {
                jobs.push(&workload.name);
            }
        }
        let figures = match (figures.is_empty(), &plan.volume) {
            (false, _) => figures.to_vec(),
            (true, None) => usual_figures(&all),
            (true, Some(_)) => figures_of_file_systems(&all),
        };
        let missing = figures
            .iter()
            .find(|figure| !all.is_empty() && all.iter().all(|workload| figure.of(workload).is_none()));
        if let Some(figure) = missing {
            return Err(Failure::new(format!("--figures: no run has the figure `{figure}`; leave it out")));
        }
        let has_jobs = jobs.len() > 1;
        if jobs.is_empty() {
            // Each cell has a row even before the first run.
            jobs.push("");
        }
        let mut rows = Vec::new();
        for (cell, runs) in cells.iter().enumerate() {
            let notes = notes(recorded, cell);
            for &job in &jobs {
                let values: Vec<(&str, &str)> = plan.values_of(cell);
                let mut names: Vec<String> = values
                    .iter()
                    .map(|(option, value)| labels::name_of_value(labels, &plan.vary, option, value))
                    .collect();
                let mut plain: Vec<String> = values.iter().map(|(_, value)| (*value).to_owned()).collect();
                if has_jobs {
                    names.push(job.to_owned());
                    plain.push(job.to_owned());
                }
                let own = || runs.iter().flatten().filter(|workload| workload.name == job);
                let samples =
                    figures.iter().map(|figure| own().filter_map(|workload| figure.of(workload)).collect());
                rows.push(Row {
                    job: job.to_owned(),
                    names,
                    values: plain,
                    runs: own().count(),
                    notes: notes.clone(),
                    verdicts: Vec::new(),
                    samples: samples.collect(),
                });
            }
        }
        let mut option_names: Vec<String> = plan.vary.iter().map(|vary| vary.name.clone()).collect();
        let mut options: Vec<String> =
            option_names.iter().map(|name| labels::heading_of_option(labels, name)).collect();
        if has_jobs {
            option_names.push("job".to_owned());
            options.push("job".to_owned());
        }
        if let Some(volume) = plan.volume.as_ref().filter(|volume| volume.is_loop()) {
            // The heading carries this mark, so that it stays with the table wherever the table is pasted.
            let of_file_systems = option_names.iter().position(|name| name == DIMENSION);
            if let Some(at) = of_file_systems {
                options[at].push_str(volume.mark());
            }
        }
        let with_heading = |figure: FigureOf| {
            let heading = labels::heading_of_figure(labels, &figure);
            (figure, heading)
        };
        let doubts = doubts(recorded, &rows);
        let mut results = Results {
            options,
            option_names,
            figures: figures.into_iter().map(with_heading).collect(),
            jobs: jobs.into_iter().map(str::to_owned).collect(),
            rows,
            repeats: plan.repeats,
            done: (recorded.done(), recorded.wanted()),
            further: recorded.further(),
            volume: plan.volume.clone(),
            doubts,
        };
        results.judge();
        Ok(results)
    }

    fn judge(&mut self) {
        let verdicts: Vec<Vec<Option<RowVerdict>>> = (0..self.rows.len())
            .map(|row| (0..self.figures.len()).map(|figure| self.verdict(row, figure)).collect())
            .collect();
        for (row, verdicts) in self.rows.iter_mut().zip(verdicts) {
            row.verdicts = verdicts;
        }
    }

    fn verdict(&self, row: usize, figure: usize) -> Option<RowVerdict> {
        let best = match self.best(figure, &self.rows[row].job) {
            Best::Found { row: best, .. } if best == row => return Some(RowVerdict::Best),
            Best::Undecided { row: best, .. } if best == row => return Some(RowVerdict::NotDistinguishable),
            Best::Found { row: best, .. } | Best::Undecided { row: best, .. } => best,
            Best::None => return None,
        };
        let ratio = ratio(&self.rows[best].samples[figure], &self.rows[row].samples[figure])?;
        Some(match ratio.is_distinguishable() {
            true => RowVerdict::Worse(ratio),
            false => RowVerdict::NotDistinguishable,
        })
    }

    /// Median and interval of a figure in a row; `None` without runs.
    pub(crate) fn summary(&self, row: &Row, figure: usize) -> Option<Summary> {
        let samples: Vec<Sample> = row.samples[figure].iter().map(|&value| Sample::of(value)).collect();
        summary(&samples)
    }

    /// Names of a row's values, without its job.
    pub(crate) fn name_of(&self, row: usize) -> String {
        let names = &self.rows[row].names;
        let values = if self.jobs.len() > 1 { names.len() - 1 } else { names.len() };
        names[..values].join(" ")
    }

    /// The best row of a job by one figure. Only rows of the same job compete, because jobs do different work.
    pub(crate) fn best(&self, figure: usize, job: &str) -> Best {
        let kind = self.figures[figure].0.figure;
        let mut ranked: Vec<(usize, f64)> = self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.job == job)
            .filter_map(|(index, row)| Some((index, self.summary(row, figure)?.median)))
            .collect();
        ranked.sort_by(|one, other| one.1.total_cmp(&other.1));
        if kind.more_is_better() {
            ranked.reverse();
        }
        let [(row, _), (second, _), ..] = ranked[..] else { return Best::None };
        let samples = |row: usize| &self.rows[row].samples[figure];
        if samples(row).len() < 2 || samples(second).len() < 2 {
            return Best::None;
        }
        match ratio(samples(second), samples(row)).filter(Ratio::is_distinguishable) {
            Some(ratio) => Best::Found { row, second, ratio },
            None => Best::Undecided { row, second },
        }
    }
}

/// Findings of the checks in all runs that count, grouped by cell.
fn doubts(recorded: &RecordedSweep, rows: &[Row]) -> Vec<String> {
    let plan = &recorded.plan;
    let name = |cell: usize| {
        let values = plan.values_of(cell).into_iter().map(|(option, value)| format!("{option}={value}"));
        values.collect::<Vec<String>>().join(", ")
    };
    let runs: Vec<_> = (0..plan.cells())
        .flat_map(|cell| recorded.runs_of(cell).into_iter().map(move |run| (cell, run)))
        .map(|(cell, run)| (name(cell), checks::judge(&run.report)))
        .collect();
    let is_told = rows.iter().flat_map(|row| &row.notes).any(|note| note.starts_with(FROM_MEMORY));
    checks::of_runs(&runs, if is_told { &["reads-missing"] } else { &[] })
}

/// Notes on the runs of a cell: why some failed, and what share of reads the page cache served.
fn notes(recorded: &RecordedSweep, cell: usize) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let is_open = |round: usize| !recorded.is_done(cell, round);
    for run in
        recorded.runs.iter().filter(|run| run.cell == cell && run.failed_jobs > 0 && is_open(run.round))
    {
        let note = match run.failure.as_str() {
            "" => "failed".to_owned(),
            why => format!("failed: {why}"),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    // Below this share, the cache served most reads, as in compare. Stacked devices may count a byte twice, but
    // half of all bytes cannot be missing by chance.
    const MOSTLY_CACHE: f64 = 0.5;
    let shares = recorded.runs_of(cell).into_iter().filter_map(|run| device_share(&run.report, 0));
    let least = shares.map(|share| share.ratio()).min_by(f64::total_cmp);
    if let Some(share) = least.filter(|share| *share < MOSTLY_CACHE) {
        let memory = texts::percent((1.0 - share) * 100.0);
        notes.push(format!("{FROM_MEMORY} {memory} of the reads; direct=1 measures the device"));
    }
    notes
}

/// The columns of published comparisons of file systems: bandwidth of each direction, mean latency, I/Os per
/// second.
fn figures_of_file_systems(workloads: &[&Workload]) -> Vec<FigureOf> {
    let all = |figure: Figure| FigureOf { direction: None, figure };
    let mut figures: Vec<FigureOf> = directions(workloads)
        .into_iter()
        .map(|direction| FigureOf { direction: Some(direction), figure: Figure::Bandwidth })
        .collect();
    figures.extend([Figure::LatencyMean, Figure::Iops].map(all));
    figures.retain(|figure| {
        workloads.is_empty() || workloads.iter().any(|workload| figure.of(workload).is_some())
    });
    figures
}

fn directions(workloads: &[&Workload]) -> Vec<&'static str> {
    let mut directions: Vec<&'static str> = Vec::new();
    for (direction, _) in workloads.iter().flat_map(|workload| &workload.directions) {
        if !directions.contains(direction) {
            directions.push(direction);
        }
    }
    directions
}

/// The default figures: bandwidth by direction, I/Os per second, latency.
fn usual_figures(workloads: &[&Workload]) -> Vec<FigureOf> {
    let directions = directions(workloads);
    let all = |figure: Figure| FigureOf { direction: None, figure };
    let mut figures: Vec<FigureOf> = match directions.len() {
        0 | 1 => vec![all(Figure::Bandwidth)],
        _ => directions
            .iter()
            .map(|&direction| FigureOf { direction: Some(direction), figure: Figure::Bandwidth })
            .collect(),
    };
    figures.extend([Figure::Iops, Figure::LatencyMean, Figure::Percentile(99.0)].map(all));
    // Columns of latencies are left out for jobs without latencies.
    figures.retain(|figure| {
        workloads.is_empty() || workloads.iter().any(|workload| figure.of(workload).is_some())
    });
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::Ink;
    use crate::columns;
    use crate::sweep::output;
    use crate::sweep::plan::{FORM, SweepPlan};
    use crate::sweep::record::RecordedRun;
    use crate::sweep::variation::Variation;

    /// A sweep of two or more cells with these IOPS in their runs. Latencies fall as rates rise.
    fn recorded(iops: &[&[f64]]) -> RecordedSweep {
        let values = (0..iops.len()).map(|cell| cell.to_string()).collect();
        let plan = SweepPlan {
            form: FORM,
            version: String::new(),
            first_job: "a".into(),
            job: String::new(),
            vary: vec![Variation { name: "iodepth".into(), values }],
            repeats: iops.iter().map(|runs| runs.len()).max().unwrap_or(0) as u32,
            seed: 1,
            pause_ms: 0,
            precondition: None,
            precondition_each: false,
            readonly: false,
            order: Vec::new(),
            labels: Vec::new(),
            volume: None,
        };
        let run = |cell: usize, round: usize, iops: f64| {
            let text = format!(
                r#"{{"fio version":"x","jobs":[{{"jobname":"a","read":{{"io_bytes":1,"total_ios":9,"bw_bytes":{iops},"iops":{iops},
                "clat_ns":{{"mean":{},"N":9}}}}}}]}}"#,
                1e9 / iops
            );
            let report = fathom_results::parse(&text, "r").expect("a result");
            RecordedRun { cell, round, report, ..RecordedRun::default() }
        };
        let cells = iops.iter().enumerate();
        let runs = cells.flat_map(|(cell, runs)| {
            runs.iter().enumerate().map(move |(round, &iops)| run(cell, round, iops))
        });
        RecordedSweep { plan, runs: runs.collect() }
    }

    #[test]
    fn what_is_best_stays_on_the_screen() {
        let mut recorded = recorded(&[&[1000.0, 1010.0, 1005.0], &[1150.0, 1180.0, 1160.0]]);
        let values = ["a", "b"].map(|name| format!("/mnt/{}/{name}", "y".repeat(99)));
        recorded.plan.vary = vec![Variation { name: "filename".into(), values: values.to_vec() }];
        let figures = [FigureOf::parse("iops").expect("a figure")];
        let results = Results::new(&recorded, &figures, &[]).expect("a table");
        for limit in [60, 80, 100] {
            let text = output::text(&results, Ink::Blocks, Some(limit));
            assert!(text.contains("  best: /mnt/"), "{text}");
            assert!(text.lines().all(|line| columns::width(line) <= limit), "{limit}: {text}");
        }
    }

    fn best_of(iops: &[&[f64]], name: &str) -> Option<(usize, usize, bool)> {
        let figures = [FigureOf::parse(name).expect("a figure")];
        let results = Results::new(&recorded(iops), &figures, &[]).expect("a table");
        match results.best(0, "a") {
            Best::Found { row, second, .. } => Some((row, second, true)),
            Best::Undecided { row, second } => Some((row, second, false)),
            Best::None => None,
        }
    }

    #[test]
    fn the_best_is_ahead_of_the_second_by_more_than_chance() {
        let (slow, fast, near): (&[f64], &[f64], &[f64]) =
            (&[100., 101., 99.], &[200., 203., 198.], &[197., 202., 204.]);
        assert_eq!(best_of(&[slow, fast], "iops"), Some((1, 0, true)));
        assert_eq!(best_of(&[slow, fast], "lat"), Some((1, 0, true)), "less latency is better");
        assert_eq!(best_of(&[fast, slow, near], "iops"), Some((2, 0, false)));
        assert_eq!(best_of(&[&[100.], &[200.]], "iops"), None, "single runs prove nothing");
        assert_eq!(best_of(&[slow], "iops"), None);
    }

    fn volume() -> Volume {
        let text = r#"{"device":"/images/a","backing":"file","bytes":1073741824,"makers":[{"kind":"xfs",
            "command":["/sbin/mkfs.xfs","-q"],"version":"mkfs.xfs version 6.1.0","mount_options":"noatime"}]}"#;
        serde_json::from_str(text).expect("a volume")
    }

    /// A table of file systems has the columns of published comparisons, a verdict in each cell, failures, and
    /// the target.
    #[test]
    fn tables_of_file_systems_are_whole() {
        let mut recorded =
            recorded(&[&[1.00e8, 1.01e8, 0.99e8], &[2.00e8, 2.03e8, 1.98e8], &[2.5e8, 2.52e8, 2.54e8], &[]]);
        recorded.plan.vary = vec![
            Variation { name: "fs".into(), values: vec!["xfs".into(), "none".into()] },
            Variation { name: "ioengine".into(), values: vec!["posixaio".into(), "libaio".into()] },
        ];
        recorded.plan.volume = Some(volume());
        let failure = "mkfs.xfs: out of | paint".to_owned();
        let failed = RecordedRun { cell: 3, failed_jobs: 1, failure, ..RecordedRun::default() };
        recorded.runs.push(failed);
        let results = Results::new(&recorded, &[], &[]).expect("a table");
        assert_eq!(output::markdown(&results, true), include_str!("golden/file_systems.md"));
        assert_eq!(output::csv(&results), include_str!("golden/file_systems.csv"));
        assert_eq!(output::text(&results, Ink::Letters, Some(80)), include_str!("golden/file_systems.txt"));
        let plain = output::markdown(&results, false);
        assert!(plain.starts_with("| Filesystem (loop) | IO Interface |"), "{plain}");
        assert!(!plain.contains("best") && !plain.contains("slower"), "medians only: {plain}");
    }

    #[test]
    fn a_figure_that_no_run_has_is_a_mistake() {
        let figures = [FigureOf::parse("write.bw").expect("a figure")];
        assert!(Results::new(&recorded(&[&[1.0]]), &figures, &[]).is_err());
        let usual = Results::new(&recorded(&[&[1.0]]), &[], &[]).expect("a table");
        let headings: Vec<&str> = usual.figures.iter().map(|(_, heading)| heading.as_str()).collect();
        assert_eq!(headings, ["bandwidth", "IOPS", "mean lat"]);
    }
}
