//! Properties of a recorded load, from the events of a block trace.
//!
//! * [`Characterizer`] takes the events in order, in constant memory regardless of the length of the trace, and
//!   produces a [`Profile`].
//! * [`fathom_trace::requests`] follows each request from its arrival to its completion.
//! * One module for each property: [`sizes`], [`streams`], [`space`] (footprint, reuse) with [`skew`], [`arrivals`], [`depth`],
//!   [`service`] (latencies), [`programs`], and [`places`] (what was where, and when).
//! * [`parts`] divides a load into streams and the rest of each direction; [`model`] makes a job file of them, and [`fidelity`] says how
//!   close the load of that job file comes.
//! * [`timeline`] divides the length of a trace that is not known beforehand.

#![forbid(unsafe_code)]

pub mod arrivals;
mod characterizer;
pub mod depth;
pub mod fidelity;
pub mod model;
pub mod parts;
pub mod places;
mod profile;
pub mod programs;
pub mod service;
pub mod sizes;
pub mod skew;
pub mod space;
pub mod streams;
pub mod timeline;

pub use characterizer::Characterizer;
pub use profile::{DeviceProfile, DirectionProfile, Flushes, Moment, Profile};
