//! Signatures of S3 (AWS Signature Version 4), implemented from the published description of the algorithm.
//! Existing crates are not used, because they have some fifty dependencies and derive the key again for every
//! request.

use super::credentials::Credentials;
use ring::{digest, hmac};
use std::cell::RefCell;
use std::fmt::Write as _;

/// Credentials and scope of signatures.
pub(super) struct Signer {
    credentials: Credentials,
    region: String,
    /// The signing key, and the day for which it is valid.
    key: RefCell<Option<(String, hmac::Key)>>,
}

/// The signed parts of a request.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// Escaped.
    pub(super) path: &'a str,
    /// Escaped, sorted.
    pub(super) query: &'a str,
    /// Names of headers in lower case, with their values.
    pub(super) headers: &'a mut Vec<(String, String)>,
    /// Hexadecimal hash of the body, or a placeholder for the hash.
    pub(super) payload: &'a str,
    /// `20130524T000000Z`
    pub(super) time: &'a str,
}

impl Signer {
    pub(super) fn new(credentials: Credentials, region: &str) -> Signer {
        Signer { credentials, region: region.to_owned(), key: RefCell::new(None) }
    }

    /// Adds the authentication headers.
    pub(super) fn sign(&self, request: &mut Signed<'_>) {
        let Signed { method, path, query, payload, time, .. } = *request;
        let headers = &mut *request.headers;
        headers.push(("x-amz-content-sha256".to_owned(), payload.to_owned()));
        headers.push(("x-amz-date".to_owned(), time.to_owned()));
        if let Some(token) = &self.credentials.token {
            headers.push(("x-amz-security-token".to_owned(), token.clone()));
        }
        headers.sort();
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let mut canonical = format!("{method}\n{path}\n{query}\n");
        for (name, value) in headers.iter() {
            let _ = writeln!(canonical, "{name}:{}", value.trim());
        }
        let _ = write!(canonical, "\n{names}\n{payload}");
        let day = &time[..8];
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(canonical.as_bytes()));
        let signature = hexadecimal(hmac::sign(&self.key_of(day), text.as_bytes()).as_ref());
        let id = &self.credentials.id;
        let value =
            format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
        headers.push(("authorization".to_owned(), value));
    }

    fn key_of(&self, day: &str) -> hmac::Key {
        let mut kept = self.key.borrow_mut();
        if let Some((of, key)) = &*kept
            && of == day
        {
            return key.clone();
        }
        let first = format!("AWS4{}", self.credentials.secret);
        let steps = [day, &self.region, "s3", "aws4_request"];
        let key = steps.iter().fold(hmac::Key::new(hmac::HMAC_SHA256, first.as_bytes()), |key, step| {
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, step.as_bytes()).as_ref())
        });
        *kept = Some((day.to_owned(), key.clone()));
        key
    }
}

/// SHA-256 in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the service has published: GET of an object with a range.
    #[test]
    fn a_signature_is_that_of_the_published_example() {
        let credentials = Credentials {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let mut headers = vec![
            ("host".to_owned(), "examplebucket.s3.amazonaws.com".to_owned()),
            ("range".to_owned(), "bytes=0-9".to_owned()),
        ];
        let payload = sha256(b"");
        Signer::new(credentials, "us-east-1").sign(&mut Signed {
            method: "GET",
            path: "/test.txt",
            query: "",
            headers: &mut headers,
            payload: &payload,
            time: "20130524T000000Z",
        });
        let (name, value) = headers.last().expect("the signature");
        assert_eq!(name, "authorization");
        assert_eq!(
            value.rsplit('=').next(),
            Some("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        );
    }
}
