//! The file `.env` beside what python-dotenv makes of the same text.

use std::collections::BTreeMap;

use super::*;

fn dotenv(text: &str) -> Dotenv {
    Dotenv::of(PathBuf::new(), text.as_bytes(), |_| None).unwrap()
}

#[test]
fn values_are_read_with_their_quotes() {
    for (line, value) in [
        ("A=b", "b"),
        ("export A = b # why", "b"),
        ("A='b c'", "b c"),
        (r#"A="b \"c\" \\""#, r#"b "c" \"#),
        (r#"A="[\"/a:/b\"]""#, r#"["/a:/b"]"#),
        ("A=1\nA=2", "2"),
    ] {
        assert_eq!(dotenv(line).get("A").unwrap().0, value, "{line}");
    }
    for line in ["A=", "#A=b", "AA=b", "A", ""] {
        assert_eq!(dotenv(line).get("A"), None, "{line}");
    }
}

#[test]
fn only_the_lines_of_the_variable_change() {
    let file = dotenv("# secrets\nKEY=x \r\nexport A=old # c\r\nB=1");
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
    assert_eq!(
        text(file.with("A", Some("a b"))),
        "# secrets\nKEY=x \r\nexport A='a b'\r\nB=1"
    );
    assert_eq!(
        text(file.with("B", Some("it's"))),
        "# secrets\nKEY=x \r\nexport A=old # c\r\nB=\"it's\""
    );
    assert_eq!(text(file.with("A", None)), "# secrets\nKEY=x \r\nB=1");
    assert_eq!(file.with("A", Some("old")), None);
    assert_eq!(file.with("C", Some("1")), None);
}

#[test]
fn what_is_written_is_read_again() {
    for value in ["a", "a b", "it's", r#"["a\"b"]"#, "a\\b'\"\n", "$HOME"] {
        let written = dotenv("A=old\n").with("A", Some(value)).unwrap();
        let again = dotenv(&String::from_utf8(written).unwrap());
        assert_eq!(again.get("A").unwrap().0, value);
    }
}

/// What python-dotenv was seen to read; `record.py` beside it tells how.
const RECORDED: &str = include_str!("recorded.jsonl");

#[derive(serde::Deserialize)]
struct Recorded {
    text: String,
    /// The text is the letters of bytes that are no UTF-8.
    #[serde(default)]
    latin: bool,
    values: BTreeMap<String, Option<String>>,
}

impl Recorded {
    fn bytes(&self) -> Vec<u8> {
        let byte = |letter| u8::try_from(u32::from(letter)).unwrap();
        match self.latin {
            true => self.text.chars().map(byte).collect(),
            false => self.text.clone().into_bytes(),
        }
    }
}

fn recorded() -> Vec<Recorded> {
    RECORDED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The one variable of the process while the table was recorded.
fn process(name: &str) -> Option<String> {
    (name == "PROCESS").then(|| "from the process".to_owned())
}

#[test]
fn every_text_is_read_as_python_dotenv_reads_it() {
    let rows = recorded();
    assert!(rows.len() > 1000, "{}", rows.len());
    for row in rows {
        let read = Text::of(&row.bytes());
        let statements = statement::statements(&read.text);
        let values: BTreeMap<_, _> = resolved(&statements, &process)
            .0
            .into_iter()
            .filter_map(|(key, value)| key.map(|key| (key, value)))
            .collect();
        assert_eq!(values, row.values, "{:?}", row.text);
    }
}

#[test]
fn a_backend_is_chosen_as_python_dotenv_chooses_it_or_not_at_all() {
    let (mut chosen, mut refused) = (0, 0);
    for row in recorded() {
        let Ok(file) = Dotenv::of(PathBuf::new(), &row.bytes(), process) else {
            refused += 1;
            continue;
        };
        let found = file.get("TERMINAL_ENV").map(|(value, _)| value);
        let expected = row.values.get("TERMINAL_ENV").cloned().flatten();
        assert_eq!(
            found,
            expected.filter(|value| !value.is_empty()),
            "{:?}",
            row.text
        );
        chosen += usize::from(found.is_some());
    }
    assert!(chosen > 100 && refused > 100, "{chosen} and {refused}");
}

#[test]
fn what_python_dotenv_silently_leaves_out_is_told_with_its_line() {
    for (text, line, what) in [
        ("TERMINAL_ENV=\"\nTERMINAL_TIMEOUT=5\n", 1, "is not closed"),
        ("A=1\rTERMINAL_ENV='docker\r", 2, "is not closed"),
        ("A=\"x\nTERMINAL_ENV=docker\n", 1, "is not closed"),
        (
            "A=\"x\nTERMINAL_ENV=docker\nB=\"y\"\n",
            1,
            "is closed on a later line",
        ),
        (
            "A=\"x\nTERMINAL_ENV=docker\n\"\n",
            1,
            "and holds a line that names TERMINAL_ENV",
        ),
        (
            "\r\nTERMINAL_ENV: docker",
            2,
            "names TERMINAL_ENV, and does not set it",
        ),
        (
            "A=1\n\u{feff}TERMINAL_ENV=docker",
            2,
            "names TERMINAL_ENV, and does not set it",
        ),
        (
            "TERMINAL_ENV=\"docker\" x",
            1,
            "names TERMINAL_ENV, and does not set it",
        ),
        ("TERMINAL_ENV=${NOWHERE}", 1, "NOWHERE is not set"),
        (
            "A=1\nTERMINAL_BACKEND=docker",
            2,
            "nothing reads TERMINAL_BACKEND",
        ),
    ] {
        let problem = Dotenv::of(PathBuf::new(), text.as_bytes(), process).unwrap_err();
        assert!(problem.what.contains(what), "{text:?}: {problem}");
        assert_eq!(problem.place.unwrap().line, line, "{text:?}: {problem}");
    }
    for text in [
        "A=it's\nTERMINAL_ENV=local",
        "KEY=\"-----BEGIN\nabc=\n-----END\"\n",
        "# TERMINAL_ENV: \"docker",
        "A=\"x\" y\nB=${NOWHERE}",
        "TERMINAL_ENV=${NOWHERE:-local}",
    ] {
        assert!(
            Dotenv::of(PathBuf::new(), text.as_bytes(), process).is_ok(),
            "{text:?}"
        );
    }
}

#[test]
fn a_value_over_several_lines_is_replaced_as_a_whole() {
    let file = dotenv("B=1\rA='x\ny' # c\rC=2");
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
    assert_eq!(text(file.with("A", Some("z"))), "B=1\rA=z\rC=2");
    assert_eq!(text(file.with("A", None)), "B=1\rC=2");
    let file = Dotenv::of(PathBuf::new(), b"# caf\xe9\nA=1\n", process).unwrap();
    assert_eq!(file.with("A", Some("2")).unwrap(), b"# caf\xe9\nA=2\n");
}
