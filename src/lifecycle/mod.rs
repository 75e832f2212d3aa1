//! The lives of sandboxes that are kept under a key, decided once for every backend: what becomes of one that is found.

mod life;
pub mod reuse;

pub use life::Life;
