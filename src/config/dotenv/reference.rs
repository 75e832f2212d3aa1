//! `${NAME}` and `${NAME:-DEFAULT}` inside the values of `.env`, as python-dotenv puts them in.

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// A variable, with what stands for it when it is not set.
    Variable(&'a str, Option<&'a str>),
}

/// The parts of a value, in order.
pub(super) fn parts(value: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut told, mut from) = (0, 0);
    while let Some(found) = value.get(from..).and_then(|rest| rest.find("${")) {
        let start = from + found;
        let inside = value.get(start + 2..).unwrap_or_default();
        let Some((variable, length)) = variable(inside) else {
            from = start + 1;
            continue;
        };
        parts.extend(
            value
                .get(told..start)
                .filter(|text| !text.is_empty())
                .map(Part::Text),
        );
        parts.push(variable);
        from = start + 2 + length;
        told = from;
    }
    parts.extend(value.get(told..).filter(|text| !text.is_empty()).map(Part::Text));
    parts
}

/// The variable that a text behind `${` begins with, and its length with the brace that closes it.
fn variable(inside: &str) -> Option<(Part<'_>, usize)> {
    let end = inside.find(['}', ':'])?;
    let (name, behind) = inside.split_at(end);
    if behind.starts_with('}') {
        return Some((Part::Variable(name, None), end + 1));
    }
    let default = behind.strip_prefix(":-")?;
    let length = default.find('}')?;
    let part = Part::Variable(name, default.get(..length));
    Some((part, end + 2 + length + 1))
}
