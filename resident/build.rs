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

/// The variable that says for which architectures it is built, with commas between them; a warning tells of each that is
/// not to be had. Without it, it is built for the own one, and for a release for every one that it can be built for.
const ASKED: &str = "HERM_RESIDENT_ARCHITECTURES";

fn main() {
    for source in ["build.rs", "program", "src/memory_limit.rs", "src/wire"] {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-env-changed={ASKED}");
    let directory = PathBuf::from(variable("OUT_DIR"));
    let own = variable("CARGO_CFG_TARGET_ARCH").to_string_lossy().into_owned();
    let is_release = variable("PROFILE") == "release";
    let asked = asked();
    for name in asked.iter().flatten() {
        if !ARCHITECTURES.contains(&name.as_str()) {
            println!(
                "cargo::error={ASKED} names {name:?}; there is {}",
                ARCHITECTURES.join(", ")
            );
        }
    }
    let mut table = String::from("&[\n");
    for architecture in ARCHITECTURES {
        let is_asked = asked
            .as_ref()
            .map(|names| names.iter().any(|name| name == architecture));
        if !is_asked.unwrap_or(architecture == own || is_release) {
            continue;
        }
        match build(architecture, &directory) {
            Ok(program) => embed(&mut table, architecture, &program),
            Err(problem) if is_asked == Some(true) || architecture == own => {
                println!("cargo::warning={}", warning(architecture, &problem));
            }
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

fn asked() -> Option<Vec<String>> {
    let text = variable(ASKED).to_string_lossy().into_owned();
    let names = text.split(',').map(|name| name.trim().to_owned());
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}

fn warning(architecture: &str, problem: &str) -> String {
    let upper = architecture.to_uppercase();
    format!(
        "the resident cannot be built for {architecture}, so none is embedded for it: {problem}; install the standard library \
         (rustup target add {architecture}-unknown-linux-gnu) with {architecture}-linux-gnu-gcc and its static C library, or \
         {architecture}-unknown-linux-musl, which needs no more, or set HERM_RESIDENT_{upper} at run time"
    )
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

/// Builds the program for an architecture, with the first of its targets and linkers that works.
fn build(architecture: &str, directory: &Path) -> Result<PathBuf, String> {
    let target = variable("TARGET").to_string_lossy().into_owned();
    let mut targets = [
        format!("{architecture}-unknown-linux-gnu"),
        format!("{architecture}-unknown-linux-musl"),
    ];
    if target == targets[1] {
        targets.reverse();
    }
    let mut problem = String::new();
    for candidate in targets {
        let program = directory.join(format!("resident-{candidate}"));
        for linker in linkers(architecture, &candidate, candidate == target) {
            match compile(&candidate, &linker, &program) {
                Ok(()) => return Ok(program),
                Err(why) if problem.is_empty() => problem = why,
                Err(_) => {}
            }
        }
    }
    Err(problem)
}

/// What links for a target, the best first. Each is what the compiler is told of it.
fn linkers(architecture: &str, candidate: &str, is_target: bool) -> Vec<Vec<OsString>> {
    let chosen = |linker: &OsString| !linker.is_empty();
    let named = |linker: OsString| vec!["-C".into(), joined("linker=", &linker)];
    let upper = candidate.to_uppercase().replace('-', "_");
    let own_variable = variable(&format!("CARGO_TARGET_{upper}_LINKER"));
    let mut all: Vec<_> = Some(own_variable).filter(chosen).map(named).into_iter().collect();
    if is_target {
        all.extend(Some(variable("RUSTC_LINKER")).filter(chosen).map(named));
    }
    let host = variable("HOST").to_string_lossy().into_owned();
    if host.split('-').next() == Some(architecture) {
        // What the compiler takes when it is told nothing links for its own machine, and for no other.
        all.push(Vec::new());
    } else if candidate.ends_with("gnu") {
        all.push(named(format!("{architecture}-linux-gnu-gcc").into()));
    } else {
        // This target comes with its C library, and the compiler with a linker.
        let own = ["-C", "linker=rust-lld", "-C", "link-self-contained=yes"];
        all.push(own.map(OsString::from).into());
    }
    all
}

fn compile(candidate: &str, linker: &[OsString], program: &Path) -> Result<(), String> {
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
        .args(linker)
        .arg("-o")
        .arg(program);
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
