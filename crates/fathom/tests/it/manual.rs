//! The program's own documentation: the first screen, the manual page, and completions in real shells.

use crate::support::program::{self, Launch};
use crate::support::{scratch, skip};
use std::path::Path;
use std::process::{Command, Stdio};

const COMMANDS: [&str; 14] = [
    "quick",
    "fsync-check",
    "sweep",
    "curve",
    "record",
    "characterize",
    "model",
    "rehearse",
    "pts",
    "compare",
    "report",
    "show",
    "explain",
    "history",
];

fn printed(words: &str) -> String {
    let directory = scratch();
    Launch::fathom(directory.path()).words(words).run().expect_clean().stdout
}

#[test]
fn the_commands_stand_before_anything_else() {
    fathom_only!();
    let text = printed("--help");
    let screen = text.split("\n\nfathom 0.").next().expect("a screen");
    assert_eq!(screen.trim_end(), printed("help").trim_end());
    let screen: Vec<&str> = screen.lines().collect();
    assert!(screen.len() <= 24, "{text}");
    for command in COMMANDS {
        assert!(screen.iter().any(|line| line.starts_with(&format!("  {command} "))), "{command}: {text}");
    }
    assert!(screen.iter().all(|line| line.chars().count() <= 80), "{text}");
    // Followed by the parts for fio's users.
    assert!(text.contains("--output-format=list"), "{text}");
    for command in COMMANDS {
        let help = printed(&format!("{command} --help"));
        assert!(help.starts_with(&format!("Usage: fathom {command}")), "{help}");
    }
    // Without arguments it prints the same text, and exits with the same status as fio.
    let bare = Launch::fathom(scratch().path()).run();
    assert_eq!((bare.code(), bare.stdout.trim_end()), (1, printed("help").trim_end()), "{}", bare.stderr);
    assert_eq!(bare.stderr, "fathom: neither a job nor a command was given\n");
    // Under fio's name it prints fio's text.
    let directory = scratch();
    let link = directory.path().join("fio");
    std::os::unix::fs::symlink(program::path(), &link).expect("a link");
    let as_fio = Launch::of(&link, directory.path()).words("--help").run().stdout;
    assert!(as_fio.starts_with("fio-3.42\n"), "{as_fio}");
}

/// A command's output for a text on its standard input.
#[track_caller]
fn filter(words: &[&str], input: &str) -> (bool, String) {
    use std::io::Write;
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn the_manual_page_is_well_formed_and_whole() {
    fathom_only!();
    let page = printed("man");
    for wanted in ["iodepth", "rwmixread", "--output\\-format", "libaio", "EXIT STATUS", ".SS quick"] {
        assert!(page.contains(&wanted.replace("--", "\\-\\-")), "{wanted}");
    }
    require!(skip::tool("mandoc"));
    // There is no date: the version is more useful.
    let (_, complaints) = filter(&["mandoc", "-T", "lint", "-W", "warning"], &page);
    let complaints: Vec<&str> = complaints.lines().filter(|line| !line.contains("missing date")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let (_, shown) = filter(&["mandoc", "-T", "html"], &page);
    assert!(shown.contains("id=\"Queue_depth\""), "{shown}");
}

#[test]
fn bash_completes_commands_options_and_values() {
    fathom_only!();
    let directory = scratch();
    std::fs::write(directory.path().join("completion"), printed("completion bash")).expect("can be written");
    std::fs::write(directory.path().join("mine.fio"), "").expect("can be written");
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source ./completion; COMP_WORDS=({words}); COMP_CWORD={at}; _fathom 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash")
            .arg("-c")
            .arg(script)
            .current_dir(directory.path())
            .output()
            .expect("bash runs");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(complete("fathom qui", 1), ["quick"]);
    assert_eq!(complete("fathom min", 1), ["mine.fio"]);
    assert_eq!(complete("fathom --iodepth_batch_complete_m", 1).len(), 2);
    assert_eq!(complete("fathom --name = x --rw = randr", 6), ["randread", "randrw"]);
    assert_eq!(complete("fathom --ioengine =", 2).iter().filter(|name| *name == "io_uring").count(), 1);
    assert_eq!(complete("fathom quick --si", 2), ["--size="]);
    assert_eq!(complete("fathom completion fi", 2), ["fish"]);
}

#[test]
fn fish_completes_commands_options_and_values() {
    fathom_only!();
    require!(skip::tool("fish"));
    let directory = scratch();
    std::fs::write(directory.path().join("completion"), printed("completion fish")).expect("can be written");
    let complete = |line: &str| {
        let script = format!("source ./completion; complete -C '{line}'");
        let output = Command::new("fish")
            .args(["--no-config", "-c", &script])
            .env("HOME", directory.path())
            .current_dir(directory.path())
            .output()
            .expect("fish runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(complete("fathom qui").starts_with("quick\tHow fast"), "{}", complete("fathom qui"));
    assert!(complete("fathom --rw=randr").contains("--rw=randrw"), "{}", complete("fathom --rw=randr"));
    assert!(complete("fathom quick --si").contains("--size"), "{}", complete("fathom quick --si"));
    assert!(!complete("fathom quick --iodep").contains("--iodepth"));
}

/// Types a line into an interactive zsh and returns its screen.
fn zsh_shows(directory: &Path, typed: &str, wanted: &str) -> String {
    let script = format!(
        "zmodload zsh/zpty; zpty z 'TERM=vt100 PS1=READY zsh -f -i'; \
         zpty -w z 'unsetopt zle_bracketed_paste 2>/dev/null; autoload -Uz compinit; compinit -u -D; source ./completion; print SET-UP'; \
         shown=; while zpty -r z line; do shown+=$line; [[ $line == *SET-UP* && $line != *print* ]] && break; done; \
         zpty -w -n z $'{typed}\\t\\t'; integer waited=0; \
         while (( waited++ < 100 )); do zpty -r -t z line && shown+=$line; [[ ${{shown//[^a-z -]/}} == *{wanted}* ]] && break; sleep 0.05; done; \
         print -r -- \"$shown\"; zpty -d z"
    );
    let output = Command::new("timeout")
        .args(["60", "zsh", "-f", "-c", &script])
        .env("HOME", directory)
        .current_dir(directory)
        .output()
        .expect("zsh runs");
    // The screen, not the steps by which zsh drew it.
    let size = std::num::NonZeroU16::new(200).expect("not zero");
    let mut screen = vt100::Parser::new(size, size, 0);
    screen.process(String::from_utf8_lossy(&output.stdout).replace('\n', "\r\n").as_bytes());
    screen.screen().contents() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn zsh_completes_commands_and_values() {
    fathom_only!();
    require!(skip::tool("zsh"));
    let directory = scratch();
    std::fs::write(directory.path().join("completion"), printed("completion zsh")).expect("can be written");
    for (typed, wanted) in
        [("fathom expl", "explain"), ("fathom --rw=randr", "randread"), ("fathom quick --sa", "--save")]
    {
        let shown = zsh_shows(directory.path(), typed, wanted);
        assert!(shown.contains(wanted), "{typed}: {shown}");
    }
}

#[test]
fn misspelt_options_of_commands_and_tools_get_a_hint() {
    fathom_only!();
    for (words, told) in [
        (
            "compare a b --failif=x",
            "fathom compare: there is no option --failif; --help lists the options; did you mean --fail-if?\n",
        ),
        (
            "quick --sise=1g",
            "fathom quick: there is no option --sise; --help lists the options; did you mean --size?\n",
        ),
        (
            "dedupe --zzzzzzzzzzz x",
            "fathom dedupe: there is no option --zzzzzzzzzzz; --help lists the options\n",
        ),
    ] {
        let directory = scratch();
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!((finished.code(), finished.stderr.as_str()), (1, told));
    }
}

#[test]
fn mistakes_are_told() {
    fathom_only!();
    let directory = scratch();
    for words in ["completion", "completion tcsh", "completion bash zsh"] {
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(finished.code(), 1, "{words}");
        assert!(finished.stderr.contains("bash, zsh, fish"), "{}", finished.stderr);
    }
    let finished = Launch::fathom(directory.path()).words("quik").run();
    assert!(
        finished.code() != 0 && finished.stderr.contains("did you mean fathom quick?"),
        "{}",
        finished.stderr
    );
}
