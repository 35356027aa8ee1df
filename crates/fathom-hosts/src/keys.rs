//! Keys of a run: who may be its controller, who its agents.
//!
//! `fathom keys` makes two files, one for the controller and one for all agents. Each holds a private key of its own (Ed25519), the
//! public key of the other side, and the token of the run. Both sides speak TLS 1.3 with raw public keys (RFC 7250) and accept
//! exactly the key in their file: there is no authority that could vouch for a third. The token is for agents that join: the
//! controller uses it up, so that agents left over from one run are not taken for those of another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fathom_sys::credentials;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::Ed25519KeyPair;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ClientConfig};
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
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

/// Whose keys a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Of the controller.
    Controller,
    /// Of all agents.
    Agent,
}

impl Role {
    /// The name of its file.
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
    /// Whose.
    pub role: Role,
    /// Private key, PKCS#8, base64.
    key: String,
    /// Public key of the other side, SubjectPublicKeyInfo, base64.
    peer: String,
    /// Shared by both sides, for joining; base64.
    pub token: String,
    /// Seconds of the wall clock after which nobody accepts them.
    valid_until: u64,
    #[serde(skip)]
    path: PathBuf,
}

/// Keys never show in a message.
impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Keys of {:?} in {}", self.role, self.path.display())
    }
}

/// Makes the two files of a run in a directory; they are valid for so long. The error is in words.
pub fn make(directory: &Path, valid: Duration) -> Result<[PathBuf; 2], String> {
    let random = SystemRandom::new();
    let mut token = [0; 32];
    let no_random = |_| "the system gives no random numbers".to_owned();
    random.fill(&mut token).map_err(no_random)?;
    let private = || Ed25519KeyPair::generate_pkcs8(&random).map_err(no_random);
    let (controller, agent) = (private()?, private()?);
    let valid_until = now_seconds().saturating_add(valid.as_secs());
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths = Vec::new();
    for (role, own, peer) in [(Role::Controller, &controller, &agent), (Role::Agent, &agent, &controller)] {
        let keys = Keys {
            role,
            key: STANDARD.encode(own.as_ref()),
            peer: STANDARD.encode(public_key(peer.as_ref())?),
            token: STANDARD.encode(token),
            valid_until,
            path: directory.join(role.file_name()),
        };
        keys.write()?;
        paths.push(keys.path);
    }
    <[PathBuf; 2]>::try_from(paths).map_err(|_| "two files were to be made".to_owned())
}

/// The public key that belongs to a private one.
fn public_key(private: &[u8]) -> Result<Vec<u8>, String> {
    let key = any_supported_type(&private_der(private)).map_err(|error| error.to_string())?;
    key.public_key().map(|key| key.to_vec()).ok_or_else(|| "the key has no public half".to_owned())
}

fn private_der(private: &[u8]) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(private.to_vec()))
}

/// Whether a file of this owner, group and mode is private to its reader. An orchestrator that mounts a secret for a user
/// without a name there makes it root's, and readable by a group that the user has for this.
fn is_private(owner: u32, group: u32, mode: u32, own_groups: &[u32]) -> bool {
    let is_of_group = owner == 0 && mode & 0o037 == 0 && own_groups.contains(&group);
    mode & 0o077 == 0 || is_of_group
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Keys {
    fn write(&self) -> Result<(), String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{} is there already; remove it, or name another directory", self.path.display())
            }
            _ => format!("{}: {error}", self.path.display()),
        };
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(failed)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        writeln!(file, "{text}").map_err(failed)
    }

    /// Reads a file of keys for this role. The error says what is wrong with it.
    pub fn read(path: &Path, role: Role) -> Result<Keys, String> {
        let place = path.display();
        let failed = |error: io::Error| format!("{place}: {error}");
        let mut file = fs::File::open(path).map_err(failed)?;
        // Of what was opened, whatever the name leads to meanwhile.
        let found = file.metadata().map_err(failed)?;
        if !is_private(found.uid(), found.gid(), found.mode(), &credentials::groups()) {
            return Err(format!(
                "{place}: others can read these keys; chmod 600 {place}, if they have not already"
            ));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let mut keys: Keys = serde_json::from_str(&text)
            .map_err(|_| format!("{place}: this is no file of keys; fathom keys makes them"))?;
        if keys.role != role {
            let (wanted, has) = (role.file_name(), keys.role.file_name());
            return Err(format!("{place}: these are the keys of {has}; {wanted} is needed here"));
        }
        if keys.valid_until <= now_seconds() {
            return Err(format!("{place}: these keys are no longer valid; make new ones with fathom keys"));
        }
        path.clone_into(&mut keys.path);
        Ok(keys)
    }

    /// Uses the token up: a second run with these keys is refused. The error says what to do.
    pub fn use_up(&self) -> Result<(), String> {
        let mut name = self.path.clone().into_os_string();
        name.push(".used");
        let mark = PathBuf::from(name);
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&mark) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(format!(
                "{}: agents have joined a run with these keys already, and may still be about; make new ones with fathom keys",
                self.path.display()
            )),
            Err(error) => Err(format!("{}: {error}", mark.display())),
        }
    }

    fn identity(&self) -> Result<(Arc<CertifiedKey>, Arc<ThatKey>), String> {
        let damaged = |_| format!("{}: the keys are damaged", self.path.display());
        let private = STANDARD.decode(&self.key).map_err(damaged)?;
        let peer = STANDARD.decode(&self.peer).map_err(damaged)?;
        let key = any_supported_type(&private_der(&private)).map_err(|error| error.to_string())?;
        let own = CertificateDer::from(public_key(&private)?);
        let identity = Arc::new(CertifiedKey::new(vec![own], key));
        Ok((identity, Arc::new(ThatKey { peer, provider: default_provider() })))
    }

    /// TLS for the side that connects.
    pub fn client(&self) -> Result<Arc<ClientConfig>, String> {
        let (identity, peer) = self.identity()?;
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| format!("TLS: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(peer)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(identity)));
        Ok(Arc::new(config))
    }

    /// TLS for the side that listens.
    pub fn server(&self) -> Result<Arc<ServerConfig>, String> {
        let (identity, peer) = self.identity()?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| format!("TLS: {error}"))?
            .with_client_cert_verifier(peer)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity)));
        // Every connection proves who it is.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

/// Accepts one key and no other.
#[derive(Debug)]
struct ThatKey {
    peer: Vec<u8>,
    provider: CryptoProvider,
}

impl ThatKey {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        // Public keys are no secret: the comparison need not take the same time for all.
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

/// TLS 1.2 is never offered.
fn only_tls13() -> Error {
    Error::General("only TLS 1.3 is spoken".to_owned())
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
        assert!(is_private(0, 7, 0o440, &own) && is_private(0, 65534, 0o640, &own));
        for (owner, group, mode) in [
            // Another user's, another group's, one that others read, and one that the group may change.
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
        let problem = |path: &Path, role| Keys::read(path, role).expect_err("refused");
        assert!(problem(&agent, Role::Controller).contains("controller.keys is needed"));
        assert!(
            make(directory.path(), Duration::from_secs(60))
                .expect_err("in the way")
                .contains("there already")
        );
        keys.use_up().expect("the first run");
        assert!(keys.use_up().expect_err("the second run").contains("make new ones"));
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o644)).expect("permissions");
        assert!(problem(&agent, Role::Agent).contains("chmod 600"));
        let old = directory.path().join("old");
        let [controller, _] = make(&old, Duration::ZERO).expect("keys");
        assert!(problem(&controller, Role::Controller).contains("no longer valid"));
        fs::write(&controller, "{}").expect("written");
        assert!(problem(&controller, Role::Controller).contains("no file of keys"));
    }
}
