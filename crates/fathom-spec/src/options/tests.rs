//! Tests that every declaration is complete, and that every option of fio has one.

use super::TABLES;
use crate::definition::{Kind, Names, OptionDef, Status};
use crate::diagnostic::Origin;
use crate::engines;
use crate::options::private;
use crate::spec::JobSpec;
use crate::value::{NoSource, ParseContext};

/// Name and engine of each option that fio 3.42 has.
const FIO_OPTIONS: &str = include_str!("../../tests/fixtures/options.txt");

fn all_tables() -> Vec<&'static [OptionDef]> {
    let mut tables: Vec<&[OptionDef]> = engines::ALL.iter().map(|engine| engine.options).collect();
    tables.extend(private::of_profiles());
    tables.extend(TABLES);
    tables
}

fn all_options() -> impl Iterator<Item = &'static OptionDef> {
    all_tables().into_iter().flatten()
}

/// Declarations must be complete, because agents and servers refuse options by what these access.
#[test]
fn every_text_declares_what_it_names() {
    let is_text = |option: &&OptionDef| matches!(option.kind, Kind::Text | Kind::OptionalText);
    for option in all_options().filter(is_text).filter(|option| option.status == Status::Built) {
        assert_ne!(option.names, Names::Undeclared, "{}: what does its value name?", option.name);
    }
}

#[test]
fn every_option_of_fio_is_declared() {
    let mut lines = 0;
    for line in FIO_OPTIONS.lines() {
        let (name, engine) = line.split_once('\t').unwrap();
        let declared = match engine {
            "" => crate::registry::find_job_option(name),
            "profile act" => private::act::TABLE.iter().find(|option| option.is_named(name)),
            "profile tiobench" => private::tiobench::TABLE.iter().find(|option| option.is_named(name)),
            engine => engines::Engines(engines::ALL).option(engine, name),
        };
        assert!(declared.is_some(), "{name} of {engine:?} is not declared");
        lines += 1;
    }
    assert!(lines > 380, "the list of options was cut to {lines}");
}

#[test]
fn names_are_unique_within_what_a_job_understands() {
    let shared: Vec<&str> = TABLES
        .iter()
        .copied()
        .flatten()
        .flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied()))
        .collect();
    for engine in engines::ALL {
        let own = engine.options.iter();
        let own = own.flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied()));
        let mut names: Vec<&str> = shared.iter().copied().chain(own).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1], "declared twice for jobs with engine {}", engine.name);
        }
    }
}

#[test]
fn defaults_parse_and_are_what_jobs_begin_with() {
    for option in all_options() {
        let mut job = JobSpec::new("a", Origin::CommandLine);
        assert!((option.is_default)(&job, option), "{}", option.name);
        let Some(default) = option.default else {
            continue;
        };
        let mut context = ParseContext::new(&NoSource);
        let result = (option.set)(&mut job, default, option, &mut context);
        assert!(result.is_ok(), "{}={default}: {:?}", option.name, context.notes);
        assert_eq!(context.notes, [], "{}={default}", option.name);
        assert!((option.is_default)(&job, option), "{}={default} is not its own default", option.name);
    }
}

#[test]
fn every_option_is_explained() {
    for option in all_options() {
        let summary = option.summary();
        assert!(summary.len() > 3, "{}", option.name);
        assert!(!summary.ends_with('.'), "{}: a summary is no sentence: {summary}", option.name);
        assert!(!option.name.contains(char::is_whitespace) && !option.name.is_empty());
        for choice in option.choices {
            assert!(!choice.help.is_empty(), "{}={}", option.name, choice.name);
        }
    }
}

#[test]
fn every_listed_word_is_accepted() {
    for option in all_options().filter(|option| option.status != Status::Removed) {
        for choice in option.choices {
            // These words are valid only with an argument after them.
            let argument = match (option.name, choice.name) {
                ("random_distribution", "zoned") => ":100/100",
                ("random_distribution", "zoned_abs") => ":100/1m",
                ("random_distribution", "sequence") => ":1",
                ("steadystate", _) => ":1",
                ("rate_process", "onoff") => ":1s:1s",
                ("rate_process", "gamma") => ":2",
                ("rate_process", "steps") => ":1s:1/2",
                ("ioengine", "external") => ":/x.so",
                _ => "",
            };
            let mut job = JobSpec::new("a", Origin::CommandLine);
            let mut context = ParseContext::new(&NoSource);
            let text = format!("{}{argument}", choice.name);
            let result = (option.set)(&mut job, &text, option, &mut context);
            assert!(result.is_ok(), "{}={text}: {:?}", option.name, context.notes);
        }
        for word in option.later_choices {
            assert!(option.choices.iter().any(|choice| choice.name == *word), "{}={word}", option.name);
        }
    }
}

#[test]
fn parents_exist() {
    for option in all_options() {
        if let Some(parent) = option.parent {
            let found = all_options().any(|other| other.name == parent);
            assert!(found, "{} refines {parent}, which does not exist", option.name);
        }
    }
}

#[test]
fn numbers_outside_their_range_are_refused() {
    for option in all_options().filter(|option| option.kind == Kind::Int) {
        for outside in [option.bounds.min.map(|min| min - 1.0), option.bounds.max.map(|max| max + 1.0)] {
            let Some(outside) = outside else {
                continue;
            };
            let mut job = JobSpec::new("a", Origin::CommandLine);
            let mut context = ParseContext::new(&NoSource);
            let text = format!("{outside}");
            assert!((option.set)(&mut job, &text, option, &mut context).is_err(), "{}={text}", option.name);
            assert!(context.notes[0].text.contains("value out of range"), "{}={text}", option.name);
        }
    }
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_value_panics(text in "(\\PC{0,12}|[-0-9a-z:,/%.(){}\"']{0,20})") {
            let mut job = JobSpec::new("a", Origin::CommandLine);
            for option in all_options() {
                let mut context = ParseContext::new(&NoSource);
                let _ = (option.set)(&mut job, &text, option, &mut context);
            }
        }
    }
}
