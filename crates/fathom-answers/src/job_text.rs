//! Jobs as the text of a job file, which every command can print.

use fathom_spec::RunSpec;

/// A section of a job file: its name, and its options in order. Flags have an empty value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The name in brackets.
    pub(crate) name: String,
    /// The options under their canonical names.
    pub(crate) options: Vec<(String, String)>,
}

/// The sections of a job file that is equivalent to a parsed run: `[global]` options as they were written, and
/// one section per job.
pub(crate) fn sections(spec: &RunSpec) -> Vec<Section> {
    let is_name = |(key, _): &&(String, String)| key == "name";
    let mut sections = Vec::new();
    for (place, job) in spec.jobs.iter().enumerate() {
        let global = spec.global_sections.iter().filter(|section| section.first_job == place);
        sections.extend(
            global.map(|section| Section { name: "global".to_owned(), options: section.options.clone() }),
        );
        let options = job.written.iter().filter(|option| !is_name(option)).cloned().collect();
        sections.push(Section { name: job.name.clone(), options });
    }
    sections
}

/// The text of a job file.
pub(crate) fn text(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{}]\n", section.name));
        for (name, value) in &section.options {
            match value.is_empty() {
                true => text.push_str(&format!("{name}\n")),
                false => text.push_str(&format!("{name}={value}\n")),
            }
        }
    }
    text
}

/// Parses sections from a text made by [`text`].
pub(crate) fn read(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let heading = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match (heading, sections.last_mut()) {
            (Some(name), _) => sections.push(Section { name: name.to_owned(), options: Vec::new() }),
            (None, Some(section)) => {
                let (name, value) = line.split_once('=').unwrap_or((line, ""));
                section.options.push((name.to_owned(), value.to_owned()));
            }
            (None, None) => {}
        }
    }
    sections
}

/// Sets an option in every section that has it; an option that no section has is added to every job.
pub(crate) fn put(sections: &mut [Section], name: &str, value: &str) {
    let mut is_written = false;
    for (_, written) in
        sections.iter_mut().flat_map(|section| &mut section.options).filter(|(own, _)| own == name)
    {
        value.clone_into(written);
        is_written = true;
    }
    if !is_written {
        for section in sections.iter_mut().filter(|section| section.name != "global") {
            section.options.push((name.to_owned(), value.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_become_text() {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let sections = [
            Section { name: "global".into(), options: vec![option("direct", "1")] },
            Section { name: "a".into(), options: vec![option("rw", "randread"), option("time_based", "")] },
        ];
        assert_eq!(text(&sections), "[global]\ndirect=1\n\n[a]\nrw=randread\ntime_based\n");
        assert_eq!(read(&text(&sections)), sections);
    }

    #[test]
    fn values_go_where_the_option_is_written() {
        let job = "[global]\nbs=4k\n\n[a]\nrw=read\nbs=8k\n\n[b]\nrw=write\n";
        let with = |name: &str, value: &str| {
            let mut sections = read(job);
            put(&mut sections, name, value);
            text(&sections)
        };
        assert_eq!(with("bs", "1m"), job.replace("4k", "1m").replace("8k", "1m"));
        assert_eq!(with("rw", "trim"), job.replace("rw=read", "rw=trim").replace("rw=write", "rw=trim"));
        let added = with("iodepth", "4");
        assert_eq!(added, "[global]\nbs=4k\n\n[a]\nrw=read\nbs=8k\niodepth=4\n\n[b]\nrw=write\niodepth=4\n");
    }
}
