//! Builds the result of the run from the workers' samples.

use super::{Idleness, Standing, Supervisor};
use crate::cause::Cause;
use crate::crew::{Figures, WorkerState};
use crate::plan::WorkerPlan;
use crate::plan::model::files::NamesPlan;
use crate::plan::model::priority::{DIRECTIONS_WITH_PRIORITY, Priority};
use crate::plan::model::report::ReportPlan;
use fathom_stats::Direction;
use fathom_stats::counted;
use fathom_stats::latency::LatencyStats;
use fathom_stats::moment::WallSpan;
use fathom_stats::report::{
    DirectionReport, GroupReport, IdlenessReport, JobChoices, JobError, JobReport, LatencyGoal,
    PriorityReport, ReplayReport, RunReport, RunSpan, ToleratedErrors, VerificationReport,
};
use fathom_sys::Errno;
use fathom_sys::clock::{monotonic_ns, wall_clock_ms, wall_minus_monotonic_ns};
use fathom_verify::verdict::CLASSES;
use std::collections::BTreeSet;

/// Why a report is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// The run is over.
    End,
    /// Printed periodically or on request; closes the interval, if intervals are kept.
    Interval,
    /// A snapshot for viewers; does not close the interval.
    Snapshot,
}

impl Supervisor<'_> {
    /// Builds the result at the end of the run.
    pub(super) fn final_report(&mut self) -> RunReport {
        self.end_stage();
        let mut report = self.report(Occasion::End);
        // Device figures per stage are redundant in a run of a single group. Groups of one stage ran
        // concurrently, so their figures are listed as well.
        if self.plan.workers.iter().any(|worker| worker.group_id > 0) {
            report.stages = std::mem::take(&mut self.stages);
        }
        for job in &mut report.jobs {
            job.eta_seconds = 0;
        }
        report
    }

    /// Builds the result so far.
    pub(super) fn report(&mut self, occasion: Occasion) -> RunReport {
        let is_last = occasion == Occasion::End;
        let now = monotonic_ns();
        let figures: Vec<Figures> = (0..self.tracked.len()).map(|index| self.crew.figures(index)).collect();
        let (verification, replays) = (self.verification(&figures), self.replays(&figures));
        let choices = self.choices(&figures);
        let span = self.span(&figures);
        let eta_seconds = self.seconds_to_go(now).unwrap_or(0);
        let wall_minus_monotonic = wall_minus_monotonic_ns();
        let snapshots: Vec<(Option<u64>, JobReport)> = figures
            .into_iter()
            .enumerate()
            .map(|(index, figures)| {
                let epoch = self.epoch_that_counts(index, &figures);
                let moment = (!is_last).then(|| self.moment(index, &figures.state));
                let ran = self.wall_span(index, &figures, wall_minus_monotonic);
                let devices = if is_last { self.crew.devices_of(index) } else { BTreeSet::new() };
                (epoch, JobReport { moment, ran, devices, ..self.clone_report(index, figures, eta_seconds) })
            })
            .collect();
        let interval = match occasion {
            Occasion::Snapshot => None,
            Occasion::Interval | Occasion::End => self.close_interval(&snapshots, now, is_last),
        };
        let clones: Vec<JobReport> = snapshots.into_iter().map(|(_, clone)| clone).collect();
        RunReport {
            version: self.options.version.to_owned(),
            timestamp_ms: wall_clock_ms(),
            global_options: self.plan.global_options.clone(),
            groups: self.groups(&clones),
            jobs: self.merged(clones, |entry| entry.group_id, JobReport::merge),
            interval,
            slices: if is_last { self.slice_report() } else { None },
            timeline: self.timeline_so_far(now),
            host: is_last.then(|| self.crew.host()),
            facts: if is_last { self.crew.facts() } else { None },
            verdict: None,
            span,
            hosts: None,
            idleness: self.idleness(),
            layers: self.crew.layers(),
            disks: self.crew.disks(),
            mounts: if is_last { self.crew.mounts() } else { Vec::new() },
            stages: Vec::new(),
            choices,
            notes: self.notes_of_report(&verification, &replays, is_last),
            verification,
            replays,
        }
    }

    /// The start and end of the jobs; `None` before the first job starts.
    fn span(&self, figures: &[Figures]) -> Option<RunSpan> {
        let did_run = |&index: &usize| {
            figures[index].state.begin_ns > 0 && self.plan.workers[index].background.is_none()
        };
        let ran: Vec<usize> = (0..figures.len()).filter(did_run).collect();
        let first_stage = ran.iter().map(|&index| self.plan.workers[index].stage).min()?;
        let begins = ran.iter().filter(|&&index| self.plan.workers[index].stage == first_stage);
        let begins: Vec<u64> = begins.map(|&index| figures[index].state.begin_ns).collect();
        let is_over = |index: &usize| self.tracked[*index].standing == Standing::Over;
        let end = |&index: &usize| match figures[index].state.end_ns {
            0 => self.tracked[index].over_ns,
            end => end,
        };
        let all_over = (0..figures.len()).all(|index| is_over(&index));
        Some(RunSpan {
            first_begin_ns: *begins.iter().min()?,
            last_begin_ns: *begins.iter().max()?,
            first_end_ns: ran.iter().filter(|index| is_over(index)).map(end).min(),
            last_end_ns: if all_over { ran.iter().map(end).max() } else { None },
        })
    }

    fn idleness(&self) -> Option<IdlenessReport> {
        let wanted = self.options.idleness?;
        self.crew.idleness(wanted == Idleness::PerCpu)
    }

    /// Verification results by job.
    fn verification(&self, figures: &[Figures]) -> Vec<VerificationReport> {
        let mut reports: Vec<(usize, VerificationReport)> = Vec::new();
        for (index, worker) in self.plan.workers.iter().enumerate() {
            let Some(plan) = &worker.verify else { continue };
            if reports.last().is_none_or(|(job, _)| *job != worker.job) {
                let name = worker.name.clone();
                let report = VerificationReport {
                    job: name,
                    unchecked_blocks: Some(0),
                    shares_blocks: plan.shares_blocks,
                    keeps_cache: !worker.files.opening.invalidates,
                    ..VerificationReport::default()
                };
                reports.push((worker.job, report));
            }
            let Some((_, report)) = reports.last_mut() else { continue };
            report.checked_reads += figures[index].state.checked_reads;
            let checks = &figures[index].checks;
            report.checked_bytes += checks.bytes;
            report.from_memory_bytes += checks.from_memory_bytes;
            report.unknown_source_bytes += checks.unknown_source_bytes;
            report.takes_any_run |= checks.takes_any_run;
            // A worker that did not start has written no bytes.
            let own = if figures[index].state.begin_ns == 0 { Some(0) } else { checks.unchecked_blocks };
            let unchecked = report.unchecked_blocks.zip(own);
            report.unchecked_blocks = unchecked.map(|(all, own)| all.saturating_add(own));
            let before = report.wrong_blocks();
            for (class, count) in CLASSES.iter().zip(figures[index].checks.classes) {
                if count > 0 {
                    *report.miscompares.entry((*class).to_owned()).or_default() += count;
                }
            }
            if report.wrong_blocks() > before {
                report.listed_in.push(plan.miscompare_file.display().to_string());
            }
        }
        reports.into_iter().map(|(_, report)| report).collect()
    }

    /// The notes of the run, plus one for every job with wrong data.
    fn notes_of_report(
        &self,
        verification: &[VerificationReport],
        replays: &[ReplayReport],
        is_last: bool,
    ) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.notes_of_replays(replays));
        if is_last {
            notes.extend(verification.iter().filter_map(VerificationReport::note_of_unchecked));
        }
        notes.extend(verification.iter().filter_map(VerificationReport::note_of_memory));
        for report in verification.iter().filter(|report| report.wrong_blocks() > 0) {
            let classes: Vec<String> =
                report.miscompares.iter().map(|(class, count)| format!("{class}: {count}")).collect();
            notes.push(format!(
                "job {}: {} wrong in {} checked ({}); listed in {}",
                report.job,
                counted(report.wrong_blocks(), "block"),
                counted(report.checked_reads, "read"),
                classes.join(", ").replace('_', " "),
                report.listed_in.join(" ")
            ));
        }
        notes
    }

    /// Settings chosen for each job, as reported by its first clone, and how long its clones waited for a
    /// processor.
    fn choices(&self, figures: &[Figures]) -> Vec<JobChoices> {
        let workers: Vec<usize> = (0..self.tracked.len()).collect();
        let clones_of_jobs = workers.chunk_by(|&a, &b| self.plan.workers[a].job == self.plan.workers[b].job);
        clones_of_jobs
            .map(|clones| {
                let worker = &self.plan.workers[clones[0]];
                let first = &figures[clones[0]].surroundings;
                let waits = clones.iter().map(|&index| figures[index].surroundings.processor_wait_ms);
                JobChoices {
                    name: worker.name.clone(),
                    random_offsets: worker.target_plan.random_offsets().map(str::to_owned),
                    engine_features: first.engine_features.clone(),
                    processor_wait_ms: waits.sum(),
                    processors: first.processors,
                    limits: first.limits.clone(),
                    unwritten_bytes: unwritten_bytes(&self.plan.workers, clones, figures),
                }
            })
            .collect()
    }

    /// Totals of the groups, without jobs that have `stats=0`.
    fn groups(&self, clones: &[JobReport]) -> Vec<GroupReport> {
        let last = clones.iter().map(|clone| clone.group_id).max().unwrap_or(0);
        let counted = || {
            let workers = self.plan.workers.iter();
            let with_clones = workers.zip(clones);
            with_clones.filter(|(worker, _)| worker.report.is_shown)
        };
        (0..=last)
            .map(|id| {
                let members = counted().map(|(_, clone)| clone).filter(|clone| clone.group_id == id);
                GroupReport::from_clones(id, members)
            })
            .collect()
    }

    /// One entry per clone, or per group with `group_reporting`.
    pub(super) fn merged<T>(
        &self,
        clones: Vec<T>,
        group_of: impl Fn(&T) -> u32,
        merge: impl Fn(&mut T, &T),
    ) -> Vec<T> {
        let mut entries: Vec<(T, bool)> = Vec::new();
        for (index, clone) in clones.into_iter().enumerate() {
            let report = &self.plan.workers[index].report;
            if !report.is_shown {
                continue;
            }
            let grouped = report.is_grouped;
            let partner = entries
                .iter_mut()
                .find(|(entry, can_merge)| grouped && *can_merge && group_of(entry) == group_of(&clone));
            match partner {
                Some((entry, _)) => merge(entry, &clone),
                None => entries.push((clone, grouped)),
            }
        }
        entries.into_iter().map(|(entry, _)| entry).collect()
    }

    /// Number of times that a clone has restarted its figures; `None` while its figures do not count, such as
    /// during the ramp.
    fn epoch_that_counts(&self, index: usize, figures: &Figures) -> Option<u64> {
        let counts = figures.state.start_ns != 0 || self.tracked[index].standing == Standing::Over;
        counts.then_some(figures.state.epoch)
    }

    fn clone_report(&self, index: usize, figures: Figures, eta_seconds: u64) -> JobReport {
        let worker = &self.plan.workers[index];
        let plan = &worker.report;
        let tracked = &self.tracked[index];
        let runtime_ms = self.runtime_ms(index, &figures);
        let mut report = JobReport {
            name: worker.name.clone(),
            group_id: worker.group_id,
            stage: worker.stage,
            clones: 1,
            pid: figures.process,
            job_start_ms: if tracked.job_start_ms > 0 { tracked.job_start_ms } else { figures.job_start_ms },
            error: error_of(&figures),
            eta_seconds,
            elapsed_seconds: (figures.taken_ns - self.started_ns).div_ceil(1_000_000_000),
            options: plan.options.clone(),
            description: plan.description.clone(),
            sync: figures.sync,
            runtime_total_ms: runtime_ms,
            cpu: tracked.cpu.clone().unwrap_or(figures.cpu),
            depth_map: figures.depth_map,
            submit_map: figures.submit_map,
            complete_map: figures.complete_map,
            distribution: match worker.latency.has_distribution {
                true => figures.distribution,
                false => Default::default(),
            },
            tolerated_errors: tolerated(plan, &figures.state, figures.first_tolerated_error),
            latency_goal: latency_goal(&plan.latency_goal, figures.found_depth),
            never_ran: figures.state.begin_ns == 0
                || worker.verify.as_ref().is_some_and(|verify| verify.only_checks),
            block_errors: figures.block_errors,
            zone_resets: worker.zones.is_some().then_some(figures.zone_resets),
            steady_state: self.steady_state_of(index),
            // A worker that was killed while sending its figures leaves incomplete JSON, which is dropped.
            engine: serde_json::from_str(&tracked.engine_figures).unwrap_or_default(),
            view: plan.view.clone(),
            ..JobReport::default()
        };
        let read_back_ms = figures.checks.read_back_ns / 1_000_000;
        let places = report.directions.iter_mut().zip(figures.directions.into_array());
        for ((direction, place), counted) in places {
            if worker.background.is_some() {
                // A direction without data has neither a rate nor a duration.
                *place = timed(counted, 0);
                continue;
            }
            let time_ms = self.runtime_of_direction_ms(index, direction, runtime_ms, read_back_ms);
            *place = timed(counted, time_ms);
            place.bw = tracked.series.bw(direction).clone();
            place.iops = tracked.series.iops(direction).clone();
            place.priorities = self.priorities(index, direction, place, &figures.priorities);
        }
        report
    }

    /// The start and end of a clone in wall-clock time. `wall_minus_monotonic` is the wall clock's lead over
    /// the monotonic clock in ns.
    fn wall_span(&self, index: usize, figures: &Figures, wall_minus_monotonic: i64) -> Option<WallSpan> {
        let begin_ns = Some(figures.state.begin_ns).filter(|&begin| begin > 0)?;
        let wall = |at_ns: u64| at_ns.saturating_add_signed(wall_minus_monotonic);
        Some(WallSpan { begin_ns: wall(begin_ns), end_ns: wall(self.end_ns(index, figures)) })
    }

    /// Latencies by priority. Unless individual I/Os have priorities, all I/O of a clone has the same one;
    /// merged clones may have several.
    fn priorities(
        &self,
        index: usize,
        direction: Direction,
        report: &DirectionReport,
        by_priority: &[LatencyStats],
    ) -> Vec<PriorityReport> {
        let worker = &self.plan.workers[index];
        let entry = |priority: Priority, latency: LatencyStats| PriorityReport {
            class: priority.class() as u8,
            level: priority.level() as u8,
            hint: priority.hint() as u16,
            latency,
        };
        let all = match (&worker.command_priorities, worker.report.view.lat_percentiles) {
            (Some(priorities), _) if direction.index() < DIRECTIONS_WITH_PRIORITY => {
                let latencies = by_priority.iter().skip(direction.index()).step_by(DIRECTIONS_WITH_PRIORITY);
                let values = priorities.values.iter();
                values.zip(latencies).map(|(value, latency)| entry(*value, latency.clone())).collect()
            }
            (_, true) => vec![entry(worker.placement.priority, report.lat.clone())],
            (_, false) => vec![entry(worker.placement.priority, report.clat.clone())],
        };
        all.into_iter().filter(|entry| entry.latency.count > 0).collect()
    }

    /// Recorded run time in ms. For a worker that could not record its end, the time at which the supervisor
    /// noticed the end is used.
    fn runtime_ms(&self, index: usize, figures: &Figures) -> u64 {
        let state = &figures.state;
        // A job that ended during its ramp has no recorded time, so the time since its start is reported.
        let start = if state.start_ns > 0 { state.start_ns } else { state.begin_ns };
        if start == 0 {
            return 0;
        }
        // The time is rounded, but at least 1 ms for a job that ran.
        ((self.end_ns(index, figures).saturating_sub(start) + 500_000) / 1_000_000).max(1)
    }

    /// The end of a clone, or the time of its last state, in monotonic ns.
    fn end_ns(&self, index: usize, figures: &Figures) -> u64 {
        match (figures.state.end_ns, self.tracked[index].over_ns) {
            (0, 0) => figures.taken_ns,
            (0, over) => over,
            (end, _) => end,
        }
    }

    /// Duration of I/O in one direction, in ms. The read-back phase is timed separately from the rest.
    fn runtime_of_direction_ms(
        &self,
        index: usize,
        direction: Direction,
        runtime_ms: u64,
        read_back_ms: u64,
    ) -> u64 {
        let worker = &self.plan.workers[index];
        let Some(plan) = worker.verify.as_ref().filter(|plan| plan.writes) else { return runtime_ms };
        let reads_besides = plan.backlog > 0 || plan.only_checks || worker.reads_data();
        match (direction, reads_besides) {
            (Direction::Read, true) => runtime_ms,
            (Direction::Read, false) => read_back_ms.max(1),
            // With `verify_only`, I/Os in this direction are generated but not issued.
            _ if plan.only_checks => 0,
            _ => runtime_ms.saturating_sub(read_back_ms).max(1),
        }
    }
}

/// Dirty bytes of a job's clones in the page cache. Clones that share files have counted the same bytes, so
/// these are not added up.
fn unwritten_bytes(workers: &[WorkerPlan], clones: &[usize], figures: &[Figures]) -> Option<u64> {
    let mut by_files: Vec<(&NamesPlan, u64)> = Vec::new();
    for &index in clones {
        let bytes = figures[index].surroundings.unwritten_bytes?;
        let names = &workers[index].files.names;
        match by_files.iter_mut().find(|(known, _)| *known == names) {
            Some((_, most)) => *most = bytes.max(*most),
            None => by_files.push((names, bytes)),
        }
    }
    Some(by_files.iter().map(|(_, bytes)| bytes).sum())
}

/// The figures of a clone in one direction with their run time, which is 0 if no byte was moved, because failed
/// I/Os have no meaningful rate.
fn timed(counted: DirectionReport, runtime_ms: u64) -> DirectionReport {
    DirectionReport {
        runtime_ms: if counted.io_bytes > 0 { runtime_ms } else { 0 },
        arrivals: counted.arrivals.filter(|arrivals| arrivals.due() > 0),
        ..counted
    }
}

/// The `latency_target` with the depth that was found or requested.
fn latency_goal(asked: &LatencyGoal, found: u32) -> LatencyGoal {
    LatencyGoal { depth: if found > 0 { found } else { asked.depth }, ..asked.clone() }
}

/// The error that ended the job, or the first tolerated one.
fn error_of(figures: &Figures) -> Option<JobError> {
    let tolerated = || match figures.first_tolerated_error {
        0 => None,
        code => {
            let errno = Errno(code);
            // Wrong data is not a failed system call, so it has no errno text.
            let text = if errno == Errno(libc::EILSEQ) { String::new() } else { Cause::TRANSFER.line(errno) };
            Some(JobError { code, text })
        }
    };
    figures.error.clone().or_else(tolerated)
}

fn tolerated(plan: &ReportPlan, state: &WorkerState, first: i32) -> Option<ToleratedErrors> {
    plan.counts_errors.then_some(ToleratedErrors { total: state.tolerated_errors, first })
}
