//! TLS with a server: the parameters of libpq with libpq's meaning, and what rustls makes of them.

use super::verify::Verifier;
use crate::Error;
use fathom_errors::plain;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parameters of the URL that are about TLS, and the variables that stand for them.
pub(super) const PARAMETERS: [(&str, &str); 4] = [
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
];

/// `sslmode`, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server has it and it works.
    Prefer,
    /// TLS in any case.
    Require,
    /// The certificate must be signed by the authority.
    VerifyCa,
    /// The certificate must also be for this host.
    VerifyFull,
}

const MODES: [(&str, Mode); 5] = [
    ("disable", Mode::Disable),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

/// Whose signature a server's certificate needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Authority {
    /// No signature is needed.
    Any,
    /// An authority in this file.
    File(PathBuf),
    /// An authority that this machine trusts.
    System,
}

/// TLS as the user wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) mode: Mode,
    pub(super) authority: Authority,
    /// The client's certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

impl Rules {
    /// The rules from the parameters of the URL, then the environment, then the files in `~/.postgresql`.
    pub(super) fn new(
        in_url: &BTreeMap<&'static str, OsString>,
        in_environment: &dyn Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
    ) -> Result<Rules, Error> {
        let value = |name: &str| in_url.get(name).cloned().or_else(|| in_environment(variable_of(name)));
        let usual = |name: &str| {
            let path = home.as_ref().map(|home| home.join(".postgresql").join(name));
            path.filter(|path| path.exists())
        };
        let root = value("sslrootcert");
        let is_system = root.as_ref().is_some_and(|root| root == "system");
        let mode = match value("sslmode") {
            Some(text) => {
                let source = if in_url.contains_key("sslmode") { "sslmode" } else { variable_of("sslmode") };
                mode(source, &text.to_string_lossy())?
            }
            None if is_system => Mode::VerifyFull,
            None => Mode::Prefer,
        };
        if mode == Mode::Disable {
            return match in_url.keys().find(|name| **name != "sslmode") {
                Some(name) => {
                    Err(contradiction("sslmode=disable", &format!("{name} needs TLS; leave one of both out")))
                }
                None => Ok(Rules { mode, authority: Authority::Any, identity: None }),
            };
        }
        if is_system && mode != Mode::VerifyFull {
            return Err(contradiction(
                "sslrootcert=system",
                "those authorities sign certificates for everybody; use sslmode=verify-full, which checks the name",
            ));
        }
        let authority = match root.map(PathBuf::from).or_else(|| usual("root.crt")) {
            Some(_) if is_system => Authority::System,
            Some(path) => Authority::File(path),
            None if mode == Mode::VerifyFull => Authority::System,
            None if mode == Mode::VerifyCa => {
                return Err(contradiction(
                    "sslmode=verify-ca",
                    "no authority is named; add sslrootcert=FILE, or use sslmode=verify-full for the authorities that this machine trusts",
                ));
            }
            None => Authority::Any,
        };
        let certificate = value("sslcert").map(PathBuf::from).or_else(|| usual("postgresql.crt"));
        let key = value("sslkey").map(PathBuf::from).or_else(|| usual("postgresql.key"));
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (Some(certificate), None) => {
                let text = format!("sslcert={}", certificate.display());
                return Err(contradiction(&text, "the key is missing; add sslkey=FILE"));
            }
            (None, Some(key)) if in_url.contains_key("sslkey") => {
                let text = format!("sslkey={}", key.display());
                return Err(contradiction(&text, "the certificate is missing; add sslcert=FILE"));
            }
            (None, _) => None,
        };
        Ok(Rules { mode, authority, identity })
    }

    /// What rustls does for these rules.
    pub(super) fn client(&self) -> Result<Arc<ClientConfig>, Error> {
        let provider = Arc::new(ring::default_provider());
        let roots = match &self.authority {
            Authority::Any => None,
            Authority::File(path) => Some(certificates(path, "sslrootcert")?),
            Authority::System => Some(of_system()?),
        };
        let mut store = RootCertStore::empty();
        for root in roots.iter().flatten() {
            // Some machines trust certificates that no program can use.
            if let (Err(error), Authority::File(path)) = (store.add(root.clone()), &self.authority) {
                return Err(unusable("sslrootcert", path, &plain(&error)));
            }
        }
        let named = if matches!(self.authority, Authority::File(_)) { roots } else { None };
        let verifier = Verifier {
            roots: (self.authority != Authority::Any).then_some(store),
            named: named.unwrap_or_default(),
            checks_name: self.mode == Mode::VerifyFull,
            algorithms: provider.signature_verification_algorithms,
        };
        let other = |error: rustls::Error| Error::Other { place: "TLS".to_owned(), why: plain(&error) };
        let versions = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &self.identity {
            None => versions.with_no_client_auth(),
            Some((certificate, key)) => versions
                .with_client_auth_cert(certificates(certificate, "sslcert")?, key_in(key)?)
                .map_err(|error| unusable("sslcert", certificate, &plain(&error)))?,
        };
        Ok(Arc::new(config))
    }
}

/// The variable that stands for a parameter about TLS.
fn variable_of(parameter: &str) -> &'static str {
    PARAMETERS.iter().find(|(name, _)| *name == parameter).map(|(_, variable)| *variable).unwrap_or_default()
}

fn mode(source: &str, text: &str) -> Result<Mode, Error> {
    let found = MODES.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode);
    found.ok_or_else(|| {
        let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        contradiction(&format!("{source}={text}"), &format!("this is not one of {}", names.join(", ")))
    })
}

fn contradiction(place: &str, why: &str) -> Error {
    Error::Other { place: place.to_owned(), why: why.to_owned() }
}

fn unusable(parameter: &str, path: &Path, why: &str) -> Error {
    Error::Other { place: format!("{parameter}={}", path.display()), why: why.to_owned() }
}

fn certificates(path: &Path, parameter: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let failed =
        |why: &str| unusable(parameter, path, &format!("{why}; name a file with certificates in PEM form"));
    // Read here, because errors of the system have their own words.
    let content = std::fs::read(path).map_err(|error| failed(&plain(&error)))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content).collect();
    let all = all.map_err(|error| failed(&plain(&error)))?;
    if all.is_empty() { Err(failed("it contains no certificate")) } else { Ok(all) }
}

fn of_system() -> Result<Vec<CertificateDer<'static>>, Error> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        let why = "this machine trusts no authorities; install the package ca-certificates, or name a file";
        return Err(contradiction("sslrootcert=system", why));
    }
    Ok(found)
}

/// The private key. One that other users can read is refused, as libpq does.
fn key_in(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let failed = |why: &str| unusable("sslkey", path, why);
    let metadata = path.metadata().map_err(|error| failed(&plain(&error)))?;
    let others = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & others != 0 {
        return Err(failed("other users may read this private key; chmod 600 protects it"));
    }
    let content = std::fs::read(path).map_err(|error| failed(&plain(&error)))?;
    PrivateKeyDer::from_pem_slice(&content).map_err(|error| {
        failed(&format!("{}; a private key in PEM form without a password is needed", plain(&error)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(in_url: &[(&'static str, &str)], in_environment: &[(&str, &str)]) -> Result<Rules, String> {
        let in_url = in_url.iter().map(|(name, value)| (*name, OsString::from(value))).collect();
        let of = |name: &str| {
            in_environment.iter().find(|(other, _)| *other == name).map(|(_, value)| OsString::from(value))
        };
        Rules::new(&in_url, &of, None).map_err(|error| error.to_string())
    }

    #[test]
    fn modes_mean_what_they_mean_in_libpq() {
        let of = |in_url: &[(&'static str, &str)], in_environment: &[(&str, &str)]| {
            rules(in_url, in_environment).map(|rules| (rules.mode, rules.authority))
        };
        let file = || Authority::File("ca".into());
        assert_eq!(of(&[], &[]), Ok((Mode::Prefer, Authority::Any)));
        assert_eq!(of(&[], &[("PGSSLMODE", "require")]), Ok((Mode::Require, Authority::Any)));
        assert_eq!(
            of(&[("sslmode", "disable")], &[("PGSSLMODE", "require"), ("PGSSLROOTCERT", "ca")]),
            Ok((Mode::Disable, Authority::Any))
        );
        assert_eq!(of(&[("sslmode", "require"), ("sslrootcert", "ca")], &[]), Ok((Mode::Require, file())));
        assert_eq!(of(&[("sslmode", "verify-ca")], &[("PGSSLROOTCERT", "ca")]), Ok((Mode::VerifyCa, file())));
        assert_eq!(of(&[("sslmode", "verify-full")], &[]), Ok((Mode::VerifyFull, Authority::System)));
        assert_eq!(of(&[("sslrootcert", "system")], &[]), Ok((Mode::VerifyFull, Authority::System)));
    }

    #[test]
    fn contradictions_are_refused() {
        for (in_url, told) in [
            (&[("sslmode", "allow")][..], "sslmode=allow: this is not one of disable, prefer"),
            (&[("sslmode", "disable"), ("sslrootcert", "ca")], "sslmode=disable: sslrootcert needs TLS"),
            (&[("sslmode", "require"), ("sslrootcert", "system")], "use sslmode=verify-full"),
            (&[("sslmode", "verify-ca")], "sslmode=verify-ca: no authority is named; add sslrootcert=FILE"),
            (&[("sslcert", "mine")], "sslcert=mine: the key is missing; add sslkey=FILE"),
            (&[("sslkey", "mine")], "sslkey=mine: the certificate is missing; add sslcert=FILE"),
        ] {
            let error = rules(in_url, &[]).expect_err("refused");
            assert!(error.contains(told), "{error}");
        }
    }
}
