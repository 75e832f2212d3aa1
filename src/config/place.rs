//! Where the configuration lies.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::Problem;

/// The variable that names Hermes' directory.
pub const HOME: &str = "HERMES_HOME";

/// Hermes' directory: `HERMES_HOME`, else `.hermes` in the user's home.
///
/// # Errors
/// Neither is known, or the current directory, which a relative path starts from, is gone.
pub fn home() -> Result<PathBuf, Problem> {
    let named = env::var_os(HOME)
        .filter(|home| !home.is_empty())
        .map(PathBuf::from);
    let home = named.or_else(|| {
        let user = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        user.map(|user| user.join(".hermes"))
    });
    let Some(home) = home else {
        return Err(Problem::new(
            HOME,
            None,
            "the directory of the configuration is not known: this user has no home",
            format!("set {HOME} to it"),
        ));
    };
    std::path::absolute(&home).map_err(|error| {
        let what = format!("{} cannot be made an absolute path: {error}", home.display());
        Problem::new(HOME, None, what, "set it to an absolute path")
    })
}

/// The file of settings in that directory.
#[must_use]
pub fn config_file(home: &Path) -> PathBuf {
    home.join("config.yaml")
}

/// The file of variables in that directory.
#[must_use]
pub fn dotenv_file(home: &Path) -> PathBuf {
    home.join(".env")
}
