//! The store in a database of a real PostgreSQL.

use crate::running::Server;
use crate::{made, sqlite};
use fathom_history::{Access, Error, Store};

#[test]
fn a_server_behaves() {
    let Some(server) = Server::start() else { return };
    sqlite::behaves(&server.database("one"));
    // Many writers, of which some add the same runs, begin with an empty database.
    let place = server.database("two");
    let writers: Vec<_> = (0..6u64)
        .map(|writer| {
            let place = place.clone();
            std::thread::spawn(move || {
                let mut store = Store::open(&place, Access::Write).expect("opens");
                (0..20).for_each(|number| {
                    store.add(&made::record(writer / 2 * 1000 + number)).expect("added");
                });
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().expect("ends"));
    let mut store = Store::open(&place, Access::Read).expect("opens");
    assert_eq!(store.list(&[], 1, 0).expect("listed").total, 60);
    // The view has a time that people and Grafana read.
    let mut client = server.client("two").expect("connects");
    let row =
        client.query_one("SELECT begun_utc::text, kernel FROM fathom.runs ORDER BY begun_ms LIMIT 1", &[]);
    assert!(row.expect("a row").get::<_, String>(0).starts_with("2023-11-1"));
    client.batch_execute("UPDATE fathom.schema_version SET version = 99").expect("updated");
    assert!(matches!(Store::open(&place, Access::Write), Err(Error::Newer { found: 99, .. })));
    let error = Store::open(&server.place("none"), Access::Write).err().expect("refused").to_string();
    assert!(error.contains("\"none\" does not exist"), "{error}");
}
