//! `ioengine`: the engine by name.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;
use crate::message::Message;
use crate::spelling::nearest;

/// An engine that fathom knows, or a shared object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineName {
    /// Canonical name; `external` for a shared object.
    pub name: String,
    /// The shared object after `external:`.
    pub external: Option<PathBuf>,
}

impl fmt::Display for EngineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.external {
            Some(path) => write!(formatter, "external:{}", path.display()),
            None => formatter.write_str(&self.name),
        }
    }
}

impl OptionValue for EngineName {
    fn unset() -> Self {
        EngineName { name: "psync".to_owned(), external: None }
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix("external:").filter(|path| !path.is_empty()) {
            if !context.source.exists(Path::new(path)) {
                context.complain(format!("fio: invalid external ioengine path \"{path}\""));
                return Err(ValueError::new("the path of a shared object that exists"));
            }
            let engine = context.source.load_engine(Path::new(path)).map_err(|reason| {
                context.complain(format!("fio: engine external:{path} not loadable"));
                ValueError::new(format!("an engine that can be loaded: {reason}"))
            })?;
            *self = EngineName { name: engine.to_owned(), external: Some(PathBuf::from(path)) };
            return Ok(());
        }
        if text == "external" {
            return Err(ValueError::new("external:PATH, the path of a shared object (docs/external.md)"));
        }
        // Old job files contain "linuxaio" or "aio" with various endings, which mean libaio.
        let libaio = text.starts_with("linuxaio") || text.starts_with("aio");
        let name = if libaio { "libaio" } else { text };
        let engines = context.engines.as_deref();
        if engines.is_none_or(|engines| engines.contains(&name)) {
            *self = EngineName { name: name.to_owned(), external: None };
            return Ok(());
        }
        // A job file that is only checked may be meant for another machine, so the engine need not exist.
        if context.parse_only && context.in_job_file {
            *self = EngineName { name: name.to_owned(), external: None };
            return Ok(());
        }
        let hint = nearest(name, engines.into_iter().flatten().copied())
            .map_or(String::new(), |name| format!("; did you mean {name}?"));
        context.notes.extend(not_loadable(name));
        let expected = format!("the name of an engine, see --enghelp{hint}");
        Err(ValueError { expected, fully_reported: true })
    }
}

/// The lines that fio prints about an engine that does not exist.
pub(crate) fn not_loadable(name: &str) -> [Message; 3] {
    [
        Message::stdout(format!(
            "fio: file:ioengines.c, func=dlopen, error={name}: cannot open shared object file: No such file or directory"
        )),
        Message::stderr(format!("fio: engine {name} not loadable")),
        Message::stderr("fio: failed to load engine"),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::NoSource;
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn historic_names_mean_libaio() {
        for name in ["libaio", "linuxaio", "aio", "aio-something"] {
            assert_eq!(parse::<EngineName>(name).unwrap().name, "libaio", "{name}");
        }
    }

    #[test]
    fn shared_objects_keep_their_path() {
        let external: EngineName = parse("external:/x/y.so").unwrap();
        assert_eq!(external.external, Some(PathBuf::from("/x/y.so")));
        assert_eq!(parse(&external.to_string()), Ok(external));
    }

    #[test]
    fn unknown_engines_are_not_loadable() {
        let mut context = ParseContext::new(&NoSource);
        context.engines = Some(vec!["null", "psync"]);
        let mut assign = |name| EngineName::unset().assign(name, &OptionDef::BLANK, &mut context);
        assert_eq!(assign("null"), Ok(()));
        assert!(assign("psinc").unwrap_err().expected.contains("did you mean psync?"));
        assert_eq!(context.notes[1].text, "fio: engine psinc not loadable");
    }
}
