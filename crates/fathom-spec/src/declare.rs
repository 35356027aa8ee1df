//! The macro that turns a list of option declarations into a struct with the values and a table from which
//! everything else is derived. A similar macro declares values that are words.

/// Turns option declarations into a struct with one documented field per option, and a static table of
/// [`OptionDef`](crate::definition::OptionDef).
///
/// A declaration reads: documentation (which is the help text), `Built` or `Later`, the kind of value, field
/// name (`as "name"` if the option's name is not a valid identifier), type, default as written, and further
/// properties of [`OptionDef`](crate::definition::OptionDef) by name.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        pub struct $Struct:ident in $category:ident, table $TABLE:ident;
        $(
            $(#[doc = $help:literal])+
            $status:ident $kind:ident $field:ident $(as $name:literal)? : $type:ty $(= $default:literal)?
            $(, { $($property:ident : $value:expr),+ $(,)? })?;
        )*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $Struct {
            $( $(#[doc = $help])+ pub $field: $type, )*
        }

        impl Default for $Struct {
            fn default() -> Self {
                $Struct {
                    $( $field: $crate::value::default_value::<$type>(
                        &options!(@definition $Struct, $category, [$($help)+], $status, $kind, $field,
                                  [$($name)?], $type, [$($default)?], [$($($property: $value,)+)?])), )*
                }
            }
        }

        #[doc = concat!("The declarations of [`", stringify!($Struct), "`].")]
        pub static $TABLE: &[$crate::definition::OptionDef] = &[
            $( options!(@definition $Struct, $category, [$($help)+], $status, $kind, $field,
                        [$($name)?], $type, [$($default)?], [$($($property: $value,)+)?]), )*
        ];
    };

    (@definition $Struct:ident, $category:ident, [$($help:literal)+], $status:ident, $kind:ident,
     $field:ident, [$($name:literal)?], $type:ty, [$($default:literal)?],
     [$($property:ident: $value:expr,)*]) => {
        $crate::definition::OptionDef {
            name: options!(@name $field $($name)?),
            help: concat!($($help, "\n"),+),
            kind: $crate::definition::Kind::$kind,
            status: $crate::definition::Status::$status,
            category: $crate::definition::Category::$category,
            default: options!(@default $($default)?),
            set: |job, text, definition, context| {
                let group: &mut $Struct = $crate::definition::group_mut(job);
                $crate::value::OptionValue::assign(&mut group.$field, text, definition, context)
            },
            is_default: |job, _| {
                let group: &$Struct = $crate::definition::group(job);
                group.$field == $Struct::default().$field
            },
            $( $property: $value, )*
            ..$crate::definition::OptionDef::BLANK
        }
    };
    (@name $field:ident $name:literal) => { $name };
    (@name $field:ident) => { stringify!($field) };
    (@default $default:literal) => { Some($default) };
    (@default) => { None };
}

/// Turns a list of words into an enumeration that is an option value.
///
/// Each variant lists its words, the first of which is printed, and its documentation is the help text in lists
/// of values.
macro_rules! choices {
    (
        $(#[doc = $about:literal])+
        pub enum $Enum:ident {
            $( $(#[doc = $help:literal])+ $Variant:ident = $word:literal $(| $other:literal)*, )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $Enum {
            $( $(#[doc = $help])+ $Variant, )+
        }

        impl $Enum {
            /// The words that express this value, with their meaning.
            pub const CHOICES: &'static [$crate::definition::Choice] = &[
                $( $crate::definition::Choice { name: $word, help: concat!($($help),+).trim_ascii() },
                   $( $crate::definition::Choice { name: $other, help: concat!("Same as ", $word) }, )* )+
            ];

            /// The word in fio's spelling.
            pub fn name(self) -> &'static str {
                match self { $( $Enum::$Variant => $word, )+ }
            }

            /// The value for a word.
            pub fn from_name(word: &str) -> Option<Self> {
                match word {
                    $( $word $(| $other)* => Some($Enum::$Variant), )+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.name())
            }
        }

        impl $crate::value::Word for $Enum {
            const FIRST: Self = [$($Enum::$Variant),+][0];
            fn parse_word(word: &str) -> Option<Self> {
                $Enum::from_name(word)
            }
        }

        impl $crate::value::OptionValue for $Enum {
            fn unset() -> Self {
                <Self as $crate::value::Word>::FIRST
            }
            fn assign(
                &mut self,
                text: &str,
                definition: &$crate::definition::OptionDef,
                context: &mut $crate::value::ParseContext<'_>,
            ) -> Result<(), $crate::value::ValueError> {
                *self = $crate::value::parse_choice(text, definition, context)?;
                Ok(())
            }
        }
    };
}

pub(crate) use {choices, options};
