//! Where commands run. A backend is a transport and a lifecycle, nothing else.

pub mod local;
