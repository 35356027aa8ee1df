//! Distributes the rows of a screen. Sections get rows in order of priority; sections that do not fit are left
//! out.

use crate::state::State;

/// A part of the screen, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Elapsed time and progress.
    Header,
    /// Bytes and I/Os per second.
    Rates,
    /// Percentiles of the completion latency.
    Latency,
    /// I/Os in flight.
    Queue,
    /// A row per job.
    Jobs,
    /// A row per host, for a run on several hosts.
    Hosts,
    /// A row per block device.
    Devices,
    /// The last messages.
    Messages,
}

/// The sections, from top to bottom.
const SECTIONS: [Section; 8] = [
    Section::Header,
    Section::Rates,
    Section::Latency,
    Section::Queue,
    Section::Jobs,
    Section::Hosts,
    Section::Devices,
    Section::Messages,
];

/// Number of jobs that are shown before other sections grow.
const FIRST_JOBS: u16 = 4;
/// Number of hosts that are shown before other sections grow.
const FIRST_HOSTS: u16 = 6;
/// Number of devices that are shown before charts grow.
const FIRST_DEVICES: u16 = 8;
/// Number of messages that are shown before charts grow.
const FIRST_MESSAGES: u16 = 3;
/// Maximum number of rows of a chart.
const TALLEST_CHART: u16 = 8;

/// The rows of each section, and whether sections have separate headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    rows: [u16; 8],
    pub(crate) has_headings: bool,
}

impl Layout {
    /// Distributes the rows of a screen.
    pub(crate) fn of(state: &State, height: u16) -> Layout {
        let wanted = Wanted::of(state);
        let mut sharing = Sharing { layout: Layout { rows: [0; 8], has_headings: false }, left: height };
        sharing.give(Section::Header, 1);
        sharing.give(Section::Rates, wanted.rates);
        sharing.give(Section::Jobs, 2);
        // Two rows hold the column titles and one host.
        sharing.give(Section::Hosts, 2 * wanted.hosts.min(1));
        sharing.give(Section::Latency, 1);
        sharing.give(Section::Queue, 1);
        sharing.give(Section::Devices, wanted.devices.min(1));
        sharing.give(Section::Messages, wanted.messages.min(1));
        sharing.give_some(Section::Jobs, wanted.jobs.min(FIRST_JOBS).saturating_sub(1));
        sharing.give_some(Section::Hosts, wanted.hosts.min(FIRST_HOSTS).saturating_sub(1));
        if sharing.layout.rows[Section::Latency as usize] > 0 {
            sharing.give(Section::Latency, 2);
        }
        sharing.give_headings();
        sharing.give_some(Section::Devices, wanted.devices.clamp(1, FIRST_DEVICES) - 1);
        sharing.give_some(Section::Messages, wanted.messages.clamp(1, FIRST_MESSAGES) - 1);
        sharing.give_some(Section::Jobs, wanted.jobs.saturating_sub(FIRST_JOBS));
        sharing.give_some(Section::Hosts, wanted.hosts.saturating_sub(FIRST_HOSTS));
        // Headings have lower priority than all other rows, including one-row charts.
        for _ in 1..if sharing.layout.has_headings { TALLEST_CHART } else { 1 } {
            sharing.give(Section::Rates, wanted.rates);
            sharing.give(Section::Latency, 3);
        }
        sharing.give_some(Section::Devices, wanted.devices.saturating_sub(FIRST_DEVICES));
        sharing.give_some(Section::Messages, wanted.messages.saturating_sub(FIRST_MESSAGES));
        sharing.layout
    }

    /// Returns the visible sections from top to bottom; a heading is the first row of its section.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (Section, u16)> + '_ {
        SECTIONS.into_iter().zip(self.rows).filter(|(_, rows)| *rows > 0)
    }

    /// Returns the number of jobs that fit.
    pub(crate) fn job_rows(&self) -> usize {
        usize::from(self.rows[Section::Jobs as usize].saturating_sub(1))
    }
}

/// The rows that each section requests.
struct Wanted {
    rates: u16,
    jobs: u16,
    hosts: u16,
    devices: u16,
    messages: u16,
}

impl Wanted {
    fn of(state: &State) -> Wanted {
        let rows = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        Wanted {
            rates: rows(state.rates.values().filter(|rate| rate.has_values()).count()).max(1),
            jobs: rows(state.details.jobs.len()),
            hosts: rows(state.details.hosts.len()),
            devices: rows(state.details.disks.len()),
            messages: rows(state.messages.len()),
        }
    }
}

/// The rows assigned to the sections, and the remaining rows.
struct Sharing {
    layout: Layout,
    left: u16,
}

impl Sharing {
    /// Gives a section exactly this many additional rows, or none if they do not fit.
    fn give(&mut self, section: Section, rows: u16) {
        if rows <= self.left {
            self.layout.rows[section as usize] += rows;
            self.left -= rows;
        }
    }

    /// Gives a visible section up to this many additional rows.
    fn give_some(&mut self, section: Section, rows: u16) {
        if self.layout.rows[section as usize] > 0 {
            self.give(section, rows.min(self.left));
        }
    }

    /// Gives all sections a heading if all headings fit. The header needs none, and jobs and hosts have column
    /// titles.
    fn give_headings(&mut self) {
        let with_heading: Vec<usize> =
            [Section::Rates, Section::Latency, Section::Queue, Section::Devices, Section::Messages]
                .map(|section| section as usize)
                .into_iter()
                .filter(|&section| self.layout.rows[section] > 0)
                .collect();
        if with_heading.len() <= usize::from(self.left) {
            self.left -= with_heading.len() as u16;
            with_heading.iter().for_each(|&section| self.layout.rows[section] += 1);
            self.layout.has_headings = true;
        }
    }
}
