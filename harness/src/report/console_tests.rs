use std::sync::{Arc, Mutex};

use super::*;
use crate::report::{fixture, matrix::matrix};

#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn shown(events: &[Event], options: ConsoleOptions) -> String {
    let screen = Screen::default();
    let mut console = Console::new(Box::new(screen.clone()), options);
    for event in events {
        console.event(event);
    }
    let report = Report::from_events(events.to_vec());
    console.finish(&report, report.exit(false), Some(Path::new("target/herm")));
    String::from_utf8(screen.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn a_run_reads_well() {
    insta::assert_snapshot!(shown(&fixture::events(), ConsoleOptions::default()));
}

#[test]
fn a_run_reads_well_in_colour_on_a_terminal() {
    let options = ConsoleOptions {
        color: true,
        terminal: true,
        ..ConsoleOptions::default()
    };
    let text = shown(&fixture::events(), options);
    insta::assert_snapshot!(text.replace('\x1b', "␛").replace('\r', "␍"));
}

#[test]
fn without_unicode_everything_of_ours_is_ascii() {
    let options = ConsoleOptions {
        unicode: false,
        ..ConsoleOptions::default()
    };
    let text = shown(&fixture::events(), options);
    assert!(text.is_ascii());
    assert!(text.contains("x VERDICT-723"));
}

#[test]
fn every_finding_is_a_block_when_it_comes_and_nothing_else_is() {
    let screen = Screen::default();
    let mut console = Console::new(Box::new(screen.clone()), ConsoleOptions::default());
    for event in fixture::events() {
        let before = screen.0.lock().unwrap().len();
        console.event(&event);
        let added = String::from_utf8(screen.0.lock().unwrap()[before..].to_vec()).unwrap();
        if let Event::RequirementFinished { verdict, id, .. } = &event {
            let red = matches!(
                verdict,
                Verdict::Failed | Verdict::Error | Verdict::Inconclusive | Verdict::UnexpectedPass
            );
            assert_eq!(added.contains(id.as_str()), red, "{id} {verdict}");
            assert_eq!(added.contains("reproduce: herm run"), red);
        }
    }
}

#[test]
fn a_block_has_its_parts_in_order() {
    let text = shown(&fixture::events(), ConsoleOptions::default());
    let block = &text[text.find("VERDICT-723").unwrap()..];
    let parts = [
        "VERDICT-723 A MUST that ends as failed",
        "MUST failed on podman",
        "step",
        "expected",
        "seen",
        "location",
        "reason",
        "https://example.org/incident/723",
        "reproduce:",
    ];
    let places: Vec<usize> = parts.iter().map(|part| block.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}\n{block}");
}

#[test]
fn hostile_output_cannot_move_the_cursor_or_flood() {
    let text = shown(&fixture::hostile_events(), ConsoleOptions::default());
    let bad = |character: &char| {
        (character.is_control() && *character != '\n') || ['\u{202e}', '\u{fffe}'].contains(character)
    };
    assert_eq!(text.chars().find(bad), None);
    assert!(text.contains("\\x1b[2J"));
    assert!(text.contains("characters left out"));
    assert!(text.len() < 12_000, "{}", text.len());
}

#[test]
fn progress_is_in_place_on_a_terminal_and_absent_elsewhere() {
    let options = ConsoleOptions {
        terminal: true,
        width: 60,
        ..ConsoleOptions::default()
    };
    let text = shown(&fixture::events(), options);
    assert!(text.contains("\r\x1b[2K0/21  VERDICT-013"), "{text:?}");
    for status in text
        .split("\r\x1b[2K")
        .filter_map(|part| part.rsplit('\n').next())
    {
        assert!(status.chars().count() <= 60, "{status}");
    }
    assert!(!shown(&fixture::events(), ConsoleOptions::default()).contains(['\r', '\x1b']));
}

#[test]
fn a_narrow_terminal_gets_the_matrix_in_pieces() {
    let narrow = matrix(
        &fixture::report(),
        ConsoleOptions {
            width: 40,
            ..ConsoleOptions::default()
        },
    );
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    let lines: Vec<&str> = narrow.lines().collect();
    assert_eq!(lines[0].trim_start(), "podman     local");
    assert_eq!(lines[5].trim_start(), "daytona (emulated)");
    assert_eq!(lines[7], "exec       1/2 1~");
}

#[test]
fn a_closed_output_ends_the_console_and_not_the_run() {
    struct Closed(Arc<Mutex<u32>>);
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            *self.0.lock().unwrap() += 1;
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let tries = Arc::new(Mutex::new(0));
    let mut console = Console::new(Box::new(Closed(tries.clone())), ConsoleOptions::default());
    for event in fixture::events() {
        console.event(&event);
    }
    console.finish(&fixture::report(), Exit::Broken, None);
    assert_eq!(*tries.lock().unwrap(), 1);
}
