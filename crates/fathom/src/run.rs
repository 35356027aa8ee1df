//! A single run: from typed jobs to the printed report.

use crate::every::{self, Repeated};
use crate::exit;
use crate::hosts::{Hosts, View};
use crate::keep;
use crate::live;
use crate::metrics::{self, Metrics};
use crate::output::Output;
use crate::refusal::Refusal;
use fathom_answers::{Judged, Keeper};
use fathom_errors::plain;
use fathom_hosts::controller::Audience;
use fathom_live::LiveTerminal;
use fathom_local::here;
use fathom_report::Chosen;
use fathom_report::header::layout_line;
use fathom_run::message::Message;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{self, Idleness, Observer, Options, Request, StartError, TerminalEvent};
use fathom_spec::{Eta, IdleProfile, ProgramOptions, Requirement, RunSpec, Source};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::Errno;
use fathom_sys::clock::Calibration;
use fathom_sys::signal::{self, SignalQueue};
use std::error::Error;
use std::io::IsTerminal;
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::time::Duration;

/// Where jobs run.
pub(crate) enum Where<'a> {
    /// On this machine.
    Here(Calibration),
    /// On these hosts, with the parser's source for this machine.
    Hosts(&'a Hosts, &'a dyn Source),
}

/// Runs the jobs and prints the result.
pub(crate) fn run(spec: &RunSpec, place: Where<'_>) -> ExitCode {
    // Before the output's file is created: a store that is refused leaves everything as it was.
    let keeper = match keep::begin(&spec.program) {
        Ok(keeper) => keeper,
        Err(refusal) => return refusal.tell(&mut Output::terminal()),
    };
    let mut output = match &spec.program.output {
        None => Output::terminal(),
        Some(path) => match Output::file(path) {
            Ok(output) => output,
            Err(error) => {
                let mut terminal = Output::terminal();
                let reason =
                    error.raw_os_error().map_or_else(|| plain(&error), |code| Errno(code).to_string());
                terminal.error_line(&format!("fio: output file open error: {reason}"));
                terminal.error_line(&format!(
                    "fathom: cannot write to --output={}: {error}",
                    path.display(),
                    error = plain(&error)
                ));
                return ExitCode::from(exit::SETUP_FAILED);
            }
        },
    };
    output.keep_status_lines(spec.program.eta_newline);
    let formats = Chosen::new(&spec.program.formats, spec.program.terse_version);
    output.only_report(!formats.are_for_people());
    // Parsing alone does not involve engines, logs or the number of clones.
    if spec.program.parse_only && !spec.program.merge_blktrace_only {
        spec.messages.iter().for_each(|message| output.say(message));
        return ExitCode::SUCCESS;
    }
    let mut console = Console { output, formats, live: None, metrics: None, keeper };
    let code = match (spec.program.every, place) {
        (None, place) => run_once(spec, place, &mut console).unwrap_or_else(|status| status),
        (Some(every), Where::Here(calibration)) => repeat(spec, every, calibration, &mut console),
        (Some(_), Where::Hosts(..)) => {
            console.output.error_line("fathom: --every is not built for --hosts; run it on each host");
            exit::SETUP_FAILED
        }
    };
    ExitCode::from(code)
}

/// `--every`: runs of this machine.
struct LocalRuns<'a> {
    spec: &'a RunSpec,
    console: &'a mut Console,
    /// The first run's, measured while parsing.
    calibration: Option<Calibration>,
}

impl Repeated for LocalRuns<'_> {
    fn run_once(&mut self) -> Result<u8, u8> {
        let calibration = self.calibration.take().unwrap_or_else(Calibration::start);
        run_once(self.spec, Where::Here(calibration), self.console)
    }

    fn say(&mut self, line: &str) {
        self.console.output.error_line(line);
    }

    fn advance(&mut self) {
        self.console.advance_metrics();
    }
}

/// Repeats a run on this machine; the exit status.
fn repeat(spec: &RunSpec, every: Duration, first: Calibration, console: &mut Console) -> u8 {
    // Held across all runs, so that a signal between two of them ends the program like one within a run.
    let signals = match SignalQueue::new(&signal::OF_USERS) {
        Ok(signals) => signals,
        Err(errno) => return not_started(&errno.into()).status_told(&mut console.output),
    };
    let status = every::repeat(every, &signals, &mut LocalRuns { spec, console, calibration: Some(first) });
    console.close_metrics(&signals);
    status
}

/// Runs the jobs and prints the result; returns the exit status, as an error if the run did not start.
fn run_once(spec: &RunSpec, place: Where<'_>, console: &mut Console) -> Result<u8, u8> {
    let prepared = match place {
        Where::Here(calibration) => prepare(spec, calibration, &console.formats, &mut console.output),
        Where::Hosts(hosts, source) => hosts.check(spec).map(|()| Some(Work::There(hosts, source))),
    };
    match prepared.and_then(|work| live::check(&spec.program).map(|()| work)) {
        Ok(Some(work)) => supervise(spec, work, console),
        Ok(None) => {
            if console.output.report_lost() {
                Err(exit::SETUP_FAILED)
            } else {
                Ok(0)
            }
        }
        Err(refusal) => Err(refusal.status_told(&mut console.output)),
    }
}

/// A run that is ready to begin.
enum Work<'a> {
    Here(Box<Plan>, Calibration),
    There(&'a Hosts, &'a dyn Source),
}

/// Plans a run on this machine and prints the lines before it; returns nothing if only the plan was
/// requested.
fn prepare<'a>(
    spec: &RunSpec,
    calibration: Calibration,
    formats: &Chosen,
    output: &mut Output,
) -> Result<Option<Work<'a>>, Refusal> {
    let plan =
        Plan::new(spec, fathom_engines::definition_of).map_err(|error| Refusal::new(error.to_string()))?;
    if spec.program.merge_blktrace_only {
        return end_after_merge(spec, &plan, output).map(|()| None);
    }
    live::check(&spec.program)?;
    for line in plan.debug_lines(std::process::id()) {
        output.say(&fathom_spec::Message::stdout(line));
    }
    match formats.are_for_people() {
        true => here::opening(&plan, &spec.messages).iter().for_each(|message| output.say(message)),
        false => spec.messages.iter().for_each(|message| output.say(message)),
    }
    Ok(Some(Work::Here(Box::new(plan), calibration)))
}

/// `--merge-blktrace-only`: the traces were merged during planning.
fn end_after_merge(spec: &RunSpec, plan: &Plan, output: &mut Output) -> Result<(), Refusal> {
    spec.messages.iter().for_each(|message| output.say(message));
    let merges = plan.jobs.iter().filter(|job| job.replay.merge_blktrace_file.is_some()).count();
    if merges == 0 {
        return Err(Refusal::because(
            "--merge-blktrace-only",
            "no job has merge_blktrace_file= and traces to merge",
        ));
    }
    for replay in plan.workers.iter().filter_map(|worker| worker.replay.as_ref()) {
        replay.warnings.iter().for_each(|warning| output.error_line(warning));
    }
    Ok(())
}

fn supervise(spec: &RunSpec, work: Work<'_>, console: &mut Console) -> Result<u8, u8> {
    let program = &spec.program;
    let view = View {
        tick: (program.live || shows_status(spec, &console.formats)).then_some(program.eta_interval),
        details: program.live,
        opening: console.formats.are_for_people(),
        status_interval: program.status_interval.or(console.formats.every()),
        snapshot: metrics::is_asked(program).then_some(metrics::EVERY),
        report_alone: !console.formats.are_for_people(),
    };
    let needs_verdict = console.formats.need_verdict()
        || program.verdict
        || program.require.is_some()
        || console.keeper.is_some()
        || metrics::is_asked(program);
    let options = Options {
        tick: view.tick,
        live_view: view.details,
        status_interval: view.status_interval,
        snapshot: view.snapshot,
        idleness: program.idleness.map(|shown| match shown {
            IdleProfile::System => Idleness::System,
            IdleProfile::PerCpu => Idleness::PerCpu,
        }),
        slices: here::slices(spec),
        timeline: console.formats.need_timeline() || needs_verdict,
        patience: program.patience,
        report_alone: view.report_alone,
        version: here::COMPATIBLE_VERSION,
    };
    if let Err(refusal) = console.begin_metrics(program) {
        return Err(refusal.status_told(&mut console.output));
    }
    // A run handles signals until it is over. Afterwards the report is still printed, and is worth waiting
    // for.
    let signals = match SignalQueue::new(&signal::OF_USERS) {
        Ok(signals) => signals,
        Err(errno) => return Err(not_started(&errno.into()).status_told(&mut console.output)),
    };
    console.live = match live::take_over(program) {
        Ok(live) => live,
        Err(refusal) => return Err(refusal.status_told(&mut console.output)),
    };
    let outcome = match work {
        Work::Here(plan, calibration) => {
            let engines = here::engines(&plan);
            supervisor::run(&plan, engines, calibration.finish(), options, console)
                .map_err(|error| not_started(&error))
        }
        Work::There(hosts, source) => hosts.run(spec, source, view, console),
    };
    // Further output goes to the normal screen.
    console.live = None;
    match outcome {
        Ok(mut outcome) => {
            let judged = needs_verdict.then(|| fathom_answers::judge(&mut outcome.report));
            console.print(&outcome.report);
            let is_met = judged.is_none_or(|judged| console.report_verdict(program, judged));
            console.finish_metrics(&outcome.report, &signals, program.every.is_some());
            let asked = console.output.finish(&signals);
            // The figures of a defect are not kept.
            let keeper = console.keeper.as_ref().filter(|_| !outcome.is_broken);
            let is_kept = keep::add(keeper, &outcome.report, program, &mut console.output);
            let is_lost = console.output.report_lost() || outcome.lost_logs || !is_kept;
            if is_lost && !outcome.is_broken {
                return Ok(exit::SETUP_FAILED);
            }
            Ok(match exit::number(&outcome, asked.is_some() || signals.asked_to_end().is_some()) {
                0 if !is_met => exit::REQUIREMENT_UNMET,
                code => code,
            })
        }
        Err(refusal) => Err(refusal.status_told(&mut console.output)),
    }
}

fn not_started(error: &StartError) -> Refusal {
    let by_signal = matches!(error, StartError::Signal(_));
    let status = if by_signal { exit::ENDED_BY_SIGNAL } else { exit::SETUP_FAILED };
    Refusal::new(format!("fathom: {}", here::why_not_started(error))).with_status(status)
}

/// `--idle-prof=calibrate`: measures one unit of the work that measures idleness.
pub(crate) fn calibrate_idleness() -> ExitCode {
    let mut output = Output::terminal();
    match fathom_run::idleness::calibrate() {
        Ok(report) => {
            output.bytes(fathom_report::calibration(&report).as_bytes());
            if output.report_lost() { ExitCode::from(exit::SETUP_FAILED) } else { ExitCode::SUCCESS }
        }
        Err(errno) => Refusal::because("the processors cannot be calibrated", errno).tell(&mut output),
    }
}

/// The status line is shown on a terminal with the human-readable report, unless requested or disabled.
fn shows_status(spec: &RunSpec, formats: &Chosen) -> bool {
    let wanted = match spec.program.eta {
        Eta::Always => true,
        Eta::Never => return false,
        Eta::Auto => std::io::stdout().is_terminal(),
    };
    wanted && (formats.are_for_people() || spec.program.output.is_some())
}

/// Displays a run and exports its metrics.
struct Console {
    output: Output,
    formats: Chosen,
    /// Present with `--live`, and only during the run.
    live: Option<LiveTerminal>,
    /// Present with `--metrics`, `--otlp` or `--influx`.
    metrics: Option<Metrics>,
    /// Present with `--history`.
    keeper: Option<Keeper>,
}

impl Console {
    /// Starts the exporter if requested, unless an earlier run did.
    fn begin_metrics(&mut self, program: &ProgramOptions) -> Result<(), Refusal> {
        match &mut self.metrics {
            Some(metrics) => metrics.begin(),
            None => self.metrics = Metrics::start(program)?,
        }
        Ok(())
    }

    /// Sends a run's last metrics; unless other runs follow, waits until they are delivered.
    fn finish_metrics(&mut self, report: &RunReport, signals: &SignalQueue, others_follow: bool) {
        if others_follow {
            self.metrics.iter_mut().for_each(|metrics| metrics.offer_result(report));
            return;
        }
        let problems = self.metrics.take().map(|metrics| metrics.finish(report, signals));
        problems.iter().flatten().for_each(|line| self.output.error_line(line));
    }

    /// Waits until the metrics of repeated runs are delivered.
    fn close_metrics(&mut self, signals: &SignalQueue) {
        let problems = self.metrics.take().map(|metrics| metrics.close(signals));
        problems.iter().flatten().for_each(|line| self.output.error_line(line));
    }

    /// Continues sending metrics between two runs.
    fn advance_metrics(&mut self) {
        let problems = self.metrics.as_mut().map(Metrics::advance).unwrap_or_default();
        problems.iter().for_each(|line| self.output.error_line(line));
    }

    /// Writes a report in every requested format, in the fixed order of formats.
    fn print(&mut self, report: &RunReport) {
        for bytes in self.formats.write(report) {
            self.output.bytes(&bytes);
        }
    }

    /// Reports the verdict on the result if requested, and whether it meets the requirement.
    fn report_verdict(&mut self, program: &ProgramOptions, judged: Result<Judged, impl Error>) -> bool {
        let judged = match judged {
            Ok(judged) => judged,
            Err(reason) => {
                self.output.error_line(&format!("fathom: there is no verdict on the result: {reason}"));
                return program.require.is_none();
            }
        };
        if program.verdict {
            // Standard output of a machine-readable report ends with its document.
            match self.formats.are_for_people() {
                true => std::iter::once("")
                    .chain(judged.paragraphs.iter().map(String::as_str))
                    .for_each(|line| self.output.line(line)),
                false => judged.paragraphs.iter().for_each(|line| self.output.error_line(line)),
            }
        }
        let Some(required) = program.require else { return true };
        let is_met = match required {
            Requirement::Sound => judged.is_sound,
            Requirement::NoDoubts => judged.has_no_doubts,
        };
        if !is_met {
            let line = format!("fathom: --require={} is not met: {}", required.word(), judged.summary);
            self.output.error_line(&line);
        }
        is_met
    }
}

impl Audience for Console {}

impl Observer for Console {
    fn message(&mut self, message: &Message) {
        let (live, output) = (&mut self.live, &mut self.output);
        let text = match message {
            Message::Output(text) | Message::Error(text) | Message::Failure(text) => text.clone(),
            Message::LayingOut { job, files, bytes } if self.formats.are_for_people() => {
                layout_line(job, *files, *bytes)
            }
            Message::LayingOut { .. } | Message::Figures(_) | Message::StageChanged => return,
        };
        match live {
            Some(live) => live.message(&text, || output.tell(message)),
            None => output.tell(message),
        }
    }

    fn tick(&mut self, tick: &LiveTick, details: Option<&LiveDetails>) {
        match (&mut self.live, details) {
            (Some(live), Some(details)) => live.advance(tick, details),
            _ => self.output.status_line(tick),
        }
    }

    fn advance(&mut self) {
        self.output.advance(Duration::ZERO);
        let problems = self.metrics.as_mut().map(Metrics::advance).unwrap_or_default();
        // Sent as a message, so that a live view stays intact.
        problems.into_iter().for_each(|line| self.message(&Message::Error(line)));
    }

    fn snapshot(&mut self, report: &RunReport) {
        if let Some(metrics) = &mut self.metrics {
            metrics.offer(report);
        }
    }

    fn interim_report(&mut self, report: &RunReport) {
        match self.live.take() {
            Some(mut live) => {
                live.aside(|| self.print(report));
                self.live = Some(live);
            }
            None => self.print(report),
        }
    }

    fn terminal(&mut self, event: TerminalEvent) {
        let Some(live) = &mut self.live else { return };
        match event {
            TerminalEvent::Resized => live.redraw(),
            TerminalEvent::Continued => live.resume(),
            TerminalEvent::Suspending | TerminalEvent::Ending => fathom_live::restore(),
        }
    }

    fn input(&self) -> Option<RawFd> {
        self.live.as_ref().and_then(LiveTerminal::input)
    }

    fn take_input(&mut self) -> Option<Request> {
        self.live.as_mut()?.take_keys().then_some(Request::Stop)
    }
}
