//! A node as a process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::home::{bare, inside};
use crate::process::wait;
use crate::{Home, Http, until_some, view};

/// Longest that a node may take until it says that it is ready, and until it has ended after SIGTERM.
const START_TIME: Duration = Duration::from_secs(60);
const STOP_TIME: Duration = Duration::from_secs(30);

/// A running node. It is killed when this is dropped.
#[derive(Debug)]
pub struct RunningNode {
    /// Its home.
    pub home: Home,
    /// What it said when it was ready.
    pub ready: Value,
    child: Child,
    log: PathBuf,
}

impl RunningNode {
    /// Starts the node of a home and waits until it is ready. It dials `peers` on its own.
    pub fn start(home: &Home, peers: &[&RunningNode]) -> RunningNode {
        let mut node = RunningNode::launch(home, peers);
        node.ready = node.await_ready();
        node
    }

    /// Starts the process without waiting.
    pub fn launch(home: &Home, peers: &[&RunningNode]) -> RunningNode {
        let listen = ["/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"].map(str::to_string);
        let bootstrap: Vec<String> = peers.iter().flat_map(|peer| peer.addresses()).collect();
        RunningNode::launch_at(home, None, &listen, &bootstrap)
    }

    /// Starts the process without waiting: in a network namespace if one is named, and at these addresses.
    pub fn launch_at(home: &Home, namespace: Option<&str>, listen: &[String], bootstrap: &[String]) -> RunningNode {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        let name = home.dir.file_name().expect("a home has a name").to_string_lossy().into_owned();
        let log = home.scratch().join(format!("{name}.{start}.log"));
        let ready_file = home.scratch().join(format!("{name}.{start}.ready"));
        let output = File::create(&log).expect("a log can be written");
        let mut command = match namespace {
            None => bare(home.scratch()),
            Some(namespace) => inside(namespace, home.scratch()),
        };
        command.arg("up").arg("--home").arg(&home.dir).arg("--ready-file").arg(&ready_file);
        command.args(["--http", "127.0.0.1:0"]);
        for (flag, addresses) in [("--listen", listen), ("--bootstrap", bootstrap)] {
            for address in addresses {
                command.arg(flag).arg(address);
            }
        }
        command.stdin(Stdio::null()).stdout(output.try_clone().expect("a file has a second handle")).stderr(output);
        let child = command.spawn().expect("the node can be started");
        RunningNode { home: home.clone(), ready: Value::Null, child, log: ready_file.with_extension("log") }
    }

    /// Waits until the node has said that it is ready.
    pub fn await_ready(&mut self) -> Value {
        let file = self.log.with_extension("ready");
        until_some("the node is ready", START_TIME, || {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                panic!("the node ended with {status} before it was ready:\n{}", self.log());
            }
            serde_json::from_slice(&std::fs::read(&file).ok()?).ok()
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything that it wrote to its log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Its address for HTTP, as host and port.
    pub fn http_addr(&self) -> &str {
        view::text(&self.ready, "/http").trim_start_matches("http://").trim_end_matches('/')
    }

    /// Speaks HTTP with it as this person.
    pub fn http(&self, person: &str) -> Http {
        let made = self.home.ok(&["token", "create", "--person", person, "--label", "tests"]);
        Http::new(self.http_addr(), Some(view::text(&made, "/token")))
    }

    /// Its addresses for peers.
    pub fn addresses(&self) -> Vec<String> {
        view::list(&self.ready, "/p2p").iter().map(|a| a.as_str().expect("an address is text").to_string()).collect()
    }

    /// Whether the process is alive.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_none()
    }

    /// Waits until so many peers are admitted.
    #[track_caller]
    pub fn await_peers(&self, n: usize) {
        crate::until(&format!("{} has {n} peers", self.home.dir.display()), Duration::from_secs(60), || {
            let view = self.home.ok(&["peers", "list"]);
            view::list(&view, "/peers").iter().filter(|p| p["state"] == "admitted").count() >= n
        });
    }

    /// Ends it with SIGTERM and requires that it ends by itself.
    pub fn stop(mut self) -> ExitStatus {
        self.terminate()
    }

    /// Ends it with SIGTERM and starts it again in the same home. Gives how the former life ended.
    pub fn restart(&mut self, peers: &[&RunningNode]) -> ExitStatus {
        let status = self.terminate();
        *self = RunningNode::start(&self.home, peers);
        status
    }

    fn terminate(&mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("our child can be signalled");
        match wait(&mut self.child, STOP_TIME) {
            Some(status) => status,
            None => panic!("the node ignored SIGTERM for {STOP_TIME:?}:\n{}", self.log()),
        }
    }

    /// Ends it with SIGKILL, as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().expect("our child can be killed");
        self.child.wait().expect("a killed child can be waited for");
    }

    /// Where its home lies.
    pub fn dir(&self) -> &Path {
        &self.home.dir
    }
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!("--- end of the log of {}", self.home.dir.display());
            tail.iter().rev().for_each(|line| eprintln!("{line}"));
        }
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
