//! Destination of a ledger of verified writes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// A file, or a listener on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LedgerPlace {
    /// This file.
    File(String),
    /// The listener at `HOST:PORT`.
    Tcp(String),
}

impl fmt::Display for LedgerPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerPlace::File(path) => formatter.write_str(path),
            LedgerPlace::Tcp(address) => write!(formatter, "tcp:{address}"),
        }
    }
}

impl OptionValue for LedgerPlace {
    fn unset() -> Self {
        LedgerPlace::File(String::new())
    }

    fn assign(&mut self, text: &str, _: &OptionDef, _: &mut ParseContext<'_>) -> Result<(), ValueError> {
        let expected = || ValueError::new("a file, or tcp:HOST:PORT");
        let Some(address) = text.strip_prefix("tcp:") else {
            if text.is_empty() {
                return Err(expected());
            }
            *self = LedgerPlace::File(text.to_owned());
            return Ok(());
        };
        let (host, port) = address.rsplit_once(':').ok_or_else(expected)?;
        if host.is_empty() || port.parse::<u16>().is_err() {
            return Err(expected());
        }
        *self = LedgerPlace::Tcp(address.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemorySource;

    fn parsed(text: &str) -> Option<String> {
        let source = MemorySource::default();
        let mut place = LedgerPlace::unset();
        place.assign(text, &OptionDef::BLANK, &mut ParseContext::new(&source)).ok()?;
        Some(format!("{place:?} {place}"))
    }

    #[test]
    fn files_and_addresses() {
        assert_eq!(parsed("/var/tmp/a").as_deref(), Some("File(\"/var/tmp/a\") /var/tmp/a"));
        assert_eq!(parsed("tcp:host:99").as_deref(), Some("Tcp(\"host:99\") tcp:host:99"));
        assert_eq!(parsed("tcp:[::1]:99").as_deref(), Some("Tcp(\"[::1]:99\") tcp:[::1]:99"));
        for broken in ["", "tcp:", "tcp:host", "tcp::99", "tcp:host:99999"] {
            assert_eq!(parsed(broken), None, "{broken}");
        }
    }
}
