//! Compiles the program that runs inside sandboxes, and embeds it.
//!
//! The compiler is called once for each architecture on source that needs nothing but the standard library. There is no
//! cargo within cargo: that breaks under clippy, in packages and for coverage, and can come out dynamic without a word.
//! What comes out is looked at: only a file that asks for no loader runs in any image. Where none can be linked, none
//! is embedded, and a warning says so.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

#[path = "src/wire/sha256.rs"]
#[expect(unreachable_pub, reason = "shared with the library, which uses more of it")]
mod sha256;

const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// Type of the program header that names a dynamic loader (ELF specification, `PT_INTERP`).
const INTERPRETER: u32 = 3;

fn main() {
    for source in ["build.rs", "program", "src/memory_limit.rs", "src/wire"] {
        println!("cargo::rerun-if-changed={source}");
    }
    let directory = PathBuf::from(variable("OUT_DIR"));
    let target = variable("TARGET").to_string_lossy().into_owned();
    let own = variable("CARGO_CFG_TARGET_ARCH").to_string_lossy().into_owned();
    let mut table = String::from("&[\n");
    for architecture in ARCHITECTURES {
        let built = build(architecture, &target, architecture == own, &directory);
        match built {
            Ok(program) => embed(&mut table, architecture, &program),
            Err(problem) if architecture == own => println!(
                "cargo::warning=the resident cannot be built for {architecture}, so none is embedded: {problem}; \
                 install the static C library, or set HERM_RESIDENT at run time"
            ),
            // Another architecture than the own one is an extra.
            Err(_) => {}
        }
    }
    table.push(']');
    let path = directory.join("embedded.rs");
    if let Err(error) = fs::write(&path, table) {
        println!("cargo::error=failed to write {}: {error}", path.display());
    }
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_default()
}

fn embed(table: &mut String, architecture: &str, program: &Path) {
    let Ok(bytes) = fs::read(program) else { return };
    let digest = sha256::sha256(&bytes)
        .iter()
        .fold(String::new(), |mut digest, byte| {
            let _ = write!(digest, "{byte:02x}");
            digest
        });
    let path = program.display().to_string();
    let _ = writeln!(
        table,
        "Binary {{ architecture: {architecture:?}, digest: {digest:?}, bytes: include_bytes!({path:?}) }},"
    );
}

/// Builds the program for an architecture, with the first of its targets that works.
fn build(architecture: &str, target: &str, is_own: bool, directory: &Path) -> Result<PathBuf, String> {
    let mut targets = [
        format!("{architecture}-unknown-linux-gnu"),
        format!("{architecture}-unknown-linux-musl"),
    ];
    if is_own && target == targets[1] {
        targets.reverse();
    }
    let mut problem = String::new();
    for candidate in targets {
        let program = directory.join(format!("resident-{candidate}"));
        match compile(&candidate, candidate == target, is_own, &program) {
            Ok(()) => return Ok(program),
            Err(why) if problem.is_empty() => problem = why,
            Err(_) => {}
        }
    }
    Err(problem)
}

fn compile(candidate: &str, is_target: bool, is_own: bool, program: &Path) -> Result<(), String> {
    let rustc = variable("RUSTC");
    let library = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", candidate])
        .output()
        .map_err(|error| format!("failed to run {}: {error}", rustc.display()))?;
    let library = PathBuf::from(String::from_utf8_lossy(&library.stdout).trim());
    if library.as_os_str().is_empty() || !library.is_dir() {
        return Err(format!("the standard library for {candidate} is not installed"));
    }
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(&rustc);
    command
        .arg(root.join("program/main.rs"))
        .args([
            "--crate-name",
            "herm_resident_program",
            "--crate-type",
            "bin",
            "--edition",
            "2024",
        ])
        .args(["--target", candidate, "--cap-lints", "allow"])
        .args([
            "-C",
            "target-feature=+crt-static",
            "-C",
            "panic=abort",
            "-C",
            "opt-level=s",
        ])
        .args([
            "-C",
            "lto=fat",
            "-C",
            "codegen-units=1",
            "-C",
            "strip=symbols",
            "-C",
            "relocation-model=static",
        ])
        .arg(format!("--remap-path-prefix={}=herm-resident", root.display()))
        .arg("-o")
        .arg(program);
    let linker = variable("RUSTC_LINKER");
    if is_target && !linker.is_empty() {
        command.arg("-C").arg(joined("linker=", &linker));
    } else if !is_own {
        let architecture = candidate.split('-').next().unwrap_or_default();
        command
            .arg("-C")
            .arg(format!("linker={architecture}-linux-gnu-gcc"));
    }
    let output = command
        .output()
        .map_err(|error| format!("failed to run {}: {error}", rustc.display()))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        let shown: Vec<_> = log
            .lines()
            .filter(|line| !line.trim().is_empty())
            .take(12)
            .collect();
        return Err(shown.join(" | "));
    }
    let bytes =
        fs::read(program).map_err(|error| format!("failed to read {}: {error}", program.display()))?;
    match asks_for_a_loader(&bytes) {
        Some(false) => Ok(()),
        Some(true) => Err(format!(
            "what was linked for {candidate} asks for a dynamic loader"
        )),
        None => Err(format!(
            "what was linked for {candidate} is not a 64-bit ELF file"
        )),
    }
}

fn joined(prefix: &str, value: &std::ffi::OsStr) -> OsString {
    let mut joined = OsString::from(prefix);
    joined.push(value);
    joined
}

/// Whether one of the program headers names a loader; `None` when there are none to look at. Both architectures are
/// little-endian.
fn asks_for_a_loader(elf: &[u8]) -> Option<bool> {
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = elf.get(at..at + length)?;
        bytes.iter().rev().try_fold(0_usize, |number, byte| {
            number.checked_mul(256)?.checked_add((*byte).into())
        })
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    for index in 0..count {
        if number(start + index * size, 4)? == INTERPRETER as usize {
            return Some(true);
        }
    }
    (count > 0).then_some(false)
}
