//! This program's own child processes, none of which outlives it: commands, and nodes that run.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// How often is looked whether something came to pass. Short against what a person notices, long against the cost.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest that one command may take: far beyond any of them, even in a debug build.
const COMMAND_TIME: Duration = Duration::from_secs(60);
/// Longest that a node may take until it is ready.
const READY_TIME: Duration = Duration::from_secs(60);
/// How long a node may take to end in order before it is killed. It waits for running requests for ten seconds.
const STOP_TIME: Duration = Duration::from_secs(20);

/// What came of a command.
pub struct Outcome {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command to its end.
pub fn finish(mut command: Command, interrupted: &AtomicBool) -> anyhow::Result<Outcome> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guard(command.spawn().context("the program cannot start itself")?);
    let (stdout, stderr) = (read_aside(child.0.stdout.take()), read_aside(child.0.stderr.take()));
    let status = poll("a command ends", COMMAND_TIME, interrupted, || Ok(child.0.try_wait()?))?;
    let read = |reader: std::thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok(Outcome {
        code: status.code().unwrap_or(-1),
        stdout: read(stdout),
        stderr: String::from_utf8_lossy(&read(stderr)).into_owned(),
    })
}

/// This program, in an empty folder and an environment that knows of no home.
pub fn this_program(program: &Path, elsewhere: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PLUMB_")) {
        command.env_remove(name);
    }
    command.env("HOME", elsewhere).env("XDG_DATA_HOME", elsewhere).current_dir(elsewhere);
    command.stdin(Stdio::null());
    command
}

/// The JSON document that a command printed.
pub fn json_of(outcome: &Outcome) -> anyhow::Result<Value> {
    serde_json::from_slice(&outcome.stdout)
        .with_context(|| format!("a command gave no JSON: {}", head(&outcome.stderr)))
}

/// The beginning of an error, short enough for one message.
pub fn head(text: &str) -> String {
    text.trim().lines().take(8).collect::<Vec<_>>().join("\n")
}

/// The end of a log, short enough for one message.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

/// Looks until there is something, at most so long, and not beyond an interruption.
pub fn poll<T>(
    what: &str,
    deadline: Duration,
    interrupted: &AtomicBool,
    mut look: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        if begun.elapsed() >= deadline {
            bail!("still waiting after {} s until {what}", deadline.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}

/// A running node.
pub struct Running(Guard);

impl Running {
    /// Starts it.
    pub fn start(mut command: Command) -> anyhow::Result<Running> {
        command.stdin(Stdio::null());
        Ok(Running(Guard(command.spawn().context("the node cannot be started")?)))
    }

    /// Starts a node and waits until it is ready. Gives what it said then. What it logs goes to a file.
    pub fn start_node(
        mut command: Command,
        log: &Path,
        ready: &Path,
        interrupted: &AtomicBool,
    ) -> anyhow::Result<(Running, Value)> {
        let output = File::create(log).with_context(|| format!("{} cannot be written", log.display()))?;
        command.arg("--ready-file").arg(ready).stdout(output.try_clone()?).stderr(output);
        let mut running = Running::start(command)?;
        let said = poll("a node is ready", READY_TIME, interrupted, || {
            if let Some(status) = running.ended()? {
                let log = std::fs::read_to_string(log).unwrap_or_default();
                bail!("a node ended with {status} before it was ready: {}", tail(&log));
            }
            // Half a file is no JSON; the next look finds all of it.
            Ok(std::fs::read(ready).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()))
        })?;
        Ok((running, said))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.0.id()
    }

    /// How it ended, if it did.
    fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.0.0.try_wait()?)
    }

    /// Asks it to end (SIGTERM) and waits. It is killed only if it does not.
    pub fn stop(mut self) -> anyhow::Result<ExitStatus> {
        self.0.end()
    }
}

/// Ends its process when it is dropped, whatever happened before.
struct Guard(Child);

impl Guard {
    fn end(&mut self) -> anyhow::Result<ExitStatus> {
        if let Some(status) = self.0.try_wait()? {
            return Ok(status);
        }
        // It may end on its own between the look and the signal; then waiting finds it.
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), rustix::process::Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < STOP_TIME {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(PAUSE);
        }
        self.0.kill()?;
        Ok(self.0.wait()?)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nobody is left to be told; what cannot be ended here is not ours any more.
        let _ = self.end();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_gives_its_code_and_its_words() {
        let outcome = finish(shell("echo out; echo err >&2; exit 3"), &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.code, outcome.stdout.as_slice(), outcome.stderr.as_str()), (3, &b"out\n"[..], "err\n"));
    }

    #[test]
    fn an_interruption_ends_the_child() {
        let begun = Instant::now();
        let error = finish(shell("exec sleep 600"), &AtomicBool::new(true)).err().unwrap();
        assert_eq!(error.to_string(), "interrupted");
        assert!(begun.elapsed() < STOP_TIME);
    }

    #[test]
    fn a_running_process_is_ended_when_it_is_let_go() {
        let running = Running::start(shell("exec sleep 600")).unwrap();
        let pid = i32::try_from(running.pid()).unwrap();
        drop(running);
        let gone = rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap());
        assert!(gone.is_err());
    }
}
