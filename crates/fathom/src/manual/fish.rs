//! Completions for fish.

use super::{SHELLS, job_options, program_options, subcommands, values_of};
use std::fmt::Write as _;

/// The script to be put where fish looks for completions.
pub(super) fn script() -> String {
    let commands = subcommands();
    let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
    let mut text = "# Completions of fathom for fish, made by `fathom completion fish`.\n".to_owned();
    for command in &commands {
        let _ = writeln!(
            text,
            "complete -c fathom -n __fish_use_subcommand -a {} -d {}",
            command.name,
            quoted(command.summary)
        );
        for option in &command.options {
            let value = if option.takes_value { " -r" } else { "" };
            let _ = writeln!(
                text,
                "complete -c fathom -n '__fish_seen_subcommand_from {}' -l {}{value} -d {}",
                command.name,
                option.name,
                quoted(option.help)
            );
        }
    }
    let _ = writeln!(
        text,
        "complete -c fathom -n '__fish_seen_subcommand_from completion' -f -a '{}'",
        SHELLS.join(" ")
    );
    // Options of jobs stand behind none of the commands. A variable would be gone when the words are looked at.
    let job = format!("-n 'not __fish_seen_subcommand_from {}'", names.join(" "));
    let mut seen = Vec::new();
    for option in program_options() {
        seen.push(option.name);
        let value = value_words(!option.placeholder.is_empty(), &option.words);
        let _ =
            writeln!(text, "complete -c fathom {job} -l {}{value} -d {}", option.name, quoted(&option.help));
    }
    for option in job_options() {
        if seen.contains(&option.name) {
            continue;
        }
        seen.push(option.name);
        let value = value_words(option.needs_value(), &values_of(option));
        let _ = writeln!(
            text,
            "complete -c fathom {job} -l {}{value} -d {}",
            option.name,
            quoted(option.summary())
        );
    }
    text
}

fn value_words(takes_value: bool, values: &[&str]) -> String {
    match (takes_value, values.is_empty()) {
        (false, _) => String::new(),
        (true, true) => " -r".to_owned(),
        (true, false) => format!(" -x -a {}", quoted(&values.join(" "))),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
