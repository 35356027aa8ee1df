//! Tests of the store on real databases.

mod made;
mod scale;
mod server;
mod sqlite;
