//! From typed jobs to worker plans: [`model`] is the result as plain data, `build` makes it from the options. Only the
//! builders read options. The run reads the model.

mod build;
mod error;
pub mod model;

pub use error::PlanError;
pub use model::{Plan, WorkerPlan};
