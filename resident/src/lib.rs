//! The resident: the program that runs inside a sandbox and owns what a command means there: its tree of processes, its
//! deadline, its output, its state. This crate carries the program itself ([`BINARY`]), compiled static so that it runs in
//! any Linux image, and [`wire`], which is what a client and the resident say to each other.
//!
//! # How it is run
//!
//! | arguments | what it does |
//! |---|---|
//! | `init [--dial DIR] [--dir DIR] [--leash FILE] [--idle SECONDS]` | as process 1 of a container: reaps, handles TERM, dials the sockets that appear in `DIR`; with `--leash` it ends, with everything that it runs, when nobody holds that pipe open for writing any more |
//! | `daemon DIR [--idle SECONDS] [--leash]` | goes into the background and listens on `DIR/socket`; returns when it does, or when another one does already; with `--leash` it ends, with everything that it runs, when its standard input does |
//! | `serve DIR [--relay] [--text] [--idle SECONDS]` | connects its standard input and output to the daemon of `DIR`, starting it if there is none |
//! | `call TOOL` | calls a tool for code of a command; see below |
//! | `file OP PATH` | works on files of the sandbox for a host; see below |
//! | `--version` | prints version, protocol and system |
//!
//! `DIR` is private (mode 0700) and holds `socket`, `secret`, `lock`, `log`, and a spool for each exec that wrote much.
//! The secret, 32 bytes, is made there; `HERM_RESIDENT_SECRET` in hexadecimal replaces it, is removed from the
//! variables of every command, and is what a container is given whose client should not have to read a file in it.
//!
//! `serve` proves itself to the daemon and hands its client a channel that is ready: whoever can start a process as that
//! user needs no other proof. With `--relay` it passes everything on as it is, and the client proves itself. With
//! `--text` its standard input and output carry lines ([`wire::text`]).
//!
//! # Files
//!
//! `file` does one thing with the files of a sandbox, as the user and with the root and mounts that it is started with:
//!
//! | arguments | what it does |
//! |---|---|
//! | `read PATH OFFSET LENGTH` | reads so many bytes, or those that there are; links are followed |
//! | `write PATH LENGTH` | so many bytes of standard input become the file's content, all at once or not at all |
//! | `stat PATH`, `list PATH` | describes what the path names, or what is in a directory; links are not followed |
//! | `remove PATH`, `remove PATH recursive` | removes a file, a link, an empty directory, or one with everything in it |
//! | `mkdir PATH` | makes a directory with its parents; one that is there is fine |
//! | `move FROM TO` | moves, replacing a file or an empty directory |
//! | `chmod PATH MODE` | sets permission bits, in octal; refuses links |
//!
//! It prints one [`wire::FileAnswer`] and ends with 0, or with 74 when that is an error; with 64 when it is called wrongly, and 70
//! when the answer could not be printed. A path is any bytes, and relative to where the program is started. `file --base64 OP …`
//! takes paths in base64, for channels that carry nothing but text. `write` reads no more than it was told, so that its input
//! need not be closed, and nothing at all when the path cannot be written.
//!
//! # For which machines
//!
//! | architecture | built when there is |
//! |---|---|
//! | the own one | a C compiler with the static C library (`cc`, `libc6-dev`) |
//! | `x86_64`, `aarch64` | the standard library (`rustup target add aarch64-unknown-linux-gnu`) with a linker and the static C library (`gcc-aarch64-linux-gnu`, `libc6-dev-arm64-cross`); or `aarch64-unknown-linux-musl`, which needs nothing besides |
//!
//! A release holds the program for every architecture that it can be built for, so that one machine serves sandboxes of
//! the other; other builds hold their own. The variable `HERM_RESIDENT_ARCHITECTURES=x86_64,aarch64` says when building which
//! ones it is to be, and a warning tells which could not be had. `CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER` names
//! another linker, as it does for cargo. At run time `HERM_RESIDENT_AARCH64` and `HERM_RESIDENT_X86_64` name files to use in
//! place of what is embedded, and `HERM_RESIDENT` one for this machine.
//!
//! # Calls of tools
//!
//! A command whose start names tools ([`wire::ToolsAllowed`]) finds in its variables how its code calls them:
//!
//! | variable | is |
//! |---|---|
//! | `HERM_RPC` | this program: `"$HERM_RPC" call TOOL` sends its standard input and prints the reply |
//! | `HERM_RPC_SOCKET` | a Unix socket, for code that wants to do without the program |
//! | `HERM_RPC_TOKEN` | a word that is said on it |
//!
//! On the socket, one connection is one call. Code says the line `call TOKEN TOOL`, then its arguments in chunks, each of
//! which is four bytes of length, little-endian, and so many bytes; a length of 0 ends them. The answer is a line, `ok LENGTH`
//! or `denied`, `too_long`, `unavailable` or `failed` with a `LENGTH`, and so many bytes: the reply, or a message for people.
//! A connection that ends earlier had no answer. The program ends with 0, 77, 65, 69 or 70 in this order; with 64 when it is
//! called wrongly, and 66 or 74 when standard input or output fail.
//!
//! Whose code it is, the system says: a process below the command's supervisor. A token alone is of no use to another
//! command, nor is a call to what a command has left behind. Calls wait 30 seconds for a client that was lost.

pub mod memory_limit;
pub mod wire;

/// The program for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary {
    /// As in [`std::env::consts::ARCH`].
    pub architecture: &'static str,
    /// SHA-256 of the bytes, in lower-case hexadecimal.
    pub digest: &'static str,
    /// A static ELF file.
    pub bytes: &'static [u8],
}

/// The program for every architecture that it could be built for.
pub const BINARIES: &[Binary] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The program for the architecture of this build; `None` where it could not be linked static, of which the build warned.
pub const BINARY: Option<&[u8]> = match own() {
    Some(binary) => Some(binary.bytes),
    None => None,
};

/// SHA-256 of [`BINARY`], in lower-case hexadecimal.
pub const DIGEST: Option<&str> = match own() {
    Some(binary) => Some(binary.digest),
    None => None,
};

/// The program for an architecture, named as in [`std::env::consts::ARCH`].
#[must_use]
pub fn binary_for(architecture: &str) -> Option<&'static Binary> {
    BINARIES.iter().find(|binary| binary.architecture == architecture)
}

const fn own() -> Option<&'static Binary> {
    let mut index = 0;
    while index < BINARIES.len() {
        if same(BINARIES[index].architecture, std::env::consts::ARCH) {
            return Some(&BINARIES[index]);
        }
        index += 1;
    }
    None
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn the_program_is_embedded_and_small() {
        let binary = binary_for(std::env::consts::ARCH).expect("it could be linked");
        assert_eq!(BINARY, Some(binary.bytes));
        assert!(binary.bytes.len() <= 1_600_000, "{} bytes", binary.bytes.len());
        let digest = wire::sha256(binary.bytes)
            .map(|byte| format!("{byte:02x}"))
            .concat();
        assert_eq!(DIGEST, Some(digest.as_str()));
    }
}
