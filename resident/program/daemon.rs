//! The resident in the background: one for each directory, however many are started at once.

use std::{
    error::Error,
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, AsRawFd},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    dial,
    home::Home,
    resident::{Resident, Setting},
    settings::{self, Arguments},
    supervisor::Ground,
    system::{
        Forked, close_all_but, exit_now, fork, lock, new_session, replace, set_dumpable, set_umask, subreaper,
    },
};

/// How long a start waits for another daemon, which has the lock already, to listen.
const OTHER_LIMIT: Duration = Duration::from_secs(5);

/// What a daemon in the making tells the process that started it; anything else is what went wrong.
const READY: &[u8] = b"ready";
const OTHER: &[u8] = b"other";

/// Puts a daemon into the background; returns when it listens, or when another one does.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let home = Arc::new(Home::open(
        arguments.directory.as_deref().unwrap_or(Path::new("")),
    )?);
    let (mut told, tell) = io::pipe()?;
    if fork()? == Forked::Child {
        drop(told);
        new_session();
        // One that leads no session can never get a terminal.
        if !matches!(fork(), Ok(Forked::Child)) {
            exit_now(0);
        }
        let mut tell = Some(tell);
        let result = serve_in_background(&home, arguments, &mut tell);
        if let (Err(error), Some(tell)) = (&result, &mut tell) {
            let _ = tell.write_all(error.to_string().as_bytes());
        }
        exit_now(i32::from(result.is_err()));
    }
    drop(tell);
    let mut word = Vec::new();
    told.read_to_end(&mut word)?;
    match word.as_slice() {
        READY => Ok(()),
        OTHER => wait_for_other(&home),
        b"" => Err("the daemon ended before it listened".into()),
        problem => Err(String::from_utf8_lossy(problem).into()),
    }
}

fn wait_for_other(home: &Home) -> Result<(), Box<dyn Error>> {
    let end = Instant::now() + OTHER_LIMIT;
    while dial::connect(&home.join("socket")).is_none() {
        if Instant::now() > end {
            let message = format!(
                "another daemon has {} locked but does not listen; end it",
                home.path.display()
            );
            return Err(message.into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The daemon itself. It tells what became of its start through the pipe, which it then closes.
fn serve_in_background(
    home: &Arc<Home>,
    arguments: &Arguments,
    tell: &mut Option<io::PipeWriter>,
) -> Result<(), Box<dyn Error>> {
    // What the starter had open is not held open by a daemon that outlives it.
    let mut keep = vec![home.descriptor()];
    keep.extend(tell.as_ref().map(AsRawFd::as_raw_fd));
    close_all_but(&mut keep);
    set_umask(0o077);
    // Held as long as this process lives; supervisors close it.
    let locked = home.open_file("lock")?;
    if !lock(locked.as_fd())? {
        say(tell, OTHER)?;
        return Ok(());
    }
    let log = home.open_file("log")?;
    log.set_len(0)?;
    let leash = arguments
        .leash
        .then(|| io::stdin().as_fd().try_clone_to_owned())
        .transpose()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for (standard, by) in [(0, &null), (1, &null), (2, &log)] {
        replace(standard, by.as_fd())?;
    }
    drop((log, null));
    home.clean();
    let (environment, given) = settings::environment()?;
    let writes_secret = given.is_none();
    let secret = home.secret(given)?;
    let listener = home.listen(Path::new("/"))?;
    let tools = home.open_tools(Path::new("/"))?;
    subreaper()?;
    set_dumpable(false)?;
    let ground = Ground {
        environment,
        cwd: "/".into(),
        directory: Some(home.path.clone()),
        bash: None,
        first_to_go: false,
    };
    let setting = Setting {
        ground,
        secret,
        writes_secret,
        home: Some(home.clone()),
        listener: Some(listener),
        dial: None,
        tools,
        leash,
        idle: arguments.idle,
        stays_for_clients: true,
    };
    let resident = Resident::new(setting)?;
    say(tell, READY)?;
    let result = resident.run();
    // Another sandbox may have been made under the name since.
    if !home.is_gone() {
        home.clean();
    }
    result?;
    Ok(())
}

fn say(tell: &mut Option<io::PipeWriter>, word: &[u8]) -> io::Result<()> {
    tell.take().map_or(Ok(()), |mut tell| tell.write_all(word))
}
