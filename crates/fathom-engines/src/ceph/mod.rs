//! Ceph clusters. `cluster.rs` connects; the objects of `rados.rs` are in `objects.rs`, the images of `rbd.rs`
//! in `image.rs`, and their storage is `volume.rs`.

mod cluster;
mod image;
mod objects;
pub(crate) mod rados;
pub(crate) mod rbd;
mod volume;
