//! Statistics: a worker's counters, their exact merging, and the result model that reports read. This crate
//! performs no I/O, prints nothing and reads no clock. Its types are either fixed layouts of counters, which a
//! worker fills while others read them ([`samples`]), or owned data that merges by addition ([`report`]).

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod block_errors;
mod buckets;
mod counted;
pub mod direction;
pub mod engine_figures;
pub mod facts;
pub mod histogram;
pub mod host;
pub mod hosts;
pub mod inference;
pub mod interval;
pub mod latency;
pub mod layers;
pub mod limits;
pub mod live;
pub mod moment;
pub mod mounts;
pub mod per_direction;
pub mod report;
pub mod samples;
pub mod series;
pub mod slices;
pub mod split_mix;
pub mod steady_state;
pub mod timeline;
pub mod verdict;
pub mod verification;

pub use counted::counted;
pub use direction::Direction;
pub use histogram::Histogram;
pub use latency::LatencyStats;
pub use per_direction::PerDirection;
