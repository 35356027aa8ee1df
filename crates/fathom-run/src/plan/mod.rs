//! From typed jobs to worker plans: [`model`] is the resulting plan as plain data, and `build` derives it from
//! the options. Only the builders read options; the run reads only the model.

mod build;
mod error;
pub mod model;

pub use error::PlanError;
pub use model::{Plan, WorkerPlan};
