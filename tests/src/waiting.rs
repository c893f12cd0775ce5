//! Waiting: polls under a deadline, so that a test takes as long as the node does and never for ever.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(20);

/// Polls until it holds. Panics at the deadline with what was awaited.
pub fn until(what: &str, deadline: Duration, mut holds: impl FnMut() -> bool) {
    until_some(what, deadline, || holds().then_some(()));
}

/// Polls until there is something. Panics at the deadline with what was awaited.
pub fn until_some<T>(what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < deadline, "still waiting after {deadline:?}: {what}");
        std::thread::sleep(PAUSE);
    }
}
