//! `net`, `netsplice` and `net_uring`: streams and datagrams to and from whoever is at the other end, fio among them.
//!
//! `address.rs` reads the options, `endpoint.rs` makes and connects the sockets, `wire.rs` has what is said beside the data,
//! `transfer.rs` moves blocks by `send` and `recv`, `spliced.rs` through a pipe, `queued.rs` many at a time.

mod address;
mod endpoint;
mod queued;
mod spliced;
mod transfer;
mod wire;

pub(crate) use queued::NetUring;
pub(crate) use spliced::NetSplice;
pub(crate) use transfer::Net;
