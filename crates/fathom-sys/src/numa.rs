//! NUMA nodes and memory policy of the calling thread.

use crate::errno::{Errno, check};

/// Memory policy of a thread (linux/mempolicy.h).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The system's default.
    Default,
    /// The node on which the thread runs.
    Local,
    /// One node while it has free memory.
    Prefer(u32),
    /// These nodes only.
    Bind(Vec<u32>),
    /// These nodes round-robin.
    Interleave(Vec<u32>),
}

/// Sets the policy for future allocations of the calling thread.
pub fn set_policy(policy: &Policy) -> Result<(), Errno> {
    let (mode, nodes): (i32, &[u32]) = match policy {
        Policy::Default => (libc::MPOL_DEFAULT, &[]),
        Policy::Local => (libc::MPOL_LOCAL, &[]),
        Policy::Prefer(node) => (libc::MPOL_PREFERRED, std::slice::from_ref(node)),
        Policy::Bind(nodes) => (libc::MPOL_BIND, nodes),
        Policy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes),
    };
    const BITS: usize = libc::c_ulong::BITS as usize;
    let highest = nodes.iter().copied().max().unwrap_or(0) as usize;
    let mut mask = vec![0 as libc::c_ulong; highest / BITS + 1];
    for &node in nodes {
        mask[node as usize / BITS] |= 1 << (node as usize % BITS);
    }
    // The length is one more than the number of bits, because the kernel ignores the last bit.
    let (address, bits) =
        if nodes.is_empty() { (std::ptr::null(), 0) } else { (mask.as_ptr(), mask.len() * BITS + 1) };
    // SAFETY: the mask has as many bits as stated (the last one is not read), or there is none.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, address, bits) }).map(|_| ())
}

/// Returns the nodes of the machine in ascending order; only node 0 if the kernel does not report them.
pub fn nodes() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    let nodes = parse_list(&text);
    if nodes.is_empty() { vec![0] } else { nodes }
}

/// Returns the processors of a node; empty if the node does not exist.
pub fn cpus_of(node: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    parse_list(&std::fs::read_to_string(path).unwrap_or_default())
}

/// Parses a list of numbers in the kernel's format, such as `0-3,8`.
fn parse_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse::<u32>().ok()?..=high.trim().parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel() {
        assert_eq!(parse_list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(parse_list("\n"), []);
    }
}
