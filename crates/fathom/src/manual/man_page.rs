//! The manual page in man(7) format.

use super::{ABOUT, job_options, program_options};
use fathom_answers::COMMANDS;
use fathom_spec::definition::{Category, OptionDef};
use fathom_spec::engines;
use fathom_tools::TOOLS;
use std::fmt::Write as _;

/// The page as roff.
pub(super) fn text() -> String {
    let mut page = format!(
        ".TH FATHOM 1 \"\" \"fathom {}\" \"User Commands\"\n.SH NAME\nfathom \\- storage tester: throughput, latency, data integrity\n",
        fathom_spec::VERSION
    );
    page.push_str(
        ".SH SYNOPSIS\n.B fathom\n.I COMMAND\n.RI [ options ]\n.br\n.B fathom\n.RI [ options ]\n.RI [ \"job options\" ]\n.IR \"job file\" ...\n\
         .SH DESCRIPTION\n",
    );
    paragraph(
        &mut page,
        "fathom runs read, write and trim jobs against files and block devices and reports throughput, IOPS and latency. It takes \
         fio's job files and command lines and prints fio's reports. Each command below answers one question.",
    );
    page.push_str(".SH COMMANDS\n");
    for command in COMMANDS {
        let _ = writeln!(page, ".SS {} {}", roff(command.name), roff(command.arguments));
        help_text(&mut page, command.help);
    }
    page.push_str(".SH TOOLS\n");
    paragraph(&mut page, "fathom TOOL --help explains a tool.");
    for tool in TOOLS {
        item(&mut page, tool.name, tool.summary);
    }
    for (name, summary) in ABOUT {
        item(&mut page, name, summary);
    }
    page.push_str(".SH OPTIONS\n");
    for option in program_options() {
        item(&mut page, &format!("--{}{}", option.name, option.placeholder), &option.help);
    }
    page.push_str(".SH JOB OPTIONS\n");
    paragraph(
        &mut page,
        "In a job file, write name=value below the job's name in brackets. On the command line, write --name=value after --name=JOB. \
         Options in [global] or before any --name apply to all jobs.",
    );
    for category in Category::ALL {
        let options: Vec<&OptionDef> =
            job_options().filter(|option| option.category == category && option.engine.is_empty()).collect();
        if options.is_empty() {
            continue;
        }
        let _ = writeln!(page, ".SS {}", roff(category.title()));
        options.into_iter().for_each(|option| job_option(&mut page, option));
    }
    page.push_str(".SH ENGINES\n");
    for engine in engines::ALL.iter().filter(|engine| engine.built) {
        item(&mut page, engine.name, engine.summary);
        for option in job_options().filter(|option| option.engine == engine.name) {
            page.push_str(".RS\n");
            job_option(&mut page, option);
            page.push_str(".RE\n");
        }
    }
    page.push_str(".SH EXIT STATUS\n");
    paragraph(
        &mut page,
        "0 on success, otherwise the number of failed jobs; 1 for an invalid request, 70 after a defect of fathom, 125 if the result \
         is not what --require asks for, 128 after a signal. fathom compare exits with 2 if a --fail-if condition is met.",
    );
    page.push_str(".SH EXAMPLES\n");
    for (example, what) in [
        ("fathom quick /mnt", "How fast is the storage under /mnt?"),
        (
            "fathom --output-format=json+ --output=r.json job.fio && fathom report r.json -o r.html",
            "Run a job and make a page from its result.",
        ),
        (
            "fathom compare before.json after.json --fail-if 'p99 > +5%'",
            "Fail if the 99th percentile got worse by more than 5 %.",
        ),
    ] {
        paragraph(&mut page, what);
        let _ = writeln!(page, ".PP\n.RS\n.nf\n{}\n.fi\n.RE", roff(example));
    }
    page
}

/// Text escaped for roff.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('\u{b5}', "u");
    match escaped.starts_with(['.', '\'']) {
        true => format!("\\&{escaped}"),
        false => escaped,
    }
}

fn paragraph(page: &mut String, text: &str) {
    begin_paragraph(page);
    let _ = writeln!(page, "{}", roff(text));
}

/// A heading already begins a paragraph.
fn begin_paragraph(page: &mut String) {
    let last = page.trim_end().rsplit('\n').next().unwrap_or_default();
    if !last.starts_with(".SH") && !last.starts_with(".SS") {
        page.push_str(".PP\n");
    }
}

fn item(page: &mut String, tag: &str, text: &str) {
    let _ = writeln!(page, ".TP\n.B {}\n{}", roff(tag), roff(text));
}

fn job_option(page: &mut String, option: &OptionDef) {
    let mut text = option.summary().trim_end_matches('.').to_owned() + ".";
    let details = option.details();
    if !details.is_empty() {
        let _ = write!(text, " {details}");
    }
    if !option.choices.is_empty() {
        let choices: Vec<String> =
            option.choices.iter().map(|choice| format!("{} ({})", choice.name, choice.help)).collect();
        let _ = write!(text, " Values: {}.", choices.join(", "));
    }
    if let Some(default) = option.default.filter(|default| !default.is_empty()) {
        let _ = write!(text, " Default: {default}.");
    }
    let names: Vec<&str> = std::iter::once(option.name).chain(option.aliases.iter().copied()).collect();
    item(page, &names.join(", "), &text);
}

/// A help text: its lines are kept, because they are already laid out.
fn help_text(page: &mut String, help: &str) {
    begin_paragraph(page);
    page.push_str(".nf\n");
    for line in help.lines() {
        let _ = writeln!(page, "{}", if line.is_empty() { "\\&".to_owned() } else { roff(line) });
    }
    page.push_str(".fi\n");
}
