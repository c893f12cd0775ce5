//! Homes, commands, running nodes, and a small HTTP client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest that anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The passphrase of every root that a test founds apart from a home.
pub const ROOT_PASSPHRASE: &str = "a passphrase for tests";

/// A home in a folder that goes away with it.
pub struct Place {
    dir: tempfile::TempDir,
    pub home: PathBuf,
}

/// What came of a command.
pub struct Outcome {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// The one JSON document that is all of standard output.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", self.text(), self.stderr))
    }
}

impl Place {
    /// A folder without a home.
    pub fn empty() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        Place { dir, home }
    }

    /// A home of an organisation of its own, for operations and for a second person who belongs to nothing.
    pub fn founded() -> Place {
        let place = Place::empty();
        let init = ["init", "--org", "Northwater", "--department", "operations", "--person", "tomas"];
        place.run(&init, 0);
        let file = place.home.join("plumb.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text + "\n[[people]]\nid = \"person-guest\"\n").unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file beside the home, and gives its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The program in an environment that knows of no other home.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PLUMB_")) {
            command.env_remove(name);
        }
        command.env("HOME", self.dir.path()).env("XDG_DATA_HOME", self.dir.path()).current_dir(self.dir.path());
        command
    }

    /// Runs a command in the home, and requires its exit code.
    pub fn run(&self, args: &[&str], code: i32) -> Outcome {
        self.run_with(args, code, |command| {
            command.stdin(Stdio::null());
        })
    }

    /// The same, with something on standard input.
    pub fn run_input(&self, args: &[&str], input: &str, code: i32) -> Outcome {
        let file = self.write("input", input);
        self.run_with(args, code, |command| {
            command.stdin(std::fs::File::open(file).unwrap());
        })
    }

    /// The same, with a change to the command.
    pub fn run_with(&self, args: &[&str], code: i32, change: impl FnOnce(&mut Command)) -> Outcome {
        let mut command = self.command();
        command.args(args).arg("--home").arg(&self.home);
        change(&mut command);
        checked(args, code, command.output().unwrap())
    }

    /// Runs a command without naming a home, and requires its exit code.
    pub fn run_homeless(&self, args: &[&str], code: i32) -> Outcome {
        // Roots lie elsewhere, and have a passphrase.
        let mut command = self.command();
        command.env("PLUMB_ROOT_PASSPHRASE", ROOT_PASSPHRASE).args(args).stdin(Stdio::null());
        checked(args, code, command.output().unwrap())
    }

    /// Runs a command with `--json` and gives its document.
    pub fn json(&self, args: &[&str], code: i32) -> Value {
        self.run(&[args, &["--json"]].concat(), code).json()
    }

    /// Starts the node, and waits until it is ready.
    pub fn up(&self) -> Running {
        let ready = self.path("ready.json");
        let _ = std::fs::remove_file(&ready);
        let args = ["up", "--http", "127.0.0.1:0", "--listen", "/ip4/127.0.0.1/tcp/0", "--log-format", "json"];
        let mut command = self.command();
        command.args(args).arg("--ready-file").arg(&ready).arg("--home").arg(&self.home);
        let log = std::fs::File::create(self.path("up.log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let ready = until("the node is ready", || {
            assert!(child.try_wait().unwrap().is_none(), "{}", std::fs::read_to_string(self.path("up.log")).unwrap());
            std::fs::read(&ready).ok()
        });
        let ready: Value = serde_json::from_slice(&ready).unwrap();
        Running { child, ready }
    }
}

fn checked(args: &[&str], code: i32, output: Output) -> Outcome {
    let outcome = Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert_eq!(outcome.code, code, "{args:?}\n{said}\n{}", outcome.stderr);
    outcome
}

/// Looks again and again until there is something.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "still waiting until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A running node, ended when it is let go.
pub struct Running {
    child: Child,
    pub ready: Value,
}

impl Running {
    /// Ends it in order, and gives its exit code and what it said on standard output.
    pub fn stop(mut self) -> (i32, String) {
        assert!(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success());
        let status = until("the node ends", || self.child.try_wait().unwrap());
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        (status.code().unwrap_or(-1), said)
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Where it answers HTTP.
    pub fn http(&self) -> Http {
        let address = self.ready["http"].as_str().unwrap().strip_prefix("http://").unwrap();
        Http { address: address.to_string() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// HTTP/1.1 over TCP, one request on one connection.
pub struct Http {
    address: String,
}

/// What was answered.
pub struct Answer {
    pub status: u16,
    /// The head, in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// Requires a problem document with this status and reason.
    pub fn problem(&self, status: u16, reason: &str) -> Value {
        let json = self.json();
        assert_eq!((self.status, json["reason"].as_str()), (status, Some(reason)), "{json}");
        assert!(self.head.contains("content-type: application/problem+json"), "{}", self.head);
        assert_eq!(json["status"], status);
        assert_eq!(json["type"], format!("urn:plumbline:problem:{reason}"));
        json
    }
}

impl Http {
    pub fn get(&self, path: &str, token: Option<&str>) -> Answer {
        self.send("GET", path, token, &[], None)
    }

    pub fn post(&self, path: &str, token: Option<&str>, body: &Value) -> Answer {
        let body = body.to_string();
        self.send("POST", path, token, &[("content-type", "application/json")], Some(body.as_bytes()))
    }

    pub fn send(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: node\r\nconnection: close\r\n");
        if let Some(token) = token {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body = body.unwrap_or_default();
        head += &format!("content-length: {}\r\n\r\n", body.len());
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // A body that is refused may not be read to its end.
        let _ = stream.write_all(body);
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let at = all.windows(4).position(|w| w == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8(all[..at].to_vec()).unwrap().to_lowercase();
        let status = head[9..12].parse().unwrap();
        let body =
            if head.contains("transfer-encoding: chunked") { unchunk(&all[at + 4..]) } else { all[at + 4..].to_vec() };
        Answer { status, head, body }
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|w| w == b"\r\n") {
        let len = usize::from_str_radix(std::str::from_utf8(&rest[..at]).unwrap().trim(), 16).unwrap();
        if len == 0 {
            break;
        }
        body.extend_from_slice(&rest[at + 2..at + 2 + len]);
        rest = &rest[at + 4 + len..];
    }
    body
}

/// Permission bits of a file.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
