//! Values of options that have an inner form of their own.

use std::net::IpAddr;

use crate::{
    config::parse_size,
    policy::{GpuRequest, Refusal, Tmpfs, Ulimit, mount::target},
};

/// A name with its address, as `name:address`; the address may be the engine's host, as `host-gateway`.
pub(super) fn host(text: &str) -> Result<String, Refusal> {
    let (name, address) = match text.split_once('=') {
        Some(pair) => pair,
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    let inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let named = !name.is_empty() && name.chars().all(inner);
    if named && (bare == "host-gateway" || bare.parse::<IpAddr>().is_ok()) {
        return Ok(format!("{name}:{bare}"));
    }
    Err(Refusal::new(
        format!("{text:?} is no name with its address"),
        "write it as NAME:ADDRESS, as db:192.0.2.7",
    ))
}

/// The billionths of a decimal number with at most nine places behind the dot.
pub(super) fn billionths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(part)
}

/// Numbers and ranges of them with commas between, as `0-3,5`.
pub(super) fn number_set(text: &str) -> Result<String, Refusal> {
    let number = |text: &str| {
        let digits = text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)
            .zip(number(last))
            .is_some_and(|(first, last)| first <= last),
        None => number(part).is_some(),
    };
    if text.split(',').all(range) {
        return Ok(text.to_owned());
    }
    Err(Refusal::new(
        format!("{text:?} is no set of numbers"),
        "write one such as 0-3,5",
    ))
}

/// Graphics processors: `all`, a number, or `key=value` pairs.
pub(super) fn gpus(text: &str) -> Result<GpuRequest, Refusal> {
    let refused = || {
        Refusal::new(
            format!("{text:?} names no graphics processors"),
            "write all, a number, or device=0",
        )
    };
    let mut request = GpuRequest::default();
    let count = |text: &str| match text {
        "all" => Ok(-1),
        text => text
            .parse()
            .ok()
            .filter(|count: &i64| *count > 0)
            .ok_or_else(refused),
    };
    if let Ok(number) = count(text) {
        request.count = Some(number);
        return Ok(request);
    }
    // A value with commas stands in quotes, as in CSV.
    for pair in fields(text) {
        let (key, value) = pair.split_once('=').ok_or_else(refused)?;
        let list = || value.split(',').map(str::to_owned).collect();
        let letters =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ',' | ':' | '.');
        if value.is_empty() || !value.chars().all(letters) {
            return Err(refused());
        }
        match key {
            "count" => request.count = Some(count(value)?),
            "device" => request.devices = list(),
            "driver" => value.clone_into(&mut request.driver),
            "capabilities" => request.capabilities = list(),
            _ => return Err(refused()),
        }
    }
    match (&request.count, request.devices.is_empty()) {
        (Some(_), false) => Err(Refusal::new(
            "count and device contradict each other",
            "leave one of them",
        )),
        (None, true) => {
            request.count = Some(-1);
            Ok(request)
        }
        _ => Ok(request),
    }
}

/// What stands between commas; commas within quotes are none of those, and quotes go.
fn fields(text: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => fields.last_mut().into_iter().for_each(|field| field.push(letter)),
        }
    }
    fields
}

/// A file system in memory: `TARGET[:WORDS]`, as `docker run --tmpfs` takes it.
pub(super) fn tmpfs(text: &str) -> Result<Tmpfs, Refusal> {
    let (path, words) = text.split_once(':').unwrap_or((text, ""));
    let mut tmpfs = Tmpfs {
        target: target(path)?,
        size_bytes: None,
        exec: false,
        mode: 0o1777,
        owner: None,
        read_only: false,
    };
    let (mut user, mut group) = (None, None);
    for word in words.split(',').filter(|word| !word.is_empty()) {
        let refused = || {
            Refusal::new(
                format!("{word:?} is no option of a file system in memory that is taken"),
                "take it out; size, mode, uid, gid, exec, noexec, ro, rw, nosuid and nodev are",
            )
        };
        match word.split_once('=').unwrap_or((word, "")) {
            ("rw" | "nosuid" | "nodev" | "noatime" | "relatime", "") => {}
            ("ro", "") => tmpfs.read_only = true,
            ("exec", "") => tmpfs.exec = true,
            ("noexec", "") => tmpfs.exec = false,
            ("size", value) => {
                tmpfs.size_bytes = Some(parse_size(value).filter(|size| *size > 0).ok_or_else(refused)?);
            }
            ("mode", value) => {
                let mode = u32::from_str_radix(value, 8).ok();
                tmpfs.mode = mode.filter(|mode| *mode <= 0o1777).ok_or_else(refused)?;
            }
            ("uid", value) => user = Some(value.parse().map_err(|_| refused())?),
            ("gid", value) => group = Some(value.parse().map_err(|_| refused())?),
            _ => return Err(refused()),
        }
    }
    tmpfs.owner = match (user, group) {
        (None, None) => None,
        (user, group) => Some((user.unwrap_or_default(), group.unwrap_or_default())),
    };
    Ok(tmpfs)
}

/// Limits of a process that do not reach beyond the container.
const ULIMITS: [&str; 12] = [
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nofile",
    "nproc",
    "rss",
    "sigpending",
    "stack",
];

/// A limit of each process: `NAME=SOFT[:HARD]`, where -1 is none.
pub(super) fn ulimit(text: &str) -> Result<Ulimit, Refusal> {
    let (name, values) = text.split_once('=').unwrap_or((text, ""));
    if !ULIMITS.contains(&name) {
        return Err(Refusal::new(
            format!("{name:?} is no limit that is taken: {} are", ULIMITS.join(", ")),
            "take it out",
        ));
    }
    let (soft, hard) = values.split_once(':').unwrap_or((values, values));
    let number = |text: &str| match text {
        "unlimited" => Some(-1),
        text => text.parse().ok().filter(|number: &i64| *number >= -1),
    };
    let limits = number(soft).zip(number(hard));
    let (soft, hard) = limits
        .filter(|(soft, hard)| *hard == -1 || (*soft != -1 && soft <= hard))
        .ok_or_else(|| {
            Refusal::new(
                format!("{values:?} are no bounds of {name}"),
                "write one number, or two with a colon between, the second not smaller",
            )
        })?;
    Ok(Ulimit {
        name: name.to_owned(),
        soft,
        hard,
    })
}

/// Who commands run as: a name or number, and a group behind a colon where one is given.
pub(in super::super) fn user(text: &str) -> Result<String, Refusal> {
    let word = |text: &str| {
        let inner =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '$' | '@');
        !text.is_empty() && !text.starts_with('-') && text.chars().all(inner)
    };
    let (user, group) = match text.split_once(':') {
        Some((user, group)) => (user, Some(group)),
        None => (text, None),
    };
    if word(user) && group.is_none_or(word) {
        return Ok(text.to_owned());
    }
    Err(Refusal::new(
        format!("{text:?} is no user"),
        "write a name or a number, and a group behind a colon where it matters",
    ))
}
