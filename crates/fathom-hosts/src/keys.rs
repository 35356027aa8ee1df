//! Keys of a run, which determine who may be its controller and who its agents. `fathom keys` makes two files,
//! one for the controller and one for all agents. Each holds a private key (Ed25519), the public key of the
//! other side, and the token of the run. Both sides speak TLS 1.3 with raw public keys (RFC 7250) and accept
//! exactly the key in their file: no authority exists that could vouch for a third party. The token is for
//! agents that join. The controller uses it only once, so that agents left over from one run are not mistaken
//! for those of another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fathom_errors::plain;
use fathom_sys::credentials;
use ring::pkcs8::Document;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::Ed25519KeyPair;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ClientConfig};
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, InvalidDnsNameError, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName,
    SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, ServerConfig};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error as ThisError;

/// Why keys cannot be created or used.
#[derive(Debug, ThisError)]
pub enum KeysError {
    /// The system provides no random numbers, which keys require.
    #[error("the system provides no random numbers")]
    NoRandom,
    /// A file or directory cannot be used.
    #[error("{}: {error}", path.display(), error = plain(.error))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file exists at the path of the new keys; keys are never overwritten.
    #[error("{} exists already; remove it, or name another directory", .0.display())]
    InTheWay(PathBuf),
    /// Other users may have read the file of keys.
    #[error("{path}: other users can read these keys: run chmod 600 {path}, and make new keys if others may have read them", path = .0.display())]
    NotPrivate(PathBuf),
    /// The file does not contain keys.
    #[error("{}: this is not a file of keys; fathom keys makes them", .0.display())]
    NoKeys(PathBuf),
    /// The keys are for the other role.
    #[error("{}: these are the keys of {has}; {wanted} is needed here", path.display())]
    OtherRole {
        /// The file.
        path: PathBuf,
        /// The role for which the keys were made.
        has: &'static str,
        /// The role for which keys are required.
        wanted: &'static str,
    },
    /// Expired keys.
    #[error("{}: these keys have expired; make new ones with fathom keys", .0.display())]
    TooOld(PathBuf),
    /// Agents of an earlier run have used the token.
    #[error(
        "{}: agents have already joined a run with these keys, and some may still be running; make new keys with fathom keys",
        .0.display()
    )]
    UsedUp(PathBuf),
    /// The file cannot be parsed.
    #[error("{}: the keys are damaged", .0.display())]
    Damaged(PathBuf),
    /// TLS refuses the keys.
    #[error(transparent)]
    Unusable(#[from] Error),
    /// The private key is of an unknown kind, so its public key cannot be derived.
    #[error("the key has no public half")]
    NoPublicHalf,
    /// The text of the file cannot be generated.
    #[error(transparent)]
    Text(#[from] serde_json::Error),
    /// The server name that stands for every peer is refused.
    #[error(transparent)]
    Name(InvalidDnsNameError),
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(Error),
}

/// Role of the owner of a file of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The controller.
    Controller,
    /// All agents.
    Agent,
}

impl Role {
    /// Name of the role's file.
    pub fn file_name(self) -> &'static str {
        match self {
            Role::Controller => "controller.keys",
            Role::Agent => "agent.keys",
        }
    }
}

/// A file of keys.
#[derive(Clone, Serialize, Deserialize)]
pub struct Keys {
    /// The role of its owner.
    pub role: Role,
    /// Private key, PKCS#8, base64.
    key: String,
    /// Public key of the other side: SubjectPublicKeyInfo in base64.
    peer: String,
    /// Token that both sides share, for joining; in base64.
    pub token: String,
    /// Expiry time, in seconds of the wall clock.
    valid_until: u64,
    #[serde(skip)]
    path: PathBuf,
}

/// Omits all values, so that keys never appear in a message.
impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Keys of {:?} in {}", self.role, self.path.display())
    }
}

/// Creates the two key files of a run in a directory; they expire after `valid`.
pub fn make(directory: &Path, valid: Duration) -> Result<[PathBuf; 2], KeysError> {
    let random = SystemRandom::new();
    let mut token = [0; 32];
    let no_random = |_| KeysError::NoRandom;
    random.fill(&mut token).map_err(no_random)?;
    let private = || Ed25519KeyPair::generate_pkcs8(&random).map_err(no_random);
    let (controller, agent) = (private()?, private()?);
    let valid_until = now_seconds().saturating_add(valid.as_secs());
    fs::create_dir_all(directory).map_err(|error| KeysError::File { path: directory.to_owned(), error })?;
    let make_one = |role: Role, own: &Document, peer: &Document| -> Result<PathBuf, KeysError> {
        let keys = Keys {
            role,
            key: STANDARD.encode(own.as_ref()),
            peer: STANDARD.encode(public_key(peer.as_ref())?),
            token: STANDARD.encode(token),
            valid_until,
            path: directory.join(role.file_name()),
        };
        keys.write()?;
        Ok(keys.path)
    };
    Ok([make_one(Role::Controller, &controller, &agent)?, make_one(Role::Agent, &agent, &controller)?])
}

/// The public key that belongs to a private one.
fn public_key(private: &[u8]) -> Result<Vec<u8>, KeysError> {
    let key = any_supported_type(&private_der(private))?;
    key.public_key().map(|key| key.to_vec()).ok_or(KeysError::NoPublicHalf)
}

fn private_der(private: &[u8]) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(private.to_vec()))
}

/// True if a file with this owner, group and mode is accessible only to its reader. Root may own the file: an
/// orchestrator that mounts a secret for an unnamed user gives it to root and makes it readable by one of the
/// user's groups. systemd also leaves credentials to root and admits the unit's user by an access control list,
/// whose mask appears in place of the group's rights.
fn is_private(owner: u32, group: u32, mode: u32, own_groups: &[u32]) -> bool {
    let is_of_group = owner == 0 && mode & 0o037 == 0 && (group == 0 || own_groups.contains(&group));
    mode & 0o077 == 0 || is_of_group
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Keys {
    fn write(&self) -> Result<(), KeysError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => KeysError::InTheWay(self.path.clone()),
            _ => KeysError::File { path: self.path.clone(), error },
        };
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(failed)?;
        let text = serde_json::to_string_pretty(self)?;
        writeln!(file, "{text}").map_err(failed)
    }

    /// Reads a file of keys for this role.
    pub fn read(path: &Path, role: Role) -> Result<Keys, KeysError> {
        let place = || path.to_owned();
        let failed = |error: io::Error| KeysError::File { path: place(), error };
        let mut file = fs::File::open(path).map_err(failed)?;
        // The opened file is checked, because the name may have been reassigned.
        let found = file.metadata().map_err(failed)?;
        if !is_private(found.uid(), found.gid(), found.mode(), &credentials::groups()) {
            return Err(KeysError::NotPrivate(place()));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let mut keys: Keys = serde_json::from_str(&text).map_err(|_| KeysError::NoKeys(place()))?;
        if keys.role != role {
            let (wanted, has) = (role.file_name(), keys.role.file_name());
            return Err(KeysError::OtherRole { path: place(), has, wanted });
        }
        if keys.valid_until <= now_seconds() {
            return Err(KeysError::TooOld(place()));
        }
        path.clone_into(&mut keys.path);
        Ok(keys)
    }

    /// Marks the token as used, so that a second run with these keys is refused.
    pub fn use_up(&self) -> Result<(), KeysError> {
        let mut name = self.path.clone().into_os_string();
        name.push(".used");
        let mark = PathBuf::from(name);
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&mark) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(KeysError::UsedUp(self.path.clone()))
            }
            Err(error) => Err(KeysError::File { path: mark, error }),
        }
    }

    fn identity(&self) -> Result<(Arc<CertifiedKey>, Arc<ThatKey>), KeysError> {
        let damaged = |_| KeysError::Damaged(self.path.clone());
        let private = STANDARD.decode(&self.key).map_err(damaged)?;
        let peer = STANDARD.decode(&self.peer).map_err(damaged)?;
        let key = any_supported_type(&private_der(&private))?;
        let own = CertificateDer::from(public_key(&private)?);
        let identity = Arc::new(CertifiedKey::new(vec![own], key));
        Ok((identity, Arc::new(ThatKey { peer, provider: default_provider() })))
    }

    /// TLS settings of the connecting side.
    pub fn client(&self) -> Result<Arc<ClientConfig>, KeysError> {
        let (identity, peer) = self.identity()?;
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(KeysError::Tls)?
            .dangerous()
            .with_custom_certificate_verifier(peer)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(identity)));
        Ok(Arc::new(config))
    }

    /// TLS settings of the listening side.
    pub fn server(&self) -> Result<Arc<ServerConfig>, KeysError> {
        let (identity, peer) = self.identity()?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(KeysError::Tls)?
            .with_client_cert_verifier(peer)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity)));
        // Tickets are disabled, so that every connection authenticates separately.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

/// Accepts exactly one key.
#[derive(Debug)]
struct ThatKey {
    peer: Vec<u8>,
    provider: CryptoProvider,
}

impl ThatKey {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        // Constant time is not needed for this comparison, because public keys are not secret.
        match shown.as_ref() == self.peer.as_slice() {
            true => Ok(()),
            false => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    fn verify(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The error for TLS 1.2, which is never offered.
fn only_tls13() -> Error {
    Error::General("only TLS 1.3 is supported".to_owned())
}

impl ServerCertVerifier for ThatKey {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(only_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for ThatKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(only_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_group_may_read_what_root_gave_it() {
        let own = [7, 65534];
        assert!(is_private(1000, 7, 0o600, &own) && is_private(0, 0, 0o400, &own));
        assert!(is_private(0, 0, 0o440, &own) && !is_private(0, 0, 0o444, &own));
        assert!(is_private(0, 7, 0o440, &own) && is_private(0, 65534, 0o640, &own));
        for (owner, group, mode) in [
            // These files belong to another user or group, are readable by others, or are writable by the
            // group.
            (1000, 7, 0o440),
            (0, 8, 0o440),
            (0, 7, 0o444),
            (0, 7, 0o460),
            (0, 7, 0o604),
        ] {
            assert!(!is_private(owner, group, mode, &own), "{owner} {group} {mode:o}");
        }
    }

    #[test]
    fn files_are_for_one_role_one_owner_and_one_run() {
        let directory = tempfile::tempdir().expect("a directory");
        let [controller, agent] = make(directory.path(), Duration::from_secs(60)).expect("keys");
        let keys = Keys::read(&controller, Role::Controller).expect("its own keys");
        assert_eq!(keys.token, Keys::read(&agent, Role::Agent).expect("its own keys").token);
        assert!(!format!("{keys:?}").contains(&keys.token), "keys show in no message");
        let problem = |path: &Path, role| Keys::read(path, role).expect_err("refused").to_string();
        assert!(problem(&agent, Role::Controller).contains("controller.keys is needed"));
        assert!(
            make(directory.path(), Duration::from_secs(60))
                .expect_err("in the way")
                .to_string()
                .contains("exists already")
        );
        keys.use_up().expect("the first run");
        assert!(keys.use_up().expect_err("the second run").to_string().contains("make new keys"));
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o644)).expect("permissions");
        assert!(problem(&agent, Role::Agent).contains("chmod 600"));
        let old = directory.path().join("old");
        let [controller, _] = make(&old, Duration::ZERO).expect("keys");
        assert!(problem(&controller, Role::Controller).contains("have expired"));
        fs::write(&controller, "{}").expect("written");
        assert!(problem(&controller, Role::Controller).contains("not a file of keys"));
    }
}
