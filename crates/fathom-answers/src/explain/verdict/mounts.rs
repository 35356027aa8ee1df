//! Network and user-space file systems: which layer served the I/O (the page cache, the client's own cache, or
//! the network), and what the job observed.

use super::{Bottleneck, BottleneckVerdict, PROCESSOR_FULL, depth, main_direction, verdict};
use crate::evidence::Evidence;
use crate::evidence::mounts::{Mount, Passage};
use crate::figures;
use fathom_stats::Direction;

/// Ratio of context switches to I/Os below which most I/Os did not wait.
const WAITED: f64 = 0.5;

/// Most of the data stayed in the kernel's page cache.
pub(super) fn page_cache(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let mount = evidence.mount().filter(|_| !evidence.is_direct())?;
    let passage = passages(evidence, &mount).find(Passage::stayed_in_page_cache)?;
    let found = format!(
        "The job did not use direct I/O: its {}, and between the kernel and {} went only {}.",
        passage.of_jobs(),
        mount.client(),
        figures::size(passage.client_bytes.unwrap_or(0))
    );
    let past = "direct=1 bypasses the page cache. Without it, drop the cache before each run (invalidate=1, \
                which is the default, or `echo 3 >/proc/sys/vm/drop_caches`) and read no block twice.";
    verdict(Bottleneck::PageCacheOfClient, vec![found, past.to_owned(), mount.caches().to_owned()])
}

/// Most of the data reached the client, but not the network.
pub(super) fn client_cache(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let mount = evidence.mount().filter(Mount::may_keep_data)?;
    let passage = passages(evidence, &mount).find(Passage::stayed_on_machine)?;
    let network = passage.of_network()?;
    let mut reasons = vec![format!("The job's {}; {network} meanwhile.", passage.of_jobs())];
    let client = mount.client();
    let unless = "its own cache answered, unless the data was compressed in transit or used a path that \
                  interfaces do not count (RDMA, a Unix socket)";
    reasons.push(match (evidence.is_direct(), passage.client_bytes) {
        (true, _) => format!(
            "direct=1 bypassed the page cache, but {client} decides what direct I/O means below: {unless}."
        ),
        (false, Some(_)) => format!("The kernel passed the I/O on to {client}: {unless}."),
        (false, None) => format!(
            "Whether that was the page cache or {client}'s own cannot be seen here: direct=1 rules the page cache out."
        ),
    });
    reasons.push(mount.caches().to_owned());
    verdict(Bottleneck::ClientCache, reasons)
}

/// Most of the data was read ahead: the kernel fetched it from the client before the job asked for it.
pub(super) fn read_ahead(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let mount = evidence.mount().filter(|_| !evidence.is_direct())?;
    let (index, direction) = main_direction(evidence).filter(|(index, _)| *index == 0)?;
    evidence.passage(&mount, index)?.client_bytes?;
    let waited = few_waits(evidence)?;
    verdict(
        Bottleneck::Network,
        vec![format!(
            "{waited}: the kernel had already asked {} for the others (read-ahead). So the latency says \
            little about the network; the rate of {} is that of all layers together.",
            mount.client(),
            figures::bandwidth(direction.bytes_per_second)
        )],
    )
}

/// The network or the server, if neither the job nor the CPU was the bottleneck.
pub(super) fn network(evidence: &Evidence<'_>) -> Option<BottleneckVerdict> {
    let mount = evidence.mount()?;
    let (index, _) = main_direction(evidence)?;
    let is_known = evidence.is_direct() || evidence.passage(&mount, index.min(1))?.client_bytes.is_some();
    let (user, system) = evidence.processor();
    if evidence.depth_reached()? < 0.75 * evidence.depth_asked()
        || user + system > PROCESSOR_FULL - 20.0
        || !is_known
    {
        return None;
    }
    let mut reasons: Vec<String> = depth::in_flight(evidence).into_iter().collect();
    reasons.push(format!("The CPU had time left: each clone used {}.", figures::percent(user + system)));
    if depth::may_be_too_small(evidence) {
        reasons.push(depth::test(evidence));
    }
    verdict(Bottleneck::Network, reasons)
}

/// Describes the layers between the job and its data, for verdicts that do not mention these themselves.
pub(super) fn surroundings(evidence: &Evidence<'_>, bottleneck: Bottleneck) -> Vec<String> {
    let is_about_storage = matches!(
        bottleneck,
        Bottleneck::QueueDepth
            | Bottleneck::Network
            | Bottleneck::Storage
            | Bottleneck::Submission
            | Bottleneck::OwnSide
            | Bottleneck::Syncs
            | Bottleneck::Unknown
    );
    let Some(mount) = evidence.mount().filter(|_| is_about_storage) else { return Vec::new() };
    let Some((index, _)) = main_direction(evidence).filter(|(index, _)| *index < 2) else {
        return Vec::new();
    };
    let passage = evidence.passage(&mount, index);
    let mut found = Vec::new();
    if mount.is_of_server() {
        found.push(format!(
            "What the page cache does not answer is a round trip from the kernel{} through the network to the server and back.",
            if mount.is_in_user_space() { format!(" to {} and", mount.client()) } else { String::new() }
        ));
    }
    found.extend(passage.and_then(|passage| passage.network_sentence()));
    found.extend(unknown_caches(evidence, &mount, index, passage));
    found.push(mount.caches().to_owned());
    found
}

/// Names caches that may have served I/O without showing in any counter.
fn unknown_caches(
    evidence: &Evidence<'_>,
    mount: &Mount<'_>,
    direction: usize,
    passage: Option<Passage>,
) -> Option<String> {
    let client = mount.client();
    let knows = |bytes: fn(&Passage) -> Option<u64>| passage.as_ref().and_then(bytes).is_some();
    let (knows_client, knows_network) =
        (knows(|passage| passage.client_bytes), knows(|passage| passage.network_bytes));
    if evidence.is_direct() {
        let is_pretended = mount.is_in_user_space() && !knows_network;
        return is_pretended.then(|| {
            format!(
                "direct=1 bypassed the page cache, but {client} decides what direct I/O means below: whether \
                its own cache answered cannot be known here."
            )
        });
    }
    if knows_client {
        return None;
    }
    Some(match few_waits(evidence).filter(|_| direction == 0) {
        Some(waited) => format!(
            "{waited}: the page cache of this machine had the data of the others, from an earlier read or from read-ahead. Which of these \
             cannot be known here: direct=1 rules both out."
        ),
        None => {
            "How much the page cache of this machine answered cannot be known here: direct=1 rules it out."
                .to_owned()
        }
    })
}

/// A phrase such as `At most 205 of its 16384 reads can have waited (ctx)`, if these are a small part of the
/// I/Os: a process that waits yields the CPU, which counts as a context switch.
fn few_waits(evidence: &Evidence<'_>) -> Option<String> {
    let (ios, switches) = (evidence.job.total_ios(Direction::Read), evidence.job.context_switches);
    // A worker that was lost has reported no context switches, so 0 means unknown.
    let is_few = switches > 0 && evidence.is_synchronous() && (switches as f64) < WAITED * ios as f64;
    is_few.then(|| format!("At most {switches} of its {ios} reads can have waited (ctx)"))
}

/// Sentences for the directions in which the job moved data.
fn passages<'a>(evidence: &'a Evidence<'_>, mount: &'a Mount<'_>) -> impl Iterator<Item = Passage> + 'a {
    let is_used = |direction: &usize| evidence.job.directions()[*direction].is_some();
    [0, 1].into_iter().filter(is_used).filter_map(|direction| evidence.passage(mount, direction))
}
