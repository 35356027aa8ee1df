//! `--help`, `--version`, `--cmdhelp` and `--enghelp`, all generated from the declarations.

use std::fmt::Write as _;
use std::path::Path;

use crate::definition::{Bounds, Kind, OptionDef, Status};
use crate::engines::Engines;
use crate::formats::FormatDeclaration;
use crate::message::{Message, Reply};
use crate::program_options;
use crate::registry::{self, find_job_option, job_options};
use crate::source::Source;
use crate::spelling;
use crate::value::choice_lines;

/// The version of fio whose language and output fathom follows.
const COMPATIBLE: &str = "fio 3.42";

/// True if the program is called by fio's name, under which it prints what fio prints.
pub fn is_called_fio(program_name: &str) -> bool {
    program_name.rsplit('/').next().unwrap_or(program_name).starts_with("fio")
}

/// The program's version line. Under fio's name it prints fio's line, because scripts
/// look for it.
pub(crate) fn version_line(program_name: &str) -> String {
    if is_called_fio(program_name) {
        return "fio-3.42".to_owned();
    }
    format!("fathom {} (compatible with {COMPATIBLE})", crate::VERSION)
}

/// Version, synopsis, and one line per option.
pub(crate) fn usage(program_name: &str, formats: &[&'static FormatDeclaration]) -> String {
    let mut text = version_line(program_name);
    let _ = write!(text, "\n{program_name} [options] [job options] <job file(s)>");
    for (option, help) in program_options::usage_entries(formats) {
        let _ = write!(text, "\n  {option:<22}\t{help}");
    }
    text.push_str("\n\nSmall tools for logs, reports, traces and data: `fathom tools` lists them.");
    text.push_str("\n\nfathom is free software under the MIT or the Apache-2.0 licence");
    text
}

/// A number as shown in a range; fio shows whole numbers for everything except lists of floating point numbers.
fn number(kind: Kind, value: f64) -> String {
    if kind == Kind::FloatList { format!("{value:.6}") } else { format!("{value}") }
}

fn range_line(definition: &OptionDef) -> Option<String> {
    if definition.kind == Kind::Bool {
        return Some("min=0, max=1".to_owned());
    }
    let Bounds { min, max } = definition.bounds;
    let shown = |value: Option<f64>, otherwise: &str| {
        value.map_or(otherwise.to_owned(), |value| number(definition.kind, value))
    };
    match definition.kind {
        Kind::Int => Some(format!("min={}, max={}", shown(min, "0"), shown(max, "-1"))),
        Kind::FloatList if min.is_some() || max.is_some() => {
            Some(format!("min={}, max={}", shown(min, "0.000000"), shown(max, "-1")))
        }
        _ => min.map(|min| format!("min={}", number(definition.kind, min))),
    }
}

/// Name, aliases, type, default and range of an option.
pub(crate) fn option_head(definition: &OptionDef) -> String {
    let mut lines = vec![format!("{:>20}: {}", definition.name, definition.summary())];
    for alias in definition.aliases {
        lines.push(format!("{:>20}: {alias}", "alias"));
    }
    lines.push(format!("{:>20}: {}", "type", definition.kind.description()));
    lines.push(format!("{:>20}: {}", "default", definition.default.unwrap_or("no default")));
    lines.extend(range_line(definition).map(|range| format!("{:>20}: {range}", "range")));
    lines.join("\n")
}

fn option_block(definition: &OptionDef) -> String {
    let mut text = option_head(definition);
    if !definition.choices.is_empty() {
        text.push('\n');
        text.push_str(&choice_lines(definition.choices));
    }
    if definition.status == Status::Later {
        let _ = write!(text, "\n{:>20}: known, but not built yet", "note");
    }
    text.push('\n');
    text
}

fn list_line(definition: &OptionDef, indent: usize) -> String {
    let width = 24 - indent;
    format!("{:indent$}{:<width$}: {}", "", definition.name, definition.summary())
}

/// Lists all job options, each one below the option that it refines.
fn list_all() -> String {
    let listed: Vec<&OptionDef> =
        job_options().filter(|option| !option.unlisted && option.kind != Kind::Deprecated).collect();
    let mut lines = Vec::new();
    for top in listed.iter().filter(|option| option.parent.is_none()) {
        push_with_children(top, &listed, 0, &mut lines);
    }
    lines.join("\n")
}

fn push_with_children(option: &OptionDef, listed: &[&OptionDef], indent: usize, lines: &mut Vec<String>) {
    lines.push(list_line(option, indent));
    for child in listed.iter().filter(|child| child.parent == Some(option.name)) {
        push_with_children(child, listed, (indent + 2).min(8), lines);
    }
}

/// The output of `--cmdhelp`.
pub(crate) fn command_help(name: Option<&str>) -> Reply {
    let name = name.unwrap_or("all");
    if name == "all" {
        return Reply { messages: vec![Message::stdout(list_all())], exit: 0 };
    }
    if let Some(definition) = find_job_option(name).filter(|option| option.kind != Kind::Deprecated) {
        return Reply { messages: vec![Message::stdout(option_block(definition))], exit: 0 };
    }
    let nearest = spelling::nearest_with_distance(name, registry::job_option_names())
        .filter(|(_, distance)| *distance < 3)
        .and_then(|(nearest, _)| find_job_option(nearest));
    let messages = match nearest.filter(|option| option.kind != Kind::Deprecated) {
        Some(definition) => vec![
            Message::stderr(format!("No such command: {name} - showing closest match")),
            Message::stdout(option_block(definition)),
        ],
        None => vec![Message::stderr(format!("No such command: {name}"))],
    };
    Reply { messages, exit: 0 }
}

/// The output of `--enghelp`, `--enghelp=ENGINE` and `--enghelp=ENGINE,OPTION`.
pub(crate) fn engine_help(request: Option<&str>, source: &dyn Source) -> Reply {
    let engines = Engines(source.engines());
    let Some(request) = request else {
        return list_engines(engines);
    };
    let (name, option) =
        request.split_once(',').map_or((request, None), |(name, option)| (name, Some(option)));
    if let Some(path) = name.strip_prefix("external:")
        && let Err(reason) = source.load_engine(Path::new(path))
    {
        let messages = vec![
            Message::stderr(format!("fio: engine {name} not loadable")),
            Message::stderr(format!("fathom: {reason}")),
        ];
        return Reply { messages, exit: 1 };
    }
    let Some(engine) = engines.find(name) else {
        let messages = vec![
            Message::stderr(format!("fio: engine {name} not loadable")),
            Message::stdout(format!("IO engine {name} not found")),
        ];
        return Reply { messages, exit: 1 };
    };
    if engine.options.is_empty() {
        return Reply {
            messages: vec![Message::stdout(format!("IO engine {name} has no options"))],
            exit: 1,
        };
    }
    match option {
        None => {
            let lines: Vec<String> = engine.options.iter().map(|option| list_line(option, 0)).collect();
            Reply { messages: vec![Message::stdout(lines.join("\n"))], exit: 0 }
        }
        Some(option) => match engines.option(name, option) {
            Some(definition) => Reply { messages: vec![Message::stdout(option_block(definition))], exit: 0 },
            None => Reply { messages: vec![Message::stderr(format!("No such command: {option}"))], exit: 1 },
        },
    }
}

/// The engines that work.
fn list_engines(engines: Engines<'_>) -> Reply {
    let mut text = "Available IO engines:".to_owned();
    for engine in engines.0.iter().filter(|engine| engine.built) {
        let _ = write!(text, "\n\t{}", engine.name);
    }
    Reply { messages: vec![Message::stdout(text)], exit: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemorySource;

    fn text(reply: &Reply) -> String {
        reply.messages.iter().map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_version_is_fios_under_fios_name() {
        assert_eq!(version_line("/usr/bin/fio"), "fio-3.42");
        assert!(version_line("fathom").starts_with("fathom "));
        assert!(version_line("fathom").ends_with("(compatible with fio 3.42)"));
        assert!(usage("fio", &[]).starts_with("fio-3.42\nfio [options] [job options] <job file(s)>\n  --"));
    }

    #[test]
    fn blocks_have_fios_layout() {
        let block = text(&command_help(Some("blocksize")));
        let lines: Vec<&str> = block.lines().collect();
        assert!(lines[0].starts_with("                  bs: "));
        assert_eq!(lines[1], "               alias: blocksize");
        assert_eq!(lines[2], "                type: integer value (opt=100)");
        assert_eq!(lines[3], "             default: 4096");
        assert_eq!(lines[4], "               range: min=1, max=-1");
        let block = text(&command_help(Some("percentile_list")));
        assert!(block.contains("range: min=0.000000, max=100.000000"));
        assert!(text(&command_help(Some("sync"))).contains("        valid values: none       "));
    }

    #[test]
    fn misspelt_names_show_the_closest_match() {
        assert!(text(&command_help(Some("iodept"))).starts_with("No such command: iodept - showing closest"));
        assert_eq!(text(&command_help(Some("xyzzyxyzzy"))), "No such command: xyzzyxyzzy");
        assert_eq!(text(&command_help(Some("rwmixcycle"))), "No such command: rwmixcycle");
    }

    #[test]
    fn the_list_has_every_listed_option_once() {
        let list = text(&command_help(None));
        assert_eq!(list.lines().filter(|line| line.trim_start().starts_with("bs ")).count(), 1);
        assert!(list.contains("\n  bs                    : "));
        assert!(!list.contains("softrandommap"));
        let listed =
            job_options().filter(|option| !option.unlisted && option.kind != Kind::Deprecated).count();
        assert_eq!(list.lines().count(), listed);
    }

    #[test]
    fn engines_explain_themselves() {
        assert!(text(&engine_help(None, &MemorySource::default())).contains("\n\tio_uring"));
        assert!(
            text(&engine_help(Some("libaio"), &MemorySource::default()))
                .contains("userspace_reap          : ")
        );
        assert!(
            text(&engine_help(Some("libaio,userspace_reap"), &MemorySource::default()))
                .contains("empty or boolean value")
        );
        assert_eq!(engine_help(Some("null"), &MemorySource::default()).exit, 1);
        assert_eq!(text(&engine_help(Some("libaio,foo"), &MemorySource::default())), "No such command: foo");
        assert_eq!(engine_help(Some("bogus"), &MemorySource::default()).exit, 1);
    }
}
