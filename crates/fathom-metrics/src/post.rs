//! One HTTP request with figures, and the receiver's response.

use fathom_errors::plain;
use rustls::crypto::ring;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Maximum number of response bytes that are read: enough for an error message.
const MOST_OF_ANSWER: u64 = 2000;

/// Why a receiver did not receive the figures.
#[derive(Debug, Error)]
pub enum PostError {
    /// A certificate or key file that cannot be read.
    #[error("{}: {error}", path.display(), error = plain(.error))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A key that cannot be used.
    #[error("{}: {error}; a private key in PEM form is needed", path.display(), error = plain(.error))]
    Key {
        /// The file.
        path: PathBuf,
        /// The TLS library's error.
        error: ureq::Error,
    },
    /// A file that holds no certificates.
    #[error("{}: no certificate found; PEM form is needed", .0.display())]
    NoCertificate(PathBuf),
    /// The body cannot be compressed.
    #[error("{receiver}: {error}", error = plain(.error))]
    NotCompressed {
        /// Kind of receiver, and its address.
        receiver: String,
        /// The error.
        error: io::Error,
    },
    /// No answer, or one that is not HTTP.
    #[error("{receiver}: {error}", error = plain(.error))]
    NoAnswer {
        /// Kind of receiver, and its address.
        receiver: String,
        /// The error.
        error: Box<ureq::Error>,
    },
    /// The receiver refuses the request; holds the status and the start of its response.
    #[error("{receiver}: {said}")]
    Refused {
        /// Kind of receiver, and its address.
        receiver: String,
        /// Its answer.
        said: String,
    },
}

/// Trusted authorities and the client's identity, as PEM files.
#[derive(Clone, Copy, Default)]
pub(crate) struct Trust<'a> {
    /// Certificates of the trusted authorities; by default those of this machine.
    pub(crate) authorities: Option<&'a Path>,
    /// Client certificate and its key.
    pub(crate) identity: Option<(&'a Path, &'a Path)>,
}

/// Destination of a request.
pub(crate) struct Letter<'a> {
    /// Kind of receiver, for messages: `the collector`.
    pub(crate) receiver: &'static str,
    pub(crate) url: &'a str,
    pub(crate) content_type: &'static str,
    pub(crate) headers: &'a [(String, String)],
    /// Timeout of an answer.
    pub(crate) timeout: Duration,
    /// Compress with gzip.
    pub(crate) compressed: bool,
}

/// Sends requests.
pub(crate) struct Poster {
    agent: Agent,
}

impl Poster {
    /// Certificates are read only for addresses that need them.
    pub(crate) fn new<'a>(
        mut urls: impl Iterator<Item = &'a str>,
        trust: Trust<'_>,
    ) -> Result<Poster, PostError> {
        let mut config = Agent::config_builder().http_status_as_error(false).user_agent("fathom");
        if urls.any(|url| url.starts_with("https:")) {
            config = config.tls_config(tls(trust)?);
        }
        Ok(Poster { agent: config.build().into() })
    }

    pub(crate) fn post(&self, letter: &Letter<'_>, mut body: Vec<u8>) -> Result<(), PostError> {
        let receiver = || format!("{} at {}", letter.receiver, without_password(letter.url));
        let mut sent = self
            .agent
            .post(letter.url)
            .config()
            .timeout_global(Some(letter.timeout))
            .build()
            .header("content-type", letter.content_type);
        for (name, value) in letter.headers {
            sent = sent.header(name, value);
        }
        if letter.compressed {
            body = gzip(&body).map_err(|error| PostError::NotCompressed { receiver: receiver(), error })?;
            sent = sent.header("content-encoding", "gzip");
        }
        let mut answer = sent
            .send(&body[..])
            .map_err(|error| PostError::NoAnswer { receiver: receiver(), error: Box::new(error) })?;
        if answer.status().is_success() {
            return Ok(());
        }
        let status = answer.status();
        let text = answer.body_mut().with_config().limit(MOST_OF_ANSWER).read_to_string().unwrap_or_default();
        let first_line: String =
            text.lines().next().unwrap_or("").chars().filter(|c| !c.is_control()).collect();
        let said = format!("{status} {first_line}").trim_end().to_owned();
        Err(PostError::Refused { receiver: receiver(), said })
    }
}

/// The address without user names and passwords, for messages.
fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let path = path.split_once('?').map_or(path, |(path, _)| path);
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn tls(trust: Trust<'_>) -> Result<TlsConfig, PostError> {
    let roots = match trust.authorities {
        Some(path) => certificates(path)?,
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            found.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
        }
    };
    let identity = match trust.identity {
        None => None,
        Some((certificate, key)) => {
            let text = read(key)?;
            let key = PrivateKey::from_pem(&text)
                .map_err(|error| PostError::Key { path: key.to_owned(), error })?;
            Some(ClientCert::new_with_certs(&certificates(certificate)?, key))
        }
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&roots))
        .client_cert(identity)
        .build())
}

fn read(path: &Path) -> Result<Vec<u8>, PostError> {
    std::fs::read(path).map_err(|error| PostError::File { path: path.to_owned(), error })
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, PostError> {
    let text = read(path)?;
    let found: Vec<Certificate<'static>> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match found.is_empty() {
        true => Err(PostError::NoCertificate(path.to_owned())),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn messages_have_no_secrets_of_addresses() {
        assert_eq!(
            without_password("https://me:secret@c:4318/v1/metrics?key=x"),
            "https://c:4318/v1/metrics"
        );
        assert_eq!(without_password("http://c"), "http://c/");
    }
}
