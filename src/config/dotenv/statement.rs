//! The statements of a file `.env`, read as python-dotenv reads them, with which Hermes does.

use std::ops::Range;

/// What some editors put before UTF-8.
const MARK: char = '\u{feff}';

/// One statement: a variable, or what could not be read as one. Places are bytes of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statement {
    /// The name; none in a comment and in what could not be read.
    pub(super) key: Option<String>,
    /// What is to stand for `${NAME}` is not put in yet; none for a name alone.
    pub(super) value: Option<String>,
    /// From the first line that says something to the end of the last, line end included.
    pub(super) lines: Range<usize>,
    /// What stands behind the equals sign, up to the end of the line.
    pub(super) assigned: Range<usize>,
    /// Counted from 1.
    pub(super) line: usize,
    /// What keeps it from being read; python-dotenv leaves such a statement out, and goes on with the next line.
    pub(super) fault: Option<Fault>,
}

/// Why a statement cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A quote that opens a value is not closed.
    OpenQuote,
    /// Something else.
    NoAssignment,
}

/// Every statement of a text, in order.
pub(super) fn statements(text: &str) -> Vec<Statement> {
    let mut reader = Reader {
        text,
        position: if text.starts_with(MARK) {
            MARK.len_utf8()
        } else {
            0
        },
    };
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    loop {
        let blank = reader.take_while(char::is_whitespace);
        if reader.rest().is_empty() {
            return found;
        }
        let line_start = blank.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let start = reader.position - (blank.len() - line_start);
        line += line_ends(text.get(counted..start).unwrap_or_default());
        counted = start;
        let mut statement = Statement {
            line,
            ..Statement::default()
        };
        if let Err(fault) = reader.read_into(&mut statement) {
            (statement.key, statement.value) = (None, None);
            statement.fault = Some(fault);
            reader.take_while(|letter| !is_line_end(letter));
            statement.assigned.end = reader.position;
            reader.take_line_end();
        }
        statement.lines = start..reader.position;
        found.push(statement);
    }
}

/// A line ends with a newline, a carriage return, or both.
pub(super) fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r')
}

fn line_ends(text: &str) -> usize {
    with_newlines(text).matches('\n').count()
}

/// The text as a program sees it for which every line end is a newline.
fn with_newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() && !is_line_end(letter)
}

struct Reader<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn starts_with(&self, letter: char) -> bool {
        self.rest().starts_with(letter)
    }

    fn take_while(&mut self, takes: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter| !takes(letter)).unwrap_or(rest.len());
        self.position += end;
        rest.get(..end).unwrap_or_default()
    }

    fn take_line_end(&mut self) -> bool {
        let rest = self.rest();
        let length = ["\r\n", "\n", "\r"].iter().find(|end| rest.starts_with(**end));
        self.position += length.map_or(0, |end| end.len());
        length.is_some() || rest.is_empty()
    }

    fn read_into(&mut self, statement: &mut Statement) -> Result<(), Fault> {
        if let Some(rest) = self.rest().strip_prefix("export")
            && rest.starts_with(is_blank)
        {
            self.position += "export".len();
            self.take_while(is_blank);
        }
        statement.key = self.key()?;
        self.take_while(is_blank);
        if self.starts_with('=') {
            self.position += 1;
            statement.assigned = self.position..self.position;
            let blank = self.take_while(is_blank);
            let comment = !blank.is_empty() && self.starts_with('#');
            statement.value = Some(if comment { String::new() } else { self.value()? });
        }
        let behind = self.rest().trim_start_matches(is_blank);
        if behind.starts_with('#') {
            self.take_while(|letter| !is_line_end(letter));
        }
        self.take_while(is_blank);
        statement.assigned.end = self.position;
        if self.take_line_end() {
            Ok(())
        } else {
            Err(Fault::NoAssignment)
        }
    }

    fn key(&mut self) -> Result<Option<String>, Fault> {
        if self.starts_with('#') {
            return Ok(None);
        }
        if let Some(inside) = self.rest().strip_prefix('\'') {
            let end = inside
                .find('\'')
                .filter(|end| *end > 0)
                .ok_or(Fault::NoAssignment)?;
            self.position += end + 2;
            return Ok(inside.get(..end).map(with_newlines));
        }
        let key = self.take_while(|letter| !letter.is_whitespace() && !matches!(letter, '=' | '#'));
        if key.is_empty() {
            return Err(Fault::NoAssignment);
        }
        Ok(Some(key.to_owned()))
    }

    fn value(&mut self) -> Result<String, Fault> {
        if self.starts_with('\'') {
            let escapes = |letter| matches!(letter, '\\' | '\'').then_some(letter);
            return Ok(unescaped(self.quoted('\'')?, escapes));
        }
        if self.starts_with('"') {
            return Ok(unescaped(self.quoted('"')?, escape));
        }
        let part = self.take_while(|letter| !is_line_end(letter));
        Ok(without_comment(part).trim_end().to_owned())
    }

    /// What stands between quotes; a backslash takes the letter behind it with it.
    fn quoted(&mut self, quote: char) -> Result<&'a str, Fault> {
        let inside = self.rest().get(1..).unwrap_or_default();
        let mut escaped = false;
        for (index, letter) in inside.char_indices() {
            if escaped {
                escaped = false;
            } else if letter == '\\' {
                escaped = true;
            } else if letter == quote {
                self.position += index + 2;
                return Ok(inside.get(..index).unwrap_or_default());
            }
        }
        Err(Fault::OpenQuote)
    }
}

fn without_comment(value: &str) -> &str {
    let mut after_blank = false;
    for (index, letter) in value.char_indices() {
        if letter == '#' && after_blank {
            return value.get(..index).unwrap_or_default();
        }
        after_blank = letter.is_whitespace();
    }
    value
}

/// What a letter behind a backslash means in double quotes.
fn escape(letter: char) -> Option<char> {
    Some(match letter {
        '\\' | '\'' | '"' => letter,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        _ => return None,
    })
}

fn unescaped(text: &str, meaning: impl Fn(char) -> Option<char>) -> String {
    let text = with_newlines(text);
    let mut value = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letters
            .peek()
            .copied()
            .filter(|_| letter == '\\')
            .and_then(&meaning);
        if escaped.is_some() {
            letters.next();
        }
        value.push(escaped.unwrap_or(letter));
    }
    value
}
