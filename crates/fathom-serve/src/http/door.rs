//! Access control. The address that the program prints holds a token. A browser that presents it receives a
//! cookie that scripts cannot read and other sites cannot send. A cookie belongs to a host and not to a port,
//! so browsers would send it to any program of this machine whose page they open, and that program could replay
//! it. Therefore all paths begin with a secret name, to which the cookie is limited. Requests must also come
//! from a page of this server, according to `Origin` and `Sec-Fetch-Site`. A foreign host name that resolves to
//! this machine (DNS rebinding) is refused.

use super::answer::{self, Answer};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use ring::rand::{SecureRandom, SystemRandom};
use std::net::IpAddr;
use thiserror::Error;

/// Error: the system provides no random numbers for secrets.
#[derive(Clone, Copy, Debug, Error)]
#[error("the system provides no random numbers")]
pub(crate) struct NoRandom;

/// The secrets of a server, which are new at each start.
pub(crate) struct Door {
    /// The token in the printed address.
    token: String,
    /// Value of the cookie.
    session: String,
    /// The secret first component of all paths.
    place: String,
    /// Name of the cookie, which differs between servers on one machine.
    cookie: String,
}

impl Door {
    pub(crate) fn new(port: u16) -> Result<Door, NoRandom> {
        let random = || {
            let mut bytes = [0; 32];
            SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandom)?;
            Ok::<String, NoRandom>(URL_SAFE_NO_PAD.encode(bytes))
        };
        Ok(Door { token: random()?, session: random()?, place: random()?, cookie: format!("fathom-{port}") })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the path within the server's prefix; `None` for other paths.
    pub(crate) fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (place, rest) = path.strip_prefix('/')?.split_at_checked(self.place.len())?;
        (is_same(place, &self.place) && rest.starts_with('/')).then_some(rest)
    }

    /// Refuses a request, or gives a browser its cookie; `None` if the request may proceed.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Answer> {
        let refused = |text: &str| Some(answer::problem(StatusCode::FORBIDDEN, text));
        let host = text(headers, header::HOST);
        if !host.is_some_and(is_of_this_machine) || uri.authority().is_some() {
            return refused("this server only answers to localhost, 127.0.0.1 and [::1]");
        }
        if method == Method::GET && uri.path() == "/" && uri.query().is_some() {
            let token = uri.query().and_then(|query| query.strip_prefix("token="));
            let token = token.map(|token| percent_decode_str(token).decode_utf8_lossy().into_owned());
            return match token {
                Some(token) if is_same(&token, &self.token) => Some(self.let_in()),
                _ => Some(refusal_page()),
            };
        }
        let site = text(headers, header::HeaderName::from_static("sec-fetch-site"));
        let sites = headers.get_all("sec-fetch-site").iter().count();
        if sites > 1 || site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return refused("requests from other pages are refused");
        }
        if self.inside(uri.path()).is_none() || !self.has_cookie(headers) {
            return match uri.path() {
                "/" => Some(refusal_page()),
                _ => refused("open the address that fathom serve printed: it holds the token"),
            };
        }
        if method != Method::GET {
            let own = host.map(|host| format!("http://{host}"));
            if own.is_none() || text(headers, header::ORIGIN) != own.as_deref() {
                return refused("requests from other pages are refused");
            }
            if text(headers, header::CONTENT_TYPE) != Some("application/json") {
                return Some(answer::problem(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "requests must be application/json",
                ));
            }
        }
        None
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie && is_same(value, &self.session))
    }

    /// Sets the cookie, and redirects to the address without the token.
    fn let_in(&self) -> Answer {
        let mut answer = answer::whole(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
        let folder = format!("/{}/", self.place);
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path={folder}", self.cookie, self.session);
        // These values are valid headers, because all their secrets consist of letters and digits.
        if let (Ok(cookie), Ok(folder)) = (HeaderValue::from_str(&cookie), HeaderValue::from_str(&folder)) {
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
            answer.headers_mut().insert(header::LOCATION, folder);
        }
        answer
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    // If a header has two values, it is undefined which one counts, so neither does.
    if all.next().is_some() { None } else { first.to_str().ok() }
}

/// Returns the page for a browser without the token.
fn refusal_page() -> Answer {
    let page = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>fathom</title></head><body><h1>fathom</h1>\
                <p>Open the address that <code>fathom serve</code> printed: it holds a token, and each start of the server makes a \
                new one.</p></body></html>\n";
    answer::whole(StatusCode::FORBIDDEN, "text/html; charset=utf-8", page)
}

/// True for a name of the loopback interface, with any port, because a tunnel may use another.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
            return is_port && address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        }
        None => match host.split_once(':') {
            Some((name, port)) if is_number(port) => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Compares two texts in constant time.
fn is_same(given: &str, own: &str) -> bool {
    let differs = given.bytes().zip(own.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    given.len() == own.len() && std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_known() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8767", "[::1]", "[::1]:80", "127.1.2.3"] {
            assert!(is_of_this_machine(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "localhost:x",
            "[::1]x",
            "0.0.0.0",
            "a:1:2",
        ] {
            assert!(!is_of_this_machine(host), "{host}");
        }
    }

    #[test]
    fn secrets_are_compared_as_a_whole() {
        assert!(
            is_same("abc", "abc") && !is_same("abd", "abc") && !is_same("ab", "abc") && !is_same("", "abc")
        );
        let (one, other) = (Door::new(1).expect("a door"), Door::new(1).expect("a door"));
        assert!(one.token != other.token && one.token != one.session && one.token.len() == 43);
        assert_eq!(one.inside(&format!("/{}/api/runs", one.place)), Some("/api/runs"));
        let wrong =
            [format!("/{}", one.place), format!("/{}/", other.place), "/".to_owned(), "/é".repeat(30)];
        assert_eq!(wrong.map(|path| one.inside(&path).map(str::to_owned)), [None, None, None, None]);
    }
}
