//! The `herm` command.

fn main() {}
