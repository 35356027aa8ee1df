//! Shared parts of engines that talk to servers: sockets, TLS, and a connection that blocks only on request.

pub(crate) mod callbacks;
pub(crate) mod end;
pub(crate) mod library;
pub(crate) mod refusal;
pub(crate) mod socket;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod tls;
pub(crate) mod transport;
