//! Many nodes of one organisation as processes on this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::demo::interruption;
use crate::passphrase::make_passphrase;
use crate::process::{Running, finish, head, json_of, poll, this_program};

/// Longest that peers may take to meet, and a notice to arrive.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(180);

/// The nodes. They are ended when it is dropped, and their folder is removed.
pub struct Cluster {
    running: Vec<Running>,
    addresses: Vec<String>,
    root: tempfile::TempDir,
    program: PathBuf,
    interrupted: Arc<AtomicBool>,
}

impl Cluster {
    /// Certifies and starts `n` nodes. Each dials two that started before it, so that all hang together and no node is
    /// everybody's neighbour.
    pub fn start(n: usize, mut progress: impl FnMut(usize)) -> anyhow::Result<Cluster> {
        let root =
            tempfile::Builder::new().prefix("plumb-bench-").tempdir().context("no temporary folder can be made")?;
        let program = std::env::current_exe().context("this program does not know its own file")?;
        std::fs::create_dir(root.path().join("elsewhere"))?;
        let interrupted = interruption()?;
        let mut cluster = Cluster { running: Vec::new(), addresses: Vec::new(), root, program, interrupted };
        let passphrase = make_passphrase(cluster.path("passphrase").as_ref())?;
        cluster.elsewhere(&[
            "org",
            "init",
            "Bench",
            "--root",
            &cluster.path("root"),
            "--passphrase-file",
            &passphrase,
        ])?;
        for at in 0..n {
            cluster.add(at)?;
            progress(at + 1);
        }
        Ok(cluster)
    }

    fn add(&mut self, at: usize) -> anyhow::Result<()> {
        let (home, root) = (self.path(&home_of(at)), self.path("root"));
        let department = format!("department {at}");
        self.run(at, &["init", "--org", "Bench", "--department", &department, "--person", "bench", "--join"])?;
        let request = self.path(&format!("{}/node.request.json", home_of(at)));
        let passphrase = self.path("passphrase");
        let certify =
            ["org", "certify", &request, "--root", &root, "--install", &home, "--passphrase-file", &passphrase];
        self.elsewhere(&certify)?;
        let mut command = this_program(&self.program, &self.root.path().join("elsewhere"));
        command.args(["up", "--http", "127.0.0.1:0", "--listen", "/ip4/127.0.0.1/tcp/0", "--home", &home]);
        let before = [at.checked_sub(1), Some(at / 2).filter(|half| *half < at)];
        for address in before.into_iter().flatten().filter_map(|b| self.addresses.get(b)) {
            command.args(["--bootstrap", address]);
        }
        let (log, ready) = (self.path(&format!("{at}.log")), self.path(&format!("{at}.ready")));
        let (running, said) = Running::start_node(command, log.as_ref(), ready.as_ref(), &self.interrupted)?;
        let address = said.pointer("/p2p/0").and_then(Value::as_str).context("a node gave no address")?;
        self.addresses.push(address.to_string());
        self.running.push(running);
        Ok(())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// A path in the folder of the whole.
    pub fn path(&self, name: &str) -> String {
        self.root.path().join(name).display().to_string()
    }

    /// Runs a command in the home of a node, and gives the JSON that it prints.
    pub fn run(&self, at: usize, args: &[&str]) -> anyhow::Result<Value> {
        let home = self.path(&home_of(at));
        self.elsewhere(&[args, &["--home", &home]].concat())
    }

    /// Asks a node again and again until what is wanted has come to pass.
    pub fn wait<T>(
        &self,
        at: usize,
        args: &[&str],
        what: &str,
        wanted: impl Fn(&Value) -> Option<T>,
    ) -> anyhow::Result<T> {
        poll(what, PATIENCE, &self.interrupted, || Ok(wanted(&self.run(at, args)?)))
    }

    fn elsewhere(&self, args: &[&str]) -> anyhow::Result<Value> {
        let mut command = this_program(&self.program, &self.root.path().join("elsewhere"));
        command.args(args).arg("--json");
        let outcome = finish(command, &self.interrupted)?;
        if outcome.code != 0 {
            bail!("plumb {} ended with exit code {}: {}", args.join(" "), outcome.code, head(&outcome.stderr));
        }
        json_of(&outcome)
    }
}

fn home_of(at: usize) -> String {
    format!("home-{at}")
}
