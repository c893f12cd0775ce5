//! Portable contexts: JSON that anyone may have written.

use plumb_core::exchange::session::{Budget, Session};

use super::{Shape, Target};
use crate::laws;

pub(super) const TARGET: Target =
    Target { name: "session", run, seeds, input_bytes_max: 4 * 1024, shape: Shape::Bytes };

fn seeds() -> Vec<Vec<u8>> {
    let session = Session::assemble("Was the reservoir full?", Vec::new(), None, Budget::default());
    session.to_json().into_iter().map(String::into_bytes).collect()
}

fn run(bytes: &[u8]) {
    let session = match Session::from_json(bytes) {
        Ok(session) => session,
        Err(error) => return laws::short(&error),
    };
    let again = session.to_json().expect("what was read is written");
    let read = Session::from_json(again.as_bytes());
    assert!(read.is_ok_and(|read| read == session), "what is written reads otherwise");
    assert!(session.content_digest().is_ok());
}
