//! Names of logical units: `iscsi://[user@]host[:port]/target/lun`, as in libiscsi's own programs.

use super::error::UnitError;
use iri_string::types::UriStr;
use percent_encoding::percent_decode_str;

/// IANA's port for iSCSI.
const USUAL_PORT: u16 = 3260;

/// A logical unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Host and port.
    pub(super) portal: String,
    /// The target's name, such as `iqn.2026-01.org.example:disk`.
    pub(super) target: String,
    pub(super) lun: i32,
    /// User name for authentication (CHAP), if the name contains one.
    pub(super) user: Option<String>,
}

impl Unit {
    /// Parses a URL; the error never shows a password.
    pub(super) fn parse(text: &str) -> Result<Unit, UnitError> {
        if has_password(text) {
            return Err(UnitError::Password);
        }
        let wrong = || UnitError::NoUrl(text.to_owned());
        let url = UriStr::new(text).map_err(|_| wrong())?;
        let authority =
            url.authority_components().filter(|_| url.scheme_str() == "iscsi").ok_or_else(wrong)?;
        let port = match authority.port() {
            None | Some("") => USUAL_PORT,
            Some(port) => port
                .parse()
                .map_err(|_| UnitError::NoPort { text: text.to_owned(), port: port.to_owned() })?,
        };
        let (target, lun) = url.path_str().trim_start_matches('/').rsplit_once('/').ok_or_else(wrong)?;
        let lun =
            lun.parse().map_err(|_| UnitError::NoNumber { text: text.to_owned(), lun: lun.to_owned() })?;
        if target.is_empty() || authority.host().is_empty() {
            return Err(wrong());
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        Ok(Unit {
            portal: format!("{}:{port}", authority.host()),
            target: decoded(target),
            lun,
            user: authority.userinfo().map(decoded),
        })
    }
}

/// True for a text with `user%password@` or `user:password@`, even if it is not a valid URI.
fn has_password(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or("");
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(['%', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_units() {
        let unit = |portal: &str, target: &str, lun, user: Option<&str>| Unit {
            portal: portal.to_owned(),
            target: target.to_owned(),
            lun,
            user: user.map(str::to_owned),
        };
        for (text, wanted) in [
            ("iscsi://host/iqn.a:disk/1", unit("host:3260", "iqn.a:disk", 1, None)),
            ("iscsi://10.0.0.1:99/iqn.a%3Adisk/0", unit("10.0.0.1:99", "iqn.a:disk", 0, None)),
            ("iscsi://[::1]:99/eui.02/7", unit("[::1]:99", "eui.02", 7, None)),
            ("iscsi://me@host/iqn.a:disk/1", unit("host:3260", "iqn.a:disk", 1, Some("me"))),
        ] {
            assert_eq!(Unit::parse(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("a.0.0", "is not a URL of iSCSI"),
            ("nbd://host/x/1", "is not a URL of iSCSI"),
            ("iscsi://host/1", "is not a URL of iSCSI"),
            ("iscsi:///iqn.a/1", "is not a URL of iSCSI"),
            ("iscsi://host/iqn.a/one", "one is not a number"),
            ("iscsi://host:x/iqn.a/1", "is not"),
        ] {
            let error = Unit::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn passwords_are_refused_and_not_shown() {
        for text in
            ["iscsi://me%secret@host/iqn.a/1", "iscsi://me:secret@host/iqn.a/1", "iscsi://me%%secret@@host"]
        {
            let error = Unit::parse(text).expect_err(text).to_string();
            assert!(!error.contains("secret") && error.contains("LIBISCSI_CHAP_PASSWORD"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(iscsi://)?[ -~é]{0,40}") {
            let _ = Unit::parse(&text);
        }
    }
}
