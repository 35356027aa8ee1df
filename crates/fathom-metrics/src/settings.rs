//! Destinations of metrics, from the command line and the environment.

use crate::influx::InfluxSettings;
use crate::otlp::environment::OtlpSettings;
use fathom_errors::plain;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Why a destination is refused.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// A host that is not found.
    #[error("{place}: {error}", error = plain(.error))]
    NotFound {
        /// The destination.
        place: String,
        /// The system's error.
        error: io::Error,
    },
    /// A host has no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// Neither an address nor a file.
    #[error(
        "expected a port or an address to answer Prometheus at, such as 9750 or 127.0.0.1:9750, or a file for \
         node_exporter's textfile collector, whose name ends with .prom"
    )]
    NoPlace,
}

/// All destinations of metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Addresses that Prometheus scrapes.
    pub endpoints: Vec<SocketAddr>,
    /// Files for node_exporter's textfile collector.
    pub files: Vec<PathBuf>,
    /// The OpenTelemetry collector.
    pub otlp: Option<OtlpSettings>,
    /// The InfluxDB.
    pub influx: Option<InfluxSettings>,
    /// The version of fathom.
    pub version: String,
    /// True if the run is repeated, so that figures of the next run follow its last figures.
    pub repeats: bool,
    /// Maximum time that endpoints wait, after the run, until its last figures have been read several times.
    pub linger: Duration,
}

impl Settings {
    /// True if there are no destinations.
    pub fn is_empty(&self) -> bool {
        self.endpoints.is_empty() && self.files.is_empty() && self.otlp.is_none() && self.influx.is_none()
    }

    /// Adds a destination: a port, an address or a file.
    pub fn add(&mut self, place: &str) -> Result<(), PlaceError> {
        if let Ok(port) = place.parse::<u16>() {
            // A port without an address is bound to the loopback interface, which the network cannot reach.
            self.endpoints.push(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
            return Ok(());
        }
        if Path::new(place).extension().is_some_and(|extension| extension == "prom") {
            self.files.push(PathBuf::from(place));
            return Ok(());
        }
        if !place.contains('/') && place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
        {
            let found = place
                .to_socket_addrs()
                .map_err(|error| PlaceError::NotFound { place: place.to_owned(), error })?;
            let address = found.into_iter().next().ok_or_else(|| PlaceError::NoAddress(place.to_owned()))?;
            self.endpoints.push(address);
            return Ok(());
        }
        Err(PlaceError::NoPlace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_file() {
        let added = |place: &str| {
            let mut settings = Settings::default();
            settings.add(place).map(|()| (settings.endpoints, settings.files)).ok()
        };
        let endpoint = |address: &str| Some((vec![address.parse().expect("an address")], Vec::new()));
        assert_eq!(added("9750"), endpoint("127.0.0.1:9750"));
        assert_eq!(added("0.0.0.0:1"), endpoint("0.0.0.0:1"));
        assert_eq!(added("[::1]:9750"), endpoint("[::1]:9750"));
        assert_eq!(added("/a/b.prom"), Some((Vec::new(), vec![PathBuf::from("/a/b.prom")])));
        for wrong in ["", "70000", "file.txt", "127.0.0.1", "a/b:80", ":"] {
            assert!(added(wrong).is_none(), "{wrong}");
        }
    }
}
