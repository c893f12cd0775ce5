//! A bell: one thread sleeps until another rings it. Rings that come while nobody sleeps are not lost; several are
//! heard as one.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.heard.notify_one();
    }

    /// Sleeps until it rings, or until the time is over.
    pub(crate) fn wait(&self, at_most: Option<Duration>) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rung = match at_most {
            None => self.heard.wait_while(rung, |rung| !*rung).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                self.heard.wait_timeout_while(rung, time, |rung| !*rung).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        *rung = false;
    }
}
