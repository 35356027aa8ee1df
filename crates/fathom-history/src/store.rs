//! An open history: the same operations on both databases.

use crate::access::Access;
use crate::database::Database;
use crate::postgres::Postgres;
use crate::schema::SCHEMA;
use crate::sqlite::Sqlite;
use crate::value::{Row, Value};
use crate::{Error, Place};
use std::collections::BTreeMap;

/// An open history.
pub struct Store {
    database: Box<dyn Database>,
    place: String,
    /// Numbers of the names of figures that were looked up.
    pub(crate) names: BTreeMap<String, i64>,
}

impl Store {
    /// Opens a history.
    pub fn open(place: &Place, access: Access) -> Result<Store, Error> {
        let database: Box<dyn Database> = match place {
            Place::File { path, is_default } => Box::new(Sqlite::open(path, *is_default, access)?),
            Place::Server(server) => Box::new(Postgres::open(server)?),
        };
        let mut store = Store { database, place: place.to_string(), names: BTreeMap::new() };
        store.migrate(access)?;
        Ok(store)
    }

    fn migrate(&mut self, access: Access) -> Result<(), Error> {
        match (self.database.version()?, access) {
            (SCHEMA, _) => Ok(()),
            (0, Access::Read) => Err(Error::Missing { place: self.place.clone() }),
            (0, Access::Again) => Err(Error::Gone { place: self.place.clone() }),
            _ => self.in_transaction(|store| store.database.migrate()),
        }
    }

    /// The place of the history, without secrets.
    pub fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        self.database.query(sql, values)
    }

    pub(crate) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), Error> {
        self.database.execute(sql, values)
    }

    /// Does all of the work, or nothing of it.
    pub(crate) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.database.begin()?;
        let done = work(self).and_then(|value| self.database.commit().map(|()| value));
        if done.is_err() {
            // Names that were added are gone.
            self.names.clear();
            self.database.rollback();
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
