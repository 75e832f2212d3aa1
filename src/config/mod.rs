//! The configuration: Hermes' own file, its sections `terminal` and `proxy`, and the variables that go with them.
//!
//! Every setting is a row of [`SETTINGS`]. [`Config::load`] resolves them all at once, and remembers where each value came
//! from. What wins, per setting: an argument of the command line, then the file `config.yaml`, then a variable of this
//! process, then the same variable in the file `.env` beside it, then the default. An empty variable counts as not set.
//! That is Hermes' own order, so that both programs run commands in the same place.
//!
//! Nothing is guessed: an unknown key, a wrong type or a file that cannot be read is a [`Problem`] with its place, and
//! there is no configuration then.

mod backend_name;
mod docker;
mod dotenv;
mod edit;
mod expand;
mod file;
pub(crate) mod item;
mod judge;
mod local;
pub(crate) mod near_miss;
mod place;
mod problem;
mod resolve;
mod scalar;
mod secret;
mod setting;
mod size;
mod source;
mod store;
mod table;
mod value;

pub use backend_name::BackendName;
pub use docker::{Asked, CredentialFile, DockerConfig, EgressProxy, StartIn, ThisProcess};
pub use item::Item;
pub use judge::{find_or_tell, is_section};
pub use local::{ExecMode, LocalConfig};
pub use place::{HOME, config_file, dotenv_file, home};
pub use problem::{Place, Problem, Problems};
pub use resolve::{Config, Resolved};
pub use secret::Secret;
pub use setting::{Kind, Setting};
pub use size::parse_size;
pub use source::{Argument, Origin, Sources};
pub use store::{Change, set, unset, unset_unknown};
pub use table::{SETTINGS, find};
pub use value::Value;
