//! Where a history is: a file of SQLite, or a database on a server of PostgreSQL.

use crate::Error;
use crate::postgres::Server;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// Environment variable that names the history if the command line does not.
pub const VARIABLE: &str = "FATHOM_HISTORY";

/// The place of a history.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file of SQLite; the directory of the default file is created with it.
    File {
        /// Path of the file.
        path: PathBuf,
        /// True for the default file.
        is_default: bool,
    },
    /// A database of PostgreSQL.
    Server(Box<Server>),
}

impl Place {
    /// The place that the user named, on the command line or in the environment; otherwise the file in the data
    /// directory of the user.
    pub fn of_user(named: Option<&OsStr>) -> Result<Place, Error> {
        match named.map(OsStr::to_owned).or_else(|| env::var_os(VARIABLE).filter(|text| !text.is_empty())) {
            Some(text) => Place::parse(&text),
            None => default_file(env::var_os("XDG_DATA_HOME"), env::var_os("HOME")),
        }
    }

    /// Parses a path or a URL.
    pub fn parse(text: &OsStr) -> Result<Place, Error> {
        match text.to_str().filter(|text| is_url(text)) {
            Some(url) => Server::parse(url).map(|server| Place::Server(Box::new(server))),
            None => Ok(Place::File { path: PathBuf::from(text), is_default: false }),
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// `fathom/history.db` in the data directory of the user, as the XDG Base Directory Specification places it.
fn default_file(data: Option<OsString>, home: Option<OsString>) -> Result<Place, Error> {
    // The specification ignores relative paths.
    let data = data.map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home =
        || home.filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".local/share"));
    match data.or_else(of_home) {
        Some(data) => Ok(Place::File { path: data.join("fathom/history.db"), is_default: true }),
        None => Err(Error::Other {
            place: "the history".to_owned(),
            why: "neither HOME nor XDG_DATA_HOME is set, so there is no default place; name one with --store"
                .to_owned(),
        }),
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, .. } => write!(formatter, "{}", path.display()),
            Place::Server(server) => formatter.write_str(&server.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_follows_the_specification() {
        let of = |data: Option<&str>, home: Option<&str>| {
            default_file(data.map(OsString::from), home.map(OsString::from))
                .map(|place| place.to_string())
                .ok()
        };
        assert_eq!(of(Some("/data"), Some("/home/a")).as_deref(), Some("/data/fathom/history.db"));
        assert_eq!(
            of(Some("data"), Some("/home/a")).as_deref(),
            Some("/home/a/.local/share/fathom/history.db")
        );
        assert_eq!(of(None, None), None);
    }

    #[test]
    fn urls_have_no_password() {
        let parse = |text: &str| Place::parse(OsStr::new(text)).map(|place| place.to_string());
        assert_eq!(
            parse("postgres://me@db.example:5433/team").expect("parses"),
            "postgres://me@db.example:5433/team"
        );
        for secret in ["postgres://me:hidden@db/team", "postgres://me@db/team?password=hidden"] {
            let error = parse(secret).expect_err("refused").to_string();
            assert!(error.contains("PGPASSFILE") && !error.contains("hidden"), "{error}");
        }
        let error = parse("postgres://me:hidden@db:port/x").expect_err("refused").to_string();
        assert!(!error.contains("hidden"), "{error}");
        assert_eq!(parse("history.db").expect("parses"), "history.db");
    }
}
