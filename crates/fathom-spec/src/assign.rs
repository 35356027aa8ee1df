//! Applies one option to one job: the step that command lines and job files share.

use crate::definition::{Kind, OptionDef, Status};
use crate::diagnostic::{Diagnostic, Origin, Rejected};
use crate::engines::Engines;
use crate::message::Message;
use crate::raw_option::RawOption;
use crate::registry::find_job_option;
use crate::resolve;
use crate::source::Source;
use crate::spec::JobSpec;
use crate::value::{ParseContext, ValueError, list_choices, refuse_readonly};

/// The context in which options are parsed: the machine, and whether writing is forbidden.
pub(crate) struct Surroundings<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) readonly: bool,
    pub(crate) parse_only: bool,
}

/// Applies the option to the job. Lines to print go to `messages`; on success, the value is stored in its field
/// and the option counts as given.
pub(crate) fn assign(
    job: &mut JobSpec,
    definition: &'static OptionDef,
    raw: &RawOption,
    surroundings: &Surroundings<'_>,
    messages: &mut Vec<Message>,
) -> Result<(), Rejected> {
    if matches!(definition.status, Status::Removed | Status::Ignored) {
        return assign_deprecated(definition, raw, messages);
    }
    let mut context = context_of(job, raw, surroundings);

    let result = match &raw.value {
        Some(value) if value.is_empty() && definition.kind != Kind::OptionalText => {
            Err(ValueError::new("a value after the ="))
        }
        None if !may_stand_alone(definition) => {
            report_missing_value(definition, &mut context);
            Err(ValueError::new(format!("a value, {}=...", definition.name)))
        }
        value => {
            let text = value.as_deref().unwrap_or("");
            let checked = definition.check.map_or(Ok(()), |check| check(text, &mut context));
            checked.and_then(|()| (definition.set)(job, text, definition, &mut context))
        }
    };
    messages.append(&mut context.notes);
    if let Err(error) = result {
        return Err(report(raw, &error, messages));
    }
    messages.extend(
        context
            .remarks
            .into_iter()
            .map(|remark| Diagnostic::option(&raw.origin, &raw.name, raw.value.as_deref(), remark).message()),
    );
    // A check of the text alone loads no engines, so it cannot tell that an option has no effect.
    if !surroundings.parse_only || definition.later_choices.contains(&raw.word()) {
        refuse_unbuilt(job, definition, raw, surroundings.source, messages)?;
    }
    if definition.secret && raw.origin == Origin::CommandLine {
        messages.push(Message::stderr(format!(
            "fathom: --{}: every user of this machine can see command lines (ps); a job file can take the value from the environment: \
             {0}=${{NAME}}",
            definition.name
        )));
    }
    if definition.name == "rw" {
        let mode = job.io_type.rw.rw;
        job.forbidden = (surroundings.readonly && (mode.writes() || mode.trims())).then(|| raw.clone());
    }
    job.mark_set(definition.name);
    remember(job, definition, raw);
    resolve::inverse::follow(job, definition.name);
    Ok(())
}

/// Refuses a complete job whose direction was given under `--readonly`, unless it reads instead of writing.
pub(crate) fn refuse_forbidden(
    job: &JobSpec,
    surroundings: &Surroundings<'_>,
    messages: &mut Vec<Message>,
) -> Result<(), Rejected> {
    let Some(raw) = job.forbidden.as_ref().filter(|_| !job.only_checks()) else { return Ok(()) };
    let Some(definition) = find_job_option(&raw.name) else { return Ok(()) };
    let mut context = context_of(job, raw, surroundings);
    let error = refuse_readonly(definition, &mut context);
    messages.append(&mut context.notes);
    Err(report(raw, &error, messages))
}

fn context_of<'a>(job: &JobSpec, raw: &RawOption, surroundings: &Surroundings<'a>) -> ParseContext<'a> {
    let mut context = ParseContext::new(surroundings.source);
    context.engines = Some(surroundings.source.engines().iter().map(|engine| engine.name).collect());
    context.kb_base = job.job_description.kb_base.factor();
    context.parse_only = surroundings.parse_only;
    context.in_job_file = raw.origin != Origin::CommandLine;
    context.job_name = if job.name.is_empty() { "(null)".to_owned() } else { job.name.clone() };
    context
}

fn report(raw: &RawOption, error: &ValueError, messages: &mut Vec<Message>) -> Rejected {
    if !error.fully_reported {
        messages.push(Message::stderr(format!("fio: failed parsing {}", raw.text())));
    }
    messages
        .push(Diagnostic::option(&raw.origin, &raw.name, raw.value.as_deref(), error.to_string()).message());
    Rejected
}

fn may_stand_alone(definition: &OptionDef) -> bool {
    matches!(definition.kind, Kind::Flag | Kind::OptionalText)
}

fn report_missing_value(definition: &OptionDef, context: &mut ParseContext<'_>) {
    if definition.kind == Kind::Choice {
        list_choices(definition, context);
    } else {
        context.complain(format!("Option {} requires an argument", definition.name));
    }
}

fn assign_deprecated(
    definition: &OptionDef,
    raw: &RawOption,
    messages: &mut Vec<Message>,
) -> Result<(), Rejected> {
    if raw.value.is_none() {
        messages.push(Message::stderr(format!("Option {} requires an argument", definition.name)));
    } else {
        messages.push(Message::stdout(format!("Option {} is deprecated", definition.name)));
        if definition.status == Status::Ignored {
            return Ok(());
        }
    }
    messages.push(Message::stderr(format!("fio: failed parsing {}", raw.text())));
    let line = Diagnostic::option(&raw.origin, &raw.name, raw.value.as_deref(), definition.summary());
    messages.push(line.message());
    Err(Rejected)
}

/// Refuses an option that does not work yet, because options must never be silently ignored.
fn refuse_unbuilt(
    job: &JobSpec,
    definition: &OptionDef,
    raw: &RawOption,
    source: &dyn Source,
    messages: &mut Vec<Message>,
) -> Result<(), Rejected> {
    let asked_for = definition.status == Status::Later && !(definition.is_default)(job, definition);
    if !asked_for
        && !definition.later_choices.contains(&raw.word())
        && !engine_is_unbuilt(job, definition, source)
    {
        return Ok(());
    }
    let obstacle = match definition.name {
        "ioengine" => Engines(source.engines()).of_job(job).map_or("", |engine| engine.obstacle),
        _ => "",
    };
    let problem = match obstacle {
        "" => format!("option {} is known but not built yet; see docs/compatibility.md", raw.text()),
        obstacle => format!(
            "option {} is known but not built: {obstacle}. You can write the engine yourself: ioengine=external:PATH, \
             docs/external.md",
            raw.text()
        ),
    };
    messages.push(Diagnostic::general(&raw.origin, problem).message());
    Err(Rejected)
}

fn engine_is_unbuilt(job: &JobSpec, definition: &OptionDef, source: &dyn Source) -> bool {
    definition.name == "ioengine" && Engines(source.engines()).of_job(job).is_none_or(|engine| !engine.built)
}

/// Options whose values accumulate when they are repeated.
pub(crate) const ADDING_UP: &[&str] = &["filename"];

/// Records the option as written, under its canonical name. If an option is repeated, its last value replaces
/// the first, unless values accumulate.
fn remember(job: &mut JobSpec, definition: &OptionDef, raw: &RawOption) {
    let value = raw.value.clone().unwrap_or_default();
    let replaces = |name: &str| name == definition.name && !ADDING_UP.contains(&name);
    match job.written.iter_mut().find(|(name, _)| replaces(name)) {
        Some(entry) => entry.1 = value,
        None => job.written.push((definition.name.to_owned(), value)),
    }
}
