//! Loads the engine in a shared object. The file is checked before any of its code runs; then the engine's
//! declarations are checked.

use super::External;
use super::error::{Fault, LoadError};
use super::interface::{
    ASYNCHRONOUS, DISCARDS_DATA, Entry, KNOWN, OWN_TARGETS, RawEngine, RawOption, SYMBOL, VERSION,
};
use crate::net::library;
use fathom_run::EngineEntry;
use fathom_spec::definition::{Kind, OptionDef};
use fathom_spec::engines::{EngineDef, loaded};
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Prefix of the names of external engines.
pub(crate) const PREFIX: &str = "external:";
/// Symbols that fio looks for in its libraries.
const SYMBOLS_OF_FIO: [&str; 2] = ["ioengine", "get_ioengine"];
/// Maximum number of options; a larger number indicates a mistake.
const MOST_OPTIONS: u64 = 1000;

/// A loaded engine; it is never unloaded.
pub(super) struct Loaded {
    pub(super) entry: EngineEntry,
    pub(super) functions: &'static RawEngine,
}

// SAFETY: what the library exports is constant, and its functions may be called from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

static LOADED: Mutex<Vec<&'static Loaded>> = Mutex::new(Vec::new());

/// The loaded engine with this name.
pub(super) fn find(name: &str) -> Option<&'static Loaded> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.iter().copied().find(|engine| engine.entry.definition.name == name)
}

/// The entry of a loaded engine, as in the list of engines.
pub(crate) fn entry(name: &str) -> Option<&'static EngineEntry> {
    find(name).map(|loaded| &loaded.entry)
}

/// Loads the engine in a shared object, unless it is loaded already.
pub fn load(path: &Path) -> Result<&'static EngineDef, LoadError> {
    let name = format!("{PREFIX}{}", path.display());
    if let Some(loaded) = find(&name) {
        return Ok(loaded.entry.definition);
    }
    let (definition, functions) =
        found_in(path, name).map_err(|fault| LoadError { path: path.to_owned(), fault })?;
    let entry = EngineEntry { definition, ..EngineEntry::direct::<External>() };
    let loaded = Box::leak(Box::new(Loaded { entry, functions }));
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).push(loaded);
    Ok(definition)
}

/// Loads the engine in a file; jobs use it under this name.
fn found_in(path: &Path, name: String) -> Result<(&'static EngineDef, &'static RawEngine), Fault> {
    check_symbols(path)?;
    let functions = open(path)?;
    let definition = definition(name, functions)?;
    loaded::keep(definition)?;
    Ok((definition, functions))
}

/// Checks the file's symbols, so that files without an engine are never executed.
fn check_symbols(path: &Path) -> Result<(), Fault> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Fault::NoFile);
    }
    let bytes = std::fs::read(path)?;
    if !bytes.starts_with(b"\x7fELF") {
        return Err(Fault::NoObject);
    }
    let has = |symbol: &str| {
        let word = [b"\0", symbol.as_bytes(), b"\0"].concat();
        bytes.windows(word.len()).any(|window| window == word)
    };
    if has(SYMBOL) {
        return Ok(());
    }
    Err(match SYMBOLS_OF_FIO.into_iter().find(|symbol| has(symbol)) {
        Some(symbol) => Fault::ForFio(symbol),
        None => Fault::NoEntry,
    })
}

/// Loads the file and obtains its engine.
fn open(path: &Path) -> Result<&'static RawEngine, Fault> {
    // The path is made absolute, because a name without a slash would be searched for in other directories.
    let whole = path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    let threads = threads();
    let library: &'static libloading::Library = Box::leak(Box::new(library::open_file(&whole)?));
    if self::threads() > threads {
        return Err(Fault::StartsThread);
    }
    // SAFETY: the header gives the symbol this type.
    let entry = unsafe { library.get::<Entry>(SYMBOL.as_bytes()) }.map_err(|_| Fault::NoEntry)?;
    // SAFETY: a function without side effects, according to the header. Its result is constant, and the
    // library stays loaded.
    let engine = unsafe { entry(VERSION).as_ref() };
    match engine {
        None => Err(Fault::UnknownVersion),
        Some(engine) if engine.version != VERSION => Err(Fault::OtherVersion(engine.version)),
        Some(engine) => check(engine).map(|()| engine),
    }
}

/// Number of threads in this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Checks that the library has all functions that its capabilities require.
fn check(engine: &RawEngine) -> Result<(), Fault> {
    let unknown = engine.capabilities & !KNOWN;
    if unknown != 0 {
        return Err(Fault::UnknownCapabilities(unknown));
    }
    let needed = [
        ("open", engine.open.is_some(), true),
        ("queue", engine.queue.is_some(), true),
        ("close", engine.close.is_some(), true),
        ("reap", engine.reap.is_some(), engine.capabilities & ASYNCHRONOUS != 0),
        ("size", engine.size.is_some(), engine.capabilities & OWN_TARGETS != 0),
    ];
    match needed.into_iter().find(|(_, is_there, is_needed)| *is_needed && !is_there) {
        Some((name, ..)) => Err(Fault::NoFunction(name)),
        None if engine.option_count > MOST_OPTIONS
            || (engine.option_count > 0 && engine.options.is_null()) =>
        {
            Err(Fault::TooManyOptions(engine.option_count))
        }
        None => Ok(()),
    }
}

/// The declaration of a loaded engine, by which jobs are checked.
fn definition(name: String, engine: &'static RawEngine) -> Result<&'static EngineDef, Fault> {
    let name: &'static str = name.leak();
    let has = |capability: u32| engine.capabilities & capability != 0;
    let options: Vec<OptionDef> =
        raw_options(engine).iter().map(|raw| option(name, raw)).collect::<Result<_, _>>()?;
    let help = text(engine.help).unwrap_or("an engine of your own");
    let mut definition = EngineDef::new(name, help).built().with_options(options.leak());
    if !has(ASYNCHRONOUS) {
        definition = definition.synchronous();
    }
    if has(OWN_TARGETS) {
        definition = definition.on_volume();
    }
    if has(DISCARDS_DATA) {
        definition = definition.discards_data();
    }
    Ok(Box::leak(Box::new(definition)))
}

fn raw_options(engine: &RawEngine) -> &[RawOption] {
    match engine.option_count {
        0 => &[],
        // SAFETY: the library has an array of this length, which is constant.
        count => unsafe { std::slice::from_raw_parts(engine.options, count as usize) },
    }
}

fn option(engine: &'static str, raw: &RawOption) -> Result<OptionDef, Fault> {
    let name = text(raw.name).ok_or(Fault::NamelessOption)?;
    let kind = match raw.kind {
        1 => Kind::Int,
        2 => Kind::Size,
        3 => Kind::Bool,
        4 => Kind::Time,
        5 => Kind::Text,
        kind => return Err(Fault::UnknownType { name: name.to_owned(), kind }),
    };
    let help = text(raw.help).unwrap_or("");
    Ok(OptionDef { default: text(raw.default_text), ..OptionDef::of_engine(engine, name, kind, help) })
}

/// A text that the library returned; `None` for null, and for a text that is not UTF-8.
pub(super) fn text<'a>(raw: *const c_char) -> Option<&'a str> {
    // SAFETY: the library's texts end with 0, and stay valid at least until its next call.
    (!raw.is_null()).then(|| unsafe { CStr::from_ptr(raw) })?.to_str().ok()
}
