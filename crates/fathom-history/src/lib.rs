//! The history: results of many runs in one store, a file of SQLite or a database of PostgreSQL. [`Record`] is what is
//! kept of a run, made from a result of fathom or fio; [`Store`] adds, lists, reads and removes runs, and gives the
//! series of a figure over runs that are comparable. Both databases have the same schema, with views for
//! people.

#![forbid(unsafe_code)]

mod access;
mod database;
mod error;
mod figures;
mod filter;
pub mod fingerprint;
mod histogram;
mod jobs;
mod kept;
mod place;
mod postgres;
mod query;
pub mod record;
mod schema;
mod series;
mod sqlite;
mod store;
mod value;
mod write;

pub use access::Access;
pub use error::Error;
pub use filter::Condition;
pub use place::{Place, VARIABLE};
pub use postgres::Server;
pub use query::{Listed, Page, StoredRun};
pub use record::Record;
pub use schema::SCHEMA;
pub use series::{FigureName, Measure, Point, Series};
pub use store::Store;
pub use write::Added;
