//! Whether the adapter's program is there and can be run, told before anything is started.

use std::{
    env,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use crate::subject::Subject;

/// Looks for the program.
pub(super) async fn check(subject: &Subject) -> Result<(), String> {
    let subject = subject.clone();
    let looked = tokio::task::spawn_blocking(move || look(&subject)).await;
    looked.unwrap_or(Ok(()))
}

fn look(subject: &Subject) -> Result<(), String> {
    let Some(program) = subject.adapter.first() else {
        return Err("the adapter names no program; give one".into());
    };
    let path = Path::new(program);
    let shown = path.display();
    let folder = subject.directory.clone().unwrap_or_default();
    if program.as_encoded_bytes().contains(&b'/') {
        let path = folder.join(path);
        return runnable(&path).map_err(|why| format!("the adapter {} {why}", path.display()));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).any(|folder| runnable(&folder.join(path)).is_ok());
    if found {
        return Ok(());
    }
    let beside = folder.join(path);
    if beside.is_file() {
        let script = beside.extension().is_some_and(|extension| extension == "py");
        let python = if script {
            format!(", or python3 {shown}")
        } else {
            String::new()
        };
        return Err(format!(
            "the adapter {shown} is not in PATH, but in {}; name it ./{shown}{python}",
            folder_name(&folder)
        ));
    }
    Err(format!(
        "the adapter {shown} is in no directory of PATH; install it, or name its path"
    ))
}

fn folder_name(folder: &Path) -> String {
    let here = PathBuf::from(".");
    let folder = if folder.as_os_str().is_empty() {
        &here
    } else {
        folder
    };
    folder.display().to_string()
}

fn runnable(path: &Path) -> Result<(), String> {
    if !path.exists() {
        return Err("is not there; name the program's path, relative to the manifest's folder".into());
    }
    if path.is_dir() {
        return Err("is a directory; name a program".into());
    }
    access(path, Access::EXEC_OK).map_err(|_| {
        format!(
            "may not be run; chmod +x {}, or name its interpreter before it (python3 {0})",
            path.display()
        )
    })
}
