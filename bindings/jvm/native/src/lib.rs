//! The functions that the Java classes call. All take numbers and addresses only, so that a call costs no more than a call of C, and
//! the same functions serve JNI and `java.lang.foreign`.
//!
//! A failure is a negative error number. A handle is the address of a [`Ring`]; the Java side counts its calls, so that none is
//! running or begins when it is freed.

mod descriptor;
mod exports;
mod jni;
mod ring;
mod singles;
mod targets;
mod uring;

pub use descriptor::{Descriptor, READ, SIZE, Table, WRITE};
pub use exports::*;
pub use ring::{EngineWish, Ring};
pub use singles::{Completion, Request, Singles};
pub use targets::{CREATE, DIRECT, Place, Targets, WRITABLE, WriteWay};
