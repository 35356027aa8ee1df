//! The compatibility page, generated from the declarations.

use std::fmt::Write as _;

use crate::definition::{OptionDef, Status};
use crate::engines;
use crate::formats::FormatDeclaration;
use crate::program_options;
use crate::registry::job_options;

const INTRODUCTION: &str = "\
# Compatibility

For people who come from fio: fathom reads the job files and command lines of fio 3.42. This page lists what is not built, and
every deliberate difference. [Options](options.md) and [engines](engines.md) list everything that works. If you use an option
that is not built yet, you get an error that names it, so no job ever runs with an option silently ignored. Setting such an
option to its default value is accepted.

This page is generated: `cargo run -p fathom-spec --example compatibility > docs/compatibility.md`.
";

const DIFFERENCES: &str = include_str!("differences.md");
const PROGRAMS_AROUND_FIO: &str = include_str!("programs_around_fio.md");

/// The text of docs/compatibility.md for these report formats.
pub fn compatibility_markdown(formats: &[&'static FormatDeclaration]) -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str(&counts());
    write_engines(&mut text);
    write_options(&mut text, formats);
    text.push('\n');
    text.push_str(DIFFERENCES);
    text.push_str(PROGRAMS_AROUND_FIO);
    text
}

fn counts() -> String {
    let built = engines::ALL.iter().filter(|engine| engine.built).count();
    let options = || job_options().filter(|option| option.engine.is_empty());
    let working = options().filter(|option| option.status == Status::Built).count();
    format!(
        "\n## Not built\n\n{built} of {} engines and {working} of {} options of jobs work. The rest:\n",
        engines::ALL.len(),
        options().count()
    )
}

fn write_engines(text: &mut String) {
    text.push_str("\n### Engines\n\n| engine | description | why not |\n|---|---|---|\n");
    for engine in engines::ALL.iter().filter(|engine| !engine.built) {
        let why = if engine.obstacle.is_empty() { "not built yet" } else { engine.obstacle };
        let _ = writeln!(text, "| `{}` | {} | {why} |", engine.name, engine.summary);
    }
}

fn state(option: &OptionDef) -> String {
    match option.status {
        Status::Built => format!("built, except {}", option.later_choices.join(", ")),
        Status::Later => "not built yet".to_owned(),
        Status::Removed => "removed: an error, as in fio".to_owned(),
        Status::Ignored => "accepted without effect, as in fio".to_owned(),
    }
}

/// Lists options that do less than in fio. Options of engines that are not built are left out, because they are
/// refused with their engine.
fn write_options(text: &mut String, formats: &[&'static FormatDeclaration]) {
    text.push_str("\n### Options\n\n| option | meaning | state |\n|---|---|---|\n");
    let of_engines = engines::ALL.iter().filter(|engine| engine.built).flat_map(|engine| engine.options);
    let is_whole = |option: &&OptionDef| option.status == Status::Built && option.later_choices.is_empty();
    for option in job_options().filter(|option| option.engine.is_empty()).chain(of_engines) {
        if !is_whole(&option) {
            let summary = option.summary().replace('|', "\\|");
            let _ = writeln!(text, "| `{}` | {summary} | {} |", option.name, state(option));
        }
    }
    for option in program_options::ALL.iter().filter(|option| !option.built) {
        let _ = writeln!(text, "| `--{}` | {} | not built yet |", option.name, option.help(formats));
    }
}
