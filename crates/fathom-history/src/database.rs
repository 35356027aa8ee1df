//! What a history needs of its database.

use crate::Error;
use crate::value::{Row, Value};

/// A connection to a database with a schema.
pub(crate) trait Database {
    /// Runs a query, whose parameters are `$1`, `$2` and so on.
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error>;

    /// Runs a statement without an answer.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(), Error>;

    /// Begins a transaction that writes, as soon as no other one does.
    fn begin(&mut self) -> Result<(), Error>;

    fn commit(&mut self) -> Result<(), Error>;

    fn rollback(&mut self);

    /// Version of the schema; 0 if there is none. A later one than this program knows is an error.
    fn version(&mut self) -> Result<i64, Error>;

    /// Brings the schema to the version of this program, within a transaction. Another program may have done so before
    /// that began.
    fn migrate(&mut self) -> Result<(), Error>;
}
