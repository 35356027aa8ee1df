//! Completions for bash. They need nothing but bash itself.

use super::{SHELLS, job_options, program_options, subcommands, values_of};
use std::fmt::Write as _;

/// The script to be sourced.
pub(super) fn script() -> String {
    let commands = subcommands();
    let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
    let mut options: Vec<String> = program_options()
        .map(|option| match option.placeholder.is_empty() {
            true => format!("--{}", option.name),
            false => format!("--{}=", option.name),
        })
        .collect();
    options.extend(job_options().map(|option| match option.needs_value() {
        true => format!("--{}=", option.name),
        false => format!("--{}", option.name),
    }));
    options.sort();
    options.dedup();
    let mut values = String::new();
    for option in job_options() {
        let words = values_of(option);
        if !words.is_empty() {
            let names: Vec<String> = std::iter::once(option.name)
                .chain(option.aliases.iter().copied())
                .map(|name| format!("--{name}"))
                .collect();
            let _ = writeln!(values, "        {}) words=\"{}\" ;;", names.join("|"), words.join(" "));
        }
    }
    for option in program_options().filter(|option| !option.words.is_empty()) {
        let _ = writeln!(values, "        --{}) words=\"{}\" ;;", option.name, option.words.join(" "));
    }
    let mut own = String::new();
    for command in commands.iter().filter(|command| !command.options.is_empty()) {
        let words: Vec<String> = command
            .options
            .iter()
            .map(|option| format!("--{}{}", option.name, if option.takes_value { "=" } else { "" }))
            .collect();
        let _ = writeln!(own, "        {}) words=\"{} --help\" ;;", command.name, words.join(" "));
    }
    format!(
        r#"# Completions of fathom for bash, made by `fathom completion bash`.
_fathom() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words= option=
    COMPREPLY=()
    # bash takes `--rw=ra` for three words.
    if [[ $current == "=" ]]; then
        option=$previous current=
    elif [[ $previous == "=" ]]; then
        option=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    if [[ -n $option ]]; then
        case $option in
{values}        esac
        if [[ -n $words ]]; then
            COMPREPLY=($(compgen -W "$words" -- "$current"))
        else
            COMPREPLY=($(compgen -f -- "$current"))
        fi
        return
    fi
    if (( COMP_CWORD == 1 )) && [[ $current != -* ]]; then
        COMPREPLY=($(compgen -W "{names}" -- "$current") $(compgen -f -X '!*.fio' -- "$current") $(compgen -d -- "$current"))
        return
    fi
    if [[ $current == -* ]]; then
        case ${{COMP_WORDS[1]}} in
{own}        *) words="{options}" ;;
        esac
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        if [[ ${{COMPREPLY[0]}} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
        return
    fi
    if [[ ${{COMP_WORDS[1]}} == completion ]]; then
        COMPREPLY=($(compgen -W "{shells}" -- "$current"))
        return
    fi
    COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _fathom fathom
"#,
        names = names.join(" "),
        options = options.join(" "),
        shells = SHELLS.join(" "),
    )
}
