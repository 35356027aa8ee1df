//! Results of a run: its exit status, its output, its files and their content.

use crate::support::program::Finished;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Exit status of a killed program.
pub(super) const KILLED: i32 = 137;

/// Everything that is compared.
pub(super) struct Observed {
    /// The exit code.
    pub(super) code: i32,
    /// Lines on standard error, without those that begin with `fathom: `, which only fathom prints.
    pub(super) errors: Vec<String>,
    /// The lines of the normal report and of the output before it.
    pub(super) normal: String,
    /// The terse lines.
    pub(super) terse: Vec<String>,
    /// The JSON documents.
    pub(super) documents: Vec<Value>,
    /// The files of the directory by name.
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

impl Observed {
    pub(super) fn new(finished: Result<Finished, String>, program: &Path, directory: &Path) -> Observed {
        let mut files = BTreeMap::new();
        collect(directory, "", &mut files);
        let out = files.remove("out").unwrap_or_default();
        // Both print the name under which they were started.
        let called = |text: &str| text.replace(&*program.to_string_lossy(), "fio");
        let (code, stdout, stderr) = match finished {
            Ok(finished) => (finished.code(), finished.stdout, finished.stderr),
            Err(_) => (KILLED, String::new(), "it does not end".to_owned()),
        };
        let printed = called(&(stdout + &String::from_utf8_lossy(&out)));
        let mut observed = Observed {
            code,
            errors: errors(&called(&stderr)),
            normal: String::new(),
            terse: Vec::new(),
            documents: Vec::new(),
            files,
        };
        observed.sort_out(&printed);
        observed
    }

    /// Splits an output into its report formats.
    fn sort_out(&mut self, printed: &str) {
        let mut json = String::new();
        for line in printed.lines() {
            if !json.is_empty() || line == "{" {
                json += line;
                json.push('\n');
                if line == "}" {
                    let document = serde_json::from_str(&json);
                    self.documents
                        .push(document.unwrap_or_else(|error| Value::String(format!("{error}: {json}"))));
                    json.clear();
                }
            } else if line.starts_with("3;") || line.starts_with("2;") || line.starts_with("4;") {
                self.terse.push(line.to_owned());
            } else if !is_in_own_words(line) {
                self.normal += &folded(line);
                self.normal.push('\n');
            }
        }
        if !json.is_empty() {
            self.documents.push(Value::String(format!("a document without an end: {json}")));
        }
    }
}

/// Every file below a directory.
fn collect(directory: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).expect("the directory of a run can be read") {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), &format!("{name}/"), files),
            Ok(kind) if kind.is_file() => {
                files.insert(name, std::fs::read(entry.path()).expect("a file of a run can be read"));
            }
            _ => {
                files.insert(name, Vec::new());
            }
        }
    }
}

fn errors(stderr: &str) -> Vec<String> {
    stderr.lines().filter(|line| !line.starts_with("fathom: ")).map(folded).collect()
}

/// Removes from a line what varies between runs or releases: process IDs and source line numbers.
fn folded(line: &str) -> String {
    let text = without_digits_after(line, "pid=", "PID");
    let text = without_digits_after(&text, ".c:", "");
    without_digits_after(&text.replace(".c:,", ".c,"), "fio-3.", "N")
}

/// Lines that fathom words differently: help for choices and options, and its additions that begin with `fathom: `.
fn is_in_own_words(line: &str) -> bool {
    let starts = [
        "        valid values: ",
        "                    : ",
        "fathom: ",
        "  --",
        "    creates  : ",
        "    stats    : ",
        "    deletes  : ",
    ];
    // Only help texts contain tabs.
    starts.iter().any(|start| line.starts_with(start)) || line.contains('\t')
}

fn without_digits_after(line: &str, label: &str, stand_in: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(label) {
        let (before, after) = rest.split_at(at + label.len());
        let behind = after.trim_start_matches(|c: char| c.is_ascii_digit());
        text += before;
        text += if behind.len() < after.len() { stand_in } else { "" };
        rest = behind;
    }
    text + rest
}
