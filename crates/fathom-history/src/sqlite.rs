//! A history in one file of SQLite.
//!
//! The file has a rollback journal, not a write-ahead log: home directories are often on network file systems, where
//! a write-ahead log does not work, and a history has one writer for some milliseconds per run. Every run
//! is one transaction that is synced; a killed program leaves a journal that the next one rolls back.

use crate::Error;
use crate::access::Access;
use crate::database::Database;
use crate::schema::{Dialect, SCHEMA, migrations};
use crate::value::{Row, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks the file as a history of fathom: `fthm`.
const APPLICATION: i64 = 0x6674_686d;
/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(20);

const DIALECT: Dialect = Dialect {
    id: "INTEGER PRIMARY KEY AUTOINCREMENT",
    bytes: "BLOB",
    clustered: " WITHOUT ROWID",
    time: "strftime('%Y-%m-%dT%H:%M:%SZ', nullif({}, 0) / 1000, 'unixepoch')",
};

/// An open file.
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens the file. Only a writer creates it.
    pub(crate) fn open(path: &Path, is_default: bool, access: Access) -> Result<Sqlite, Error> {
        let create = match access {
            Access::Read if !path.exists() => return Err(Error::Missing { place: place(path) }),
            Access::Again if !path.exists() => return Err(Error::Gone { place: place(path) }),
            Access::Read | Access::Again => OpenFlags::empty(),
            Access::Write => OpenFlags::SQLITE_OPEN_CREATE,
        };
        if let (true, Access::Write, Some(parent)) = (is_default, access, path.parent()) {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::ReadOnly { place: place(path), why: fathom_errors::plain(&error) })?;
        }
        // SQLite opens a file that cannot be written for reading.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let opened = Connection::open_with_flags(path, flags);
        let connection = opened.map_err(|error| cause(path, &error))?;
        let sqlite = Sqlite { connection, path: path.to_owned() };
        sqlite.set_up()?;
        Ok(sqlite)
    }

    fn set_up(&self) -> Result<(), Error> {
        let done = self.connection.busy_timeout(PATIENCE).and_then(|()| {
            self.connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384")
        });
        done.map_err(|error| self.cause(&error))
    }

    fn cause(&self, error: &rusqlite::Error) -> Error {
        cause(&self.path, error)
    }
}

impl Database for Sqlite {
    fn migrate(&mut self) -> Result<(), Error> {
        for (version, sql) in migrations(self.version()?, &DIALECT) {
            let marks = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version};");
            let done = self.connection.execute_batch(&(sql + &marks));
            done.map_err(|error| self.cause(&error))?;
        }
        Ok(())
    }

    fn version(&mut self) -> Result<i64, Error> {
        let number = |sql: &str| -> Result<i64, rusqlite::Error> {
            self.connection.query_row(sql, [], |row| row.get(0))
        };
        let read = || {
            Ok((
                number("PRAGMA application_id")?,
                number("PRAGMA user_version")?,
                number("SELECT count(*) FROM sqlite_master")?,
            ))
        };
        let (application, version, tables) = read().map_err(|error| self.cause(&error))?;
        match (application, version, tables) {
            (0, 0, 0) => Ok(0),
            (APPLICATION, 1.., _) if version <= SCHEMA => Ok(version),
            (APPLICATION, 1.., _) => Err(Error::Newer { place: place(&self.path), found: version }),
            _ => Err(Error::Foreign { path: self.path.clone() }),
        }
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let read = |connection: &Connection| -> Result<Vec<Row>, rusqlite::Error> {
            let mut statement = connection.prepare(&numbered(sql))?;
            let columns = statement.column_count();
            let mut rows = statement.query(params_from_iter(values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let cells: Result<Vec<Value>, rusqlite::Error> =
                    (0..columns).map(|column| row.get_ref(column).map(value_of)).collect();
                found.push(Row(cells?));
            }
            Ok(found)
        };
        read(&self.connection).map_err(|error| self.cause(&error))
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), Error> {
        let done = self.connection.execute(&numbered(sql), params_from_iter(values));
        done.map(|_| ()).map_err(|error| self.cause(&error))
    }

    /// It waits here, and not halfway, for other writers.
    fn begin(&mut self) -> Result<(), Error> {
        self.execute("BEGIN IMMEDIATE", &[])
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.execute("COMMIT", &[])
    }

    fn rollback(&mut self) {
        // SQLite may have rolled back already; otherwise closing the file does.
        let _ = self.connection.execute_batch("ROLLBACK");
    }
}

/// SQLite numbers parameters with `?`.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

fn place(path: &Path) -> String {
    path.display().to_string()
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// The reason for a failure, by the code that SQLite gives.
fn cause(path: &Path, error: &rusqlite::Error) -> Error {
    let place = place(path);
    let why = || match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Locked { place, seconds: PATIENCE.as_secs() }
        }
        Some(ErrorCode::DiskFull) => Error::Full { place },
        Some(ErrorCode::NotADatabase) => Error::Foreign { path: path.to_owned() },
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { what: format!("{place}: {}", why()) },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::ReadOnly { place, why: reason(path, why()) }
        }
        _ => Error::Other { place, why: why() },
    }
}

/// SQLite does not say which call of the system failed, so the file is looked at.
fn reason(path: &Path, otherwise: String) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return format!("{} is not a directory", parent.display());
    }
    if path.is_dir() {
        return "it is a directory".to_owned();
    }
    fathom_errors::access(path).unwrap_or(otherwise)
}
