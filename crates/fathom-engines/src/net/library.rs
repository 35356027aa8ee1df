//! Client libraries that are there, or are not: loaded when a job wants them, so the program needs none.

use fathom_run::engine::SetupError;
use fathom_sys::Errno;
use libloading::Library;
use std::path::Path;

/// Opens the first of these libraries that this machine has; the error names the package to install.
pub(crate) fn open(names: &[&str], package: &str) -> Result<Library, String> {
    if cfg!(target_feature = "crt-static") {
        return Err(format!(
            "this is the static build of fathom, which cannot load {}: use the one of the packages for this engine",
            names[0]
        ));
    }
    for name in names {
        // SAFETY: a client library of a known name; its initialisers do nothing that could harm this process.
        if let Ok(library) = unsafe { Library::new(*name) } {
            return Ok(library);
        }
    }
    Err(format!("{} is not installed: apt-get install {package}", names[0]))
}

/// Opens the library in this file, which the user has named.
pub(crate) fn open_file(path: &Path) -> Result<Library, String> {
    if cfg!(target_feature = "crt-static") {
        return Err(
            "the static build of fathom loads no engines: use the one of the packages for this".to_owned()
        );
    }
    // SAFETY: whoever names the file vouches for what is in it.
    unsafe { Library::new(path) }.map_err(|error| format!("cannot be loaded: {error}"))
}

/// A sentence in place of an engine.
pub(crate) fn refused(errno: Errno, call: &'static str, sentence: String) -> SetupError {
    SetupError::new(errno, call).with_advice(sentence)
}

/// Declares the functions of a library that are used, and a type that holds them: the names that the library may have, the package to
/// install, and per function its field, its symbol and its type. The library stays loaded as long as the type lives.
macro_rules! functions {
    ($(#[$about:meta])* struct $Type:ident of [$($name:literal),+], package $package:literal { $($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$about])*
        pub(super) struct $Type {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the functions where they are.
            _library: libloading::Library,
        }

        impl $Type {
            /// Opens the library and finds all functions; the error names the first that is missing.
            pub(super) fn load() -> Result<$Type, String> {
                let library = $crate::net::library::open(&[$($name),+], $package)?;
                $(
                    // SAFETY: the symbol has this type in every release of the library that has the names asked for.
                    let $field = unsafe { library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>($symbol) }
                        .map(|function| *function)
                        .map_err(|_| concat!("the library lacks ", stringify!($field), ": it is too old or too new").to_owned())?;
                )*
                Ok($Type { $($field,)* _library: library })
            }
        }
    };
}
pub(crate) use functions;
