//! The reference pages, generated from the declarations: every option, and every engine with its options.

use std::fmt::Write as _;

use crate::definition::{Bounds, Category, Kind, OptionDef, Status, TimeUnit};
use crate::engines::{self, EngineDef, StorageKind};
use crate::formats::FormatDeclaration;
use crate::options::private;
use crate::program_options;
use crate::registry::job_options;

const OPTIONS: &str = "\
# Options

For people who write jobs and need the exact meaning of an option: every option of a job and of the program, with its values and its default. Options
that belong to one engine are on the page of [engines](engines.md). `fathom --cmdhelp=iodepth` prints an entry in the terminal, `fathom explain iodepth`
explains it.

In a job file an option is a line `name=value`, on the command line `--name=value` after the `--name=JOB` of its job. Options in `[global]`, or before any
job, apply to all jobs that follow. Sizes take the suffixes k, m, g, t and p, times the suffixes d, h, m, s, ms and us.

This page is generated: `cargo run -p fathom-spec --example reference options > docs/options.md`.
";

const ENGINES: &str = "\
# Engines

For people who choose how a job does its I/O: every engine that `ioengine=` selects, and the options that only this engine has. `fathom --enghelp=io_uring`
prints an entry in the terminal. Engines that are not listed here can be [loaded from a shared object](external.md); those of fio that are not built are listed
under [compatibility](compatibility.md#not-built).

This page is generated: `cargo run -p fathom-spec --example reference engines > docs/engines.md`.
";

/// The pages that describe engines in detail.
const PAGES: [(&str, &str); 28] = [
    ("net", "network.md#sockets"),
    ("netsplice", "network.md#zero-copy-and-queueing"),
    ("net_uring", "network.md#zero-copy-and-queueing"),
    ("rdma", "network.md#rdma"),
    ("nbd", "servers.md#network-block-devices"),
    ("libiscsi", "servers.md#iscsi"),
    ("nfs", "servers.md#nfs"),
    ("rados", "servers.md#objects-of-a-pool"),
    ("rbd", "servers.md#images-rbd"),
    ("gfapi", "servers.md#gluster"),
    ("gfapi_async", "servers.md#gluster"),
    ("libhdfs", "servers.md#hadoop"),
    ("http", "servers.md#objects-over-http"),
    ("io_uring_cmd", "devices.md"),
    ("sg", "devices.md"),
    ("mtd", "devices.md"),
    ("libpmem", "devices.md"),
    ("dev-dax", "devices.md"),
    ("libzbc", "devices.md"),
    ("splice", "local.md"),
    ("exec", "local.md"),
    ("e4defrag", "local.md"),
    ("filecreate", "metadata.md"),
    ("filestat", "metadata.md"),
    ("filedelete", "metadata.md"),
    ("dircreate", "metadata.md"),
    ("dirstat", "metadata.md"),
    ("dirdelete", "metadata.md"),
];

/// The text of docs/options.md, with these report formats.
pub fn options_markdown(formats: &[&'static FormatDeclaration]) -> String {
    let mut text = OPTIONS.to_owned();
    for category in Category::ALL {
        let listed = job_options().filter(|option| option.category == category && is_listed(option));
        let _ = write!(text, "\n## Job options: {}\n", category.title());
        listed.for_each(|option| write_option(&mut text, option));
    }
    for (name, options) in ["act", "tiobench"].into_iter().zip(private::of_profiles()) {
        let _ = write!(text, "\n## Profile `{name}`\n\n[Built-in workloads](profiles.md) explains it.\n\n");
        write_table(&mut text, options);
    }
    text.push_str("\n## Command line\n\n| option | meaning |\n|---|---|\n");
    for option in program_options::ALL.iter().filter(|option| option.built) {
        let placeholder = option.placeholder.replace('|', "\\|");
        let _ = writeln!(text, "| `--{}{placeholder}` | {} |", option.name, cell(&option.help(formats)));
    }
    text
}

/// The text of docs/engines.md.
pub fn engines_markdown() -> String {
    let mut text = ENGINES.to_owned();
    text.push_str("\n| engine | what it does |\n|---|---|\n");
    let built = || engines::ALL.iter().filter(|engine| engine.built);
    for engine in built() {
        let _ = writeln!(text, "| [`{0}`](#{0}) | {1} |", engine.name, engine.summary);
    }
    built().for_each(|engine| write_engine(&mut text, engine));
    text
}

fn is_listed(option: &OptionDef) -> bool {
    option.status == Status::Built && option.engine.is_empty()
}

fn write_engine(text: &mut String, engine: &EngineDef) {
    let depth = match engine.synchronous {
        true => "Each I/O completes before the next begins, so the queue depth is 1.",
        false => "Keeps up to `iodepth` I/Os in flight.",
    };
    let storage = match engine.storage {
        StorageKind::Files => "Works on local files and devices.",
        StorageKind::Server => "Uses its own storage: a server, a peer or a library.",
        StorageKind::Volume => "Works on one volume of a server, which exists before the job.",
        StorageKind::None => "Needs no storage.",
    };
    let _ = write!(text, "\n## `{}`\n\n{}. {depth} {storage}\n", engine.name, capitalised(engine.summary));
    if engine.optional {
        let _ =
            writeln!(text, "Included in packages; other builds need the Cargo feature `{}`.", engine.name);
    }
    if let Some((_, page)) = PAGES.iter().find(|(name, _)| *name == engine.name) {
        let _ = writeln!(text, "[Details]({page}).");
    }
    if !engine.options.is_empty() {
        text.push('\n');
        write_table(text, engine.options);
    }
}

fn write_table(text: &mut String, options: &[OptionDef]) {
    text.push_str("| option | meaning | value | default |\n|---|---|---|---|\n");
    for option in options.iter().filter(|option| option.status == Status::Built) {
        let choices = choices(option, |name, help| format!("`{name}` ({help})"));
        let values = if choices.is_empty() { value(option) } else { choices.join(", ") };
        let default = option.default.filter(|default| !default.is_empty());
        let default = default.map_or(String::new(), |default| format!("`{default}`"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            names(option),
            cell(&meaning(option)),
            cell(&values),
            cell(&default)
        );
    }
}

fn write_option(text: &mut String, option: &OptionDef) {
    let _ = write!(text, "\n### `{}`\n\n{}\n\n", option.name, meaning(option));
    let mut facts = vec![format!("Value: {}", value(option))];
    if let Some(default) = option.default.filter(|default| !default.is_empty()) {
        facts.push(format!("default: `{default}`"));
    }
    if !option.aliases.is_empty() {
        let aliases: Vec<String> = option.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        facts.push(format!("other names: {}", aliases.join(", ")));
    }
    let _ = writeln!(text, "{}.", facts.join("; "));
    let choices = choices(option, |name, help| format!("* `{name}`: {help}"));
    if !choices.is_empty() {
        let _ = write!(text, "\n{}\n", choices.join("\n"));
    }
}

fn names(option: &OptionDef) -> String {
    let names = std::iter::once(&option.name).chain(option.aliases);
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn meaning(option: &OptionDef) -> String {
    let details = option.details();
    let summary = option.summary().trim_end_matches('.');
    if details.is_empty() { format!("{summary}.") } else { format!("{summary}. {details}") }
}

/// The words of the option that work in this version.
fn choices(option: &OptionDef, form: impl Fn(&str, &str) -> String) -> Vec<String> {
    let built = option.choices.iter().filter(|choice| !option.later_choices.contains(&choice.name));
    built.map(|choice| form(choice.name, choice.help)).collect()
}

fn value(option: &OptionDef) -> String {
    if !option.choices.is_empty() {
        return "one of these words".to_owned();
    }
    let kind = match option.kind {
        Kind::Text | Kind::Choice | Kind::Deprecated => "text",
        Kind::OptionalText => "text, which may be left out",
        Kind::Int => "whole number",
        Kind::Size => "size in bytes",
        Kind::Bool => "0 or 1",
        Kind::Flag => "none, or 0 or 1",
        Kind::Time => match option.unit {
            TimeUnit::Seconds => "time; a number alone is seconds",
            TimeUnit::Milliseconds => "time; a number alone is milliseconds",
            TimeUnit::Microseconds => "time; a number alone is microseconds",
        },
        Kind::Range => "up to three sizes or ranges of sizes, separated by commas; each",
        Kind::FloatList => "numbers separated by colons",
    };
    let Bounds { min, max } = option.bounds;
    let bounds = match (option.kind, min, max) {
        (Kind::Bool | Kind::Flag, ..) | (_, None, None) => String::new(),
        (Kind::Range, Some(min), None) => format!(" at least {min}"),
        (_, Some(min), None) => format!(" from {min}"),
        (_, None, Some(max)) => format!(" up to {max}"),
        (_, Some(min), Some(max)) => format!(" from {min} to {max}"),
    };
    format!("{kind}{bounds}")
}

fn capitalised(text: &str) -> String {
    // A text that begins with a system call or a name keeps its spelling.
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_word = first.chars().all(|letter| letter.is_ascii_lowercase() || letter == ',');
    let mut letters = text.chars();
    match letters.next() {
        Some(letter) if is_word => letter.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
