//! Takes cucumber's events and puts what they say on the board.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use cucumber::{
    Event, Writer, cli,
    event::{self, Cucumber, Feature, RetryableScenario, Scenario, Step, StepError},
    parser,
};

use super::{
    board::{Board, Finding},
    dispatch::Thrown,
    features::{example_of, id_of},
};
use crate::scene::{Failure, Scene};

pub(super) struct EventWriter {
    board: Board,
    late: Late,
}

/// What was found of scenarios when their steps were over.
#[derive(Clone, Default)]
pub(super) struct Late(Arc<Mutex<BTreeMap<(String, String), Failure>>>);

impl Late {
    pub(super) fn tell(&self, scenario: &gherkin::Scenario, failure: Failure) {
        let key = (id_of(scenario).to_owned(), scenario_key(scenario));
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, failure);
    }

    fn take(&self, scenario: &gherkin::Scenario) -> Option<Failure> {
        let key = (id_of(scenario).to_owned(), scenario_key(scenario));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}

impl EventWriter {
    pub(super) fn new(board: Board, late: Late) -> Self {
        Self { board, late }
    }

    pub(super) fn into_board(self) -> Board {
        self.board
    }

    fn scenario(&mut self, file: &str, scenario: &gherkin::Scenario, event: RetryableScenario<Scene>) {
        let id = id_of(scenario);
        match event.event {
            Scenario::Started => self.board.row_started(id),
            Scenario::Step(step, Step::Failed(_, _, _, error)) => {
                self.board
                    .found(id, scenario_key(scenario), finding(file, scenario, &step, &error));
            }
            Scenario::Hook(_, event::Hook::Failed(_, _)) => {
                let failure = Failure::suite("a hook of the suite broke");
                self.board
                    .found(id, scenario_key(scenario), Finding::new(failure));
            }
            Scenario::Finished => {
                if let Some(failure) = self.late.take(scenario) {
                    self.board.found_late(id, scenario_key(scenario), failure);
                }
                self.board.row_finished(id);
            }
            _ => {}
        }
    }
}

/// Tells the scenarios of a requirement apart.
fn scenario_key(scenario: &gherkin::Scenario) -> String {
    example_of(scenario).unwrap_or_default()
}

fn finding(file: &str, scenario: &gherkin::Scenario, step: &gherkin::Step, error: &StepError) -> Finding {
    let mut finding = match error {
        StepError::Panic(info) => match info.downcast_ref::<Thrown>() {
            Some(thrown) => Finding {
                transcript: thrown.transcript.clone(),
                ..Finding::new(thrown.failure.clone())
            },
            None => Finding::new(Failure::suite(format!(
                "a step of the suite broke: {}",
                text_of(info.as_ref())
            ))),
        },
        other => Finding::new(Failure::suite(other.to_string())),
    };
    finding.step = Some(format!("{}{}", step.keyword, step.value));
    finding.example = example_of(scenario);
    finding.location = Some(format!("features/{file}:{}", step.position.line));
    finding
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "an unknown panic".into())
}

impl Writer<Scene> for EventWriter {
    type Cli = cli::Empty;

    async fn handle_event(&mut self, event: parser::Result<Event<Cucumber<Scene>>>, _: &Self::Cli) {
        // Our own parser gives no errors: every feature was parsed when the contract was loaded.
        let Ok(event) = event else { return };
        if let Cucumber::Feature(feature, Feature::Scenario(scenario, event)) = event.into_inner() {
            let file = feature
                .path
                .as_deref()
                .map(|path| path.display().to_string())
                .unwrap_or_default();
            self.scenario(&file, &scenario, event);
        }
    }
}

impl cucumber::writer::NonTransforming for EventWriter {}
impl cucumber::writer::Normalized for EventWriter {}
