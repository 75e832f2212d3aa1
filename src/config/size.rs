//! Sizes as `docker run` takes them.

/// The bytes of a size such as `512m`, `1.5g`, `64KiB` or `1048576`; units are powers of 1024. None where it is no size, or
/// more than there can be.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let power = match unit.strip_suffix('i').unwrap_or(unit) {
        // "i" alone is no unit.
        "" if !unit.is_empty() => return None,
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    let digits = u32::try_from(part.len()).ok()?;
    let part: u128 = part.parse::<u64>().ok()?.into();
    let factor = 1024_u128.pow(power);
    let bytes = u128::from(whole) * factor + part * factor / 10_u128.checked_pow(digits)?;
    u64::try_from(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_docker_reads_them() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("1048576", Some(1 << 20)),
            ("1b", Some(1)),
            ("64k", Some(64 << 10)),
            ("512m", Some(512 << 20)),
            ("512M", Some(512 << 20)),
            ("512MB", Some(512 << 20)),
            ("512MiB", Some(512 << 20)),
            (" 1 g ", Some(1 << 30)),
            ("1.5g", Some(3 << 29)),
            ("2t", Some(2 << 40)),
            ("1p", Some(1 << 50)),
            ("", None),
            ("g", None),
            ("1x", None),
            ("1i", None),
            ("1gg", None),
            ("-1", None),
            ("1.g", None),
            ("1.2.3g", None),
            ("99999999p", None),
            ("1e3", None),
            ("0.0000000000000000000000000000000000000000001g", None),
        ] {
            assert_eq!(parse_size(text), bytes, "{text:?}");
        }
    }
}
