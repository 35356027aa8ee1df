//! Completions for zsh.

use super::{SHELLS, job_options, program_options, subcommands, values_of};
use std::fmt::Write as _;

/// The script: a function for the path of functions, which may be sourced as well.
pub(super) fn script() -> String {
    let commands = subcommands();
    let mut names = String::new();
    let mut own = String::new();
    for command in &commands {
        let _ =
            writeln!(names, "        {}", quoted(&format!("{}:{}", colons(command.name), command.summary)));
        if command.options.is_empty() {
            continue;
        }
        let options: Vec<String> = command
            .options
            .iter()
            .map(|option| specification(option.name, option.takes_value, option.help, &[]))
            .collect();
        let _ = writeln!(
            own,
            "        ({}) _arguments -S {} '*:file:_files' ;;",
            command.name,
            options.join(" ")
        );
    }
    let mut options: Vec<String> = program_options()
        .map(|option| specification(option.name, !option.placeholder.is_empty(), &option.help, &option.words))
        .collect();
    let mut seen: Vec<&str> = program_options().map(|option| option.name).collect();
    for option in job_options() {
        if !seen.contains(&option.name) {
            seen.push(option.name);
            options.push(specification(
                option.name,
                option.needs_value(),
                option.summary(),
                &values_of(option),
            ));
        }
    }
    format!(
        r#"#compdef fathom
# Completions of fathom for zsh, made by `fathom completion zsh`.
_fathom() {{
    local -a commands
    commands=(
{names}    )
    if (( CURRENT == 2 )) && [[ ${{words[2]}} != -* ]]; then
        _describe -t commands command commands
        _files -g '*.fio'
        return
    fi
    local command=${{words[2]}}
    if (( CURRENT > 2 )) && [[ $command != -* ]]; then
        shift words
        (( CURRENT-- ))
    fi
    case $command in
{own}        (completion) _values shell {shells} ;;
        (*) _arguments -S {options} '*:job file:_files' ;;
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _fathom "$@"
else
    compdef _fathom fathom
fi
"#,
        shells = SHELLS.join(" "),
        options = options.join(" "),
    )
}

/// `'*--rw=[Direction and pattern]:value:(read write)'`: an option may be repeated, for each job anew.
fn specification(name: &str, takes_value: bool, help: &str, values: &[&str]) -> String {
    let help = help.replace(['[', ']'], "").replace(':', " ");
    let value = match (takes_value, values.is_empty()) {
        (false, _) => String::new(),
        (true, true) => ":value:_files".to_owned(),
        (true, false) => format!(
            ":value:({})",
            values.iter().map(|value| colons(value)).collect::<Vec<String>>().join(" ")
        ),
    };
    quoted(&format!("*--{name}{}[{help}]{value}", if takes_value { "=" } else { "" }))
}

fn colons(text: &str) -> String {
    text.replace(':', "\\:")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
