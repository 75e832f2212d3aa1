//! Where commands run. A backend is a transport and a lifecycle, nothing else.
//!
//! [`open_backend`] is the one place where a configuration becomes a backend. A new backend is a module here, a variant of
//! [`Backend`], and a name in [`AVAILABLE`]; the compiler names what else it needs.

mod chosen;
pub mod docker;
pub mod local;
mod open;

pub use chosen::Backend;
pub use open::{AVAILABLE, NotBuilt, OpenError, open_backend};
