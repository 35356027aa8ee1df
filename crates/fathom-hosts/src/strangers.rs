//! Peers that have connected but not authenticated. They wait in a list of limited length. When the list is
//! full, the address with the most entries loses its oldest one, so a peer that connects repeatedly displaces
//! only itself.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Deadline for authentication.
const PATIENCE: Duration = Duration::from_secs(20);

/// A peer that has not authenticated.
pub(crate) struct Stranger<T> {
    /// The connection to the peer.
    pub(crate) way: T,
    /// Address of the peer, for messages.
    pub(crate) from: String,
    address: Option<IpAddr>,
    since: Instant,
}

impl<T> Stranger<T> {
    /// True after the peer's deadline.
    pub(crate) fn is_late(&self) -> bool {
        self.since.elapsed() > PATIENCE
    }
}

/// All unauthenticated peers, the oldest first.
pub(crate) struct Strangers<T> {
    list: Vec<Stranger<T>>,
    most: usize,
}

impl<T> Strangers<T> {
    /// Creates an empty list for at most `most` peers.
    pub(crate) fn up_to(most: usize) -> Strangers<T> {
        Strangers { list: Vec::new(), most }
    }

    /// Adds a peer, and returns the peer that was evicted for it, if any.
    pub(crate) fn admit(&mut self, way: T, from: String, address: Option<IpAddr>) -> Option<Stranger<T>> {
        let gone = if self.list.len() >= self.most { self.evict() } else { None };
        self.list.push(Stranger { way, from, address, since: Instant::now() });
        gone
    }

    /// Removes the oldest peer of the address that has the most peers.
    pub(crate) fn evict(&mut self) -> Option<Stranger<T>> {
        let count = |address| self.list.iter().filter(|stranger| stranger.address == address).count();
        let most = self.list.iter().map(|stranger| count(stranger.address)).max()?;
        let at = self.list.iter().position(|stranger| count(stranger.address) == most)?;
        Some(self.list.remove(at))
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stranger<T>> {
        self.list.iter()
    }

    /// Removes and returns all peers; the caller puts back those that have not authenticated yet.
    pub(crate) fn take(&mut self) -> Vec<Stranger<T>> {
        std::mem::take(&mut self.list)
    }

    /// Puts a peer back.
    pub(crate) fn put_back(&mut self, stranger: Stranger<T>) {
        self.list.push(stranger);
    }

    /// Drops all of them.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_crowd_are_in_their_own_way() {
        let address = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        let mut strangers = Strangers::up_to(10);
        assert!(strangers.admit(0, "first".to_owned(), address(1)).is_none());
        for number in 1..1000 {
            let gone = strangers.admit(number, "crowd".to_owned(), address(2));
            assert!(gone.is_none_or(|gone| gone.address == address(2)), "{number}");
        }
        assert_eq!(strangers.iter().map(|stranger| stranger.way).collect::<Vec<i32>>()[..2], [0, 991]);
        let gone = strangers.admit(1000, "last".to_owned(), address(3)).expect("it is full");
        assert_eq!((gone.way, strangers.iter().count()), (991, 10));
    }
}
