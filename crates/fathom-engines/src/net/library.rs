//! Optional client libraries, loaded when a job needs them, so that the program does not depend on them.

use fathom_run::engine::SetupError;
use fathom_sys::Errno;
use libloading::Library;
use std::path::Path;
use thiserror::Error;

/// Why a library cannot be used.
#[derive(Debug, Error)]
pub(crate) enum LibraryError {
    /// The program is static, so it cannot load client libraries.
    #[error(
        "this is the static build of fathom, which cannot load {0}: use the one from the packages for this engine"
    )]
    StaticBuild(&'static str),
    /// The program is static, so it cannot load engines.
    #[error("the static build of fathom cannot load engines: use the one from the packages for this")]
    NoEngines,
    /// The library is not installed on this machine.
    #[error("{library} is not installed: apt-get install {package}")]
    NotInstalled { library: &'static str, package: &'static str },
    /// The system cannot load the file.
    #[error("cannot be loaded: {0}")]
    NotLoaded(libloading::Error),
    /// The library lacks a function, because its release is incompatible.
    #[error("the library lacks {0}: it is too old or too new")]
    LacksFunction(&'static str),
}

/// Opens the first of these libraries that is installed. The error names the package to install.
pub(crate) fn open<const N: usize>(
    names: [&'static str; N],
    package: &'static str,
) -> Result<Library, LibraryError> {
    if cfg!(target_feature = "crt-static") {
        return Err(LibraryError::StaticBuild(names[0]));
    }
    for name in names {
        // SAFETY: a client library of a known name; its initialisers do nothing that could harm this process.
        if let Ok(library) = unsafe { Library::new(name) } {
            return Ok(library);
        }
    }
    Err(LibraryError::NotInstalled { library: names[0], package })
}

/// Opens the library in a file that the user named.
pub(crate) fn open_file(path: &Path) -> Result<Library, LibraryError> {
    if cfg!(target_feature = "crt-static") {
        return Err(LibraryError::NoEngines);
    }
    // SAFETY: the user who names the file vouches for its code.
    unsafe { Library::new(path) }.map_err(LibraryError::NotLoaded)
}

/// Converts the error to one of the engine's setup.
pub(crate) fn refused(errno: Errno, call: &'static str, error: impl ToString) -> SetupError {
    SetupError::new(errno, call).with_advice(error.to_string())
}

/// Declares a type that holds the functions of a library that are used. The input is the possible names of the
/// library, the package to install, and the field, symbol and type of each function. The library stays loaded
/// as long as the type lives.
macro_rules! functions {
    ($(#[$about:meta])* struct $Type:ident of [$($name:literal),+], package $package:literal { $($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$about])*
        pub(super) struct $Type {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the library loaded.
            _library: libloading::Library,
        }

        impl $Type {
            /// Opens the library and looks up all functions; the error names the first missing one.
            pub(super) fn load() -> Result<$Type, $crate::net::library::LibraryError> {
                let library = $crate::net::library::open([$($name),+], $package)?;
                $(
                    // SAFETY: the symbol has this type in every release of the library that has the names asked for.
                    let $field = unsafe { library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>($symbol) }
                        .map(|function| *function)
                        .map_err(|_| $crate::net::library::LibraryError::LacksFunction(stringify!($field)))?;
                )*
                Ok($Type { $($field,)* _library: library })
            }
        }
    };
}
pub(crate) use functions;
