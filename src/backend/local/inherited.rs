//! What a resident has from whoever started it, and keeps: the limits of resources (getrlimit(2)). Whoever comes later with
//! lower ones of their own may rely on them.

use std::fs;

/// How the notice begins that tells it.
pub const LOWER_LIMITS: &str =
    "limits of this process are lower than those that commands of the sandbox run with";

/// Limits that somebody sets for what they start, as `/proc/PID/limits` names them, and as a shell does.
const LIMITS: [(&str, &str); 7] = [
    ("Max cpu time", "ulimit -t"),
    ("Max file size", "ulimit -f"),
    ("Max data size", "ulimit -d"),
    ("Max stack size", "ulimit -s"),
    ("Max processes", "ulimit -u"),
    ("Max open files", "ulimit -n"),
    ("Max address space", "ulimit -v"),
];

/// The notice for a process whose soft limits are lower than those of a resident that was there before. This blocks, shortly.
pub(super) fn lower_limits(resident: u32) -> Option<String> {
    let read = |who: &str| fs::read_to_string(format!("/proc/{who}/limits")).ok();
    let lower = lower(&read("self")?, &read(&resident.to_string())?);
    (!lower.is_empty()).then(|| {
        format!(
            "{LOWER_LIMITS}, which are of whoever opened it first: {}; set them in the command, or open another sandbox",
            lower.join(", ")
        )
    })
}

fn lower(own: &str, resident: &str) -> Vec<String> {
    let limits = LIMITS.iter().filter_map(|(name, option)| {
        let (own, resident) = (soft(own, name)?, soft(resident, name)?);
        let shown = |limit: u64| match limit {
            u64::MAX => "unlimited".to_owned(),
            limit => limit.to_string(),
        };
        let name = name.trim_start_matches("Max ");
        (own < resident).then(|| format!("{name} ({option}) {} here, {} there", shown(own), shown(resident)))
    });
    limits.collect()
}

/// The soft limit of a name; no limit is the highest number.
fn soft(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_ascii_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        limit => limit.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_lower_is_told() {
        let table = |files: &str, size: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max file size             {size}            unlimited            bytes     \n\
                 Max open files            {files}                 1048576              files     \n"
            )
        };
        let first = table("1024", "unlimited");
        assert_eq!(lower(&first, &first), Vec::<String>::new());
        assert_eq!(lower(&first, &table("512", "4096")), Vec::<String>::new());
        assert_eq!(
            lower(&table("64", "4096"), &first),
            [
                "file size (ulimit -f) 4096 here, unlimited there",
                "open files (ulimit -n) 64 here, 1024 there"
            ]
        );
        assert_eq!(lower_limits(std::process::id()), None);
    }
}
