//! The arguments of `fathom serve`.

use crate::allowed::Allowed;
use fathom_command::arguments::text;
use fathom_command::{Failure, arguments};
use lexopt::Arg::Long;
use lexopt::Parser;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Default port.
const PORT: u16 = 8767;
/// Default results directory.
const RESULTS: &str = "fathom-results";

/// The request that the arguments make.
pub(crate) enum Asked {
    /// Serve the page.
    Serve(Wishes),
    /// Perform one run in this folder,
    /// and add its result to this store.
    Work(PathBuf, Option<OsString>),
}

/// Settings of the server.
pub(crate) struct Wishes {
    /// A loopback address.
    pub(crate) address: SocketAddr,
    pub(crate) results: PathBuf,
    pub(crate) allowed: Allowed,
    /// The history that is shown, and to which runs are added; its default place without a name.
    pub(crate) history: Option<Option<OsString>>,
}

pub(crate) fn read(words: &[OsString]) -> Result<Asked, Failure> {
    let mut wishes = Wishes {
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
        results: RESULTS.into(),
        allowed: Allowed::default(),
        history: None,
    };
    let mut parser = Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("port") => {
                let port = arguments::number(&mut parser, "--port", 0)?;
                let port = u16::try_from(port).map_err(|_| {
                    Failure::new(format!("--port: {port} is not a port; the highest is 65535"))
                })?;
                wishes.address.set_port(port);
            }
            Long("listen") => {
                wishes.address = address(&text(&mut parser, "--listen")?, wishes.address.port())?;
            }
            Long("results") => wishes.results = parser.value()?.into(),
            Long("allow-path") => wishes.allowed.paths.push(parser.value()?.into()),
            Long("allow-device") => wishes.allowed.devices.push(parser.value()?.into()),
            Long("allow-commands") => wishes.allowed.commands = true,
            Long("allow-network") => wishes.allowed.network = true,
            Long("history") => wishes.history = Some(parser.optional_value()),
            Long("work") => return Ok(Asked::Work(parser.value()?.into(), wishes.history.flatten())),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Asked::Serve(wishes))
}

/// Parses a loopback address.
fn address(written: &str, port: u16) -> Result<SocketAddr, Failure> {
    let (host, port) = match written.parse::<SocketAddr>() {
        Ok(address) => (address.ip().to_string(), address.port()),
        Err(_) => match written.rsplit_once(':') {
            // A second colon means that the text is an IPv6 address.
            Some((host, digits)) if !host.contains(':') || host.ends_with(']') => {
                let port = digits.parse().map_err(|_| {
                    Failure::new(format!("--listen={written}: {digits} is not a port; the highest is 65535"))
                })?;
                (host.to_owned(), port)
            }
            _ => (written.to_owned(), port),
        },
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = match host {
        "localhost" | "" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        "::1" => IpAddr::V6(Ipv6Addr::LOCALHOST),
        other => match other.parse::<IpAddr>() {
            Ok(address) if address.is_loopback() => address,
            _ => {
                return Err(Failure::new(format!(
                    "--listen={written} is refused: anyone who can reach this address could run jobs here, and browsers cannot \
                     use the keys of fathom keys; listen on 127.0.0.1, and connect from another machine with ssh -L \
                     {port}:127.0.0.1:{port} HOST"
                )));
            }
        },
    };
    Ok(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_listened_on() {
        let told = |written| address(written, 8767).map(|address| address.to_string()).ok();
        assert_eq!(told("localhost").as_deref(), Some("127.0.0.1:8767"));
        assert_eq!(told("127.0.0.2:80").as_deref(), Some("127.0.0.2:80"));
        assert_eq!(told(":80").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(told("[::1]:80").as_deref(), Some("[::1]:80"));
        assert_eq!(told("::1").as_deref(), Some("[::1]:8767"));
        for other in ["0.0.0.0", "[::]:80", "::", "192.0.2.1:80", "example.org", "localhost:x", "1"] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
