//! A history in a database of PostgreSQL, in its schema `fathom`. Writers take turns by an advisory lock for the
//! time of one transaction, so that several hosts can add runs at the same time.

use crate::Error;
use crate::database::Database;
use crate::password;
use crate::schema::{Dialect, SCHEMA, migrations};
use crate::value::{Row, Value};
use bytes::BytesMut;
use postgres::config::Host;
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls};
use std::error::Error as StdError;
use std::str::FromStr;
use std::time::Duration;

/// Key of the advisory lock of writers and migrations: `fathom`, in hexadecimal ASCII.
const LOCK: i64 = 0x6661_7468_6f6d;
/// How long to wait for another writer, and for the server.
const PATIENCE: Duration = Duration::from_secs(30);
/// Directory of sockets on Debian and others.
const SOCKETS: &str = "/var/run/postgresql";

const DIALECT: Dialect = Dialect {
    id: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    bytes: "BYTEA",
    clustered: "",
    time: "to_timestamp(nullif({}, 0) / 1000.0)",
};

/// An open connection.
pub(crate) struct Postgres {
    client: Client,
    place: String,
}

/// Parses a URL. It has no password, because every user of a machine can read the arguments of its programs.
pub(crate) fn parse(url: &str) -> Result<Config, Error> {
    // The URL may contain a password in a place where the parser does not expect one.
    let hidden = || format!("{}://...", url.split("://").next().unwrap_or_default());
    let refused = |why: String| Error::Url { url: hidden(), why };
    let mut config = Config::from_str(url).map_err(|error| refused(told(&error)))?;
    if config.get_password().is_some() {
        return Err(Error::PasswordInUrl { place: name(&config) });
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    if config.get_hosts().is_empty() {
        config.host(&variable("PGHOST").unwrap_or_else(|| SOCKETS.to_owned()));
    }
    if config.get_user().is_none() {
        let user = variable("PGUSER").or_else(|| variable("USER"));
        config.user(&user.ok_or_else(|| refused("it names no user".to_owned()))?);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(PATIENCE);
    }
    config.application_name("fathom");
    Ok(config)
}

/// The server and database as a URL without secrets.
pub(crate) fn name(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    };
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
    let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
    format!("postgres://{user}{host}{port}{database}")
}

impl Postgres {
    /// Connects.
    pub(crate) fn open(config: &Config) -> Result<Postgres, Error> {
        let place = name(config);
        let mut config = config.clone();
        if let Some(password) = password::find(&config)? {
            config.password(password);
        }
        let client = config.connect(NoTls).map_err(|error| cause(&place, &error))?;
        let mut postgres = Postgres { client, place };
        postgres.batch(&format!(
            "SET search_path TO fathom; SET lock_timeout TO {}; SET client_min_messages TO warning",
            PATIENCE.as_millis()
        ))?;
        Ok(postgres)
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).map_err(|error| self.cause(&error))
    }

    fn cause(&self, error: &postgres::Error) -> Error {
        cause(&self.place, error)
    }
}

impl Database for Postgres {
    fn migrate(&mut self) -> Result<(), Error> {
        let found = self.version()?;
        if found == 0 {
            self.batch("CREATE SCHEMA IF NOT EXISTS fathom; CREATE TABLE schema_version (version BIGINT NOT NULL); INSERT INTO schema_version VALUES (0)")?;
        }
        for (version, sql) in migrations(found, &DIALECT) {
            self.batch(&sql)?;
            self.execute("UPDATE schema_version SET version = $1", &[Value::Int(version)])?;
        }
        Ok(())
    }

    fn version(&mut self) -> Result<i64, Error> {
        let there = self.query(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'fathom' AND tablename = 'schema_version'",
            &[],
        )?;
        if there.first().map(|row| row.int(0)).transpose()? != Some(1) {
            return Ok(0);
        }
        let rows = self.query("SELECT version FROM schema_version", &[])?;
        match rows.first().map(|row| row.int(0)).transpose()? {
            Some(found) if found > SCHEMA => Err(Error::Newer { place: self.place.clone(), found }),
            Some(found) => Ok(found),
            None => Err(Error::Damaged { what: format!("{}: its schema has no version", self.place) }),
        }
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let rows = self.client.query(sql, &parameters(values)).map_err(|error| self.cause(&error))?;
        rows.iter().map(|row| row_of(row).map_err(|error| self.cause(&error))).collect()
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), Error> {
        self.client.execute(sql, &parameters(values)).map(|_| ()).map_err(|error| self.cause(&error))
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.batch("BEGIN")?;
        let locked = self.query("SELECT 1 FROM pg_advisory_xact_lock($1)", &[Value::Int(LOCK)]);
        locked.map(|_| ()).inspect_err(|_| self.rollback())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch("COMMIT")
    }

    fn rollback(&mut self) {
        // The server rolls back when the connection ends, if this fails.
        let _ = self.client.batch_execute("ROLLBACK");
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

fn row_of(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let cell = |(index, column): (usize, &postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map_or(Value::Null, Value::Int),
            Type::INT4 => {
                row.try_get::<_, Option<i32>>(index)?.map_or(Value::Null, |number| Value::Int(number.into()))
            }
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(index)?.map_or(Value::Null, Value::Real),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map_or(Value::Null, Value::Bytes),
            _ => row.try_get::<_, Option<String>>(index)?.map_or(Value::Null, Value::Text),
        })
    };
    row.columns().iter().enumerate().map(cell).collect::<Result<Vec<Value>, _>>().map(Row)
}

/// The reason for a failure, by the code that the server gives.
fn cause(place: &str, error: &postgres::Error) -> Error {
    let place = place.to_owned();
    let Some(code) = error.code() else {
        return Error::Other { place, why: told(error) };
    };
    let why = told(error);
    match *code {
        SqlState::DISK_FULL => Error::Full { place },
        SqlState::LOCK_NOT_AVAILABLE => Error::Locked { place, seconds: PATIENCE.as_secs() },
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::ReadOnly { place, why }
        }
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => Error::Other {
            place,
            why: format!("{why}; passwords come from PGPASSWORD, the file of PGPASSFILE, or ~/.pgpass"),
        },
        _ => Error::Other { place, why },
    }
}

/// The innermost message: that of the server or of the system.
fn told(error: &postgres::Error) -> String {
    if let Some(of_server) = error.as_db_error() {
        return of_server.message().to_owned();
    }
    let mut text = fathom_errors::plain(error);
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {}", fathom_errors::plain(inner));
        source = inner.source();
    }
    text
}
