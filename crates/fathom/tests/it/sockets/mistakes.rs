//! Socket jobs that make no sense, and addresses in use by others.

use super::{launch, run};
use crate::support::program::{Finished, Launch, reference};
use crate::support::scratch;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The messages of a run that fails.
#[track_caller]
fn complaint(words: &str) -> (String, String) {
    let Finished { stderr, status, stdout, .. } = launch(words).run();
    assert_eq!(status.code(), Some(1), "{words}: {stdout}{stderr}");
    (stderr, stdout)
}

/// Invalid jobs, with the message about each on standard error, and the text after the process ID.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "--rw=randread --port=1",
        "fio: network IO can't be random\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read --protocol=unix --port=1 --hostname=/tmp/x",
        "fio: network IO port not valid with unix socket\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read",
        "fio: network IO requires port for tcp or udp\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read --protocol=vsock",
        "fio: network IO requires port for vsock\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read --protocol=udp --port=1 --listen",
        "fio: listen only valid for TCP proto IO\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=rw --protocol=udp --port=1 --hostname=127.0.0.1",
        "fio: datagram network connections must be read OR write\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read --protocol=unix",
        "fio: UNIX sockets need host/filename\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read --port=1",
        "fio: connect with no host to connect to.\nfio: did you forget to set 'listen'?\nfio: io engine net init failed.",
        "func=no hostname= set, error=Invalid argument\n",
    ),
    (
        "--rw=write --port=1",
        "fio: connect with no host to connect to.\nfio: io engine net init failed.",
        "func=no hostname= set, error=Invalid argument\n",
    ),
    (
        "--rw=write --port=40001 --listen --hostname=127.0.0.1",
        "fio: hostname not valid for non-multicast inbound network IO\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    (
        "--rw=read --port=1 --protocol=udp --hostname=127.0.0.1",
        "fio: hostname not valid for non-multicast inbound network IO\nfio: io engine net init failed.",
        "err=1/\n",
    ),
    ("--rw=write --port=1 --hostname=127.0.0.1", "", "func=connect, error=Connection refused\n"),
    (
        "--rw=write --protocol=unix --hostname=/tmp/there/is/none",
        "",
        "func=connect, error=No such file or directory\n",
    ),
    (
        "--rw=write --port=1 --hostname=127.0.0.1 --mss=1",
        "",
        "func=setsockopt TCP_MAXSEG, error=Invalid argument\n",
    ),
];

#[test]
fn mistakes_are_told_in_the_words_of_fio() {
    let fio = reference();
    for (words, expected, text) in MISTAKES {
        let words = format!("--name=a --size=64k {words}");
        let (stderr, stdout) = complaint(&words);
        assert_eq!(stderr.trim_end(), *expected, "{words}");
        assert!(stdout.contains(text), "{words}: {stdout}");
        let Ok(fio) = &fio else { continue };
        let theirs = Launch::of(fio, Path::new("/tmp")).words("--ioengine=net --bs=4k").words(&words).run();
        assert_eq!(theirs.stderr.trim_end(), *expected, "fio: {words}");
        assert!(theirs.stdout.contains(text), "fio: {words}: {}", theirs.stdout);
    }
}

#[test]
fn what_fio_does_not_refuse_is_refused_by_name() {
    for (words, expected) in [
        ("--rw=trim --hostname=127.0.0.1 --port=1", "has nothing to trim"),
        ("--rw=write --hostname=127.0.0.1 --port=1 --io_submit_mode=offload", "would reorder the blocks"),
        ("--rw=write --hostname=127.0.0.1 --port=1 --verify=md5 --verify_only", "sent data is not stored"),
        ("--rw=write --protocol=udp --hostname=127.0.0.1 --port=65535 --numjobs=2", "is beyond 65535"),
        ("--rw=write --protocol=vsock --hostname=abc --port=1", "a context identifier is a number"),
        (
            "--rw=write --protocol=udp --hostname=224.1.1.1 --interface=lo --port=1",
            "interface not valid interface IP",
        ),
        (
            "--rw=write --ioengine=net_uring --protocol=udp --hostname=127.0.0.1 --port=1",
            "needs ioengine=net",
        ),
        ("--rw=write --ioengine=net_uring --pingpong --hostname=127.0.0.1 --port=1", "needs ioengine=net"),
        ("--rw=write --hostname=no.such.host.invalid --port=1", "io engine net init failed"),
    ] {
        let (stderr, _) = complaint(&format!("--name=a --size=64k {words}"));
        assert!(stderr.contains(expected), "{words}: {stderr}");
    }
}

#[test]
fn an_address_that_somebody_has_is_left_alone() {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (stderr, stdout) = complaint(&format!("--name=a --rw=read --size=4k --listen --port={port}"));
    assert_eq!(stderr, "fio: io engine net init failed.\n");
    assert!(stdout.contains("func=bind, error=Address already in use"), "{stdout}");

    let folder = scratch();
    let path = folder.path().join("file");
    std::fs::write(&path, "precious").expect("a file");
    let words = format!("--name=a --rw=read --size=4k --protocol=unix --hostname={}", path.display());
    let (stderr, _) = complaint(&words);
    assert!(stderr.contains("a file that is not a socket exists already, and stays"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "precious");

    // A link is not followed, regardless of its target.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    complaint(&format!("--name=a --rw=read --size=4k --protocol=unix --hostname={}", link.display()));
    assert!(link.is_symlink() && path.exists());

    let path = folder.path().join("socket");
    let other = UnixListener::bind(&path).expect("a socket");
    let words = format!("--name=a --rw=read --size=4k --protocol=unix --hostname={}", path.display());
    let (stderr, _) = complaint(&words);
    assert!(stderr.contains("another program listens there"), "{stderr}");
    drop(other);
    // No process listens, so the socket is replaced.
    run(&format!(
        "--size=4k --protocol=unix --filename={} --name=one --rw=read --name=two --rw=write",
        path.display()
    ));
}
