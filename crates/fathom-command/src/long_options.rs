//! Extracts a command's long options from its help text: for completions, and for suggestions after a misspelling.

use fathom_spec::spelling;

/// A long option.
#[derive(Debug, PartialEq, Eq)]
pub struct LongOption {
    /// Without dashes.
    pub name: &'static str,
    /// True if the option takes a value, which may be optional.
    pub takes_value: bool,
    /// Description of its effect.
    pub help: &'static str,
}

/// The options explained in a help text: lines such as `  -o, --output=FILE   the page`.
pub fn options_in(help: &'static str) -> Vec<LongOption> {
    let mut found: Vec<LongOption> = Vec::new();
    for line in help.lines().filter(|line| line.starts_with("  ")) {
        let line = line.trim_start();
        let long = match line.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => &rest[1..],
            Some(rest) if rest.get(1..5) == Some(", --") => &rest[5..],
            _ => continue,
        };
        let end =
            long.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(long.len());
        let (name, rest) = long.split_at(end);
        let takes_value = rest.starts_with(['=', '[']);
        let help = rest.split_once("  ").map_or("", |(_, help)| help).trim();
        if !name.is_empty() && !found.iter().any(|option| option.name == name) {
            found.push(LongOption { name, takes_value, help });
        }
    }
    found
}

/// `; did you mean --fail-if?`, or nothing if no option in the help text is similar.
pub(crate) fn hint(written: &str, help: Option<&'static str>) -> String {
    let name = written.trim_start_matches('-');
    let known = help.map(options_in).unwrap_or_default();
    let near = spelling::nearest(name, known.iter().map(|option| option.name));
    near.map_or(String::new(), |near| format!("; did you mean --{near}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_in_help_texts() {
        let help = "Usage: fathom x [options]\n\n  -o, --output=FILE   the page; --no-such here\n      --force         write\n  --a-b[=C]  text\n";
        let names: Vec<(&str, bool, &str)> = options_in(help)
            .into_iter()
            .map(|option| (option.name, option.takes_value, option.help))
            .collect();
        assert_eq!(
            names,
            [("output", true, "the page; --no-such here"), ("force", false, "write"), ("a-b", true, "text")]
        );
        assert_eq!(hint("--outptu", Some(help)), "; did you mean --output?");
        assert_eq!(hint("--zzzzzzzz", Some(help)), "");
        assert_eq!(hint("-o", None), "");
    }
}
