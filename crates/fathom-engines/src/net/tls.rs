//! TLS: trusted certificates, and the client's identity.

use fathom_errors::plain;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why TLS cannot be set up.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    /// TLS has no supported version.
    #[error("TLS: {0}")]
    NoVersion(rustls::Error),
    /// A certificate file cannot be read.
    #[error("{}: {error}; certificates in PEM form are needed", path.display(), error = plain(.error))]
    Certificates { path: PathBuf, error: pem::Error },
    /// A certificate file contains no certificate.
    #[error("{}: it contains no certificate", .0.display())]
    NoCertificate(PathBuf),
    /// A key file cannot be read.
    #[error("{}: {error}; a private key in PEM form is needed", path.display(), error = plain(.error))]
    Key { path: PathBuf, error: pem::Error },
    /// A certificate cannot be used.
    #[error("{}: {error}", path.display())]
    Unusable { path: PathBuf, error: rustls::Error },
    /// The certificates in `place` cannot be used to verify servers.
    #[error("{place}: {error}")]
    Authorities { place: String, error: VerifierBuilderError },
    /// The host is not a name or address for which a certificate can be issued.
    #[error("{0} is not a name that a certificate could have")]
    NoName(String),
    /// A connection to this host cannot be set up.
    #[error("TLS with {host}: {error}")]
    Connection { host: String, error: rustls::Error },
}

/// TLS settings of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsRules {
    /// Certificates of trusted authorities; by default, those of this machine.
    pub(crate) authorities: Option<PathBuf>,
    /// Client certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// True to verify the server's certificate.
    pub(crate) verifies_server: bool,
}

impl TlsRules {
    /// The TLS settings of a connection.
    pub(crate) fn settings(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::NoVersion)?;
        let trusting = match self.verifies_server {
            true => versions.dangerous().with_custom_certificate_verifier(self.verifier(&provider)?),
            false => versions.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        };
        let settings = match &self.identity {
            None => trusting.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let key_of = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| TlsError::Key { path: key.clone(), error })?;
                trusting
                    .with_client_auth_cert(chain, key_of)
                    .map_err(|error| TlsError::Unusable { path: certificate.clone(), error })?
            }
        };
        Ok(Arc::new(settings))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<OneOfThose>, TlsError> {
        let mut roots = RootCertStore::empty();
        let mut named = Vec::new();
        let place = match &self.authorities {
            Some(path) => {
                for certificate in certificates(path)? {
                    named.push(certificate.clone());
                    roots
                        .add(certificate)
                        .map_err(|error| TlsError::Unusable { path: path.clone(), error })?;
                }
                path.display().to_string()
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                "the certificates that this machine trusts (package ca-certificates)".to_owned()
            }
        };
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| TlsError::Authorities { place, error })?;
        Ok(Arc::new(OneOfThose { named, usual }))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error| TlsError::Certificates { path: path.to_owned(), error };
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(failed)?.collect();
    let all = all.map_err(failed)?;
    if all.is_empty() {
        return Err(TlsError::NoCertificate(path.to_owned()));
    }
    Ok(all)
}

/// Accepts certificates that are signed by trusted authorities. A certificate that the user named is accepted
/// itself as well, because servers may have self-signed ones.
#[derive(Debug)]
struct OneOfThose {
    named: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for OneOfThose {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.named.contains(certificate) {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.usual.verify_server_cert(certificate, others, name, status, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Accepts any certificate, as requested by the user; the signatures of the handshake are still checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
