//! Files that nobody wrote: parts thrown together by chance, changed, and compared line by line.

use std::{collections::BTreeMap, path::Path};

use super::*;

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        // The generator of Knuth's MMIX; its high bits are good.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// What stands before and behind our section; `N` is a number of its own.
const OTHERS: [&str; 10] = [
    "",
    "# a comment\n",
    "\n\n",
    "sN:\n  # inside\n  timeout: 1 # not ours\n",
    "sN: {timeout: 1, b: [c, d]}\n",
    "'sN': |\n  terminal:\n    timeout: 1\n\n",
    "sN: >-\n  # no comment\n  text\n",
    "sN:\n- terminal:\n    timeout: 1\n- x\n",
    "sN: &aN x\ntN: *aN\n",
    "\"sN\": 'it''s: # no comment'   # ☤ ü\n",
];

/// Settings before and behind ours, indented as the section is.
const SETTINGS: [&str; 8] = [
    "",
    "# about\n",
    "\n",
    "kN: \"x # y\" # z\n",
    "kN: {A: b, C: 'd'}\n",
    "kN:\n- /a:/b # first\n# between\n- /c:/d\n",
    "kN: |-\n  text\n\n  more\n",
    "kN:\n",
];

/// Our own setting as it may stand there; all on one line but the last four.
const OURS: [&str; 12] = [
    "timeout: 5\n",
    "timeout:   \"5\"   # why\n",
    "'timeout': '5'\n",
    "\"timeout\": 5 #x\n",
    "timeout:\n",
    "timeout: # none\n",
    "timeout: [a, {b: c}]\n",
    "timeout: &own 5\n",
    "timeout:\n- a\n- b # c\n",
    "timeout:\n  A: b\n",
    "timeout: >\n  5\n",
    "timeout: a\n  b\n",
];

fn values() -> Vec<Value> {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    };
    vec![
        Value::Integer(77),
        Value::Number(0.5),
        Value::Flag(true),
        Value::Text("docker".into()),
        Value::Text("a: b # 'c' \"d\"".into()),
        Value::Text("a\n\tb".into()),
        Value::Text(String::new()),
        Value::List(Vec::new()),
        Value::List(vec!["/a b:/c".into(), "off".into(), "it's, [x]".into()]),
        Value::Map(map(&[("A", "1"), ("B", "{x: y}")])),
        Value::Map(BTreeMap::new()),
    ]
}

/// A file by chance, and how many lines our setting has in it; 0 when it is not there.
fn file(chance: &mut Chance) -> (String, usize) {
    let mut number = 0;
    let mut text = String::new();
    let mut part = |chance: &mut Chance, text: &mut String, parts: &[&str], indent: &str| {
        number += 1;
        let part = chance.of(parts).replace('N', &number.to_string());
        for line in part.split_inclusive('\n') {
            text.push_str(if line.trim().is_empty() { "" } else { indent });
            text.push_str(line);
        }
        part.lines().count()
    };
    for _ in 0..chance.below(4) {
        part(chance, &mut text, &OTHERS, "");
    }
    let mut lines = 0;
    if chance.below(5) > 0 {
        let indent = chance.of(&[" ", "  ", "    "]);
        text.push_str(chance.of(&["terminal:\n", "\"terminal\":   # ours\n", "# ours\nterminal:\n"]));
        // A section has something in it, so that it is one.
        text.extend([indent, "first: 1\n"]);
        for _ in 0..chance.below(3) {
            part(chance, &mut text, &SETTINGS, indent);
        }
        if chance.below(3) > 0 {
            lines = part(chance, &mut text, &OURS, indent);
        }
        for _ in 0..chance.below(3) {
            part(chance, &mut text, &SETTINGS, indent);
        }
    }
    for _ in 0..chance.below(3) {
        part(chance, &mut text, &OTHERS, "");
    }
    if chance.below(4) == 0 {
        text = text.replace('\n', "\r\n");
    }
    if chance.below(6) == 0 {
        text.truncate(text.trim_end().len());
    }
    (text, lines)
}

fn read(text: &str) -> ConfigFile {
    ConfigFile::parse(Path::new("config.yaml"), text.as_bytes().to_vec())
        .unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

/// The lines of the old text that are not in the new one, in order.
fn lost<'a>(old: &'a str, new: &str) -> Vec<&'a str> {
    let mut rest = new.lines().peekable();
    let mut lost = Vec::new();
    for line in old.lines() {
        let mut ahead = rest.clone();
        if ahead.any(|other| other == line) {
            rest = ahead;
        } else {
            lost.push(line);
        }
    }
    lost
}

#[test]
fn any_file_is_changed_in_one_place_only() {
    let values = values();
    let mut changed = 0;
    for seed in 0..600 {
        let mut chance = Chance(seed);
        let (old, lines) = file(&mut chance);
        let value = chance.of(&values);
        let before = read(&old);
        let seen = |what: &str, new: &str| format!("{what}, seed {seed}\n--- old\n{old}\n--- new\n{new}");
        let new = match set(&before, "terminal", "timeout", &value) {
            Ok(Some(new)) => new,
            Ok(None) => continue,
            // A line behind a block text that ends without a line end gives it one: refused, and rightly so.
            Err(_) if !old.ends_with('\n') && old.contains('|') => continue,
            Err(problem) => panic!("{}", seen(&problem.to_string(), "")),
        };
        let after = read(&new);
        let found = after
            .content
            .as_ref()
            .and_then(|content| content.get("terminal")?.get("timeout"));
        assert_eq!(found, Some(&value.to_yaml()), "{}", seen("another value", &new));
        // The blank lines behind a block text are its own.
        let blanks_go = old.contains("timeout: >");
        let shown = |text: &str| {
            let lines = text.lines().filter(|line| !(blanks_go && line.is_empty()));
            lines.collect::<Vec<_>>().join("\n")
        };
        let (old_shown, new_shown) = (shown(&old), shown(&new));
        let lost_lines = lost(&old_shown, &new_shown);
        assert!(
            lost_lines.len() <= lines,
            "{}",
            seen(&format!("lost {lost_lines:?}"), &new)
        );
        let again = set(&after, "terminal", "timeout", &value);
        assert_eq!(again.map_err(|problem| problem.to_string()), Ok(None));
        // Taken out, only its own line is gone, and one of two blank lines around it.
        let without = unset(&after, "terminal", "timeout").unwrap().unwrap();
        let lost_lines: Vec<_> = lost(&new, &without);
        let blank = lost_lines.iter().filter(|line| line.is_empty()).count();
        let section_emptied = lines == 0 && before.place("terminal", None).is_none();
        let bound = blank.min(1) + if section_emptied { 2 } else { 1 };
        assert!(
            lost_lines.len() <= bound,
            "{}",
            seen(&format!("lost {lost_lines:?}"), &without)
        );
        changed += 1;
    }
    assert!(changed > 400, "{changed}");
}
