//! Works on the files of the sandbox: `file OP PATH`, one operation a process, for a host that cannot reach them from
//! outside, or must not follow what was planted there.
//!
//! Each operation means what it means on the host (`src/files` of the package herm), with the same errors. What a path
//! leads to is this process's business alone: its user, its root, its mounts.

mod change_mode;
mod directory;
mod failure;
mod operation;
mod read;
mod relocate;
mod remove;
mod stat;
mod temporary;
mod write;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::wire::{FILE_FAILED, FileAnswer, content_start};

pub(crate) use operation::Operation;

/// It was called in another way than the usage says (sysexits(3)).
pub(crate) const USAGE: u8 = 64;

/// Standard output cannot be written to (sysexits(3): a fault within the program); what was asked for may be done.
const NOT_WRITTEN: u8 = 70;

/// Does what is asked, and prints the answer.
pub(crate) fn run(operation: &Operation) -> ExitCode {
    let answer = carry_out(operation).unwrap_or_else(FileAnswer::Failed);
    let code = match answer {
        FileAnswer::Failed(_) => FILE_FAILED,
        _ => 0,
    };
    match print(&answer) {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "herm-resident: standard output cannot be written to: {error}"
            );
            ExitCode::from(NOT_WRITTEN)
        }
    }
}

fn carry_out(operation: &Operation) -> Result<FileAnswer, crate::wire::FileFailure> {
    match operation {
        Operation::Read { path, offset, length } => read::read(path, *offset, *length),
        Operation::Write { path, length } => write::write(path, *length, io::stdin().lock()),
        Operation::Stat { path } => stat::stat(path).map(FileAnswer::Info),
        Operation::List { path } => directory::list(path).map(FileAnswer::Listing),
        Operation::Remove { path, recursive } => remove::remove(path, *recursive).map(|()| FileAnswer::Done),
        Operation::MakeDirectory { path } => directory::make(path).map(|()| FileAnswer::Done),
        Operation::Move { from, to } => relocate::move_path(from, to).map(|()| FileAnswer::Done),
        Operation::ChangeMode { path, mode } => {
            change_mode::change_mode(path, *mode).map(|()| FileAnswer::Done)
        }
    }
}

fn print(answer: &FileAnswer) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if let FileAnswer::Content { size, data } = answer {
        output.write_all(&content_start(*size, data.len()))?;
        output.write_all(data)?;
    } else {
        output.write_all(&answer.encode())?;
    }
    output.flush()
}
