//! `net`, `netsplice` and `net_uring`: streams and datagrams to and from any peer, including fio. `address.rs`
//! parses the options, `endpoint.rs` creates and connects the sockets, `wire.rs` defines the protocol messages,
//! `transfer.rs` moves blocks by `send` and `recv`, `spliced.rs` through a pipe, `queued.rs` with many in
//! flight.

mod address;
mod endpoint;
mod queued;
mod spliced;
mod transfer;
mod wire;

pub(crate) use queued::NetUring;
pub(crate) use spliced::NetSplice;
pub(crate) use transfer::Net;
