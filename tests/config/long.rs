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
                String::new()
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
    let blank = Home::none();
    let settings = settings(&blank, &[]);
    for (end, step) in [("\n", 1), ("\r\n", 6)] {
        let old = long_file(&settings, end);
        assert!(old.lines().count() > 300, "{}", old.lines().count());
        Home::with(&old).herm(&["config", "check"]).success();
        let ours = settings
            .iter()
            .filter(|setting| setting["key"].as_str().unwrap().contains('.'));
        for setting in ours.step_by(step) {
            set_and_take_out(&old, setting);
        }
    }
}

fn set_and_take_out(old: &str, setting: &Value) {
    let key = setting["key"].as_str().unwrap();
    let home = Home::with(old);
    let (text, value) = another(setting);
    home.set(key, &text).success();
    let new = home.text();
    assert_eq!(changed_lines(old, &new), 1, "{key}");
    let added = new.lines().count() - old.lines().count();
    assert_eq!(new.contains("\r\n"), old.contains("\r\n"), "{key}");
    assert!(
        !old.contains("\r\n") || !new.replace("\r\n", "").contains('\n'),
        "{key}"
    );
    let seen = home.herm(&["config", "get", key, "--json"]).success();
    let got: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    assert_eq!(got, value, "{key}");
    // A comment beside the value stays there.
    if added == 0 {
        let (after, before) = new
            .lines()
            .zip(old.lines())
            .find(|(new, old)| new != old)
            .unwrap();
        assert_eq!(after.split("   # ").nth(1), before.split("   # ").nth(1), "{key}");
    }
    // What is taken out again leaves the file without that line.
    home.herm(&["config", "unset", key]).success();
    let without = home.text();
    assert_eq!(changed_lines(&new, &without), 1, "{key}");
    assert!(added == 0 || without == old, "{key}");
}
