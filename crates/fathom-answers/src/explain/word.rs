//! Explains a word of the job language: an option, an option with a value, an engine, a line of a report.

use super::pages;
use super::terms::{self, Term};
use fathom_command::Failure;
use fathom_spec::definition::{Kind, OptionDef, Status};
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::value::{errno_name, errno_number};
use fathom_spec::{registry, spelling};
use fathom_sys::Errno;
use std::fmt::Write as _;

/// Explains a term. For an unknown one, the error suggests similar terms.
pub(super) fn explain(text: &str) -> Result<String, Failure> {
    let word = text.trim().trim_start_matches("--");
    let (name, value) = match word.split_once('=') {
        Some((name, value)) if is_name(name) => (name, Some(value.trim())),
        _ => (word, None),
    };
    let option = is_name(name).then(|| option_named(name.trim())).flatten();
    let term = terms::of_line(text);
    match (option, term) {
        // The report lines `cpu : usr=...`, `iops` and `bw` resemble option names; an exact option name takes
        // precedence.
        (Some(option), _) => Ok(of_option(option, value)),
        (None, Some(term)) => Ok(of_term(term)),
        (None, None) => match engines::find(word) {
            Some(engine) => Ok(of_engine(engine)),
            None if let Some(text) = pages::explain(word) => Ok(text),
            None => of_disk_line(text)
                .or_else(|| of_error(word))
                .or_else(|| of_value(word))
                .ok_or_else(|| unknown(word)),
        },
    }
}

fn is_name(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+' | '.'))
}

/// The option with this name, of every job or of an engine.
fn option_named(name: &str) -> Option<&'static OptionDef> {
    registry::find_job_option(name)
        .filter(|option| option.kind != Kind::Deprecated)
        .or_else(|| engines::ALL.iter().find_map(|engine| engine.option(name)))
}

fn of_option(option: &OptionDef, value: Option<&str>) -> String {
    let mut text = format!("{}, an option of ", option.name);
    text.push_str(&match option.engine {
        "" => "every job".to_owned(),
        engine => format!("the engine {engine}"),
    });
    let _ = write!(text, ": {}", option.summary());
    text.push('\n');
    let details = option.details();
    if !details.is_empty() {
        let _ = writeln!(text, "  {details}");
    }
    if !option.aliases.is_empty() {
        let _ = writeln!(text, "  * Also known as {}.", option.aliases.join(", "));
    }
    let _ = writeln!(text, "  * Value: {}.", takes(option.kind));
    match option.default {
        Some(default) => {
            let _ = writeln!(text, "  * Default: {default}.");
        }
        None => text.push_str("  * No default.\n"),
    }
    if option.bounds.min.is_some() || option.bounds.max.is_some() {
        let bound = |bound: Option<f64>| bound.map_or("any".to_owned(), |bound| bound.to_string());
        let _ = writeln!(text, "  * From {} to {}.", bound(option.bounds.min), bound(option.bounds.max));
    }
    if option.status == Status::Later {
        text.push_str("  * Not implemented: fathom refuses a job with it.\n");
    }
    let chosen = value.map(|value| value.split(':').next().unwrap_or(value));
    let meaning = chosen.and_then(|chosen| option.choices.iter().find(|choice| choice.name == chosen));
    if let Some(engine) = value.and_then(engines::find).filter(|_| option.name == "ioengine") {
        return text + &of_engine(engine);
    }
    match (value, meaning) {
        (Some(value), Some(choice)) => {
            let _ =
                writeln!(text, "  {}={value}: {}.", option.name, choice.help.trim().trim_end_matches('.'));
        }
        (Some(value), None) if !option.choices.is_empty() => {
            let _ = writeln!(text, "  {value} is not one of its values:");
            list_choices(option, &mut text);
        }
        (Some(_), None) => {}
        (None, _) => list_choices(option, &mut text),
    }
    text
}

/// The syntax of an option's values.
fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::OptionalText => "text, or nothing",
        Kind::Choice => "one of the words below",
        Kind::Int => "a whole number, such as 100",
        Kind::Size => "a size, such as 4096, 4k or 1m (powers of 1024)",
        Kind::Bool => "1 for yes, 0 for no",
        Kind::Flag => "nothing, or 1 for yes and 0 for no",
        Kind::Time => "a time, such as 10s, 500ms or 2m",
        Kind::Range => "a range of sizes, such as 1k-4k; up to three of them for reads, writes and trims",
        Kind::FloatList => "numbers separated by colons, such as 5.9:7.8",
        Kind::Deprecated => "nothing",
    }
}

fn list_choices(option: &OptionDef, text: &mut String) {
    for choice in option.choices {
        let _ = writeln!(text, "  * {}: {}", choice.name, choice.help.trim());
    }
}

fn of_engine(engine: &EngineDef) -> String {
    let mut text = format!("{}, an engine (ioengine={}): {}\n", engine.name, engine.name, engine.summary);
    if engine.synchronous {
        text.push_str("  * Synchronous: it waits for each I/O, so iodepth has no effect; use numjobs to have more in flight.\n");
    }
    if !engine.built {
        text.push_str("  * Not implemented: fathom refuses a job with it.\n");
    }
    let options: Vec<&str> = engine.options.iter().map(|option| option.name).collect();
    if !options.is_empty() {
        let _ = writeln!(text, "  * Its own options: {}.", options.join(", "));
    }
    text
}

fn of_term(term: &Term) -> String {
    format!("{}, in a report: {}\n", term.names[0].trim_end_matches([':', '=']), term.text)
}

/// Explains a report line whose first word is the name of a device, such as `  sdb: ios=0/46893, merge=...`.
fn of_disk_line(text: &str) -> Option<String> {
    let (device, rest) = text.trim().split_once(':')?;
    let term = terms::of_line("disk stats").filter(|_| rest.trim_start().starts_with("ios="))?;
    Some(format!("{}, a device, in the section `Disk stats` of a report: {}\n", device.trim(), term.text))
}

/// True for terms that [`explain`] knows.
pub(super) fn is_known(text: &str) -> bool {
    explain(text).is_ok()
}

/// Explains the number or name of an error, given as `EIO`, `errno 5`, `error=5` or `5`.
fn of_error(word: &str) -> Option<String> {
    let lower = word.trim().to_lowercase();
    let leads = ["errno", "error", "err"];
    let rest = leads.iter().find_map(|lead| lower.strip_prefix(lead)).unwrap_or(&lower);
    let rest = rest.trim_start_matches(['=', ':', ' ']).trim();
    let number = rest.parse().ok().or_else(|| errno_number(&rest.to_uppercase()));
    let number: i32 = number.filter(|&number| number > 0 && Errno(number).is_known())?;
    let name = errno_name(number).map_or_else(String::new, |name| format!(" ({name})"));
    let note = match number {
        libc_numbers::EILSEQ => {
            " Of a job with verify, it means that data was read that is not what was written; the lines of the run say where. Keep \
             the data: verify_only=1 checks it again without writing."
        }
        libc_numbers::ENOSPC => " The file system or the user's quota is full.",
        _ => "",
    };
    Some(format!("errno {number}{name}, an error of the operating system: {}.{note}\n", Errno(number)))
}

/// Errors whose meaning in a result is more specific than their text.
mod libc_numbers {
    pub(super) const ENOSPC: i32 = 28;
    pub(super) const EILSEQ: i32 = 84;
}

/// Explains a value without its option, such as `randwrite`, a value of `rw`.
fn of_value(word: &str) -> Option<String> {
    let options = registry::job_options().filter(|option| option.kind != Kind::Deprecated);
    let with = options.filter(|option| option.choices.iter().any(|choice| choice.name == word));
    let texts: Vec<String> = with.map(|option| of_option(option, Some(word))).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Words that the search ignores.
const EMPTY_WORDS: [&str; 16] = [
    "the", "and", "for", "how", "what", "why", "does", "with", "are", "can", "from", "many", "much", "that",
    "this", "set",
];
/// Maximum number of results of a search.
const MOST_HITS: usize = 3;

/// Options and terms whose texts contain the words, best first.
fn by_meaning(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let stem = |word: &str| word.strip_suffix('s').filter(|stem| stem.len() > 3).unwrap_or(word).to_owned();
    let words: Vec<String> = lower
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() > 2 && !EMPTY_WORDS.contains(word))
        .map(stem)
        .collect();
    let weight = |text: &str, weight: usize| {
        let text = text.to_lowercase();
        words.iter().filter(|word| text.contains(word.as_str())).count() * weight
    };
    let options = registry::job_options().filter(|option| option.kind != Kind::Deprecated).map(|option| {
        (
            weight(&names_of(option), 3) + weight(option.summary(), 2) + weight(&option.details(), 1),
            option.name,
        )
    });
    let terms = terms::TERMS.iter().map(|term| {
        let name = term.names[0].trim_end_matches([':', '=']);
        (weight(name, 3) + weight(term.text, 1), name)
    });
    let mut hits: Vec<(usize, &str)> =
        options.chain(terms).filter(|(weight, _)| *weight >= 2.max(words.len())).collect();
    hits.sort_by_key(|(weight, name)| (std::cmp::Reverse(*weight), *name));
    hits.into_iter().take(MOST_HITS).map(|(_, name)| name).collect()
}

/// All names of an option.
fn names_of(option: &OptionDef) -> String {
    format!("{} {}", option.name, option.aliases.join(" "))
}

fn unknown(word: &str) -> Failure {
    let names = registry::job_options()
        .map(|option| option.name)
        .chain(engines::ALL.iter().map(|engine| engine.name));
    let of_terms = terms::TERMS.iter().flat_map(|term| term.names.iter().copied());
    let names = names.chain(of_terms.filter(|name| name.len() > 3));
    let near = names.map(|name| (spelling::distance(word, name), name)).min();
    // Substituting a letter in a word of three or four letters makes another word, so only a missing,
    // additional or swapped letter counts as a typing error there.
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_near = |distance: usize, name: &str| match word.chars().count() {
        length @ ..=4 => distance <= 1 && (name.len() != length || letters(name) == letters(word)),
        _ => distance <= 2.max(name.len() / 3),
    };
    let hint = match near.filter(|(distance, name)| is_near(*distance, name)) {
        Some((_, name)) => format!("; did you mean {name}?"),
        None => match by_meaning(word).as_slice() {
            [] => "; fathom --cmdhelp lists the options, fathom --enghelp the engines".to_owned(),
            hits => format!("; related: {}", hits.join(", ")),
        },
    };
    Failure::new(format!("{word}: not a known file, option, engine or line of a report{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(text: &str, what: &str) {
        let found = explain(text).unwrap_or_else(|failure| failure.to_string());
        assert!(found.contains(what), "{text}: {found}");
    }

    #[test]
    fn words_are_explained() {
        says("iodepth", "iodepth, an option of every job");
        says("--bs=4k", "Also known as blocksize");
        says("rw=randrw", "rw=randrw: ");
        says("rw=randrw:4", "rw=randrw:4: ");
        says("rw=sideways", "sideways is not one of its values");
        says("libaio", "libaio, an engine");
        says("ioengine=psync", "iodepth has no effect");
        says("    slat (nsec): min=30, max=61494", "Submission latency");
        says("  IO depths    : 1=0.1%, 2=0.1%", "in flight when one more was issued");
        says("  sdb: ios=0/46893, merge=0/1320", "sdb, a device");
        says("iodpeth", "did you mean iodepth?");
        says("frobnicate", "fathom --cmdhelp");
        says("doubtful", "may mislead");
        says("processor_wait_ms", "had no CPU");
        says("queue depth", "in flight at a time");
        says("randwrite", "rw=randwrite: Random writes");
        says("size of a block in bytes", "bs");
        says("verify checksum", "verify");
        for error in ["84", "errno 84", "EILSEQ", "error=84"] {
            says(error, "errno 84 (EILSEQ)");
        }
        says("ENOSPC", "errno 28");
        for (term, what) in [
            ("random", "anywhere"),
            ("sequential", "one block after the other"),
            ("backlog", "waited"),
            ("offered", "due"),
            ("served", "completed"),
            ("own delay", "tester itself"),
        ] {
            says(term, what);
        }
        for word in ["ssd", "nvme"] {
            assert!(!explain(word).expect_err("not a term").to_string().contains("did you mean"), "{word}");
        }
    }

    #[test]
    fn every_option_can_be_explained() {
        for option in registry::job_options().filter(|option| option.kind != Kind::Deprecated) {
            let told = explain(option.name).expect("known");
            assert!(told.starts_with(&format!("{}, an option of ", option.name)), "{told}");
        }
    }
}
