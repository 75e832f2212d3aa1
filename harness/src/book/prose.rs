//! Plain text as Markdown.

/// Text with what Markdown would read as markup escaped, and each bare link in brackets named after what it leads to.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("https://") {
        let (before, link) = rest.split_at(start);
        let end = link
            .find(|letter: char| letter.is_whitespace() || ")|>\"".contains(letter))
            .unwrap_or(link.len());
        let (link, after) = link.split_at(end);
        // What ends a sentence is no part of an address.
        let kept = link.trim_end_matches(['.', ',', ';']);
        out.push_str(&without_markup(before));
        out.push_str(&named_link(kept));
        out.push_str(&link[kept.len()..]);
        rest = after;
    }
    out.push_str(&without_markup(rest));
    out
}

fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '*' | '_' | '`' | '[' | ']' | '|' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

/// `[owner/repository#1](…)` for an issue or a pull request, `[host/path](…)` for anything else.
pub(super) fn named_link(link: &str) -> String {
    let address = link.trim_start_matches("https://");
    let parts: Vec<&str> = address.split('/').collect();
    let name = match parts.as_slice() {
        ["github.com", owner, repository, "issues" | "pull", number, ..] => {
            format!("{owner}/{repository}#{number}")
        }
        _ => address.trim_end_matches('/').to_owned(),
    };
    format!("[{}]({link})", without_markup(&name))
}
