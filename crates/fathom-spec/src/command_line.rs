//! Parses the command line by the rules of `getopt_long_only`: one or two dashes, abbreviated names, values
//! after `=` or in the next argument, job files anywhere.

use crate::assembly::{Assembly, known_names, unknown_option};
use crate::definition::{Kind, OptionDef};
use crate::diagnostic::{Diagnostic, Origin, Rejected};
use crate::engines::Engines;
use crate::hosts::FileOwner;
use crate::job_file::is_global_name;
use crate::keywords;
use crate::message::Message;
use crate::options::private;
use crate::outcome::Outcome;
use crate::program_options::{self, Argument, Given, ProgramOption};
use crate::raw_option::RawOption;
use crate::registry::{find_job_option, job_option_names};
use crate::spec::JobSpec;
use crate::spelling;

/// What a name on the command line refers to.
#[derive(Clone, Copy)]
enum Meaning {
    Program(&'static ProgramOption),
    Job(&'static OptionDef),
}

/// Why parsing stopped early.
pub(crate) enum Stop {
    /// A mistake about which everything has been printed.
    Mistake,
    /// An option that replaces running jobs, such as --help.
    End(Outcome),
}

impl From<Rejected> for Stop {
    fn from(_: Rejected) -> Self {
        Stop::Mistake
    }
}

/// Parses the arguments into jobs; returns the job files that they name.
pub(crate) fn read(
    program_name: &str,
    arguments: &[String],
    assembly: &mut Assembly<'_>,
) -> Result<Vec<String>, Stop> {
    let mut reader = Reader { program_name, assembly, job: None, files: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            reader.files.extend(rest.cloned());
            break;
        }
        if argument == "-" || !argument.starts_with('-') {
            reader.files.push(argument.clone());
            continue;
        }
        reader.read_option(argument, &mut rest)?;
    }
    if let Some(job) = reader.job.take() {
        reader.assembly.close_job(job)?;
    }
    Ok(reader.files)
}

struct Reader<'a, 'b> {
    program_name: &'a str,
    assembly: &'a mut Assembly<'b>,
    /// The job opened by `--name`; `None` while options set defaults.
    job: Option<JobSpec>,
    files: Vec<String>,
}

impl Reader<'_, '_> {
    fn read_option(&mut self, argument: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<(), Stop> {
        let body = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')).unwrap_or(argument);
        let (typed, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
        let meaning = self.look_up(argument, typed)?;
        let (needs_value, takes_value) = match meaning {
            Meaning::Program(option) => {
                (option.argument == Argument::Required, option.argument != Argument::None)
            }
            Meaning::Job(definition) => (definition.needs_value(), true),
        };
        let dashes = &argument[..argument.len() - body.len()];
        let name = meaning_name(meaning, typed);
        if value.is_some() && !takes_value {
            let line = format!("option '{dashes}{name}' doesn't allow an argument");
            return Err(self.getopt_mistake(argument, name, &line, "this option takes no value"));
        }
        let value = match value {
            None if needs_value => match rest.next() {
                Some(value) => Some(value.as_str()),
                None => {
                    let line = format!("option '{dashes}{name}' requires an argument");
                    return Err(self.getopt_mistake(argument, name, &line, "this option needs a value"));
                }
            },
            value => value,
        };
        match meaning {
            Meaning::Program(option) => self.apply_program(option, value),
            Meaning::Job(definition) => self.apply_job(definition, name, value),
        }
    }

    fn apply_program(&mut self, option: &'static ProgramOption, value: Option<&str>) -> Result<(), Stop> {
        // The command of a trigger runs on each host; all other options are handled by the controller.
        let of_hosts = value.map(|value| self.with_host_variables(value));
        if option.name != "trigger-remote" && of_hosts.as_deref() != value {
            let problem = "the controller reads this option, and it is not one of the hosts: ${HOST} and similar variables have values only in \
                           the options of jobs";
            let line = Diagnostic::option(&Origin::CommandLine, option.name, value, problem).message();
            self.assembly.messages.push(line);
            return Err(Stop::Mistake);
        }
        let value = of_hosts.as_deref();
        let given = Given {
            option,
            value,
            program_name: self.program_name,
            source: self.assembly.source,
            formats: self.assembly.source.formats(),
            messages: &mut self.assembly.messages,
        };
        program_options::apply(&mut self.assembly.program, given).map_err(Stop::End)
    }

    fn apply_job(
        &mut self,
        definition: &'static OptionDef,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), Stop> {
        if value == Some("") {
            let complaint = match definition.kind {
                Kind::Flag => format!("fio: failed parsing {name}="),
                _ => format!("fio: option {name} requires an argument"),
            };
            self.assembly.messages.push(Message::stderr(complaint));
            let line = Diagnostic::option(&Origin::CommandLine, name, Some(""), "this option needs a value");
            self.assembly.messages.push(line.message());
            return Err(Stop::Mistake);
        }
        let value = value.map(|value| self.with_host_variables(value));
        if definition.name == "name" {
            return self.open_job(value.as_deref().unwrap_or(""));
        }
        let raw = RawOption::new(name, value, Origin::CommandLine);
        match self.job.take() {
            Some(mut job) => {
                let result = self.assembly.assign(&mut job, definition, &raw);
                self.job = Some(job);
                result?;
            }
            None => self.assembly.assign_default(definition, &raw)?,
        }
        Ok(())
    }

    /// Expands `${HOST}` and similar variables on each host. The shell expands all other variables.
    fn with_host_variables(&self, value: &str) -> String {
        match self.assembly.source.host().filter(|host| host.owner == FileOwner::Host) {
            Some(host) => keywords::expand_host(value, host),
            None => value.to_owned(),
        }
    }

    fn open_job(&mut self, name: &str) -> Result<(), Stop> {
        if let Some(job) = self.job.take() {
            self.assembly.close_job(job)?;
        }
        if !is_global_name(name) {
            let mut job = self.assembly.open_job(name, Origin::CommandLine);
            job.written.push(("name".to_owned(), name.to_owned()));
            job.job_description.name = Some(name.to_owned());
            job.mark_set("name");
            self.job = Some(job);
        }
        Ok(())
    }

    fn engine(&self) -> &str {
        &self.job.as_ref().unwrap_or(&self.assembly.defaults).engine.ioengine.name
    }

    /// Looks up a name: an exact match, or the only name with this prefix.
    fn look_up(&mut self, argument: &str, typed: &str) -> Result<Meaning, Stop> {
        if let Some(meaning) = exact(self.assembly.engines(), self.engine(), typed) {
            return Ok(meaning);
        }
        let candidates = names_with_prefix(self.assembly.engines(), self.engine(), typed);
        match candidates[..] {
            [only] => exact(self.assembly.engines(), self.engine(), only).ok_or(Stop::Mistake),
            // Like getopt for short options, accepts -h and -v with any text after them.
            [] if !argument.starts_with("--") && typed.starts_with(['h', 'v']) => {
                let name = if typed.starts_with('h') { "help" } else { "version" };
                exact(self.assembly.engines(), "", name).ok_or(Stop::Mistake)
            }
            [] => Err(self.unrecognized(argument, typed)),
            _ => {
                let dashes = if argument.starts_with("--") { "--" } else { "-" };
                let possible: Vec<String> =
                    candidates.iter().map(|name| format!("'{dashes}{name}'")).collect();
                let line = format!("option '{argument}' is ambiguous; possibilities: {}", possible.join(" "));
                let expected = format!("ambiguous: {} begin like this", candidates.join(", "));
                Err(self.getopt_mistake(argument, typed, &line, &expected))
            }
        }
    }

    fn unrecognized(&mut self, argument: &str, typed: &str) -> Stop {
        let line = format!("{}: unrecognized option '{argument}'", self.program_name);
        let nearest = spelling::nearest(typed, known_names());
        // fio treats the value as part of the name, so its suggestion is based on both.
        let fios_nearest = spelling::nearest(argument.trim_start_matches('-'), known_names());
        let messages = &mut self.assembly.messages;
        messages.push(Message::stderr(line.clone()));
        messages.push(Message::stderr(line));
        messages.extend(fios_nearest.map(|name| Message::stderr(format!("Did you mean {name}?"))));
        let value = argument.split_once('=').map(|(_, value)| value.to_owned());
        let raw = RawOption::new(typed, value, Origin::CommandLine);
        let job = self.job.as_ref().unwrap_or(&self.assembly.defaults);
        let line = unknown_option(job, self.assembly.engines(), &raw, nearest).message();
        self.assembly.messages.push(line);
        Stop::Mistake
    }

    /// Prints getopt's own message, fio's, and fathom's.
    fn getopt_mistake(&mut self, argument: &str, typed: &str, line: &str, expected: &str) -> Stop {
        let program = self.program_name;
        let messages = &mut self.assembly.messages;
        messages.push(Message::stderr(format!("{program}: {line}")));
        messages.push(Message::stderr(format!("{program}: unrecognized option '{argument}'")));
        let nearest = spelling::nearest(typed, known_names());
        messages.extend(nearest.map(|name| Message::stderr(format!("Did you mean {name}?"))));
        messages.push(Diagnostic::option(&Origin::CommandLine, typed, None, expected).message());
        Stop::Mistake
    }
}

/// The full name of an option that may have been abbreviated or given by an alias.
fn meaning_name(meaning: Meaning, typed: &str) -> &str {
    match meaning {
        Meaning::Program(option) => option.name,
        Meaning::Job(definition) if definition.is_named(typed) => typed,
        Meaning::Job(definition) => {
            let alias = definition.aliases.iter().find(|alias| alias.starts_with(typed));
            if definition.name.starts_with(typed) {
                definition.name
            } else {
                alias.unwrap_or(&definition.name)
            }
        }
    }
}

fn exact(engines: Engines<'_>, engine: &str, name: &str) -> Option<Meaning> {
    // `profile` is a program option as well as a job option without effect; the program option takes
    // precedence.
    if let Some(option) = program_options::find(name) {
        return Some(Meaning::Program(option));
    }
    let short = match name {
        "h" => program_options::find("help"),
        "v" => program_options::find("version"),
        _ => None,
    };
    short
        .map(Meaning::Program)
        .or_else(|| find_job_option(name).map(Meaning::Job))
        .or_else(|| engines.option(engine, name).map(Meaning::Job))
        .or_else(|| profile_option(name).map(Meaning::Job))
}

fn profile_option(name: &str) -> Option<&'static OptionDef> {
    private::of_profiles().into_iter().flatten().find(|option| option.is_named(name))
}

/// Every known name with this prefix, once for each table that contains it.
fn names_with_prefix(engines: Engines<'_>, engine: &str, prefix: &str) -> Vec<&'static str> {
    let of_engine = engines.find(engine).map_or(&[][..], |engine| engine.options);
    let tables = [of_engine].into_iter().chain(private::of_profiles()).flatten();
    let private =
        tables.flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied()));
    program_options::ALL
        .iter()
        .map(|option| option.name)
        .chain(job_option_names().filter(|name| *name != "profile"))
        .chain(private)
        .filter(|name| name.starts_with(prefix))
        .collect()
}
