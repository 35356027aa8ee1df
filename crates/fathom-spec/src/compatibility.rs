//! The compatibility page, generated from the declarations.

use std::fmt::Write as _;

use crate::definition::{Category, OptionDef, Status};
use crate::engines;
use crate::formats::FormatDeclaration;
use crate::options::private;
use crate::program_options;
use crate::registry::job_options;

const INTRODUCTION: &str = "\
# Compatibility

fathom reads the job files and command lines of fio 3.42. This page lists every engine and
option and whether it works in this version. If you use one that is not built yet, you get an
error that names it, so no job ever runs with an option silently ignored. Setting such an
option to its default value is accepted.

This page is generated: `cargo run -p fathom-spec --example compatibility > docs/compatibility.md`.
";

const DIFFERENCES: &str = include_str!("differences.md");
const PROGRAMS_AROUND_FIO: &str = include_str!("programs_around_fio.md");

/// The text of docs/compatibility.md, with these forms of the report.
pub fn compatibility_markdown(formats: &[&'static FormatDeclaration]) -> String {
    let mut text = INTRODUCTION.to_owned();
    write_engines(&mut text);
    write_job_options(&mut text);
    write_engine_options(&mut text);
    write_program_options(&mut text, formats);
    text.push('\n');
    text.push_str(DIFFERENCES);
    text.push_str(PROGRAMS_AROUND_FIO);
    text
}

fn write_engines(text: &mut String) {
    text.push_str("\n## Engines\n\n| engine | description | state |\n|---|---|---|\n");
    for engine in engines::ALL {
        let state = match engine.obstacle {
            "" if engine.optional => {
                format!("built; in packages, elsewhere with `--features {}`", engine.name)
            }
            "" => state(engine.built).to_owned(),
            obstacle => format!("not built: {obstacle}"),
        };
        let _ = writeln!(text, "| `{}` | {} | {state} |", engine.name, engine.summary);
    }
}

fn state(built: bool) -> &'static str {
    if built { "built" } else { "not built yet" }
}

fn option_state(option: &OptionDef) -> String {
    match option.status {
        Status::Built if option.later_choices.is_empty() => "built".to_owned(),
        Status::Built => format!("built, except {}", option.later_choices.join(", ")),
        Status::Later => "not built yet".to_owned(),
        Status::Removed => "removed: an error, as in fio".to_owned(),
        Status::Ignored => "accepted without effect, as in fio".to_owned(),
    }
}

fn write_options<'o>(text: &mut String, options: impl Iterator<Item = &'o OptionDef>) {
    text.push_str("| option | meaning | default | state |\n|---|---|---|---|\n");
    for option in options {
        let mut names = format!("`{}`", option.name);
        for alias in option.aliases {
            let _ = write!(names, ", `{alias}`");
        }
        let default = option.default.map_or(String::new(), |default| format!("`{default}`"));
        let details = option.details();
        let stop = if details.is_empty() { "" } else { ". " };
        let meaning = format!("{}{stop}{details}", option.summary()).replace('|', "\\|");
        let _ = writeln!(text, "| {names} | {meaning} | {default} | {} |", option_state(option));
    }
}

fn write_job_options(text: &mut String) {
    let built = job_options().filter(|option| option.status == Status::Built).count();
    let _ = write!(text, "\n## Job options\n\n{built} of {} work.\n", job_options().count());
    for category in Category::ALL {
        let _ = write!(text, "\n### {}\n\n", category.title());
        write_options(text, job_options().filter(|option| option.category == category));
    }
}

fn write_engine_options(text: &mut String) {
    text.push_str("\n## Engine options\n");
    for engine in engines::ALL.iter().filter(|engine| !engine.options.is_empty()) {
        let _ = write!(text, "\n### `{}`\n\n", engine.name);
        write_options(text, engine.options.iter());
    }
    for (name, options) in ["act", "tiobench"].into_iter().zip(private::of_profiles()) {
        let _ = write!(text, "\n### Profile `{name}`\n\n");
        write_options(text, options.iter());
    }
}

fn write_program_options(text: &mut String, formats: &[&'static FormatDeclaration]) {
    text.push_str("\n## Program options\n\n| option | meaning | state |\n|---|---|---|\n");
    for option in program_options::ALL {
        let _ =
            writeln!(text, "| `--{}` | {} | {} |", option.name, option.help(formats), state(option.built));
    }
}
