//! Paths of the engine's host.

use super::{AccessLevel, Judged, KnownHost, level};
use crate::policy::mount::{clean, is_within};

/// Where engines listen; `*` is any one name. Whoever reaches one of them has all of its host.
const ENGINE_SOCKETS: [&str; 10] = [
    "/run/buildkit/buildkitd.sock",
    "/run/containerd/containerd.sock",
    "/run/cri-dockerd.sock",
    "/run/crio/crio.sock",
    "/run/docker.sock",
    "/run/docker/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/snap.docker/docker.sock",
    "/run/user/*/docker.sock",
    "/run/user/*/podman/podman.sock",
];

/// Places that are not files, but the kernel and its devices.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// How far a path reaches, as it is written or where it leads: what reaches further.
pub(super) fn judge(source: &str, read_only: bool, host: &KnownHost) -> Judged {
    if !source.starts_with('/') {
        return of_windows(source, read_only);
    }
    let written = judge_one(source, read_only, host);
    match host.real_paths.get(source) {
        Some(real) if real != source => {
            let (level, why) = judge_one(real, read_only, host);
            if level > written.0 { (level, why) } else { written }
        }
        _ => written,
    }
}

fn judge_one(source: &str, read_only: bool, host: &KnownHost) -> Judged {
    let path = resolved(source);
    let known = host.engine_sockets.iter().map(|socket| resolved(socket));
    let mut sockets = ENGINE_SOCKETS
        .iter()
        .map(|socket| (*socket).to_owned())
        .chain(known);
    if let Some(socket) = sockets.find(|socket| is_within_pattern(socket, &path)) {
        let why = if socket.split('/').count() == path.split('/').count() {
            format!(
                "{path} is the socket of an engine: whoever reaches it has all of the host, read-only or not"
            )
        } else {
            format!("{path} holds {socket}, where an engine listens: whoever reaches it has all of the host")
        };
        return (AccessLevel::Control, why);
    }
    if let Some(place) = KERNEL.iter().find(|place| is_within(&path, place)) {
        let why = format!("{path} is of {place}: the host's kernel and devices, and no files");
        return (AccessLevel::Control, why);
    }
    // Reading the file is not what reaches a socket; connecting is, and no mount is read-only for that.
    let by_name = [".sock", ".socket"].iter().any(|end| path.ends_with(end));
    if by_name || host.sockets.contains(source) {
        let why = format!("{path} is a socket of the host: what listens there does what it is asked");
        return (AccessLevel::Write, why);
    }
    let verb = if read_only { "read" } else { "changed" };
    (level(read_only), format!("{path} of the engine's host is {verb}"))
}

/// Whether a directory is what a pattern names, or holds it.
fn is_within_pattern(pattern: &str, directory: &str) -> bool {
    let names = |path: &str| -> Vec<String> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let (pattern, directory) = (names(pattern), names(directory));
    let mut pairs = directory.iter().zip(&pattern);
    directory.len() <= pattern.len() && pairs.all(|(name, wanted)| wanted == "*" || name == wanted)
}

/// The path as the host has it: /var/run has been a link to /run for long.
fn resolved(path: &str) -> String {
    let path = clean(path);
    match path.strip_prefix("/var/run") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("/run{rest}"),
        _ => path,
    }
}

fn of_windows(source: &str, read_only: bool) -> Judged {
    if source.to_ascii_lowercase().starts_with(r"\\.\pipe\") {
        let why = format!("{source} is a pipe of Windows: what listens there does what it is asked");
        return (AccessLevel::Control, why);
    }
    let what = if source.starts_with('\\') {
        "a folder that another machine shares"
    } else {
        "a path of Windows"
    };
    (level(read_only), format!("{source} is {what}"))
}
