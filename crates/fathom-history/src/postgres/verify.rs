//! Whether the certificate of a server is good, and the words for what is wrong with it.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Checks certificates. The signatures of the handshake are checked in any case.
#[derive(Debug)]
pub(super) struct Verifier {
    /// Authorities whose signature is needed; `None` accepts every certificate.
    pub(super) roots: Option<RootCertStore>,
    /// Certificates that the user named, which a server may have itself.
    pub(super) named: Vec<CertificateDer<'static>>,
    /// True if the certificate must be for the host.
    pub(super) checks_name: bool,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        match verify_server_cert_signed_by_trust_anchor(&parsed, roots, others, now, self.algorithms.all) {
            // `openssl req -x509` makes such certificates. Their dates were checked before this error.
            Err(error) if is_authority(&error) && self.named.contains(certificate) => {}
            done => done?,
        }
        if self.checks_name {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// True if the only objection is that the server has the certificate of an authority. rustls has no name for this.
fn is_authority(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            other.0.to_string() == "CaUsedAsEndEntity"
        }
        _ => false,
    }
}

/// What is wrong, and what to do.
pub(super) fn explain(error: &Error) -> String {
    let Error::InvalidCertificate(wrong) = error else {
        return match error {
            Error::AlertReceived(alert) => {
                format!(
                    "the server ended TLS: {alert:?}; its log says why, and sslcert and sslkey name a client's certificate"
                )
            }
            other => format!("TLS: {other}"),
        };
    };
    match wrong {
        CertificateError::UnknownIssuer => {
            "the server's certificate is not signed by a trusted authority; name the file with the certificate of its authority with sslrootcert=FILE".to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => {
            let ago = since(time.as_secs().saturating_sub(not_after.as_secs()));
            format!("the server's certificate expired {ago} ago; renew it on the server")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let ahead = since(not_before.as_secs().saturating_sub(time.as_secs()));
            format!("the server's certificate becomes valid in {ahead}; compare the clocks of both machines")
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = match presented.is_empty() {
                true => "has no name (subjectAltName)".to_owned(),
                false => format!("is for {}", presented.iter().map(|name| plain_name(name)).collect::<Vec<_>>().join(", ")),
            };
            format!(
                "the server's certificate {names}, and not for {}; use a host name that it has, or sslmode=verify-ca to check only the authority",
                expected.to_str()
            )
        }
        _ if is_authority(error) => {
            "the server's certificate is that of an authority; name the file that contains it with sslrootcert=FILE".to_owned()
        }
        other => format!("the server's certificate is not valid: {other}"),
    }
}

/// `db` of `DnsName("db")`, and the same for addresses.
fn plain_name(text: &str) -> &str {
    let inner = text.split_once('(').map_or(text, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

fn since(seconds: u64) -> String {
    match seconds {
        172_800.. => format!("{} days", seconds / 86_400),
        7200.. => format!("{} hours", seconds / 3600),
        _ => format!("{seconds} s"),
    }
}
