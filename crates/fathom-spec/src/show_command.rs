//! `--showcmd`: a job file as the command line that does the same.

use std::fmt::Write as _;

use crate::job_file::Section;
use crate::registry::find_job_option;

/// One line for a job file: the options of `[global]` first, then each job. A blank ends it,
/// as in fio.
pub(crate) fn command_line(sections: &[Section]) -> String {
    let mut line = "fio ".to_owned();
    for section in sections {
        if !section.is_global() {
            let _ = write!(line, "--name={} ", section.name);
        }
        for option in &section.options {
            let name =
                find_job_option(&option.name).map_or(option.name.as_str(), |definition| definition.name);
            let _ = match &option.value {
                Some(value) if name == "description" => write!(line, "--description=\"{value}\" "),
                Some(value) => write!(line, "--{name}={value} "),
                None => write!(line, "--{name} "),
            };
        }
    }
    line
}
