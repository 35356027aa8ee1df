//! TLS: whom to trust, and as whom to appear.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a job says about TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsRules {
    /// The certificates of those who may vouch for the server; without, those that this machine trusts.
    pub(crate) authorities: Option<PathBuf>,
    /// The certificate of this side and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The server must prove who it is.
    pub(crate) verifies_server: bool,
}

impl TlsRules {
    /// The settings of a connection, or one sentence on why there are none.
    pub(crate) fn settings(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(ring::default_provider());
        let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?;
        let trusting = match self.verifies_server {
            true => versions.dangerous().with_custom_certificate_verifier(self.verifier(&provider)?),
            false => versions.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        };
        let settings = match &self.identity {
            None => trusting.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let key_of = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                    format!("{}: {error}; a private key in PEM form is needed", key.display())
                })?;
                trusting
                    .with_client_auth_cert(chain, key_of)
                    .map_err(|error| format!("{}: {error}", certificate.display()))?
            }
        };
        Ok(Arc::new(settings))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<OneOfThose>, String> {
        let mut roots = RootCertStore::empty();
        let mut named = Vec::new();
        let place = match &self.authorities {
            Some(path) => {
                for certificate in certificates(path)? {
                    named.push(certificate.clone());
                    roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
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
            .map_err(|error| format!("{place}: {error}"))?;
        Ok(Arc::new(OneOfThose { named, usual }))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error| format!("{}: {error}; certificates in PEM form are needed", path.display());
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(failed)?.collect();
    let all = all.map_err(failed)?;
    if all.is_empty() {
        return Err(format!("{}: there is no certificate in it", path.display()));
    }
    Ok(all)
}

/// Takes certificates that trusted ones vouch for, and one that the user named itself, as those are that servers sign for themselves.
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

/// Takes any certificate, as the user asked for; the signatures of the handshake are still checked.
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
