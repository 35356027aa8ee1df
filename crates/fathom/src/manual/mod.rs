//! The program's own documentation: the first screen of `--help`, the manual page, shell completions. All of it is generated
//! from the declarations of commands, tools and options.

mod bash;
mod fish;
mod man_page;
mod screen;
mod zsh;

use crate::hosts::{agent, keys};
use crate::refusal::Refusal;
use fathom_answers::COMMANDS;
use fathom_command::long_options::{LongOption, options_in};
use fathom_spec::PROGRAM_OPTIONS;
use fathom_spec::definition::{Kind, OptionDef, Status};
use fathom_spec::{engines, registry, spelling};
use fathom_tools::TOOLS;

pub(crate) use screen::first_screen;

/// A subcommand of fathom, with its options.
struct Subcommand {
    name: &'static str,
    summary: &'static str,
    options: Vec<LongOption>,
}

/// Subcommands of this crate: name, summary, help.
const OF_PROGRAM: [(&str, &str, &str); 3] = [
    (fathom_serve::NAME, fathom_serve::SUMMARY, fathom_serve::HELP),
    (agent::NAME, agent::SUMMARY, agent::HELP),
    (keys::NAME, keys::SUMMARY, keys::HELP),
];

/// Subcommands about the program itself.
const ABOUT: [(&str, &str); 3] = [
    ("tools", "List the small tools for logs, reports, traces and data"),
    ("man", "Print the manual page: fathom man | man -l -"),
    ("completion", "Print shell completions: bash, zsh or fish"),
];

/// Shells with completions.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Every subcommand: commands, tools, and those about the program.
fn subcommands() -> Vec<Subcommand> {
    let commands = COMMANDS.iter().map(|command| Subcommand {
        name: command.name,
        summary: command.summary,
        options: options_in(command.help),
    });
    let tools = TOOLS.iter().map(|tool| Subcommand {
        name: tool.name,
        summary: tool.summary,
        options: options_in(tool.help),
    });
    let of_program =
        OF_PROGRAM.map(|(name, summary, help)| Subcommand { name, summary, options: options_in(help) });
    let about = ABOUT.iter().map(|&(name, summary)| Subcommand { name, summary, options: Vec::new() });
    commands.chain(tools).chain(of_program).chain(about).collect()
}

/// Job options for users: implemented, and not only accepted for old files.
fn job_options() -> impl Iterator<Item = &'static OptionDef> {
    let private = engines::ALL.iter().filter(|engine| engine.built).flat_map(|engine| engine.options);
    registry::job_options()
        .chain(private)
        .filter(|option| option.kind != Kind::Deprecated && option.status != Status::Later)
}

/// The values of an option; empty if they do not form a list.
fn values_of(option: &OptionDef) -> Vec<&'static str> {
    if option.name == "ioengine" {
        return engines::ALL.iter().filter(|engine| engine.built).map(|engine| engine.name).collect();
    }
    match option.kind {
        Kind::Bool => vec!["0", "1"],
        _ => option.choices.iter().map(|choice| choice.name).filter(|name| !name.contains(' ')).collect(),
    }
}

/// A program option for users.
struct OwnOption {
    name: &'static str,
    /// Placeholder of its value; empty if it takes none.
    placeholder: &'static str,
    help: String,
    /// Its allowed values; empty if they do not form a list.
    words: Vec<&'static str>,
}

fn program_options() -> impl Iterator<Item = OwnOption> {
    let formats = fathom_report::declarations();
    PROGRAM_OPTIONS.iter().filter(|option| option.built && !option.hidden).map(move |option| OwnOption {
        name: option.name,
        placeholder: option.placeholder,
        help: option.help(&formats),
        words: option.words(&formats),
    })
}

/// Tools are invoked by their names alone.
fn unknown_tool(word: &str) -> Refusal {
    let names = || fathom_tools::TOOLS.iter().map(|tool| tool.name);
    Refusal::new(match names().find(|name| *name == word).or_else(|| spelling::nearest(word, names())) {
        Some(name) if name == word => {
            format!("fathom tools: this lists the tools; fathom {name} --help explains this tool")
        }
        Some(name) => format!("fathom tools: there is no tool {word}; did you mean fathom {name}?"),
        None => format!("fathom tools: there is no tool {word}; fathom tools lists them"),
    })
}

/// The output of `fathom man`, `fathom completion SHELL` and so on, or an error in the arguments.
pub(crate) fn text_for(word: &str, rest: &[String]) -> Option<Result<String, Refusal>> {
    match word {
        "tools" => Some(match rest {
            [] => Ok(fathom_tools::listing()),
            [first, ..] => Err(unknown_tool(first)),
        }),
        "man" => Some(Ok(man_page::text())),
        "help" => Some(help_on(rest)),
        "completion" => Some(match rest {
            [shell] if shell == "bash" => Ok(bash::script()),
            [shell] if shell == "zsh" => Ok(zsh::script()),
            [shell] if shell == "fish" => Ok(fish::script()),
            _ => Err(Refusal::new(format!(
                "fathom completion: name one of the shells {}; for bash, run fathom completion bash \
                 >~/.local/share/bash-completion/completions/fathom",
                SHELLS.join(", ")
            ))),
        }),
        _ => None,
    }
}

/// `fathom help`, and `fathom help quick`.
fn help_on(words: &[String]) -> Result<String, Refusal> {
    let [word] = words else { return Ok(first_screen()) };
    let command = COMMANDS.iter().find(|command| command.name == word).map(|command| command.help);
    let tool = || TOOLS.iter().find(|tool| tool.name == word).map(|tool| tool.help);
    let of_program = || OF_PROGRAM.iter().find(|(name, ..)| name == word).map(|(_, _, help)| *help);
    command.or_else(tool).or_else(of_program).map(str::to_owned).ok_or_else(|| {
        Refusal::new(format!("fathom help: {word} is not a command; fathom explain {word} explains a term"))
    })
}

/// The subcommand that is most similar to a misspelled word, if any.
pub(crate) fn nearest_subcommand(word: &str) -> Option<&'static str> {
    let commands = COMMANDS.iter().map(|command| command.name).chain(TOOLS.iter().map(|tool| tool.name));
    let others = OF_PROGRAM.iter().map(|command| command.0).chain(ABOUT.iter().map(|about| about.0));
    let names = commands.chain(others);
    let near = names.map(|name| (spelling::distance(word, name), name)).min()?;
    (near.0 <= 2 && 2 * near.0 < word.len()).then_some(near.1)
}

/// What a word that is not a command may mean: the most similar command, or a program option of that name.
pub(crate) fn meant_by(word: &str) -> Option<String> {
    let option = fathom_spec::PROGRAM_OPTIONS.iter().find(|option| option.name == word);
    option
        .map(|option| format!("fathom --{}", option.name))
        .or_else(|| nearest_subcommand(word).map(|name| format!("fathom {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_texts_list_options() {
        for command in COMMANDS.iter().filter(|command| command.help.contains(" --")) {
            assert!(!options_in(command.help).is_empty(), "{}", command.name);
        }
    }

    #[test]
    fn misspelt_commands_are_near_to_one() {
        assert_eq!(nearest_subcommand("quik"), Some("quick"));
        assert_eq!(nearest_subcommand("comparre"), Some("compare"));
        assert_eq!(meant_by("quikc").as_deref(), Some("fathom quick"));
        assert_eq!(meant_by("version").as_deref(), Some("fathom --version"));
        assert!(
            unknown_tool("foo").to_string().contains("there is no tool foo")
                && unknown_tool("dedup").to_string().contains("fathom dedupe?")
        );
        assert_eq!((nearest_subcommand("job"), nearest_subcommand("randread")), (None, None));
        assert!(help_on(&["quick".to_owned()]).is_ok_and(|text| text.starts_with("Usage: fathom quick")));
        assert!(help_on(&["serve".to_owned()]).is_ok_and(|text| text.starts_with("Usage: fathom serve")));
        assert!(
            help_on(&["rw".to_owned()])
                .is_err_and(|refusal| refusal.to_string().contains("fathom explain rw"))
        );
    }

    #[test]
    fn the_first_screen_fits_a_small_terminal() {
        let text = first_screen();
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(COMMANDS.iter().all(|command| text.contains(&format!("  {} ", command.name))), "{text}");
    }
}
