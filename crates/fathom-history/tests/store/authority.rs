//! Certificates made for the tests with openssl.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An authority, and the certificates that it signed.
pub(crate) struct Authority {
    directory: TempDir,
}

impl Authority {
    /// Makes an authority, or says why there is none.
    pub(crate) fn new() -> Option<Authority> {
        let has = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
        if !has.is_ok_and(|status| status.success()) {
            fathom_skip::record("openssl is not installed");
            return None;
        }
        let authority = Authority { directory: tempfile::tempdir().expect("a directory") };
        authority.alone("ca", &[]);
        Some(authority)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A certificate `NAME.crt` that signed itself, with the key `NAME.key`.
    pub(crate) fn alone(&self, name: &str, more: &[&str]) {
        let subject = format!("/CN={name}");
        let key = format!("{name}.key");
        let certificate = format!("{name}.crt");
        let start = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        self.run(
            start
                .iter()
                .copied()
                .chain(["-subj", &subject, "-days", "30", "-keyout", &key, "-out", &certificate])
                .chain(more.iter().copied()),
        );
    }

    /// A certificate `NAME.crt` that the authority signed, for these names in openssl's words.
    pub(crate) fn sign(&self, name: &str, names: &str, more: &[&str]) {
        let subject = format!("/CN={name}");
        let (key, request, certificate) =
            (format!("{name}.key"), format!("{name}.csr"), format!("{name}.crt"));
        self.run([
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", &subject, "-keyout", &key, "-out", &request,
        ]);
        let extensions = self.path("extensions");
        fs::write(&extensions, format!("basicConstraints=CA:FALSE\n{names}\n")).expect("written");
        let start = ["x509", "-req", "-in", &request, "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
        let rest = ["-extfile", "extensions", "-out", &certificate];
        self.run(start.into_iter().chain(rest).chain(more.iter().copied()));
    }

    /// A certificate for localhost that was valid in January 2020, signed by itself or by the authority.
    pub(crate) fn expired(&self, name: &str, is_alone: bool) {
        let rules = "[ca]\ndefault_ca=it\n[it]\nnew_certs_dir=.\ndatabase=list\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n\
            [any]\ncommonName=supplied\n";
        let mark = if is_alone { "TRUE" } else { "FALSE" };
        let extensions = format!("basicConstraints=CA:{mark}\nsubjectAltName=DNS:localhost\n");
        for (file, text) in [("rules", rules), ("list", ""), ("extensions", &extensions)] {
            fs::write(self.path(file), text).expect("written");
        }
        let (subject, key) = (format!("/CN={name}"), format!("{name}.key"));
        let (request, certificate) = (format!("{name}.csr"), format!("{name}.crt"));
        self.run([
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", &subject, "-keyout", &key, "-out", &request,
        ]);
        let dates = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"];
        let start =
            ["ca", "-config", "rules", "-batch", "-notext", "-extfile", "extensions", "-in", &request];
        let signer = match is_alone {
            true => ["-selfsign", "-keyfile", &key, "-out", &certificate].to_vec(),
            false => ["-cert", "ca.crt", "-keyfile", "ca.key", "-out", &certificate].to_vec(),
        };
        self.run(start.into_iter().chain(dates).chain(signer));
    }

    fn run<Word: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = Word>) {
        let done = Command::new("openssl").args(words).current_dir(self.directory.path()).output();
        let done = done.expect("starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Copies a certificate and its key to where a server of the owner of `data` expects them.
    pub(crate) fn give(&self, name: &str, data: &Path) {
        let owner = fs::metadata(data).expect("there");
        let ids = |metadata: &fs::Metadata| {
            use std::os::unix::fs::MetadataExt;
            (Some(metadata.uid()), Some(metadata.gid()))
        };
        for (from, to) in [
            (format!("{name}.crt"), "server.crt"),
            (format!("{name}.key"), "server.key"),
            ("ca.crt".to_owned(), "ca.crt"),
        ] {
            let to = data.join(to);
            fs::copy(self.path(&from), &to).expect("copied");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("set");
            let (uid, gid) = ids(&owner);
            chown(&to, uid, gid).expect("given away");
        }
    }
}
