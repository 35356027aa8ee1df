//! Tests of the store on real databases.

mod authority;
mod dashboard;
mod made;
mod running;
mod scale;
mod server;
mod silence;
mod sqlite;
mod tls;
