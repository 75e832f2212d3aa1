//! A commented file of three hundred lines, of which a change touches one.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    precedence::{another, settings},
    support::{Home, changed_lines},
};

/// A file such as people have it: comments above, beside and below, blank lines, quotes, anchors, block texts, lists. Every
/// other setting of ours is in it.
fn long_file(settings: &[Value], end: &str) -> String {
    let mut text = String::from(
        "# Settings of my agent ☤\n# vim: set ts=2:\n\nmodel: &model \"some/model\"   # the best\n",
    );
    text +=
        "fallback: *model\nprompt: |\n  terminal:\n    backend: docker  # not this one\n\n  # no comment\n";
    for number in 0..30 {
        write!(text, "# Section {number}\nsection_{number}:\n    # four spaces here\n    'a key': [1, 2,\n      3]\n    other: >-\n      folded\n      text\n\n").unwrap();
    }
    for section in ["terminal", "proxy"] {
        write!(text, "# ---- {section} ----\n{section}:   # mine\n").unwrap();
        let ours = settings.iter().filter_map(|setting| {
            let key = setting["key"]
                .as_str()?
                .strip_prefix(section)?
                .strip_prefix('.')?;
            Some((key, &setting["default"]))
        });
        for (index, (key, default)) in ours.enumerate().filter(|(index, _)| index % 2 == 0) {
            let default = if default.is_null() {
                "".into()
            } else {
                default.to_string()
            };
            writeln!(text, "  # about {key}").unwrap();
            writeln!(text, "  {key}: {default}   # number {index}").unwrap();
            if index % 6 == 0 {
                text.push('\n');
            }
        }
        text += "  # the end of it\n\n";
    }
    text += "last: {a: 1, b: [x]}  # flow\n# The End\n";
    text.replace('\n', end)
}

#[test]
fn setting_any_key_changes_one_line_and_the_value_comes_back() {
    for end in ["\n", "\r\n"] {
        let blank = Home::none();
        let settings = settings(&blank, &[]);
        let old = long_file(&settings, end);
        assert!(old.lines().count() > 300, "{}", old.lines().count());
        for setting in settings
            .iter()
            .filter(|setting| setting["key"].as_str().unwrap().contains('.'))
        {
            let key = setting["key"].as_str().unwrap();
            let home = Home::with(&old);
            home.herm(&["config", "check"]).success();
            let (text, value) = another(setting);
            home.set(key, &text).success();
            let new = home.text();
            assert!(
                changed_lines(&old, &new) == 1,
                "{key}: {} lines",
                changed_lines(&old, &new)
            );
            let grown = new.lines().count() - old.lines().count();
            assert!(grown <= 1, "{key}");
            assert!(
                end == "\n" || !new.replace("\r\n", "").contains('\n'),
                "{key}: another line end"
            );
            let seen = home.herm(&["config", "get", key, "--json"]).success();
            let got: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
            assert_eq!(got, value, "{key}");
            // A comment beside the value stays there.
            if grown == 0 {
                let line = new
                    .lines()
                    .zip(old.lines())
                    .find(|(new, old)| new != old)
                    .unwrap();
                assert_eq!(
                    line.0.split("   # ").nth(1),
                    line.1.split("   # ").nth(1),
                    "{key}"
                );
            }
            // What is taken out again leaves the file without that line.
            home.herm(&["config", "unset", key]).success();
            let without = home.text();
            assert_eq!(changed_lines(&new, &without), 1, "{key}");
            if grown == 1 {
                assert_eq!(without, old, "{key}");
            }
        }
    }
}
