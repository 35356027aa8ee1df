//! Receives ledgers from jobs on other hosts.

use fathom_command::{Failure, Streams, arguments};
use fathom_errors::plain;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

pub(super) fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut address, mut clones, mut files) = (None, 1, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("listen") => address = Some(arguments::text(&mut parser, "--listen")?),
            Long("clones") => clones = arguments::number(&mut parser, "--clones", 1)?,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let address =
        address.ok_or_else(|| Failure::new("give the address to listen on with --listen=HOST:PORT"))?;
    let file = arguments::one_file(files)?;
    let listener = TcpListener::bind(address.as_str()).map_err(|error| {
        Failure::new(format!(
            "--listen={address}: {error}; use an address of this host and a free port",
            error = plain(&error)
        ))
    })?;
    let own = listener.local_addr().map_or(address, |own| own.to_string());
    writeln!(streams.err, "listening on {own}")?;
    let received = receive_all(&listener, clones, &file)?;
    for (path, bytes) in received {
        writeln!(streams.out, "{}: {bytes} bytes", path.display())?;
    }
    Ok(0)
}

/// Receives all ledgers; returns the files and their sizes.
fn receive_all(listener: &TcpListener, clones: u64, file: &Path) -> Result<Vec<(PathBuf, u64)>, Failure> {
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 1..=clones {
            let path = match clones {
                1 => file.to_path_buf(),
                _ => PathBuf::from(format!("{}.{number}", file.display())),
            };
            // The file is created first, so that data that arrives can be stored.
            let output = create(&path)?;
            let (stream, _) = listener
                .accept()
                .map_err(|error| Failure::new(format!("accept: {error}", error = plain(&error))))?;
            threads.push(scope.spawn(move || {
                let bytes = receive(stream, output).map_err(|error| Failure::file(&path, &error))?;
                Ok((path, bytes))
            }));
        }
        let gone = || Failure::new("a receiving thread ended early");
        threads.into_iter().map(|thread| thread.join().map_err(|_| gone())?).collect()
    })
}

fn create(path: &Path) -> Result<File, Failure> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::new(format!(
            "{}: the file exists; a ledger is evidence and never overwritten: remove it, or name another",
            path.display()
        )),
        _ => Failure::file(path, &error),
    })
}

/// Writes data as it arrives; the ledger ends when the sender disconnects for any reason.
fn receive(mut stream: TcpStream, mut output: File) -> io::Result<u64> {
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                output.write_all(&buffer[..count])?;
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::TimedOut) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    output.sync_all()?;
    Ok(bytes)
}
