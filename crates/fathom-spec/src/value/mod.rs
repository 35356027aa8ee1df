//! Typed option values: each type with its own grammar has a file here, with its parser, its tests and a
//! `Display` whose output parses back.

mod arrival_process;
mod bssplit;
mod continue_on_error;
mod cpu_list;
mod distribution;
mod engine_name;
mod file_names;
mod file_service;
mod host_names;
mod ignore_error;
mod ledger_place;
mod list;
mod memory;
mod numa;
mod number;
mod number_range;
mod pattern;
mod per_direction;
mod placement;
mod power_of_two;
mod priority_shares;
mod range;
mod replay_map;
mod replay_skip;
mod rw;
mod size;
mod steady_state;
mod sync_file_range;
mod time;
mod verify_method;

use std::io;
use std::path::Path;

use crate::definition::OptionDef;
use crate::machine::{EngineNotLoaded, Machine};
use crate::message::Message;
use crate::spelling::nearest;

pub use crate::context::{ParseContext, ValueError};
pub use crate::definition::TimeUnit;

pub use arrival_process::ArrivalProcess;
pub use bssplit::{BlockSizeSplit, BsShare};
pub use continue_on_error::ContinueOnError;
pub use cpu_list::CpuList;
pub(crate) use cpu_list::{check_cpu_mask, check_cpu_number};
pub use distribution::{AbsoluteZone, Distribution, Zone};
pub use engine_name::EngineName;
pub(crate) use engine_name::not_loadable;
pub(crate) use file_names::check_directories;
pub use file_names::{FileNames, split_file_names};
pub use file_service::FileService;
pub use host_names::HostNames;
pub use ignore_error::{IgnoreErrors, errno_name, errno_number};
pub use ledger_place::LedgerPlace;
pub use list::WordList;
pub use memory::{Memory, MemoryKind};
pub use numa::{NumaNodes, NumaPolicy};
pub use number::parse_amount;
pub use pattern::{Pattern, PatternPart};
pub use placement::PlacementIds;
pub use power_of_two::PowerOfTwo;
pub use priority_shares::{OwnPriority, PriorityShare, PriorityShares};
pub use range::SizeRange;
pub use replay_map::ReplayMap;
pub use replay_skip::ReplaySkip;
pub(crate) use rw::refuse_readonly;
pub use rw::{Rw, RwMode};
pub use size::SizeSpec;
pub use steady_state::{SteadyCriterion, SteadyState};
pub use sync_file_range::SyncFileRange;
pub use time::parse_time;
pub use verify_method::VerifyMethod;

pub(crate) use number::{parse_float, parse_whole};
pub(crate) use per_direction::Element;

/// A type of option values.
pub trait OptionValue: Sized + PartialEq {
    /// The value before any assignment.
    fn unset() -> Self;

    /// Stores the text of an option. Parts that the text omits keep their values.
    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError>;
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn unset() -> Self {
        None
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut value = self.take().unwrap_or_else(T::unset);
        value.assign(text, definition, context)?;
        *self = Some(value);
        Ok(())
    }
}

impl OptionValue for String {
    fn unset() -> Self {
        String::new()
    }

    fn assign(&mut self, text: &str, _: &OptionDef, _: &mut ParseContext<'_>) -> Result<(), ValueError> {
        text.clone_into(self);
        Ok(())
    }
}

/// A value from a fixed list of words.
pub(crate) trait Word: Copy {
    /// The initial value.
    const FIRST: Self;
    /// The value for which a word stands.
    fn parse_word(word: &str) -> Option<Self>;
}

/// Parses one word of a fixed list. Only the part before the first colon is compared, because some options take
/// arguments after it.
pub(crate) fn parse_choice<T: Word>(
    text: &str,
    definition: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<T, ValueError> {
    let word = text.split(':').next().unwrap_or(text);
    T::parse_word(word).ok_or_else(|| no_such_choice(definition, word, context))
}

/// The list of valid values that precedes the failure line.
pub(crate) fn list_choices(definition: &OptionDef, context: &mut ParseContext<'_>) {
    if definition.choices.is_empty() {
        return;
    }
    context.notes.push(Message::stdout(format!("{}\n", choice_lines(definition.choices))));
}

/// The valid values, one per line, as shown by `--cmdhelp` and error messages.
pub(crate) fn choice_lines(choices: &[crate::definition::Choice]) -> String {
    let mut lines = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        let label = if index == 0 { "valid values" } else { "" };
        lines.push(format!("{label:>20}: {:<10} {}", choice.name, choice.help));
    }
    lines.join("\n")
}

/// Refuses a word that the option does not accept: lists the accepted words and names the closest one.
pub(crate) fn no_such_choice(
    definition: &OptionDef,
    written: &str,
    context: &mut ParseContext<'_>,
) -> ValueError {
    list_choices(definition, context);
    let names: Vec<&str> = definition.choices.iter().map(|choice| choice.name).collect();
    let hint = match nearest(written, names.iter().copied()) {
        Some(name) => format!("; did you mean {name}?"),
        None => String::new(),
    };
    ValueError::new(format!("one of {}{hint}", names.join(", ")))
}

/// The value of a declaration's default.
///
/// A test checks all defaults; a default that did not parse would leave the value unset.
pub(crate) fn default_value<T: OptionValue>(definition: &OptionDef) -> T {
    let mut value = T::unset();
    if let Some(text) = definition.default {
        let mut context = ParseContext::new(&NoSource);
        if value.assign(text, definition, &mut context).is_err() {
            return T::unset();
        }
    }
    value
}

/// A source without a machine, for defaults, which do not depend on it.
pub(crate) struct NoSource;

impl Machine for NoSource {
    fn read_file(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn read_stdin(&self) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn exists(&self, _: &Path) -> bool {
        true
    }

    fn is_directory(&self, _: &Path) -> bool {
        true
    }

    fn online_cpus(&self) -> u32 {
        1
    }

    fn configured_cpus(&self) -> u32 {
        1 << 16
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn memory_mib(&self) -> u64 {
        1024
    }

    fn load_engine(&self, _: &Path) -> Result<&'static str, EngineNotLoaded> {
        Ok("external")
    }
}

/// Helpers shared by the tests of the value types.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Parses a value without declared limits.
    pub(crate) fn parse<T: OptionValue>(text: &str) -> Result<T, ValueError> {
        parse_noting(text).0
    }

    /// Parses a value and returns the lines that would be printed.
    pub(crate) fn parse_noting<T: OptionValue>(text: &str) -> (Result<T, ValueError>, Vec<String>) {
        parse_as(text, &OptionDef { name: "test", ..OptionDef::BLANK })
    }

    /// Parses a value for a given declaration.
    pub(crate) fn parse_as<T: OptionValue>(
        text: &str,
        definition: &OptionDef,
    ) -> (Result<T, ValueError>, Vec<String>) {
        let mut context = ParseContext::new(&NoSource);
        let mut value = T::unset();
        let result = value.assign(text, definition, &mut context).map(|()| value);
        (result, context.notes.into_iter().map(|note| note.text).collect())
    }
}
