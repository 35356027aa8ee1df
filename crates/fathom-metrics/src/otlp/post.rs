//! One request to a collector, and what it answers.

use super::OtlpError;
use super::environment::{OtlpSettings, Route, Signal};
use prost::Message;
use rustls::crypto::ring;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Bytes of an answer that are read: enough for a sentence on what is wrong.
const MOST_OF_ANSWER: u64 = 2000;

/// Sends to a collector.
pub(super) struct Poster {
    agent: Agent,
    routes: Vec<Route>,
}

impl Poster {
    pub(super) fn new(settings: &OtlpSettings) -> Result<Poster, OtlpError> {
        let mut config = Agent::config_builder().http_status_as_error(false).user_agent("fathom");
        if settings.routes.iter().any(|route| route.url.starts_with("https:")) {
            config = config.tls_config(tls(settings)?);
        }
        Ok(Poster { agent: config.build().into(), routes: settings.routes.clone() })
    }

    /// Sends a request, where the signal is wanted.
    pub(super) fn post(&self, signal: Signal, request: &impl Message) -> Result<(), OtlpError> {
        let Some(route) = self.routes.iter().find(|route| route.signal == signal) else { return Ok(()) };
        let collector = || without_password(&route.url);
        let mut sent = self
            .agent
            .post(&route.url)
            .config()
            .timeout_global(Some(route.timeout))
            .build()
            .header("content-type", "application/x-protobuf");
        for (name, value) in &route.headers {
            sent = sent.header(name, value);
        }
        let mut body = request.encode_to_vec();
        if route.compressed {
            body = gzip(&body).map_err(|error| OtlpError::NotCompressed { collector: collector(), error })?;
            sent = sent.header("content-encoding", "gzip");
        }
        let mut answer = sent
            .send(&body[..])
            .map_err(|error| OtlpError::NoAnswer { collector: collector(), error: Box::new(error) })?;
        if answer.status() == StatusCode::OK || answer.status().is_success() {
            return Ok(());
        }
        let status = answer.status();
        let text = answer.body_mut().with_config().limit(MOST_OF_ANSWER).read_to_string().unwrap_or_default();
        let first_line: String =
            text.lines().next().unwrap_or("").chars().filter(|c| !c.is_control()).collect();
        let said = format!("{status} {first_line}").trim_end().to_owned();
        Err(OtlpError::Refused { collector: collector(), said })
    }
}

/// The address for a message: names and passwords in it are not for everybody.
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

fn tls(settings: &OtlpSettings) -> Result<TlsConfig, OtlpError> {
    let roots = match &settings.authorities {
        Some(path) => certificates(path)?,
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            found.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
        }
    };
    let identity = match &settings.identity {
        None => None,
        Some((certificate, key)) => {
            let text = read(key)?;
            let key =
                PrivateKey::from_pem(&text).map_err(|error| OtlpError::Key { path: key.clone(), error })?;
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

fn read(path: &Path) -> Result<Vec<u8>, OtlpError> {
    std::fs::read(path).map_err(|error| OtlpError::File { path: path.to_owned(), error })
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, OtlpError> {
    let text = read(path)?;
    let found: Vec<Certificate<'static>> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match found.is_empty() {
        true => Err(OtlpError::NoCertificate(path.to_owned())),
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
