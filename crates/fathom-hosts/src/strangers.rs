//! Those who have connected and not yet proved who they are. They take nothing from those who have: they wait in a list, and where it
//! is full, the address that has the most in it gives up its oldest, so that one who connects again and again is in no way but
//! its own.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a stranger may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// One of them.
pub(crate) struct Stranger<T> {
    /// The way to it.
    pub(crate) way: T,
    /// Where it is, in words.
    pub(crate) from: String,
    address: Option<IpAddr>,
    since: Instant,
}

impl<T> Stranger<T> {
    /// It has had its time.
    pub(crate) fn is_late(&self) -> bool {
        self.since.elapsed() > PATIENCE
    }
}

/// All of them, the oldest first.
pub(crate) struct Strangers<T> {
    list: Vec<Stranger<T>>,
    most: usize,
}

impl<T> Strangers<T> {
    /// None yet, and never more than `most`.
    pub(crate) fn up_to(most: usize) -> Strangers<T> {
        Strangers { list: Vec::new(), most }
    }

    /// Takes one in; the one that had to go for it.
    pub(crate) fn admit(&mut self, way: T, from: String, address: Option<IpAddr>) -> Option<Stranger<T>> {
        let gone = if self.list.len() >= self.most { self.evict() } else { None };
        self.list.push(Stranger { way, from, address, since: Instant::now() });
        gone
    }

    /// Takes out the oldest of the address that has the most.
    pub(crate) fn evict(&mut self) -> Option<Stranger<T>> {
        let count = |address| self.list.iter().filter(|stranger| stranger.address == address).count();
        let most = self.list.iter().map(|stranger| count(stranger.address)).max()?;
        let at = self.list.iter().position(|stranger| count(stranger.address) == most)?;
        Some(self.list.remove(at))
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stranger<T>> {
        self.list.iter()
    }

    /// Takes all of them, for those who are still strangers to be put back.
    pub(crate) fn take(&mut self) -> Vec<Stranger<T>> {
        std::mem::take(&mut self.list)
    }

    /// Puts back one that was taken.
    pub(crate) fn put_back(&mut self, stranger: Stranger<T>) {
        self.list.push(stranger);
    }

    /// Lets go of all.
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
