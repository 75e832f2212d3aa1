//! Whether the resident can still be found: somebody may remove its directory, or what is in it, while it runs. Where the
//! directory is gone nobody will ever reach it again, and it ends with everything that it runs. A socket or a secret that is
//! missing is made again.

use std::time::{Duration, Instant};

use super::{Resident, Timer, Token};
use crate::system::Interest;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(2);

impl Resident {
    /// Looks again after a while, if there is anything to look at.
    pub(super) fn look_after_home_later(&mut self) {
        if self.setting.home.is_some() {
            self.timers.insert((Instant::now() + LOOK, Timer::Home));
        }
    }

    /// Ends when the directory is gone, and makes again what is missing in it.
    pub(super) fn look_after_home(&mut self) {
        let Some(home) = self.setting.home.clone() else {
            return;
        };
        if home.is_gone() {
            return self.begin_shutdown(None);
        }
        if self.setting.listener.is_some() && home.lacks("socket") {
            self.listen_again(&home);
        }
        if self.setting.writes_secret && home.lacks("secret") {
            let _ = home.write_secret(&self.setting.secret);
        }
        self.look_after_home_later();
    }

    /// Listens under the name that is free again. What cannot be done now is tried at the next look.
    fn listen_again(&mut self, home: &crate::home::Home) {
        let Ok(listener) = home.listen(&self.setting.ground.cwd) else {
            return;
        };
        let added = listener.set_nonblocking(true).and_then(|()| {
            self.epoll
                .add(&listener, Token::Listener.number(), Interest::READ)
        });
        if added.is_err() {
            return;
        }
        if let Some(before) = self.setting.listener.replace(listener) {
            self.epoll.remove(&before);
        }
    }
}
