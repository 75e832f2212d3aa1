use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::json;

use super::*;
use crate::report::fixture;

/// Quotes, a backslash, a slash, a space, a plus, a percent sign and text beyond ASCII: what encodings differ in.
const SECRET: &str = "s3\"cr\\et/ +%né漢🗝";

fn redactor() -> Redactor {
    Redactor::new([("TOKEN", SECRET)])
}

fn percent(text: &str, keep: impl Fn(u8) -> bool) -> String {
    let encode = |byte: u8| {
        if keep(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(encode).collect()
}

fn hexadecimal(text: &str) -> String {
    text.bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat()
}

fn ascii_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    let mut units = [0; 2];
    quoted[1..quoted.len() - 1]
        .chars()
        .map(|character| match character {
            plain if plain.is_ascii() => plain.to_string(),
            other => other
                .encode_utf16(&mut units)
                .iter()
                .map(|unit| format!("\\u{unit:04X}"))
                .collect::<Vec<_>>()
                .concat(),
        })
        .collect()
}

/// Every form in which a secret may turn up.
fn encodings() -> Vec<(&'static str, String)> {
    let json = serde_json::to_string(SECRET).unwrap();
    vec![
        ("plain", SECRET.into()),
        ("json", json.clone()),
        ("json twice", serde_json::to_string(&json).unwrap()),
        ("json with escaped slashes", json.replace('/', "\\/")),
        ("json in ascii", ascii_json(SECRET)),
        ("debug", format!("{SECRET:?}")),
        ("escaped bytes", SECRET.as_bytes().escape_ascii().to_string()),
        ("percent", percent(SECRET, |byte| byte.is_ascii_alphanumeric())),
        ("percent, all", percent(SECRET, |_| false).to_lowercase()),
        (
            "form",
            percent(SECRET, |byte| byte.is_ascii_alphanumeric() || byte == b' ').replace(' ', "+"),
        ),
        (
            "percent twice",
            percent(&percent(SECRET, |_| false), |byte| byte != b'%'),
        ),
        (
            "base64 in a query",
            percent(&BASE64_STANDARD.encode(SECRET), |byte| {
                byte.is_ascii_alphanumeric()
            }),
        ),
        ("hex", hexadecimal(SECRET)),
        ("HEX", hexadecimal(SECRET).to_uppercase()),
        ("hex within hex", format!("f{}0", hexadecimal(SECRET))),
        (
            "hex dump",
            SECRET
                .bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect::<Vec<_>>()
                .join(" "),
        ),
        (
            "base64 in json",
            serde_json::to_string(&BASE64_STANDARD.encode(SECRET))
                .unwrap()
                .replace('/', "\\/"),
        ),
    ]
}

#[test]
fn a_secret_goes_in_every_encoding_and_its_neighbours_stay() {
    for (encoding, text) in encodings() {
        let clean = redactor().text(&format!("before: {text} :after"));
        assert!(clean.contains("[redacted TOKEN]"), "{encoding}: {clean}");
        assert!(
            clean.starts_with("before: ") && clean.ends_with(" :after"),
            "{encoding}: {clean}"
        );
        assert!(
            clean.len() <= "before:  :after[redacted TOKEN]".len() + 6,
            "{encoding}: {clean}"
        );
    }
}

#[test]
fn a_secret_goes_from_base64_at_every_alignment_and_alphabet() {
    for before in ["", "a", "ab", "abc", "Authorization: Basic user:"] {
        for after in ["", "x", "xy", "xyz"] {
            for (engine, name) in [
                (
                    BASE64_STANDARD.encode(format!("{before}{SECRET}{after}")),
                    "standard",
                ),
                (
                    BASE64_STANDARD_NO_PAD.encode(format!("{before}{SECRET}{after}")),
                    "no pad",
                ),
                (
                    BASE64_URL_SAFE_NO_PAD.encode(format!("{before}{SECRET}{after}")),
                    "url",
                ),
            ] {
                for text in [
                    engine.clone(),
                    format!("b64={engine}"),
                    format!("A{engine}"),
                    format!("AB{engine}"),
                    format!("ABC{engine}"),
                    engine.replacen('c', "c\n", 1),
                ] {
                    let clean = redactor().text(&text);
                    assert!(clean.contains("[redacted TOKEN]"), "{name}: {text} -> {clean}");
                    assert!(clean.len() < 60, "{name}: {text} -> {clean}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_secret_is_untouched() {
    for text in [
        "",
        "short",
        "a plain sentence with s3\"cr\\et",
        "%41%42 deadbeef QUJD\\n\\u00e9",
        "漢字🗝",
    ] {
        assert_eq!(redactor().text(text), text);
    }
    assert_eq!(Redactor::default().text(SECRET), SECRET);
}

#[test]
fn of_overlapping_secrets_none_survives() {
    let redactor = Redactor::new([("SHORT", "abcdef"), ("LONG", "abcdefghij"), ("CROSS", "hijklmno")]);
    assert_eq!(redactor.text("x abcdefghij y"), "x [redacted LONG] y");
    assert_eq!(redactor.text("x abcdef y"), "x [redacted SHORT] y");
    assert_eq!(redactor.text("x abcdefghijklmno y"), "x [redacted LONG] y");
    assert_eq!(redactor.text("abcdefabcdef"), "[redacted SHORT][redacted SHORT]");
    let periodic = Redactor::new([("P", "aaaaaa")]);
    assert_eq!(periodic.text("aaaaaaaaa"), "[redacted P]");
}

#[test]
fn the_mask_never_brings_a_secret_back() {
    for secret in ["redacted", "NAMENAME", "hidden", "[redacted", "] and ["] {
        let redactor = Redactor::new([("NAMENAME", secret), ("OTHER", "redacted"), ("THIRD", "hidden")]);
        let clean = redactor.text(&format!("{secret} {secret} and {secret}"));
        for gone in [secret, "redacted", "hidden"] {
            assert!(!clean.contains(gone), "{secret}: {clean}");
        }
    }
}

#[test]
fn short_secrets_are_named_for_a_warning() {
    let redactor = Redactor::new([("PIN", "12345"), ("TOKEN", "123456")]);
    assert_eq!(redactor.too_short(), ["PIN"]);
    assert_eq!(redactor.text("12345 123456"), "12345 [redacted TOKEN]");
}

#[test]
fn bytes_that_are_no_text_go_from_their_encodings_and_from_what_a_string_keeps_of_them() {
    let bytes = b"\xff\x00key\xfe-of-bytes".to_vec();
    let redactor = Redactor::new([("KEY", bytes.clone())]);
    for text in [
        BASE64_STANDARD.encode(&bytes),
        String::from_utf8_lossy(&bytes).into_owned(),
    ] {
        assert_eq!(redactor.text(&text).replace('=', ""), "[redacted KEY]");
    }
}

#[test]
fn keys_are_redacted_too_and_stay_apart() {
    let mut value = json!({"a": ["token-1", {"token-1": 1, "token-2": 2}], "n": 5});
    Redactor::new([("T", "token-1"), ("T", "token-2")]).value(&mut value);
    assert_eq!(
        value,
        json!({"a": ["[redacted T]", {"[redacted T]": 1, "[redacted T] (2)": 2}], "n": 5})
    );
}

/// Whatever is secret, an event stays an event, and the secret is nowhere in its line.
#[test]
fn events_stay_events() {
    let words = [
        "podman",
        "failed",
        "run_finished",
        "verdict",
        "TIMEOUT-004",
        "Then the beat",
        "unsupported",
        "https://example.org/",
    ];
    for word in words {
        let redactor = Redactor::new([("WORD", word)]);
        for event in fixture::events() {
            let clean = redactor.event(&event).unwrap();
            let line = serde_json::to_string(&clean).unwrap();
            assert_eq!(std::mem::discriminant(&clean), std::mem::discriminant(&event));
            let public = ["failed", "run_finished", "verdict", "unsupported"].contains(&word);
            assert!(public || !line.contains(word), "{word}: {line}");
        }
    }
}

/// Every field name of the schema is known, so that a new field cannot break events whose secret is its name.
#[test]
fn the_field_names_are_those_of_the_schema() {
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                map.values().for_each(|value| names(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    names(&crate::report::schema::event(), &mut found);
    assert!(found.len() > 30);
    for name in found {
        assert!(is_field(&name), "{name} is missing in FIELDS");
    }
}

#[test]
fn a_secret_does_not_show_itself() {
    let secret = Secret::new("hush-hush");
    assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
    assert_eq!(secret.expose(), b"hush-hush");
    assert!(!format!("{:?}", Redactor::new([("A", "hush-hush")])).contains("hush"));
}

/// Long text is looked at in time that grows with its length only.
#[test]
fn a_flood_is_redacted_too() {
    let redactor = Redactor::new([
        ("A", "0123456789abcdef"),
        ("B", "ffffffffffffffff"),
        ("C", SECRET),
    ]);
    let flood = "f".repeat(15).repeat(10_000) + SECRET + &"%66\\x66".repeat(1_000);
    let clean = redactor.text(&flood);
    assert!(!clean.contains("ffffffffffffffff") && !clean.contains(SECRET));
}

#[test]
fn parts_beside_a_cut_are_redacted() {
    let secret = "correct-horse-battery-staple";
    let redactor = Redactor::new([("TOKEN", secret)]);
    for cut in super::SHORTEST..secret.len() - super::SHORTEST {
        let (head, tail) = secret.split_at(cut);
        let text = format!("a {head}…99 bytes…{tail} z");
        let expected = "a [redacted TOKEN]…99 bytes…[redacted TOKEN] z";
        assert_eq!(redactor.text(&text), expected, "{cut}");
    }
    let encoded = BASE64_STANDARD_NO_PAD.encode(secret);
    for cut in 12..encoded.len() - 12 {
        let (head, tail) = encoded.split_at(cut);
        let clean = redactor.text(&format!("{head}…9 bytes…{tail}"));
        // Some bits of the byte that the cut goes through may stay.
        let left = clean.replace("[redacted TOKEN]", "").replace("…9 bytes…", "");
        assert!(
            clean.matches("[redacted TOKEN]").count() == 2 && left.len() <= 4,
            "{clean}"
        );
    }
    for plain in ["correct or not…", "a staple…of life", "corre…taple"] {
        assert_eq!(redactor.text(plain), plain);
    }
}
