//! The local backend in native mode, through the real adapter and its protocol.

mod argument;
mod end;
mod file;
mod lifecycle;
mod output;
mod support;
