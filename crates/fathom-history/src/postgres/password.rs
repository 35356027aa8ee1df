//! The password for a server, from where libpq takes it: PGPASSWORD, otherwise the file of PGPASSFILE or `~/.pgpass`.

use crate::Error;
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The password, if there is one for this server, database and user.
pub(crate) fn find(config: &Config) -> Result<Option<String>, Error> {
    if let Some(password) = env::var("PGPASSWORD").ok().filter(|text| !text.is_empty()) {
        return Ok(Some(password));
    }
    let named = env::var_os("PGPASSFILE").filter(|text| !text.is_empty()).map(PathBuf::from);
    let usual = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = named.or_else(usual) else { return Ok(None) };
    let Some(text) = read(&path)? else { return Ok(None) };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.as_str(),
        _ => "localhost",
    };
    let user = config.get_user().unwrap_or_default();
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    Ok(search(&text, [host, &port, config.get_dbname().unwrap_or(user), user]))
}

/// The content; `None` if there is no file. A file that others can read is refused.
fn read(path: &Path) -> Result<Option<String>, Error> {
    let refused = |why: String| Error::Other { place: path.display().to_string(), why };
    let Ok(metadata) = path.metadata() else { return Ok(None) };
    if !metadata.is_file() {
        return Ok(None);
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(refused("other users may read this file of passwords; chmod 600 protects it".to_owned()));
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| refused(fathom_errors::plain(&error)))
}

/// The password in the first line whose four fields match; `*` matches everything.
fn search(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let is_match = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        (fields.len() == 5 && fields.iter().zip(&wanted).all(is_match)).then(|| fields[4].clone())
    })
}

/// Fields between colons. A backslash protects a colon or a backslash.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let last = fields.len() - 1;
        match letter {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(letters.next()),
            letter => fields[last].push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_counts() {
        let text = "# comment\nother:5432:team:me:no\ndb:*:team:me:a\\:b\\\\c:d\n*:*:*:*:last\n\n";
        assert_eq!(search(text, ["db", "5433", "team", "me"]).as_deref(), Some("a:b\\c:d"));
        assert_eq!(search(text, ["db", "5433", "team", "you"]).as_deref(), Some("last"));
        assert_eq!(search("db:1:x:me", ["db", "1", "x", "me"]), None);
    }
}
