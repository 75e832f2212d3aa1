//! Ids that a command has printed: whether another command can be given them.

use std::ffi::OsString;

/// What keeps an id from being given to any command, if something does.
pub(super) fn problem(id: &str) -> Option<&'static str> {
    if id.contains(char::REPLACEMENT_CHARACTER) {
        // What was there instead is not known any more, and another thing must not be met.
        Some("its id is not valid UTF-8")
    } else if id.contains(char::is_control) {
        Some("its id holds a control character")
    } else {
        None
    }
}

/// Whether a command that was given an id would take it for an option: a word of it begins with the id, the id with `-`,
/// and no word before says that options end.
pub(super) fn is_option(id: &str, words: &[OsString]) -> bool {
    let begins = |word: &OsString| word.as_encoded_bytes().starts_with(id.as_bytes());
    id.starts_with('-') && words.iter().take_while(|word| *word != "--").any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_plain_word() {
        for id in ["a", "9f3e", "with space", "-x", "grün", "/tmp/x:1"] {
            assert_eq!(problem(id), None, "{id}");
        }
        for id in ["a\0b", "a\u{1b}[2Jb", "a\nb", "a\u{fffd}b"] {
            assert!(problem(id).is_some(), "{id:?}");
        }
    }

    #[test]
    fn an_id_is_an_option_only_where_options_are_read() {
        let words = |all: &[&str]| all.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(is_option("--all", &words(&["docker", "rm", "--force", "--all"])));
        assert!(is_option("-r", &words(&["rm", "-r/x", "--"])));
        assert!(!is_option("-r", &words(&["rm", "--", "-r"])));
        assert!(!is_option("-r", &words(&["rm", "/scratch/-r"])));
        assert!(!is_option("rm", &words(&["rm", "rm"])));
    }
}
