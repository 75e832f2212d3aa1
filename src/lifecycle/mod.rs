//! The lives of sandboxes, decided once for every backend: how long one lives, what becomes of one that is found under a key,
//! and what of those that are left nobody needs any more.

mod clock;
mod life;
mod maker;
pub mod reaper;
pub mod reuse;

pub use clock::{Clock, ManualClock, SystemClock};
pub use life::Life;
pub use maker::{Maker, Whereabouts};
