//! Starting jobs.

use herm_protocol::{exec::RunParams, method};
use tokio::time::Instant;

use super::{CODE, ERRORS, WORDS};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{
        composed::{number_in, unknown},
        exec::{busy, session},
        general,
        lifecycle::open::OF_SANDBOX,
    },
};

/// What one half of a job's output has.
const HALF: usize = 40_000;

/// What a job writes that fills the spool of any backend that holds no more: 80 MiB and a little.
pub(super) const FLOOD: u64 = 80 * 1024 * 1024 + 8 * 1001;

/// A line of the flood.
pub(super) const LINE: &[u8; 8] = b"0123456\n";

pub(super) async fn start(scene: &mut Scene, what: &str) -> StepResult {
    let mut timeout_ms = None;
    let text = match what {
        "prints again and again and keeps a beat, with a deadline of 1 second" => {
            timeout_ms = Some(1000);
            busy::print(scene).await?
        }
        "keeps a beat" => scene.new_beat("").await?,
        "keeps a beat, with a deadline of 1 second" => {
            timeout_ms = Some(1000);
            scene.new_beat("").await?
        }
        "keeps a beat, with a deadline of 2 seconds" => {
            timeout_ms = Some(2000);
            scene.new_beat("").await?
        }
        "would leave a mark a second after its deadline of a second" => {
            timeout_ms = Some(1000);
            format!("sleep 2; {}", general::new_mark(scene).await?)
        }
        "starts a worker in a session of its own that keeps a beat" => {
            let beat = scene.new_beat("").await?;
            format!("command -v setsid >/dev/null || exit 3; setsid {beat} & wait; sleep 30")
        }
        "of the session looks around and changes everything" => return start_in_session(scene).await,
        "prints the variable of its sandbox" => {
            scene.notes.content = Some(b"green\n".to_vec());
            format!("echo \"${OF_SANDBOX}\"")
        }
        "writes text behind a mark of its byte order" => {
            let text = "\u{feff}behind a mark\n";
            scene.notes.content = Some(text.as_bytes().to_vec());
            shell::print(text.as_bytes())
        }
        "prints its working directory" => {
            scene.notes.content = Some(b"/\n".to_vec());
            "pwd -P".to_owned()
        }
        "prints three lines and exits with a code" => {
            format!("{}; exit {CODE}", shell::print(WORDS.as_bytes()))
        }
        "writes one half of its output, and the other half on a sign" => {
            let half = shell::numbered_bytes(HALF);
            scene.notes.content = Some([half.as_slice(), &half].concat());
            let (half, sign) = (shell::numbered(HALF), until_sign(scene).await?);
            format!("{half}; {sign}; {half}; exit {CODE}")
        }
        "writes on both streams and exits with a code" => {
            let (out, err) = (shell::print(WORDS.as_bytes()), shell::print(ERRORS.as_bytes()));
            format!("{out}; {{ {err}; }} >&2; exit {CODE}")
        }
        "tells its number and waits" => format!("echo $$; {}; exit {CODE}", until_sign(scene).await?),
        "sends its output to a file and exits on a sign" => {
            format!(
                "echo begun; exec >/dev/null 2>&1; {}; exit {CODE}",
                until_sign(scene).await?
            )
        }
        "closes its output and exits on a sign" => {
            format!(
                "echo begun; exec >&- 2>&-; {}; exit {CODE}",
                until_sign(scene).await?
            )
        }
        "writes more than is kept for it" => {
            let line = shell::word(&LINE[..LINE.len() - 1]);
            format!("yes {line} | head -c {FLOOD}; exit {CODE}")
        }
        other => match number_in(other, "prints ", " bytes and exits with a code") {
            Some(bytes) => {
                scene.notes.content = Some(shell::numbered_bytes(bytes));
                format!("{}; exit {CODE}", shell::numbered(bytes))
            }
            None => return Err(unknown(other, "done by a job")),
        },
    };
    let mut params = detached(scene, text).await?;
    params.timeout_ms = timeout_ms;
    let began = Instant::now();
    let job = begin(scene, &params).await?;
    scene.notes.number = u64::try_from(began.elapsed().as_millis()).ok();
    scene.notes.name = Some(job);
    if scene.beat.is_some() {
        scene.await_beat().await?;
    }
    Ok(())
}

/// Starts a job in the scenario's session, which tells what that carries and changes it. What it should tell is noted.
async fn start_in_session(scene: &mut Scene) -> StepResult {
    let text = format!("{}; cd /; export {}=half", session::LOOK, session::KEPT);
    let mut params = detached(scene, text).await?;
    params.session = Some(session::name(scene));
    scene.notes.content = Some(session::carried(scene).await?);
    let job = begin(scene, &params).await?;
    scene.notes.name = Some(job);
    Ok(())
}

/// Parameters of a command that goes on as a job.
pub(super) async fn detached(scene: &mut Scene, text: String) -> Result<RunParams, Failure> {
    let mut params = scene.command(text).await?;
    params.detach = true;
    params.window = None;
    Ok(params)
}

/// Starts a job and gives its id.
pub(super) async fn begin(scene: &mut Scene, params: &RunParams) -> Result<String, Failure> {
    let patience = scene.patience();
    let client = scene.client().await?;
    let started = client.call::<method::RunDetached>(params, patience).await?;
    Ok(started.job)
}

/// Shell text that waits until the job is told to go on, which ends by itself when it never is.
async fn until_sign(scene: &mut Scene) -> Result<String, Failure> {
    let path = scene.new_path("sign").await?;
    let sign = shell::word(path.as_bytes());
    scene.notes.file = Some(path);
    Ok(format!(
        "i=0; until [ -e {sign} ] || [ $i -gt 600 ]; do sleep 0.05; i=$((i+1)); done"
    ))
}

/// Tells the job to go on.
pub(super) async fn give_sign(scene: &mut Scene) -> StepResult {
    let path = scene.notes.file.clone().unwrap_or_default();
    scene
        .prepare(format!(": > {}", shell::word(path.as_bytes())))
        .await
        .map(|_| ())
}
