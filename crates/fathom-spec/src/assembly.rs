//! Collects jobs: defaults, the jobs of the command line, and those of job files.

use crate::assign::{ADDING_UP, Surroundings, assign, refuse_forbidden};
use crate::definition::OptionDef;
use crate::diagnostic::{Diagnostic, Origin, Rejected};
use crate::engines::Engines;
use crate::job_file::{self, JobFile, Section};
use crate::message::Message;
use crate::options::private;
use crate::outcome::GlobalSection;
use crate::profiles;
use crate::program_options::ProgramOptions;
use crate::raw_option::RawOption;
use crate::registry::{self, find_job_option};
use crate::resolve;
use crate::show_command;
use crate::source::Source;
use crate::spec::JobSpec;
use crate::spelling;
use crate::value::not_loadable;

/// Everything collected so far.
pub(crate) struct Assembly<'a> {
    program_name: &'a str,
    pub(crate) source: &'a dyn Source,
    /// The program's own options, as far as they have been parsed.
    pub(crate) program: ProgramOptions,
    /// Lines to print, in order.
    pub(crate) messages: Vec<Message>,
    /// The jobs that will run.
    pub(crate) jobs: Vec<JobSpec>,
    /// Options written for all jobs of the run.
    pub(crate) global_options: Vec<(String, String)>,
    /// The options for all jobs, grouped by where they were written.
    pub(crate) global_sections: Vec<GlobalSection>,
    /// Values with which a new job starts.
    pub(crate) defaults: JobSpec,
    files_read: usize,
}

impl<'a> Assembly<'a> {
    /// An assembly without jobs or options.
    pub(crate) fn new(program_name: &'a str, source: &'a dyn Source) -> Self {
        Assembly {
            program_name,
            source,
            program: ProgramOptions::default(),
            messages: Vec::new(),
            jobs: Vec::new(),
            global_options: Vec::new(),
            global_sections: Vec::new(),
            defaults: JobSpec::new("", Origin::CommandLine),
            files_read: 0,
        }
    }

    /// The engines that jobs may name.
    pub(crate) fn engines(&self) -> Engines<'a> {
        Engines(self.source.engines())
    }

    /// Applies an option to a job.
    pub(crate) fn assign(
        &mut self,
        job: &mut JobSpec,
        definition: &'static OptionDef,
        raw: &RawOption,
    ) -> Result<(), Rejected> {
        assign(job, definition, raw, &self.surroundings(), &mut self.messages)
    }

    fn surroundings(&self) -> Surroundings<'a> {
        let ProgramOptions { readonly, parse_only, show_command, .. } = self.program;
        // A command that is only shown may be meant for another machine, so it is parsed without checks of this
        // machine, as with `--parse-only`.
        Surroundings { source: self.source, readonly, parse_only: parse_only || show_command }
    }

    /// Applies an option to all following jobs.
    pub(crate) fn assign_default(
        &mut self,
        definition: &'static OptionDef,
        raw: &RawOption,
    ) -> Result<(), Rejected> {
        let surroundings = self.surroundings();
        let result = assign(&mut self.defaults, definition, raw, &surroundings, &mut self.messages);
        let options = std::mem::take(&mut self.defaults.written);
        self.add_global_options(options);
        result
    }

    /// Takes the defaults out for modification. A new section of defaults starts empty.
    fn take_defaults(&mut self) -> JobSpec {
        std::mem::replace(&mut self.defaults, JobSpec::new("", Origin::CommandLine))
    }

    fn put_defaults(&mut self, mut defaults: JobSpec) {
        let options = std::mem::take(&mut defaults.written);
        self.defaults = defaults;
        self.add_global_options(options);
    }

    fn add_global_options(&mut self, options: Vec<(String, String)>) {
        for (name, value) in &options {
            let replaces = |written: &str| written == name && !ADDING_UP.contains(&written);
            match self.global_options.iter_mut().find(|(written, _)| replaces(written)) {
                Some(entry) => entry.1.clone_from(value),
                None => self.global_options.push((name.clone(), value.clone())),
            }
        }
        self.add_global_section(options);
    }

    /// Adds defaults to the list of sections. Options without a job between them form one section, as long as
    /// none of them is repeated.
    fn add_global_section(&mut self, options: Vec<(String, String)>) {
        let first_job = self.jobs.len();
        let is_new = |section: &GlobalSection| {
            options.iter().all(|(name, _)| !section.options.iter().any(|(own, _)| own == name))
        };
        match self.global_sections.last_mut() {
            Some(last) if last.first_job == first_job && is_new(last) => last.options.extend(options),
            _ if options.is_empty() => {}
            _ => self.global_sections.push(GlobalSection { first_job, options }),
        }
    }

    /// Starts a job with the current defaults.
    pub(crate) fn open_job(&self, name: &str, origin: Origin) -> JobSpec {
        let mut job = self.defaults.clone();
        name.clone_into(&mut job.name);
        name.clone_into(&mut job.section);
        job.origin = origin;
        job.written.clear();
        job
    }

    /// Refuses a complete job that would write, if `--readonly` came before the option with its direction.
    pub(crate) fn refuse_forbidden(&mut self, job: &JobSpec) -> Result<(), Rejected> {
        refuse_forbidden(job, &self.surroundings(), &mut self.messages)
    }

    /// Refuses defaults that would write under `--readonly`, if no job uses them.
    pub(crate) fn refuse_forbidden_defaults(&mut self) -> Result<(), Rejected> {
        match self.jobs.is_empty() {
            true => refuse_forbidden(&self.defaults, &self.surroundings(), &mut self.messages),
            false => Ok(()),
        }
    }

    /// Adds a complete job, unless --section excludes it.
    pub(crate) fn close_job(&mut self, mut job: JobSpec) -> Result<(), Rejected> {
        self.refuse_forbidden(&job)?;
        let sections = &self.program.sections;
        if !sections.is_empty() && !sections.contains(&job.section) {
            return Ok(());
        }
        // Like fio, a check of the text alone does not examine combinations of options.
        if !self.program.parse_only && !self.program.show_command {
            let fatal = self.program.warnings_fatal;
            let surroundings = (self.engines(), self.source.host());
            resolve::review(&mut job, &self.jobs, surroundings, fatal, &mut self.messages)?;
        }
        self.jobs.push(job);
        Ok(())
    }

    /// Reads a job file and adds its jobs.
    pub(crate) fn read_job_file(&mut self, path: &str) -> Result<(), Rejected> {
        // Only the first file gets the defaults of the command line. The jobs of every further file wait for
        // all jobs before them.
        let further = self.files_read > 0;
        self.files_read += 1;
        if further {
            self.defaults = JobSpec::new("", Origin::CommandLine);
        }
        self.take_in(job_file::read(path, self.source), further)
    }

    /// Adds the jobs of the profile, if one is requested. Settings of the command line for all jobs precede the
    /// profile's own.
    pub(crate) fn read_profile(&mut self) -> Result<(), Rejected> {
        let Some(profile) = self.program.profile.as_deref().and_then(profiles::find) else { return Ok(()) };
        for (name, value) in (profile.meanings)(&self.defaults) {
            let raw = RawOption::new(name, Some(value), Origin::CommandLine);
            if let Some(definition) = find_job_option(name) {
                self.assign_default(definition, &raw)?;
            }
        }
        self.messages.extend((profile.notes)(&self.defaults));
        let mut file = (profile.jobs)(&self.defaults, self.source);
        let given = &self.defaults;
        for section in file.sections.iter_mut().filter(|section| section.is_global()) {
            section.options.retain(|option| {
                find_job_option(&option.name).is_none_or(|definition| !given.is_set(definition.name))
            });
        }
        self.files_read += 1;
        self.take_in(file, false)
    }

    /// Prints notes about options of a profile that was not requested.
    pub(crate) fn note_idle_profile_options(&mut self) {
        let jobs: Vec<&JobSpec> = self.jobs.iter().chain([&self.defaults]).collect();
        let others =
            profiles::PROFILES.iter().filter(|profile| self.program.profile.as_deref() != Some(profile.name));
        let idle = others.flat_map(|profile| {
            let given = profile.own_options.iter().filter(|name| jobs.iter().any(|job| job.is_set(name)));
            given.map(|name| format!("fathom: {name} has no effect without --profile={}", profile.name))
        });
        let notes: Vec<Message> = idle.map(Message::stderr).collect();
        self.messages.extend(notes);
    }

    /// Adds the jobs of a file. Errors are printed before the file's notes.
    fn take_in(&mut self, mut file: JobFile, further: bool) -> Result<(), Rejected> {
        let (start, notes) = (self.messages.len(), std::mem::take(&mut file.notes));
        let result = self.take_in_jobs(file, further);
        // With --showcmd, notes are left out, because the result shows how everything was read.
        let notes = if self.program.show_command { Vec::new() } else { notes };
        let place = if result.is_ok() { start } else { self.messages.len() };
        self.messages.splice(place..place, notes);
        result
    }

    fn take_in_jobs(&mut self, file: JobFile, further: bool) -> Result<(), Rejected> {
        let mut first_job = true;
        for section in &file.sections {
            if section.is_global() {
                let defaults = self.take_defaults();
                let (defaults, result) = self.fill(defaults, section);
                self.put_defaults(defaults);
                result?;
                continue;
            }
            let mut job = self.open_job(&section.name, section.origin.clone());
            if further && first_job {
                job.threads.stonewall = true;
            }
            first_job = false;
            let (job, result) = self.fill(job, section);
            result?;
            self.close_job(job)?;
        }
        if !file.failure.is_empty() {
            self.messages.extend(file.failure);
            return Err(Rejected);
        }
        if self.program.show_command {
            self.messages
                .push(Message::stdout(show_command::command_line(self.program_name, &file.sections)));
        }
        Ok(())
    }

    /// Applies the options of a section to a job. All mistakes in the section are reported.
    fn fill(&mut self, mut job: JobSpec, section: &Section) -> (JobSpec, Result<(), Rejected>) {
        let start = self.messages.len();
        let mut rejected = false;
        let known: Vec<(Option<&'static OptionDef>, &RawOption)> =
            section.options.iter().map(|raw| (find_job_option(&raw.name), raw)).collect();
        // Options that affect how others are parsed are applied first, so that their position in the section
        // does not matter.
        for early in [true, false] {
            for (definition, raw) in &known {
                if let Some(definition) = definition.filter(|definition| definition.early == early) {
                    rejected |= self.assign(&mut job, definition, raw).is_err();
                }
            }
        }
        for (_, raw) in known.iter().filter(|(definition, _)| definition.is_none()) {
            // Profile options are in the same list as job options; without a profile they have no effect.
            let of_profiles =
                || private::of_profiles().into_iter().flatten().find(|option| option.is_named(&raw.name));
            match self.engines().option(&job.engine.ioengine.name, &raw.name).or_else(of_profiles) {
                Some(definition) => rejected |= self.assign(&mut job, definition, raw).is_err(),
                None => {
                    self.report_unknown(&job, raw);
                    rejected = true;
                }
            }
        }
        if !section.is_global() {
            rejected |= self.refuse_forbidden(&job).is_err();
        }
        if !rejected {
            order_as_written(&mut job, section, self.engines());
            return (job, Ok(()));
        }
        self.messages.push(Message::stderr(format!("fio: job {} dropped", section.name)));
        self.ours_last(start);
        (job, Err(Rejected))
    }

    fn report_unknown(&mut self, job: &JobSpec, raw: &RawOption) {
        // With --parse-only, the engine itself need not exist.
        let engine = &job.engine.ioengine.name;
        let is_known = self.engines().find(engine).is_some();
        if !is_known {
            self.messages.extend(not_loadable(engine));
        }
        self.messages.push(Message::stderr(format!("Bad option <{}>", raw.text())));
        let nearest = spelling::nearest(&raw.name, known_names());
        if let Some(name) = nearest {
            self.messages.push(Message::stderr(format!("Did you mean {name}?")));
        }
        self.messages.push(unknown_option(job, self.engines(), raw, nearest).message());
    }

    /// Moves fathom's own lines behind those of fio, in the messages from `start` on.
    pub(crate) fn ours_last(&mut self, start: usize) {
        self.messages[start..].sort_by_key(|message| message.text.starts_with("fathom: "));
    }
}

/// All names for which a misspelt option may stand.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    crate::program_options::ALL.iter().map(|option| option.name).chain(registry::job_option_names())
}

/// Explains that an option does not exist, or exists only for other engines.
pub(crate) fn unknown_option(
    job: &JobSpec,
    engines: Engines<'_>,
    raw: &RawOption,
    nearest: Option<&str>,
) -> Diagnostic {
    let value = raw.value.as_deref();
    let engines = engines.with_option(&raw.name);
    if engines.is_empty() {
        return Diagnostic::option(&raw.origin, &raw.name, value, "there is no such option").suggest(nearest);
    }
    let order =
        if raw.origin == Origin::CommandLine { "; ioengine has to come before its options" } else { "" };
    let problem = format!(
        "only jobs with ioengine {} have this option, this one uses {}{order}",
        engines.join(" or "),
        job.engine.ioengine.name
    );
    Diagnostic::option(&raw.origin, &raw.name, value, problem)
}

/// Sorts a job's options for the report: they are listed as in the file, regardless of the order of parsing,
/// except for those that fio moves.
fn order_as_written(job: &mut JobSpec, section: &Section, engines: Engines<'_>) {
    let engine = job.engine.ioengine.name.clone();
    let place = |name: &str| {
        let meant =
            |raw: &RawOption| find_job_option(&raw.name).or_else(|| engines.option(&engine, &raw.name));
        let position = section
            .options
            .iter()
            .position(|raw| meant(raw).is_some_and(|definition| definition.name == name));
        position.map(|position| (registry::rank(name), position))
    };
    job.written.sort_by_key(|(name, _)| place(name));
}
