//! What the contract is measured by: public faults of backends, and the checks of other suites. Each row says which
//! requirement would have caught it, or why none does.

mod answer;
mod check;
mod fault;
mod info;
mod peer;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Standing};
pub use check::check;
pub use fault::{AtRisk, Fault, FaultKind, Faults};
pub use info::{CheckInfo, FaultInfo};
pub use peer::{PeerCheck, Peers, Suite};
