//! The resident: the program that runs inside a sandbox and owns what a command means there. The library of this package
//! says how it is run.

mod call;
mod daemon;
mod dial;
mod file;
mod home;
mod init;
#[path = "../src/memory_limit.rs"]
#[expect(unreachable_pub, reason = "shared with the library, where it is public")]
mod memory_limit;
mod resident;
mod serve;
mod session;
mod settings;
mod supervisor;
#[expect(
    unsafe_code,
    reason = "the one place that calls the C library, behind functions that are safe to call"
)]
mod system;
#[path = "../src/wire/mod.rs"]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "shared with the library, which uses more of it")
)]
#[expect(
    unreachable_pub,
    unused_imports,
    clippy::struct_field_names,
    reason = "shared with the library, where it is public"
)]
mod wire;

use std::{env, ffi::OsString, process::ExitCode};

use settings::{Arguments, Mode};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let result = match Arguments::parse(&arguments) {
        Ok(Arguments {
            mode: Mode::Version, ..
        }) => {
            println!("{}", version());
            Ok(())
        }
        Ok(Arguments {
            mode: Mode::Call,
            tool,
            ..
        }) => return call::run(&tool.unwrap_or_default()),
        Ok(Arguments {
            operation: Some(operation),
            ..
        }) => return file::run(&operation),
        Ok(arguments) => match arguments.mode {
            Mode::Init => init::run(&arguments),
            Mode::Daemon => daemon::run(&arguments),
            Mode::Serve => serve::run(&arguments),
            Mode::Version | Mode::Call | Mode::File => Ok(()),
        },
        Err(problem) => {
            eprintln!("herm-resident: {problem}");
            let code = match arguments.first().and_then(|mode| mode.to_str()) {
                Some("call") => call::USAGE,
                Some("file") => file::USAGE,
                _ => 2,
            };
            return ExitCode::from(code);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("herm-resident: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Which program this is: its version, the protocol that it speaks, the system that it was built for.
fn version() -> String {
    format!(
        "herm-resident {} protocol {} {}-{}",
        env!("CARGO_PKG_VERSION"),
        wire::VERSION,
        env::consts::ARCH,
        env::consts::OS
    )
}
