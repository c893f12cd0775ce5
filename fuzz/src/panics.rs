//! Panics of the threads that parse documents.
//!
//! A parser runs on a thread of its own, and its panic is caught and parked: that is what the isolation is for, because
//! parsers of others panic. A panic in *our* code there is a bug all the same. This tells the two apart by the file in
//! which the panic began: that of a crate of the workspace is named from the workspace's root, that of a library by its
//! full path.

use std::panic::PanicHookInfo;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use plumb_sources::WORKER_THREAD;

static OURS: Mutex<Option<String>> = Mutex::new(None);

/// Notes panics of our own code on parser threads from here on, and leaves other threads to the hook that was there.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() == Some(WORKER_THREAD) {
                note(info);
            } else {
                before(info);
            }
        }));
    });
}

fn note(info: &PanicHookInfo<'_>) {
    if let Some(place) = info.location().filter(|place| Path::new(place.file()).is_relative()) {
        let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
        ours.get_or_insert_with(|| format!("{place}: {}", text_of(info)));
    }
}

fn text_of<'a>(info: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = info.payload();
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("")
}

/// The first panic of our own code on a parser thread since the last call.
pub fn of_our_own() -> Option<String> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner).take()
}
