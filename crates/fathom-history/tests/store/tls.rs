//! TLS with a real server: what each mode accepts, what it refuses, and in which words.

use crate::authority::Authority;
use crate::made;
use crate::running::Server;
use fathom_history::{Access, Store};
use std::time::{Duration, Instant};

/// A server with TLS, whose certificate is for the names of this machine.
fn encrypted() -> Option<(Server, Authority)> {
    let authority = Authority::new()?;
    let server = Server::start()?;
    authority.sign("good", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1", &[]);
    serve(&server, &authority, "good");
    let mut client = server.client("postgres").expect("connects");
    client
        .batch_execute("CREATE ROLE encrypted SUPERUSER LOGIN; CREATE ROLE open SUPERUSER LOGIN; CREATE ROLE certified SUPERUSER LOGIN")
        .expect("made");
    Store::open(&server.place("postgres"), Access::Write)
        .expect("opens")
        .add(&made::record(1))
        .expect("added");
    Some((server, authority))
}

/// Makes the server use another certificate.
fn serve(server: &Server, authority: &Authority, name: &str) {
    authority.give(name, &server.directory.path().join("data"));
    let mut client = server.client("postgres").expect("connects");
    for statement in ["ALTER SYSTEM SET ssl_ca_file = 'ca.crt'", "ALTER SYSTEM SET ssl = on"] {
        client.batch_execute(statement).expect("set");
    }
    reload(server);
}

/// Waits until new connections have what ALTER SYSTEM set and what is in the files.
fn reload(server: &Server) {
    let loaded = || {
        let mut client = server.client("postgres").expect("connects");
        let time = "SELECT (extract(epoch FROM pg_conf_load_time()) * 1000000)::bigint";
        client.query_one(time, &[]).expect("a time").get::<_, i64>(0)
    };
    let before = loaded();
    server.signal("HUP");
    let begun = Instant::now();
    while loaded() == before {
        assert!(begun.elapsed() < Duration::from_secs(10), "the server does not reload");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Opens the history and says whether the server calls the connection encrypted.
fn is_encrypted(server: &Server, user: &str, host: &str, what: &str) -> Result<bool, String> {
    let place = server.over_tcp(user, host, what)?;
    let store = Store::open(&place, Access::Read).map_err(|error| error.to_string())?;
    let mut client = server.client("postgres").expect("connects");
    let sql =
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'fathom'";
    let rows = client.query(sql, &[]).expect("rows");
    assert_eq!(rows.len(), 1, "connections");
    drop(store);
    // The next one is alone.
    let begun = Instant::now();
    while !client.query(sql, &[]).expect("rows").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the connection does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(rows[0].get(0))
}

fn refused(server: &Server, user: &str, host: &str, what: &str, words: &[&str]) {
    let told = is_encrypted(server, user, host, what).expect_err(what);
    for word in words {
        assert!(told.contains(word), "{what}: {told}");
    }
}

#[test]
fn every_mode_does_what_libpq_does() {
    let Some((server, authority)) = encrypted() else { return };
    let root = format!("sslrootcert={}", authority.path("ca.crt").display().to_string().replace('/', "%2F"));
    let with = |mode: &str| format!("postgres?sslmode={mode}&{root}");
    let is = |user: &str, host: &str, what: &str| is_encrypted(&server, user, host, what);
    assert_eq!(is("me", "localhost", "postgres"), Ok(true), "prefer is the default");
    assert_eq!(is("me", "localhost", "postgres?sslmode=prefer"), Ok(true));
    assert_eq!(is("me", "localhost", "postgres?sslmode=require"), Ok(true));
    assert_eq!(is("me", "localhost", "postgres?sslmode=disable"), Ok(false));
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        assert_eq!(is("encrypted", host, &with("verify-full")), Ok(true), "{host}");
    }
    assert_eq!(is("me", "", &format!("{}&hostaddr=127.0.0.1", with("verify-full"))), Ok(true));
    // The server wants this user without TLS, and the other one with it.
    assert_eq!(is("open", "localhost", "postgres"), Ok(false));
    refused(
        &server,
        "open",
        "localhost",
        "postgres?sslmode=require",
        &["no pg_hba.conf entry", "SSL encryption"],
    );
    refused(&server, "encrypted", "localhost", "postgres?sslmode=disable", &["no encryption"]);
    // Another machine's certificate.
    authority.sign("other", "subjectAltName=DNS:db.example", &[]);
    serve(&server, &authority, "other");
    assert_eq!(is("me", "localhost", &with("verify-ca")), Ok(true));
    assert_eq!(is("me", "localhost", &with("require")), Ok(true));
    let words = ["is for db.example, and not for localhost", "sslmode=verify-ca"];
    refused(&server, "me", "localhost", &with("verify-full"), &words);
    refused(&server, "me", "127.0.0.1", &with("verify-full"), &["not for 127.0.0.1"]);
    authority.sign("nameless", "", &[]);
    serve(&server, &authority, "nameless");
    refused(&server, "me", "localhost", &with("verify-full"), &["has no name (subjectAltName)"]);
}

#[test]
fn certificates_that_are_not_good_are_refused() {
    let Some((server, authority)) = encrypted() else { return };
    let path = |name: &str| authority.path(name).display().to_string();
    let with = |mode: &str, root: &str| format!("postgres?sslmode={mode}&sslrootcert={}", path(root));
    let is = |what: &str| is_encrypted(&server, "me", "localhost", what);
    authority.alone("stranger", &[]);
    let unknown = ["not signed by a trusted authority", "sslrootcert=FILE"];
    for mode in ["require", "verify-ca", "verify-full"] {
        refused(&server, "me", "localhost", &with(mode, "stranger.crt"), &unknown);
    }
    // The authorities of this machine, if it has any, did not sign it either.
    for what in ["postgres?sslmode=verify-full", "postgres?sslrootcert=system"] {
        let told = is(what).expect_err("refused");
        assert!(unknown.iter().all(|word| told.contains(word)) || told.contains("ca-certificates"), "{told}");
    }
    // As libpq does, prefer goes on without TLS.
    assert_eq!(is(&with("prefer", "stranger.crt")), Ok(false));
    let told = is_encrypted(&server, "encrypted", "localhost", &with("prefer", "stranger.crt"))
        .expect_err("refused");
    assert!(told.contains("with TLS: the server's certificate is not signed"), "{told}");
    assert!(told.contains("; without: no pg_hba.conf entry"), "{told}");
    // A certificate that signed itself is its own authority, with and without the mark of one, while it is valid.
    let names = ["-addext", "subjectAltName=DNS:localhost"];
    authority.alone("itself", &names);
    serve(&server, &authority, "itself");
    assert_eq!(is(&with("verify-full", "itself.crt")), Ok(true));
    refused(&server, "me", "localhost", &with("verify-full", "ca.crt"), &["is that of an authority"]);
    authority.alone("leaf", &[&names[..], &["-addext", "basicConstraints=critical,CA:FALSE"]].concat());
    serve(&server, &authority, "leaf");
    assert_eq!(is(&with("verify-full", "leaf.crt")), Ok(true));
    authority.expired("stale", true);
    serve(&server, &authority, "stale");
    refused(
        &server,
        "me",
        "localhost",
        &with("verify-full", "stale.crt"),
        &["certificate expired ", " days ago"],
    );
    authority.expired("old", false);
    serve(&server, &authority, "old");
    refused(
        &server,
        "me",
        "localhost",
        &with("verify-ca", "ca.crt"),
        &["certificate expired ", " days ago", "renew it"],
    );
    assert_eq!(is("postgres?sslmode=require"), Ok(true), "not checked without an authority");
    let missing = ["sslrootcert=", "none.crt: ", "No such file", "PEM"];
    refused(&server, "me", "localhost", &with("prefer", "none.crt"), &missing);
    refused(&server, "me", "localhost", &with("require", "ca.key"), &["it contains no certificate"]);
}

#[test]
fn clients_have_certificates_and_servers_may_have_no_tls() {
    let Some((server, authority)) = encrypted() else { return };
    let path = |name: &str| authority.path(name).display().to_string();
    authority.sign("certified", "", &[]);
    let with = |name: &str| {
        format!(
            "postgres?sslmode=require&sslcert={}&sslkey={}",
            path(&format!("{name}.crt")),
            path(&format!("{name}.key"))
        )
    };
    assert_eq!(is_encrypted(&server, "certified", "localhost", &with("certified")), Ok(true));
    let without = ["requires a valid client certificate"];
    refused(&server, "certified", "localhost", "postgres?sslmode=require", &without);
    authority.alone("stranger", &[]);
    refused(&server, "certified", "localhost", &with("stranger"), &["the server ended TLS", "sslcert"]);
    let key = authority.path("certified.key");
    let set = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    set(0o644);
    refused(&server, "certified", "localhost", &with("certified"), &["sslkey=", "chmod 600"]);
    set(0o600);
    // Sockets have no TLS, whatever the mode; the second host has it, and the first one nothing.
    let socket = format!("{}?sslmode=verify-full", server.url("postgres"));
    Store::open(&fathom_history::Place::parse(socket.as_ref()).expect("parses"), Access::Read)
        .expect("opens");
    let closed = format!("127.0.0.1:1,localhost:{}/postgres?sslmode=require", server.port);
    let both =
        fathom_history::Place::parse(format!("postgres://encrypted@{closed}").as_ref()).expect("parses");
    Store::open(&both, Access::Read).expect("opens");
    // A server that refuses the user is the right one.
    let refuses =
        format!("postgres://encrypted@localhost:{},127.0.0.1:1/postgres?sslmode=disable", server.port);
    let place = fathom_history::Place::parse(refuses.as_ref()).expect("parses");
    let told = Store::open(&place, Access::Read).err().expect("refused").to_string();
    assert!(told.contains("no pg_hba.conf entry") && !told.contains("no host answers"), "{told}");
    let mut client = server.client("postgres").expect("connects");
    client.batch_execute("ALTER SYSTEM SET ssl = off").expect("set");
    reload(&server);
    refused(
        &server,
        "me",
        "localhost",
        "postgres?sslmode=require",
        &["does not offer TLS", "ssl = on", "sslmode=prefer"],
    );
    assert_eq!(is_encrypted(&server, "me", "localhost", "postgres?sslmode=prefer"), Ok(false));
    let told = Store::open(&both, Access::Read).err().expect("refused").to_string();
    assert!(
        told.contains("no host answers: ")
            && told.contains("127.0.0.1:1")
            && told.contains("does not offer TLS"),
        "{told}"
    );
}
