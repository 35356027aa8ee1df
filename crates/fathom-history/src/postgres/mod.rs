//! A history in a database of PostgreSQL, in its schema `fathom`. Writers take turns by an advisory lock for the
//! time of one transaction, so that several hosts can add runs at the same time.

mod address;
mod cause;
mod password;
mod session;
mod stream;
mod tls;
mod verify;

pub use address::Server;

use crate::Error;
use crate::database::Database;
use crate::schema::{Dialect, SCHEMA, migrations};
use crate::value::{Row, Value};
use bytes::BytesMut;
use session::Session;
use std::error::Error as StdError;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// Key of the advisory lock of writers and migrations: `fathom`, in hexadecimal ASCII.
const LOCK: i64 = 0x6661_7468_6f6d;

const DIALECT: Dialect = Dialect {
    id: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    bytes: "BYTEA",
    clustered: "",
    time: "to_timestamp(nullif({}, 0) / 1000.0)",
};

/// An open connection.
pub(crate) struct Postgres {
    session: Session,
}

impl Postgres {
    /// Connects.
    pub(crate) fn open(server: &Server) -> Result<Postgres, Error> {
        Session::open(server).map(|session| Postgres { session })
    }

    fn place(&self) -> String {
        self.session.place().to_owned()
    }
}

impl Database for Postgres {
    fn migrate(&mut self) -> Result<(), Error> {
        let found = self.version()?;
        if found == 0 {
            self.session.batch("CREATE SCHEMA IF NOT EXISTS fathom; CREATE TABLE schema_version (version BIGINT NOT NULL); INSERT INTO schema_version VALUES (0)")?;
        }
        for (version, sql) in migrations(found, &DIALECT) {
            self.session.batch(&sql)?;
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
            Some(found) if found > SCHEMA => Err(Error::Newer { place: self.place(), found }),
            Some(found) => Ok(found),
            None => Err(Error::Damaged { what: format!("{}: its schema has no version", self.place()) }),
        }
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let rows = self.session.query(sql, &parameters(values))?;
        let read = |row: &tokio_postgres::Row| {
            row_of(row).map_err(|error| cause::cause(self.session.place(), &error))
        };
        rows.iter().map(read).collect()
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), Error> {
        self.session.execute(sql, &parameters(values))
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.session.begin(LOCK).inspect_err(|_| self.rollback())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.session.commit()
    }

    fn rollback(&mut self) {
        // The server rolls back when the connection ends, if this fails.
        let _ = self.session.batch("ROLLBACK");
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

fn row_of(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let cell = |(index, column): (usize, &tokio_postgres::Column)| {
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
