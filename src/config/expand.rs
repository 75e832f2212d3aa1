//! `${VAR}` inside values.

/// Replaces every `${VAR}`, also written `${env:VAR}`, whose variable is set. What is not set stays as it stands, and so
/// does `$VAR`.
pub(super) fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        expanded.push_str(before);
        let Some(end) = from.find('}') else {
            return expanded + from;
        };
        let (whole, after) = from.split_at(end + 1);
        let name = whole.trim_start_matches("${").trim_end_matches('}');
        match variable(name.strip_prefix("env:").unwrap_or(name)) {
            Some(value) => expanded.push_str(&value),
            None => expanded.push_str(whole),
        }
        rest = after;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_braces_are_replaced_when_they_are_set() {
        let variable = |name: &str| (name == "A").then(|| "value".to_owned());
        for (text, expanded) in [
            ("${A}", "value"),
            ("x${A}y${env:A}", "xvalueyvalue"),
            ("$A ${B} ${A", "$A ${B} ${A"),
            ("", ""),
        ] {
            assert_eq!(expand(text, variable), expanded);
        }
    }

    #[test]
    fn what_was_put_in_is_not_expanded_again() {
        assert_eq!(expand("${A}", |_| Some("${A}".to_owned())), "${A}");
    }
}
