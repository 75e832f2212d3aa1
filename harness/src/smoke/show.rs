//! The walk for people: a line an exchange that is right, all of one that is not.

use std::{fmt::Write as _, io::Write};

use owo_colors::{OwoColorize as _, Style};

use super::model::{BrokenOff, Exchange, Problem, Smoke, Speaker, SpokenLine, Verdict};
use crate::report::{ConsoleOptions, duration, quoted, shorten, visible, wrap};

/// Characters of one string in a message that are shown.
const STRING: usize = 72;

/// Characters of a line that are shown.
const LINE: usize = 1200;

/// Exchanges that were not tried and are named one by one.
const NAMED: usize = 4;

/// Columns of the labels below an exchange.
const INDENT: usize = 4;

/// How to show it.
#[derive(Clone, Copy, Debug)]
pub struct ShowOptions {
    /// Width, colour and signs.
    pub console: ConsoleOptions,
    /// Whether the conversation of an exchange that is right is shown, too.
    pub verbose: bool,
}

/// Shows a walk while it goes on. An output that cannot be written to any more ends the showing, never the walk.
pub struct Show {
    out: Option<Box<dyn Write + Send>>,
    options: ShowOptions,
}

impl Show {
    /// Shows on `out`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, options: ShowOptions) -> Self {
        Self {
            out: Some(out),
            options,
        }
    }

    /// Shows which subject it is about.
    pub fn begin(&mut self, subject: &str, words: &[String]) {
        let line = format!("{}: {}\n", visible(subject), visible(&words.join(" ")));
        self.write(&line);
    }

    /// Shows an exchange that is over.
    pub fn exchange(&mut self, exchange: &Exchange) {
        let text = match exchange.verdict {
            // These are told together, at the end.
            Verdict::Undeclared | Verdict::Waiting => return,
            Verdict::Right => self.right(exchange),
            Verdict::Wrong => self.wrong(exchange),
        };
        self.write(&text);
    }

    /// Shows how it came out, and what comes next.
    pub fn end(&mut self, smoke: &Smoke) {
        let mut text = String::new();
        for (verdict, words) in [
            (Verdict::Undeclared, "not declared, so not tried"),
            (Verdict::Waiting, "not tried"),
        ] {
            for (why, titles) in left_out(smoke, verdict) {
                let why = if verdict == Verdict::Waiting {
                    format!(", because {why}")
                } else {
                    String::new()
                };
                let line = format!("{words}{why}: {titles}");
                let _ = writeln!(text, "{}", self.folded(&line, 2));
            }
        }
        if !text.is_empty() {
            text.insert(0, '\n');
        }
        text.push('\n');
        text.push_str(&self.verdict(smoke));
        self.write(&text);
    }

    fn verdict(&self, smoke: &Smoke) -> String {
        let (right, wrong) = (smoke.count(Verdict::Right), smoke.count(Verdict::Wrong));
        let style = if wrong == 0 && smoke.broken_off.is_none() {
            Style::new().green().bold()
        } else {
            Style::new().red().bold()
        };
        let mut text = String::new();
        match &smoke.broken_off {
            Some(BrokenOff::NotStarted { why }) => {
                let told = self.folded(&format!("nothing ran: {}", visible(why)), 2);
                let _ = writeln!(text, "{}", self.paint(&told, style));
            }
            Some(BrokenOff::Interrupted { signal }) => {
                let told = format!("interrupted by signal {signal}");
                let _ = writeln!(text, "{}", self.paint(&told, style));
            }
            Some(BrokenOff::Lost { why, log }) => {
                let told = self.folded(&format!("the conversation broke off: {}", visible(why)), 2);
                let _ = writeln!(text, "{}", self.paint(&told, style));
                for line in log {
                    let _ = writeln!(
                        text,
                        "    {} {}",
                        self.sign(Speaker::Log),
                        shorten(&visible(line), LINE)
                    );
                }
            }
            None => {}
        }
        if right + wrong > 0 {
            let told = format!("smoke: {right} of {} exchanges are right", right + wrong);
            let time = duration(smoke.duration_ms);
            let _ = writeln!(text, "{} ({time})", self.paint(&told, style));
        }
        let words = quoted(&smoke.arguments);
        let first = smoke
            .exchanges
            .iter()
            .find(|exchange| exchange.verdict == Verdict::Wrong);
        let _ = match (first, &smoke.broken_off) {
            (_, Some(BrokenOff::Interrupted { .. } | BrokenOff::NotStarted { .. })) => {
                writeln!(text, "next: herm smoke {words}")
            }
            (Some(first), _) => writeln!(
                text,
                "next: mend exchange {} ({}) first, then: herm smoke {words}",
                first.number, first.title
            ),
            (None, _) => writeln!(text, "next: herm run {words}"),
        };
        text
    }

    fn right(&self, exchange: &Exchange) -> String {
        let mark = self.mark("✓", "ok", Style::new().green());
        let mut text = Self::head(exchange, &mark);
        if self.options.verbose {
            text.push_str(&self.details(exchange));
        }
        text.push_str(&self.advice(exchange));
        text
    }

    fn wrong(&self, exchange: &Exchange) -> String {
        let mark = self.mark("✗", "WRONG", Style::new().red().bold());
        let mut text = Self::head(exchange, &mark);
        text.push_str(&self.details(exchange));
        for problem in exchange.problems.iter().filter(|problem| problem.as_in.is_none()) {
            text.push_str(&self.problem(problem));
        }
        text.push_str(&self.again(exchange));
        text.push_str(&self.advice(exchange));
        if !exchange.example.is_empty() && exchange.problems.iter().any(|problem| problem.as_in.is_none()) {
            let _ = writeln!(text, "{:INDENT$}right would be:", "");
            for line in &exchange.example {
                text.push_str(&self.spoken(Speaker::Adapter, line));
            }
        }
        text
    }

    fn head(exchange: &Exchange, mark: &str) -> String {
        let note = exchange
            .note
            .as_deref()
            .filter(|_| exchange.verdict == Verdict::Right)
            .map(|note| format!(": {}", shorten(&visible(note), 160)))
            .unwrap_or_default();
        format!("{mark} {:>2} {}{note}\n", exchange.number, exchange.title)
    }

    /// What it is for, what was said, and what was expected.
    fn details(&self, exchange: &Exchange) -> String {
        let mut text = String::new();
        let purpose = self.paint(exchange.purpose, Style::new().dimmed());
        let _ = writeln!(text, "{:INDENT$}{purpose}", "");
        // What was left out lies before the last lines that are kept.
        let cut = exchange.conversation.len().saturating_sub(8);
        for (index, SpokenLine { from, text: line }) in exchange.conversation.iter().enumerate() {
            if index == cut && exchange.left_out > 0 {
                let _ = writeln!(
                    text,
                    "{:INDENT$}[... {} lines left out ...]",
                    "", exchange.left_out
                );
            }
            text.push_str(&self.spoken(*from, line));
        }
        text.push_str(&self.labelled("expected:", &exchange.expected));
        text
    }

    fn problem(&self, problem: &Problem) -> String {
        let label = self.paint("wrong:   ", Style::new().red());
        let mut text = self.labelled(&label, &told(problem));
        let label = self.paint("to do:   ", Style::new().yellow());
        text.push_str(&self.labelled(&label, &problem.to_do));
        text
    }

    /// The mistakes that were told before, in short.
    fn again(&self, exchange: &Exchange) -> String {
        let mut numbers: Vec<usize> = exchange
            .problems
            .iter()
            .filter_map(|problem| problem.as_in)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut text = String::new();
        for number in numbers {
            let before = exchange
                .problems
                .iter()
                .filter(|problem| problem.as_in == Some(number))
                .map(|problem| problem.what.split("; expected").next().unwrap_or_default());
            let what = before.collect::<Vec<_>>().join("; ");
            let label = self.paint("again:   ", Style::new().red());
            text.push_str(&self.labelled(&label, &format!("as in exchange {number}: {what}")));
        }
        text
    }

    fn advice(&self, exchange: &Exchange) -> String {
        let lines = exchange
            .advice
            .iter()
            .map(|advice| self.labelled("advice:  ", advice));
        lines.collect()
    }

    fn labelled(&self, label: &str, value: &str) -> String {
        let line = self.folded(&shorten(&visible(value), LINE), INDENT + 10);
        format!("{:INDENT$}{label} {line}\n", "")
    }

    fn spoken(&self, from: Speaker, line: &str) -> String {
        let style = match from {
            Speaker::Harness => Style::new().cyan(),
            Speaker::Adapter => Style::new().magenta(),
            Speaker::Log => Style::new().dimmed(),
        };
        let line = shorten(&visible(&shorten_strings(line, STRING)), LINE);
        format!("{:INDENT$}{} {line}\n", "", self.paint(self.sign(from), style))
    }

    fn sign(&self, from: Speaker) -> &'static str {
        match (from, self.options.console.unicode) {
            (Speaker::Harness, true) => "→",
            (Speaker::Harness, false) => ">",
            (Speaker::Adapter, true) => "←",
            (Speaker::Adapter, false) => "<",
            (Speaker::Log, true) => "·",
            (Speaker::Log, false) => "|",
        }
    }

    fn mark(&self, sign: &str, word: &str, style: Style) -> String {
        let sign = if self.options.console.unicode { sign } else { word };
        self.paint(sign, style)
    }

    fn folded(&self, text: &str, indent: usize) -> String {
        let room = self.options.console.width.saturating_sub(indent + 1).max(40);
        wrap(text, room).join(&format!("\n{:indent$}", ""))
    }

    fn paint(&self, text: &str, style: Style) -> String {
        if self.options.console.color {
            text.style(style).to_string()
        } else {
            text.to_owned()
        }
    }

    fn write(&mut self, text: &str) {
        let written = match &mut self.out {
            Some(out) => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
            None => Ok(()),
        };
        if written.is_err() {
            self.out = None;
        }
    }
}

/// What is wrong, by which rule, and how often.
fn told(problem: &Problem) -> String {
    let mut what = problem.what.clone();
    if let Some(rule) = &problem.rule {
        let _ = write!(what, " (rule: {rule})");
    }
    if problem.times > 1 {
        let _ = write!(what, " ({} times)", problem.times);
    }
    what
}

/// The exchanges that were left out, by the reason.
fn left_out(smoke: &Smoke, verdict: Verdict) -> Vec<(String, String)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for exchange in smoke
        .exchanges
        .iter()
        .filter(|exchange| exchange.verdict == verdict)
    {
        let why = match verdict {
            Verdict::Undeclared => "",
            _ => exchange.note.as_deref().unwrap_or_default(),
        };
        let word = if verdict == Verdict::Undeclared {
            exchange.id.to_owned()
        } else {
            format!("{} ({})", exchange.number, exchange.title)
        };
        match groups.iter_mut().find(|(known, _)| known == why) {
            Some((_, words)) => words.push(word),
            None => groups.push((why.to_owned(), vec![word])),
        }
    }
    groups
        .into_iter()
        .map(|(why, words)| match words.as_slice() {
            [first, .., last] if verdict == Verdict::Waiting && words.len() > NAMED => {
                (why, format!("{} exchanges, from {first} to {last}", words.len()))
            }
            words => (why, words.join(", ")),
        })
        .collect()
}

/// A line of JSON in which the middle of every long string is left out.
fn shorten_strings(line: &str, limit: usize) -> String {
    let mut short = String::with_capacity(line.len().min(4096));
    let mut string: Option<String> = None;
    let mut escaped = false;
    for character in line.chars() {
        match &mut string {
            None => {
                short.push(character);
                if character == '"' {
                    string = Some(String::new());
                }
            }
            Some(inner) if character == '"' && !escaped => {
                short.push_str(&middle_left_out(inner, limit));
                short.push('"');
                string = None;
            }
            Some(inner) => {
                inner.push(character);
                escaped = character == '\\' && !escaped;
            }
        }
    }
    if let Some(rest) = string {
        short.push_str(&rest);
    }
    short
}

fn middle_left_out(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let half = limit / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(length - half).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_long_strings_is_left_out_and_the_rest_is_as_it_was() {
        assert_eq!(
            shorten_strings(r#"{"id":1,"data":"abcdefghij","a":"\"\\"}"#, 4),
            r#"{"id":1,"data":"ab…ij","a":"\"\\"}"#
        );
        assert_eq!(shorten_strings("Welcome \"to", 4), "Welcome \"to");
    }
}
