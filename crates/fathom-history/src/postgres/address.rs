//! The URL of a database: which servers, which user, and how the connection is protected. It has no password, because
//! every user of a machine can read the arguments of its programs.

use super::cause::told;
use super::tls::{PARAMETERS, Rules};
use crate::Error;
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::os::unix::ffi::OsStringExt;
use std::str::FromStr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, SslNegotiation};

/// How long to wait for a connection if the URL does not say.
const PATIENCE: Duration = Duration::from_secs(30);
/// Directory of sockets on Debian and others.
const SOCKETS: &str = "/var/run/postgresql";
/// A database on a server of PostgreSQL, or on the first one of several that answers.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) config: Config,
    pub(super) tls: Rules,
}

/// One of the hosts of a URL.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) host: Host,
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

impl Server {
    /// Parses a URL and reads the variables of libpq that complete it.
    pub(crate) fn parse(url: &str) -> Result<Server, Error> {
        // The URL may contain a password in a place where the parser does not expect one.
        let hidden = || format!("{}://...", url.split("://").next().unwrap_or_default());
        let refused = |why: String| Error::Url { url: hidden(), why };
        let (url, in_url) = split(url).ok_or_else(|| refused("it ends within a %XX".to_owned()))?;
        let mut config = Config::from_str(&url).map_err(|error| refused(told(&error)))?;
        if config.get_password().is_some() {
            return Err(Error::PasswordInUrl { place: name(&config, &endpoints(&config)) });
        }
        if config.get_ssl_negotiation() == SslNegotiation::Direct {
            return Err(refused("sslnegotiation=direct is not supported; leave it out".to_owned()));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host(usual_host());
        }
        if config.get_user().is_none() {
            let user = variable("PGUSER").or_else(|| variable("USER"));
            config.user(&user.ok_or_else(|| refused("it names no user".to_owned()))?);
        }
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        if hosts > 0 && addresses > 0 && hosts != addresses {
            return Err(refused(format!("it has {hosts} hosts and {addresses} addresses (hostaddr)")));
        }
        let (count, ports) = (hosts.max(addresses), config.get_ports().len());
        if ports > 1 && ports != count {
            return Err(refused(format!("it has {count} hosts and {ports} ports")));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.application_name("fathom");
        let in_environment = |name: &str| env::var_os(name).filter(|text| !text.is_empty());
        let home = env::var_os("HOME").map(Into::into);
        let tls = Rules::new(&in_url, &in_environment, home)?;
        Ok(Server { config, tls })
    }

    /// The server and database as a URL without secrets.
    pub(crate) fn name(&self) -> String {
        name(&self.config, &endpoints(&self.config))
    }

    /// The server and database on one of the hosts.
    pub(super) fn name_at(&self, endpoint: &Endpoint) -> String {
        name(&self.config, std::slice::from_ref(endpoint))
    }

    /// The hosts in the order in which they are to be tried.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let mut all = endpoints(&self.config);
        if self.config.get_load_balance_hosts() == LoadBalanceHosts::Random {
            let random = std::hash::RandomState::new();
            all.sort_by_cached_key(|endpoint| random.hash_one(format!("{endpoint:?}")));
        }
        all
    }

    /// Settings for one address of one host.
    pub(super) fn settings(&self, endpoint: &Endpoint, address: Option<IpAddr>, mode: SslMode) -> Config {
        let from = &self.config;
        let mut config = Config::new();
        match &endpoint.host {
            Host::Tcp(name) => config.host(name),
            Host::Unix(path) => config.host_path(path),
        };
        address.map(|address| config.hostaddr(address));
        config.port(endpoint.port).ssl_mode(mode);
        from.get_user().map(|user| config.user(user));
        from.get_dbname().map(|name| config.dbname(name));
        from.get_options().map(|options| config.options(options));
        from.get_application_name().map(|name| config.application_name(name));
        from.get_connect_timeout().map(|limit| config.connect_timeout(*limit));
        from.get_tcp_user_timeout().map(|limit| config.tcp_user_timeout(*limit));
        config.keepalives(from.get_keepalives()).keepalives_idle(from.get_keepalives_idle());
        from.get_keepalives_interval().map(|interval| config.keepalives_interval(interval));
        from.get_keepalives_retries().map(|retries| config.keepalives_retries(retries));
        config.target_session_attrs(from.get_target_session_attrs());
        config.channel_binding(from.get_channel_binding());
        config
    }

    /// Limit on the time of one attempt to connect.
    pub(super) fn patience(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(PATIENCE)
    }
}

/// The host of a URL that names none: a name, or the directory of a socket.
fn usual_host() -> String {
    variable("PGHOST").unwrap_or_else(|| SOCKETS.to_owned())
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

fn endpoints(config: &Config) -> Vec<Endpoint> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let endpoint = |index: usize| {
        let address = addresses.get(index).copied();
        let named = hosts.get(index).filter(|host| **host != Host::Tcp(String::new())).cloned();
        let host = named.unwrap_or_else(|| match address {
            // Without a name, a certificate must be for the address.
            Some(address) => Host::Tcp(address.to_string()),
            None => match usual_host() {
                path if path.starts_with('/') => Host::Unix(path.into()),
                name => Host::Tcp(name),
            },
        });
        let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
        Endpoint { host, address, port }
    };
    (0..hosts.len().max(addresses.len())).map(endpoint).collect()
}

fn name(config: &Config, endpoints: &[Endpoint]) -> String {
    let one = |endpoint: &Endpoint| {
        let port = config.get_ports().first().map(|_| format!(":{}", endpoint.port)).unwrap_or_default();
        match &endpoint.host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]{port}"),
            Host::Tcp(name) => format!("{name}{port}"),
            Host::Unix(path) => format!("{}{port}", path.display()),
        }
    };
    let hosts: Vec<String> = endpoints.iter().map(one).collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
    format!("postgres://{user}{}{database}", hosts.join(","))
}

/// The URL without its parameters about TLS, of which the parser knows only a part, and these parameters.
fn split(url: &str) -> Option<(String, BTreeMap<&'static str, OsString>)> {
    let mut found = BTreeMap::new();
    // A password may contain a question mark.
    let start = url.find('@').unwrap_or_default();
    let Some(query) = url[start..].find('?').map(|place| start + place) else {
        return Some((url.to_owned(), found));
    };
    let mut others = Vec::new();
    for pair in url[query + 1..].split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decode(key)?;
        match PARAMETERS.iter().find(|(name, _)| name.as_bytes() == key) {
            Some((name, _)) => drop(found.insert(*name, OsString::from_vec(decode(value)?))),
            None => others.push(pair),
        }
    }
    let rest = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    Some((format!("{}{rest}", &url[..query]), found))
}

/// Replaces each `%XX` by its byte. `None` if the digits are missing.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_tls_leave_the_url() {
        let (url, found) =
            split("postgres://me@db/x?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fa%20b%2Fca.crt")
                .expect("splits");
        assert_eq!(url, "postgres://me@db/x?connect_timeout=3");
        assert_eq!(found["sslmode"], "verify-full");
        assert_eq!(found["sslrootcert"], "/a b/ca.crt");
        assert_eq!(split("postgres://db/x?sslkey=a").expect("splits").0, "postgres://db/x");
        assert_eq!(split("postgres://db/x?sslkey=%2").map(|_| ()), None);
        // What is before the host is not taken for a parameter.
        let (url, found) = split("postgres://me:a?sslmode=b@db/x").expect("splits");
        assert_eq!((url.as_str(), found.len()), ("postgres://me:a?sslmode=b@db/x", 0));
    }

    #[test]
    fn every_host_has_its_port_and_name() {
        let of =
            |url: &str| Server::parse(url).map(|server| server.name()).map_err(|error| error.to_string());
        let same = "postgres://me@a:5432,[::1]:5433/x";
        assert_eq!(of("postgres://me@a,[::1]:5433/x?sslmode=require").as_deref(), Ok(same));
        let address = Server::parse("postgres://me@/x?hostaddr=127.0.0.1&port=5433").expect("parses");
        assert_eq!(address.name(), "postgres://me@127.0.0.1:5433/x");
        let error = of("postgres://me@a,b/x?hostaddr=127.0.0.1").expect_err("refused");
        assert!(error.contains("2 hosts and 1 addresses"), "{error}");
        let error = of("postgres://me@a/x?sslnegotiation=direct").expect_err("refused");
        assert!(error.contains("sslnegotiation"), "{error}");
        let error = of("postgres://me@a/x?sslmode=sometimes").expect_err("refused");
        assert!(error.starts_with("sslmode=sometimes: ") && error.contains("verify-full"), "{error}");
        let error = of("postgres://me@a/x?sslcrl=list").expect_err("refused");
        assert!(error.contains("sslcrl"), "{error}");
    }
}
