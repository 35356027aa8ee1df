//! Documentation pages as lists of a reader's actions: files to create, commands to type, expected output.
//!
//! Comments of the page, which are invisible when it is rendered, contain information for tests. They come
//! immediately before a block of commands:
//!
//! * `<!-- not run: REASON -->`: a test cannot run it;
//! * `<!-- needs: PROGRAM -->`: it is run where that program is installed;
//! * `<!-- first: COMMAND -->`: makes what the reader is supposed to have already.
//!
//! Of what a reader sees, `# exits with N` after a command gives its exit status, and `# writes FILE` a file that it leaves.

/// One element of a page, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A file whose name the text gives immediately before its content.
    File {
        name: String,
        content: String,
    },
    Commands(Commands),
    /// Commands that a test cannot run.
    NotRun {
        line: usize,
        reason: String,
    },
}

/// A block of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commands {
    /// The line of the page where it starts, from 1.
    pub(crate) line: usize,
    /// A program that must be installed.
    pub(crate) needs: Option<String>,
    /// Commands to run before it, which the page does not show.
    pub(crate) first: Vec<String>,
    pub(crate) commands: Vec<Command>,
    /// The output that the page shows after it.
    pub(crate) shown: Vec<String>,
}

/// A command as typed, and what the page states about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) text: String,
    pub(crate) exit_code: i32,
    pub(crate) writes: Option<String>,
}

impl Command {
    fn of(text: &str) -> Command {
        let comment = text.split_once(" # ").map_or("", |(_, comment)| comment);
        let after = |words: &str| {
            let rest = comment.split_once(words)?.1.trim_start();
            rest.split([' ', ',', ';']).next().map(str::to_owned)
        };
        Command {
            text: text.to_owned(),
            exit_code: after("exits with ").map_or(0, |code| code.parse().expect("an exit status")),
            writes: after("writes "),
        }
    }
}

/// The steps of a Markdown page.
pub(crate) fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    // The text between the previous block and this one.
    let mut between: Vec<&str> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            between.push(line);
            continue;
        };
        let content: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
        match language {
            "sh" => steps.push(commands(index + 1, &content, &between)),
            "ini" => {
                let name = file_name(&between)
                    .unwrap_or_else(|| panic!("line {}: no file is named before this job file", index + 1));
                steps.push(Step::File { name, content: content.join("\n") + "\n" });
            }
            "text" => match steps.last_mut() {
                Some(Step::Commands(block)) => {
                    block.shown.extend(content.iter().map(|&line| line.to_owned()))
                }
                Some(Step::NotRun { .. }) => {}
                _ => panic!("line {}: no commands before this output", index + 1),
            },
            _ => {}
        }
        between.clear();
    }
    steps
}

fn commands(line: usize, content: &[&str], between: &[&str]) -> Step {
    let mut block = Commands { line, ..Commands::default() };
    // Only comments immediately before the block apply to it.
    for text in between.iter().rev().filter(|text| !text.is_empty()) {
        let Some(comment) = text.strip_prefix("<!-- ").and_then(|text| text.strip_suffix(" -->")) else {
            break;
        };
        match comment.split_once(": ") {
            Some(("not run", reason)) => return Step::NotRun { line, reason: reason.to_owned() },
            Some(("needs", program)) => block.needs = Some(program.to_owned()),
            Some(("first", command)) => block.first.insert(0, command.to_owned()),
            _ => panic!("line {line}: unknown comment {comment:?} before this block"),
        }
    }
    let mut begun = String::new();
    for part in content.iter().map(|part| part.trim()) {
        if let Some(part) = part.strip_suffix('\\') {
            begun.push_str(part);
        } else if !part.is_empty() {
            block.commands.push(Command::of(&(std::mem::take(&mut begun) + part)));
        }
    }
    Step::Commands(block)
}

/// The last `name.fio` in the text before a block.
fn file_name(between: &[&str]) -> Option<String> {
    let text = between.join(" ");
    let names = text.split('`').skip(1).step_by(2);
    names.filter(|name| name.ends_with(".fio") && !name.contains(' ')).last().map(str::to_owned)
}

/// The text with single spaces between words, and `N` for each run of digits.
pub(crate) fn shape(text: &str) -> String {
    let mut shape = String::new();
    for word in text.split_whitespace() {
        if !shape.is_empty() {
            shape.push(' ');
        }
        // A shared disk is slower than the one on the page.
        let word = if matches!(word.trim_end_matches(':'), "(nsec)" | "(usec)" | "(msec)") {
            "(TIME)"
        } else {
            word
        };
        for letter in word.chars() {
            match letter.is_ascii_digit() {
                false => shape.push(letter),
                true if shape.ends_with('N') => {}
                true => shape.push('N'),
            }
        }
    }
    shape
}

/// The part of a displayed line that must be the same on every machine: its first words, up to a figure, a
/// path, a colon, a chart, or an ellipsis. Empty if there is none.
pub(crate) fn fixed_part(line: &str) -> String {
    let mut words = Vec::new();
    for (index, word) in line.split_whitespace().enumerate() {
        let has_figure = word.contains(|letter: char| letter.is_ascii_digit());
        let is_name = index == 0 && word.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let is_drawn = !word.contains(|letter: char| letter.is_alphanumeric() || letter == '%');
        if (has_figure && !is_name) || word.starts_with('/') || is_drawn && word != "==" {
            break;
        }
        words.push(word);
        if word.ends_with(':') {
            break;
        }
    }
    shape(&words.join(" "))
}

#[test]
fn pages_are_read() {
    let page = "Text.\n\n<!-- not run: takes an hour -->\n```sh\nsleep 3600\n```\n```text\nnothing\n```\nAs `a.fio` in `fathom a.fio`:\n\
                ```ini\n[a]\n```\n<!-- needs: fio -->\n<!-- first: touch x -->\n```sh\nfathom \\\n    a.fio   # writes b, exits with 2\n\
                ls\n```\nIt says:\n\n```text\njob   7\n```\n";
    let found = steps(page);
    let command = |text: &str, exit_code, writes: Option<&str>| Command {
        text: text.into(),
        exit_code,
        writes: writes.map(str::to_owned),
    };
    let wanted = [
        Step::NotRun { line: 4, reason: "takes an hour".into() },
        Step::File { name: "a.fio".into(), content: "[a]\n".into() },
        Step::Commands(Commands {
            line: 16,
            needs: Some("fio".into()),
            first: vec!["touch x".into()],
            commands: vec![
                command("fathom a.fio   # writes b, exits with 2", 2, Some("b")),
                command("ls", 0, None),
            ],
            shown: vec!["job   7".into()],
        }),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn what_depends_on_the_machine_is_left_out() {
    for (line, fixed) in [
        ("read   random 4 KiB   32   333  81.3k", "read random"),
        ("  p99      247 µs     251 µs  +1.6 %", "pN"),
        ("         depth  MB/s   IOPS", "depth MB/s IOPS"),
        ("/home/me on ext4 (/dev/vda)", ""),
        ("  Verdict: The device was the bottleneck.", "Verdict:"),
        ("       p1  ███ 239 µs", "pN"),
        ("…", ""),
    ] {
        assert_eq!(fixed_part(line), fixed, "{line}");
    }
}
