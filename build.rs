//! How a program for development is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // A program that can lie anywhere in memory has every address of its own in a table, which is read and worked off before it
    // begins. Without optimisation that is some 190,000 addresses, and each of the many processes of a run of the tests would take
    // 6 MiB of memory for them, and the time. What is given to others keeps lying anywhere.
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
