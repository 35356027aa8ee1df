//! `--showcmd`: prints a job file as an equivalent command line.

use std::fmt::Write as _;

use crate::help::is_called_fio;
use crate::job_file::Section;
use crate::raw_option::RawOption;
use crate::registry::{find_job_option, rank};

/// One line for a job file: the options of `[global]` first, then each job. As in fio, a `[global]` after a job
/// repeats the options of those before it, and a blank ends the line. If the program is called `fio`, so is the
/// first word, for scripts that read the line.
pub(crate) fn command_line(program_name: &str, sections: &[Section]) -> String {
    let program = if is_called_fio(program_name) { "fio" } else { "fathom" };
    let (mut line, mut globals) = (format!("{program} "), String::new());
    for section in sections {
        let options = options_of(section);
        if section.is_global() {
            globals.push_str(&options);
            line.push_str(&globals);
        } else {
            let _ = write!(line, "--name={} {options}", section.name);
        }
    }
    line
}

fn options_of(section: &Section) -> String {
    let mut options: Vec<&RawOption> = section.options.iter().collect();
    options.sort_by_key(|option| rank(&option.name));
    let mut text = String::new();
    for option in options {
        let name = find_job_option(&option.name).map_or(option.name.as_str(), |definition| definition.name);
        let _ = match &option.value {
            Some(value) if name == "description" => write!(text, "--description=\"{value}\" "),
            Some(value) => write!(text, "--{name}={value} "),
            None => write!(text, "--{name} "),
        };
    }
    text
}
