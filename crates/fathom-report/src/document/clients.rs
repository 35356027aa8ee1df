//! The objects of jobs that servers have run, and of their devices.

use super::job;
use super::layout::{Object, object};
use crate::clients::Client;
use fathom_stats::report::{JobReport, RunReport};

/// The jobs of one server.
pub(crate) fn of_server(client: &Client<'_>, with_bins: bool) -> Vec<Object> {
    let groups = &client.report.groups;
    let jobs = client.report.jobs.iter();
    jobs.map(|entry| from(job::object_of_client(entry, groups, with_bins), client)).collect()
}

/// All servers together; it says that it is from the last of them.
pub(crate) fn of_all(total: &JobReport, report: &RunReport, last: &Client<'_>, with_bins: bool) -> Object {
    from(job::object_of_all_clients(total, &report.groups, with_bins), last)
}

/// The same with where it is from.
pub(crate) fn from(mut object: Object, client: &Client<'_>) -> Object {
    object.append(object! { "hostname": client.host_name, "port": u64::from(client.port) });
    object
}
