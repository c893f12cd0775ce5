//! Commands with a bound on their time.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PAUSE: Duration = Duration::from_millis(5);

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    /// The command line, for messages.
    pub line: String,
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// The one JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.stdout) {
            Ok(json) => json,
            Err(error) => panic!("no JSON from {self}: {error}"),
        }
    }

    /// Requires this exit code and gives the JSON.
    #[track_caller]
    pub fn expect(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "exit code of {self}");
        self.json()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(f, "`{}` (exit {})\n--- stdout\n{stdout}\n--- stderr\n{}", self.line, self.code, self.stderr)
    }
}

/// Runs a command to its end. Panics at the deadline, after the command was killed.
#[track_caller]
pub fn finish(mut command: Command, deadline: Duration) -> Outcome {
    let line = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{line} cannot be run: {error}"));
    let stdout = read_aside(child.stdout.take());
    let stderr = read_aside(child.stderr.take());
    let status = wait(&mut child, deadline);
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let stdout = stdout.join().expect("the reader does not panic");
    let stderr = String::from_utf8_lossy(&stderr.join().expect("the reader does not panic")).into_owned();
    let outcome = Outcome { line, code: status.and_then(|s| s.code()).unwrap_or(-1), stdout, stderr };
    assert!(status.is_some(), "not done within {deadline:?}: {outcome}");
    outcome
}

/// Waits for a process to end, at most so long.
pub(crate) fn wait(child: &mut Child, deadline: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if begun.elapsed() >= deadline {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Reads on a thread of its own, so that a full pipe holds nobody up.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before a pipe breaks is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}
