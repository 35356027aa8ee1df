//! Engines that are loaded when a job names them (`ioengine=external:PATH`). They stay loaded under that name
//! until the program ends.

use super::EngineDef;
use crate::diagnostic::Origin;
use crate::registry::find_job_option;
use crate::spec::JobSpec;
use crate::value::{NoSource, ParseContext};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Why an option of a loaded engine cannot become a job option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnfitOption {
    /// The name contains characters that job files do not allow.
    #[error("its option {0:?} is not a word of letters, digits and _")]
    NoWord(&'static str),
    /// Every job already has an option with this name.
    #[error("its option {0} has the name of an option of every job")]
    Taken(&'static str),
    /// Two options of the engine have this name.
    #[error("it has two options of the name {0}")]
    Twice(&'static str),
    /// The option itself would refuse its default.
    #[error("the default of its option {name}, {default}, is not a valid value")]
    Default {
        /// The option.
        name: &'static str,
        /// Its default.
        default: &'static str,
    },
}

static LOADED: Mutex<Vec<&'static EngineDef>> = Mutex::new(Vec::new());

/// The loaded engine of this name.
pub fn find(name: &str) -> Option<&'static EngineDef> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.iter().copied().find(|engine| engine.name == name)
}

/// Registers an engine, if its options can become job options.
pub fn keep(engine: &'static EngineDef) -> Result<(), UnfitOption> {
    for (index, option) in engine.options.iter().enumerate() {
        let name = option.name;
        let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty() || !is_word(name) {
            return Err(UnfitOption::NoWord(name));
        }
        if find_job_option(name).is_some() {
            return Err(UnfitOption::Taken(name));
        }
        if engine.options[..index].iter().any(|other| other.name == name) {
            return Err(UnfitOption::Twice(name));
        }
        let Some(default) = option.default else { continue };
        let mut job = JobSpec::new("default", Origin::CommandLine);
        if (option.set)(&mut job, default, option, &mut ParseContext::new(&NoSource)).is_err() {
            return Err(UnfitOption::Default { name, default });
        }
    }
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).push(engine);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Kind, OptionDef};

    /// Messages about an engine with these options.
    fn answer(options: &[OptionDef]) -> String {
        let options = options.to_vec().leak();
        let engine = Box::leak(Box::new(EngineDef::new("external:/x", "for a test").with_options(options)));
        keep(engine).err().map(|unfit| unfit.to_string()).unwrap_or_default()
    }

    #[test]
    fn options_must_fit_into_job_files() {
        let option = |name| OptionDef::of_engine("external:/x", name, Kind::Int, "a number");
        for (options, reason) in [
            (vec![option("a b")], "is not a word"),
            (vec![option("bs")], "has the name of an option of every job"),
            (vec![option("one"), option("one")], "two options of the name one"),
            (vec![OptionDef { default: Some("many"), ..option("one") }], "many, is not a valid value"),
        ] {
            assert!(answer(&options).contains(reason), "{reason}: {}", answer(&options));
        }
        assert!(find("external:/x").is_none());
        assert_eq!(answer(&[option("one"), OptionDef { default: Some("7"), ..option("two") }]), "");
        assert!(find("external:/x").is_some_and(|engine| engine.options.len() == 2));
    }
}
