//! An open history: the same operations on both databases.

use crate::access::Access;
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::value::{Row, Value};
use crate::{Error, Place};
use std::collections::BTreeMap;

/// An open history.
pub struct Store {
    database: Database,
    place: String,
    /// Numbers of the names of figures that were looked up.
    pub(crate) names: BTreeMap<String, i64>,
}

enum Database {
    Sqlite(Sqlite),
    // Larger than the other by far.
    Postgres(Box<Postgres>),
}

impl Store {
    /// Opens a history.
    pub fn open(place: &Place, access: Access) -> Result<Store, Error> {
        let database = match place {
            Place::File { path, is_default } => Database::Sqlite(Sqlite::open(path, *is_default, access)?),
            Place::Server(config) => Database::Postgres(Box::new(Postgres::open(config, access)?)),
        };
        Ok(Store { database, place: place.to_string(), names: BTreeMap::new() })
    }

    /// The place of the history, without secrets.
    pub fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        match &mut self.database {
            Database::Sqlite(database) => database.query(sql, values),
            Database::Postgres(database) => database.query(sql, values),
        }
    }

    pub(crate) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), Error> {
        match &mut self.database {
            Database::Sqlite(database) => database.execute(sql, values),
            Database::Postgres(database) => database.execute(sql, values),
        }
    }

    /// Does all of the work, or nothing of it.
    pub(crate) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &mut self.database {
            Database::Sqlite(database) => database.begin()?,
            Database::Postgres(database) => database.begin()?,
        }
        let done = work(self).and_then(|value| {
            match &mut self.database {
                Database::Sqlite(database) => database.commit()?,
                Database::Postgres(database) => database.commit()?,
            }
            Ok(value)
        });
        if done.is_err() {
            // Names that were added are gone.
            self.names.clear();
            match &mut self.database {
                Database::Sqlite(database) => database.rollback(),
                Database::Postgres(database) => database.rollback(),
            }
        }
        done
    }

    /// Inserts rows, many with each statement. `target` is the table with its columns.
    pub(crate) fn insert(&mut self, target: &str, rows: &[Vec<Value>]) -> Result<(), Error> {
        /// Parameters of one statement, within the limits of both databases.
        const MOST: usize = 6000;
        let Some(width) = rows.first().map(Vec::len) else { return Ok(()) };
        for part in rows.chunks((MOST / width).max(1)) {
            let row = |index: usize| {
                let numbers: Vec<String> =
                    (1..=width).map(|column| format!("${}", index * width + column)).collect();
                format!("({})", numbers.join(", "))
            };
            let places: Vec<String> = (0..part.len()).map(row).collect();
            self.execute(&format!("INSERT INTO {target} VALUES {}", places.join(", ")), &part.concat())?;
        }
        Ok(())
    }
}

/// `$1, $2, ...` for a list of this many values, of which the first has this number.
pub(crate) fn numbers(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}
