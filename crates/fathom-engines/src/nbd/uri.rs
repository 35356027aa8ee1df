//! NBD URIs, as the NBD project defines them (doc/uri.md): `nbd://host:port/export`, `nbd+unix:///export?socket=PATH`, and `nbds`
//! for TLS.

use super::error::UriError;
use crate::net::socket::Address;
use crate::net::tls::TlsRules;
use iri_string::types::UriStr;
use percent_encoding::percent_decode_str;
use std::path::PathBuf;

/// Port that IANA has assigned to NBD.
const USUAL_PORT: u16 = 10809;

/// The parts of a URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExportUri {
    /// Address of the server.
    pub(super) address: Address,
    /// Name of the export; empty for the default export.
    pub(super) export: String,
    /// TLS settings, and the name that the server's certificate must have.
    pub(super) tls: Option<(TlsRules, String)>,
}

impl std::fmt::Display for ExportUri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.address)?;
        if self.export.is_empty() { Ok(()) } else { write!(f, " export {}", self.export) }
    }
}

impl ExportUri {
    /// Parses a URI. The error is a single sentence.
    pub(super) fn parse(text: &str) -> Result<ExportUri, UriError> {
        let uri = UriStr::new(text).map_err(|_| UriError::NoUri(text.to_owned()))?;
        let (encrypted, local) = match uri.scheme_str() {
            "nbd" => (false, false),
            "nbds" => (true, false),
            "nbd+unix" => (false, true),
            "nbds+unix" => (true, true),
            other => {
                return Err(UriError::UnknownScheme { text: text.to_owned(), scheme: other.to_owned() });
            }
        };
        let parameters = Parameters::of(uri.query_str().unwrap_or(""))?;
        let authority = uri.authority_components();
        let host = authority.map_or("", |authority| authority.host());
        let host = decoded(host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host))?;
        let address = match (local, parameters.socket) {
            (true, Some(path)) => Address::Unix(path),
            (true, None) => return Err(UriError::NoSocket(text.to_owned())),
            (false, Some(_)) => return Err(UriError::UselessSocket(text.to_owned())),
            (false, None) if host.is_empty() => return Err(UriError::NoHost(text.to_owned())),
            (false, None) => Address::Tcp {
                host: host.clone(),
                port: port(text, authority.and_then(|authority| authority.port()))?,
            },
        };
        let path = uri.path_str();
        let export = decoded(path.strip_prefix('/').unwrap_or(path))?;
        let name = parameters.hostname.unwrap_or(if host.is_empty() { "localhost".to_owned() } else { host });
        Ok(ExportUri { address, export, tls: encrypted.then_some((parameters.tls, name)) })
    }
}

/// Local files named by a URI: a socket, or a directory of certificates and keys.
pub(crate) fn files(text: &str) -> Vec<PathBuf> {
    let query = UriStr::new(text).ok().and_then(|uri| uri.query_str()).unwrap_or("");
    let pairs = query.split(['&', ';']).filter_map(|pair| pair.split_once('='));
    let named = pairs.filter(|(key, _)| matches!(*key, "socket" | "tls-certificates" | "tls-psk-file"));
    named.filter_map(|(_, value)| decoded(value).ok()).map(PathBuf::from).collect()
}

fn port(text: &str, given: Option<&str>) -> Result<u16, UriError> {
    match given {
        None | Some("") => Ok(USUAL_PORT),
        Some(port) => {
            port.parse().map_err(|_| UriError::NoPort { text: text.to_owned(), port: port.to_owned() })
        }
    }
}

fn decoded(text: &str) -> Result<String, UriError> {
    percent_decode_str(text)
        .decode_utf8()
        .map(|text| text.into_owned())
        .map_err(|_| UriError::NoText(text.to_owned()))
}

/// Parameters of the URI.
struct Parameters {
    socket: Option<PathBuf>,
    hostname: Option<String>,
    tls: TlsRules,
}

impl Parameters {
    fn of(query: &str) -> Result<Parameters, UriError> {
        let tls = TlsRules { authorities: None, identity: None, verifies_server: true };
        let mut parameters = Parameters { socket: None, hostname: None, tls };
        for pair in query.split(['&', ';']).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value)?;
            match key {
                "socket" => parameters.socket = Some(value.into()),
                "tls-hostname" => parameters.hostname = Some(value),
                "tls-verify-peer" => {
                    parameters.tls.verifies_server = !matches!(value.as_str(), "0" | "false" | "no" | "off")
                }
                "tls-certificates" => parameters.tls.read_directory(PathBuf::from(value)),
                "tls-psk-file" => return Err(UriError::SharedKeys),
                other => return Err(UriError::UnknownParameter(other.to_owned())),
            }
        }
        Ok(parameters)
    }
}

impl TlsRules {
    /// The files of a directory in the layout of GnuTLS programs: `ca-cert.pem`, and `client-cert.pem` with
    /// `client-key.pem` if the server requires client certificates.
    fn read_directory(&mut self, directory: PathBuf) {
        self.authorities = Some(directory.join("ca-cert.pem"));
        let (certificate, key) = (directory.join("client-cert.pem"), directory.join("client-key.pem"));
        self.identity = certificate.exists().then_some((certificate, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    #[track_caller]
    fn parsed(text: &str) -> ExportUri {
        ExportUri::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn hosts_ports_and_exports() {
        for (text, address, export) in [
            ("nbd://localhost", tcp("localhost", 10809), ""),
            ("nbd://localhost/", tcp("localhost", 10809), ""),
            ("nbd://10.0.0.1:2000/disk", tcp("10.0.0.1", 2000), "disk"),
            ("nbd://[::1]:5/a/b", tcp("::1", 5), "a/b"),
            ("nbd://h//lead%20ing", tcp("h", 10809), "/lead ing"),
            ("nbd+unix:///?socket=/tmp/s", Address::Unix("/tmp/s".into()), ""),
            ("nbd+unix:///disk?socket=/tmp/a%20b", Address::Unix("/tmp/a b".into()), "disk"),
        ] {
            assert_eq!(parsed(text), ExportUri { address, export: export.to_owned(), tls: None }, "{text}");
        }
    }

    #[test]
    fn tls_knows_whom_to_trust() {
        let rules = TlsRules { authorities: None, identity: None, verifies_server: true };
        assert_eq!(parsed("nbds://host/").tls, Some((rules.clone(), "host".to_owned())));
        let (given, name) =
            parsed("nbds://10.0.0.1/?tls-certificates=/pki&tls-hostname=disks").tls.expect("TLS");
        assert_eq!((given.authorities, name.as_str()), (Some("/pki/ca-cert.pem".into()), "disks"));
        let (given, name) = parsed("nbds+unix:///?socket=/s&tls-verify-peer=false").tls.expect("TLS");
        assert_eq!((given.verifies_server, name.as_str()), (false, "localhost"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("disk", "is not a URI"),
            ("http://host/", "http is not supported"),
            ("nbd+unix:///", "socket=PATH is missing"),
            ("nbd://h/?socket=/s", "belongs to nbd+unix"),
            ("nbd:///", "the host is missing"),
            ("nbd://h:70000/", "70000 is not a port"),
            ("nbd://h/?tls-psk-file=/k", "not supported"),
            ("nbd://h/?colour=red", "colour of the URI is not known"),
        ] {
            let error = ExportUri::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(nbds?(\\+unix)?://)?[ -~é]{0,40}") {
            let _ = ExportUri::parse(&text);
        }
    }
}
