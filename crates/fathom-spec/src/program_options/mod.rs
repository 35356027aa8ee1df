//! The options of the program itself, one declaration each (see [`ProgramOptions`]); parsing, the usage text,
//! the manual page, completions and docs/options.md are derived from it.

mod declarations;
mod setters;

use crate::formats::{self, FormatDeclaration};
use crate::message::Message;
use crate::outcome::Outcome;
use crate::source::Source;

pub use declarations::{ALL, ProgramOptions};

/// Whether an option of the program takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Takes no value.
    None,
    /// Requires a value.
    Required,
    /// May take a value after `=`.
    Optional,
}

/// The values of a program option, if they can be listed.
#[derive(Debug, Clone, Copy)]
enum Values {
    /// Not a list.
    Any,
    /// These words.
    Words(&'static [&'static str]),
    /// The report formats.
    Formats,
}

/// One option of the program; created by the `program_options!` macro.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOption {
    /// Name without dashes.
    pub name: &'static str,
    /// Its value.
    pub argument: Argument,
    /// Name of the value in the usage text.
    pub placeholder: &'static str,
    /// True if the option works in this version.
    pub built: bool,
    /// True if the option is known but left out of the usage text.
    pub hidden: bool,
    help: &'static str,
    values: Values,
    apply: Setter,
}

/// Applies an option: it changes a setting, prints something, or is the only action of the program.
type Setter = fn(&mut ProgramOptions, &mut Given<'_>) -> Result<(), Outcome>;

/// An option as given, with the context on which its effect depends.
pub(crate) struct Given<'a> {
    pub(crate) option: &'static ProgramOption,
    pub(crate) value: Option<&'a str>,
    /// The name by which the program was called.
    pub(crate) program_name: &'a str,
    /// Used to look up engines.
    pub(crate) source: &'a dyn Source,
    /// The available report formats.
    pub(crate) formats: &'a [&'static FormatDeclaration],
    /// Messages to print before anything runs.
    pub(crate) messages: &'a mut Vec<Message>,
}

impl ProgramOption {
    /// The base that declarations fill in.
    const BLANK: ProgramOption = ProgramOption {
        name: "",
        argument: Argument::None,
        placeholder: "",
        built: true,
        hidden: false,
        help: "",
        values: Values::Any,
        apply: |_, _| Ok(()),
    };

    /// Description of the option, in one line.
    pub fn help(&self, formats: &[&'static FormatDeclaration]) -> String {
        self.help.replace("{formats}", &formats::help(formats))
    }

    /// Accepted words; empty if they cannot be enumerated.
    pub fn words(&self, formats: &[&'static FormatDeclaration]) -> Vec<&'static str> {
        match self.values {
            Values::Any => Vec::new(),
            Values::Words(words) => words.to_vec(),
            Values::Formats => formats::names(formats),
        }
    }
}

/// The option's entries in the usage text: option, value and help.
pub(crate) fn usage_entries(
    formats: &[&'static FormatDeclaration],
) -> impl Iterator<Item = (String, String)> {
    ALL.iter().filter(|option| !option.hidden).map(|option| {
        let note = if option.built { "" } else { " (not built yet)" };
        (format!("--{}{}", option.name, option.placeholder), format!("{}{note}", option.help(formats)))
    })
}

/// The option with exactly this name.
pub(crate) fn find(name: &str) -> Option<&'static ProgramOption> {
    ALL.iter().find(|option| option.name == name)
}

/// Applies an option of the program. If it returns an outcome, the program has nothing else to do.
pub(crate) fn apply(program: &mut ProgramOptions, mut given: Given<'_>) -> Result<(), Outcome> {
    (given.option.apply)(program, &mut given)
}

/// Turns declarations into a struct with one documented field per option that has a value, and a table of
/// [`ProgramOption`].
///
/// A declaration consists of the help text as documentation; the name, whether a value follows, and the value's
/// name in the usage text; further properties of [`ProgramOption`] by name; and the function of `setters` that
/// applies the option. The function receives the field given in its parentheses (with its type, its default if
/// that differs from the type's, and remarks on the field), or the whole struct if none is given.
macro_rules! program_options {
    (
        $(#[doc = $about:literal])+
        pub struct $Struct:ident, table $TABLE:ident;
        $(
            #[doc = $help:literal]
            $name:literal $argument:ident $placeholder:literal $({ $($property:ident : $value:expr),+ })?
                => $setter:ident($($(#[doc = $more:literal])* $field:ident : $type:ty $(= $default:expr)?)?);
        )*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $Struct {
            $( $( #[doc = $help] $(#[doc = ""] #[doc = $more])* pub $field: $type, )? )*
        }

        impl Default for $Struct {
            fn default() -> Self {
                $Struct { $( $( $field: program_options!(@default $type $(, $default)?), )? )* }
            }
        }

        /// Every option of the program, in the order of the usage text.
        pub const $TABLE: &[$crate::program_options::ProgramOption] = &[
            $( $crate::program_options::ProgramOption {
                name: $name,
                argument: $crate::program_options::Argument::$argument,
                placeholder: $placeholder,
                help: $help.trim_ascii(),
                $( $( $property: $value, )+ )?
                apply: |program, given| program_options!(@apply $setter, program, given $(, $field)?),
                ..$crate::program_options::ProgramOption::BLANK
            }, )*
        ];
    };

    (@default $type:ty, $default:expr) => { $default };
    (@default $type:ty) => { <$type>::default() };
    (@apply $setter:ident, $program:ident, $given:ident, $field:ident) => {
        $crate::program_options::setters::$setter(&mut $program.$field, $given)
    };
    (@apply $setter:ident, $program:ident, $given:ident) => {
        $crate::program_options::setters::$setter($program, $given)
    };
}

use program_options;
