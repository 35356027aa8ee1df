//! What a sweep found: a row per cell and job, with a value per run for each figure.

use super::labels::{self, Label};
use super::record::Recorded;
use crate::measures::comparison::{Sample, Summary, summary};
use crate::measures::workload::{Workload, workloads};
use crate::measures::{Figure, FigureOf};
use fathom_command::Failure;
use fathom_stats::inference::difference::{Ratio, ratio};

/// The table.
pub(crate) struct Results {
    /// Headings of the varied options, and `job` where there are several.
    pub(crate) options: Vec<String>,
    /// Their names, for programs.
    pub(crate) option_names: Vec<String>,
    /// The figures with their headings.
    pub(crate) figures: Vec<(FigureOf, String)>,
    /// Names of the jobs; a single empty one before the first run.
    pub(crate) jobs: Vec<String>,
    /// In the order of the grid.
    pub(crate) rows: Vec<Row>,
    /// Requested runs of each cell.
    pub(crate) repeats: u32,
    /// Finished runs among those requested, and the number requested.
    pub(crate) done: (usize, usize),
    /// Runs that count beyond those requested.
    pub(crate) further: usize,
}

/// A cell, or a job of it.
pub(crate) struct Row {
    /// Name of the job.
    pub(crate) job: String,
    /// Names of the values.
    pub(crate) names: Vec<String>,
    /// The values themselves.
    pub(crate) values: Vec<String>,
    /// Runs that count.
    pub(crate) runs: usize,
    /// Values of each figure in all runs.
    samples: Vec<Vec<f64>>,
}

/// The best row of a figure.
pub(crate) enum Best {
    /// It is so much better than the second, which is named.
    Found { row: usize, second: usize, ratio: Ratio },
    /// The two are not distinguishable.
    Undecided { row: usize, second: usize },
    /// There are not enough rows or runs to say.
    None,
}

impl Results {
    /// The table of the runs so far. Without figures, those that suit the jobs.
    pub(crate) fn new(
        recorded: &Recorded,
        figures: &[FigureOf],
        labels: &[Label],
    ) -> Result<Results, Failure> {
        let plan = &recorded.plan;
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
        let figures = if figures.is_empty() { usual_figures(&all) } else { figures.to_vec() };
        let missing = figures
            .iter()
            .find(|figure| !all.is_empty() && all.iter().all(|workload| figure.of(workload).is_none()));
        if let Some(figure) = missing {
            return Err(Failure::new(format!("--figures: no run has the figure `{figure}`; leave it out")));
        }
        let has_jobs = jobs.len() > 1;
        if jobs.is_empty() {
            // Before the first run there is a row per cell all the same.
            jobs.push("");
        }
        let mut rows = Vec::new();
        for (cell, runs) in cells.iter().enumerate() {
            for &job in &jobs {
                let values: Vec<(&str, &str)> = plan.values_of(cell);
                let mut names: Vec<String> = values
                    .iter()
                    .map(|(option, value)| labels::name_of_value(labels, plan, option, value))
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
        let with_heading = |figure: FigureOf| {
            let heading = labels::heading_of_figure(labels, &figure);
            (figure, heading)
        };
        Ok(Results {
            options,
            option_names,
            figures: figures.into_iter().map(with_heading).collect(),
            jobs: jobs.into_iter().map(str::to_owned).collect(),
            rows,
            repeats: plan.repeats,
            done: (recorded.done(), recorded.wanted()),
            further: recorded.further(),
        })
    }

    /// Median and interval of a figure in a row; `None` without runs.
    pub(crate) fn summary(&self, row: &Row, figure: usize) -> Option<Summary> {
        let samples: Vec<Sample> =
            row.samples[figure].iter().map(|&value| Sample { value, within: None }).collect();
        summary(&samples)
    }

    /// The names of a row's values without its job.
    pub(crate) fn name_of(&self, row: usize) -> String {
        let names = &self.rows[row].names;
        let values = if self.jobs.len() > 1 { names.len() - 1 } else { names.len() };
        names[..values].join(" ")
    }

    /// Which row of a job is best in a figure: jobs do other work, so only cells can be better than others.
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

/// Bandwidth by direction, I/Os per second, latency.
fn usual_figures(workloads: &[&Workload]) -> Vec<FigureOf> {
    let mut directions: Vec<&'static str> = Vec::new();
    for (direction, _) in workloads.iter().flat_map(|workload| &workload.directions) {
        if !directions.contains(direction) {
            directions.push(direction);
        }
    }
    let all = |figure: Figure| FigureOf { direction: None, figure };
    let mut figures: Vec<FigureOf> = match directions.len() {
        0 | 1 => vec![all(Figure::Bandwidth)],
        _ => directions
            .iter()
            .map(|&direction| FigureOf { direction: Some(direction), figure: Figure::Bandwidth })
            .collect(),
    };
    figures.extend([Figure::Iops, Figure::LatencyMean, Figure::Percentile(99.0)].map(all));
    // Jobs without latencies have no such columns.
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
    use crate::sweep::plan::{FORM, Plan, Variation};
    use crate::sweep::record::RecordedRun;

    /// Two or more cells with these IOPS in their runs; latencies fall as rates rise.
    fn recorded(iops: &[&[f64]]) -> Recorded {
        let values = (0..iops.len()).map(|cell| cell.to_string()).collect();
        let plan = Plan {
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
        };
        let run = |cell: usize, round: usize, iops: f64| {
            let text = format!(
                r#"{{"fio version":"x","jobs":[{{"jobname":"a","read":{{"io_bytes":1,"total_ios":9,"bw_bytes":{iops},"iops":{iops},
                "clat_ns":{{"mean":{},"N":9}}}}}}]}}"#,
                1e9 / iops
            );
            let report = fathom_results::parse(&text, "r").expect("a result");
            RecordedRun { cell, round, failed_jobs: 0, report }
        };
        let cells = iops.iter().enumerate();
        let runs = cells.flat_map(|(cell, runs)| {
            runs.iter().enumerate().map(move |(round, &iops)| run(cell, round, iops))
        });
        Recorded { plan, runs: runs.collect() }
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

    #[test]
    fn a_figure_that_no_run_has_is_a_mistake() {
        let figures = [FigureOf::parse("write.bw").expect("a figure")];
        assert!(Results::new(&recorded(&[&[1.0]]), &figures, &[]).is_err());
        let usual = Results::new(&recorded(&[&[1.0]]), &[], &[]).expect("a table");
        let headings: Vec<&str> = usual.figures.iter().map(|(_, heading)| heading.as_str()).collect();
        assert_eq!(headings, ["bandwidth", "IOPS", "mean lat"]);
    }
}
