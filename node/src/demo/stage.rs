//! Where the story plays: homes, running nodes, and the commands that are run in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

use super::report::Report;
use crate::passphrase::make_passphrase;
use crate::process::{Outcome, Running, finish, head, json_of, poll, this_program};

/// Longest that a notice or a peer may take to arrive.
const READY_TIME: Duration = Duration::from_secs(60);

/// A node of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Northwater's operations.
    Operations,
    /// Northwater's laboratory.
    Laboratory,
    /// Halden's hydrology.
    Hydrology,
}

impl Node {
    /// All of them.
    pub const ALL: [Node; 3] = [Node::Operations, Node::Laboratory, Node::Hydrology];

    /// Its department, which is also the name of its home.
    pub const fn department(self) -> &'static str {
        match self {
            Node::Operations => "operations",
            Node::Laboratory => "laboratory",
            Node::Hydrology => "hydrology",
        }
    }

    /// Its organisation.
    pub const fn organisation(self) -> &'static str {
        match self {
            Node::Operations | Node::Laboratory => "Northwater",
            Node::Hydrology => "Halden Institute",
        }
    }

    /// For whom commands in its home ask.
    pub const fn person(self) -> &'static str {
        match self {
            Node::Operations => "person-tomas-brandvold",
            Node::Laboratory => "person-ilse-kerrigan",
            Node::Hydrology => "person-noor-vasquell",
        }
    }

    /// How its home is called in what is printed.
    const fn variable(self) -> &'static str {
        match self {
            Node::Operations => "$OPERATIONS",
            Node::Laboratory => "$LABORATORY",
            Node::Hydrology => "$HYDROLOGY",
        }
    }
}

/// The stage. When it is dropped its nodes are ended.
pub struct Stage {
    root: PathBuf,
    program: PathBuf,
    running: BTreeMap<Node, Running>,
    starts: u32,
    interrupted: Arc<AtomicBool>,
    report: Report,
}

impl Stage {
    /// Sets the stage in a folder: the documents are laid out, nothing runs.
    pub fn set(root: PathBuf, report: Report, interrupted: Arc<AtomicBool>) -> anyhow::Result<Stage> {
        let program = std::env::current_exe().context("this program does not know its own file")?;
        super::documents::write_below(&root.join("documents"))?;
        for folder in ["elsewhere", "logs"] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        let homes = Node::ALL.map(|node| {
            format!("  {:<12} the home of {}, {}", node.variable(), node.organisation(), node.department())
        });
        report.open(&[
            "Three nodes of two organisations, as processes on this machine. Every command is real; its".into(),
            "answers are read with --json.".into(),
            String::new(),
            format!("  {:<12} {}", "$DEMO", root.display()),
        ])?;
        report.open(&homes)?;
        Ok(Stage { root, program, running: BTreeMap::new(), starts: 0, interrupted, report })
    }

    /// Ends what still runs and gives the report back.
    pub fn close(self) -> Report {
        drop(self.running);
        self.report
    }

    /// Begins a step.
    pub fn step(&mut self, title: &'static str, why: &'static str) -> anyhow::Result<()> {
        self.report.step(title, why)
    }

    /// Shows a value.
    pub fn value(&mut self, name: &str, value: impl std::fmt::Display) -> anyhow::Result<()> {
        self.report.value(name, &value.to_string())
    }

    /// Checks what the step is to show.
    pub fn shows(&mut self, what: &str, holds: bool) -> anyhow::Result<()> {
        self.report.shows(what, holds)
    }

    /// The home of a node.
    pub fn home(&self, node: Node) -> PathBuf {
        self.root.join(node.department())
    }

    /// A path below the stage's folder, as an argument.
    pub fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// Runs a command in the home of a node, shows it, and requires one of these exit codes.
    pub fn plumb(&mut self, node: Node, args: &[&str], codes: &[i32]) -> anyhow::Result<Value> {
        self.announce(&[args, &["--home", &self.home(node).display().to_string()]].concat(), "")?;
        let outcome = self.run(Some(node), args)?;
        self.judge(&outcome, codes)?;
        json_of(&outcome)
    }

    /// Runs a command in an empty folder, without a home, and requires this exit code.
    pub fn plumb_elsewhere(&mut self, args: &[&str], code: i32) -> anyhow::Result<Outcome> {
        self.announce(args, "cd $DEMO/elsewhere && ")?;
        let outcome = self.run(None, args)?;
        self.judge(&outcome, &[code])?;
        Ok(outcome)
    }

    /// Asks a node without showing the command: for what is looked at again and again until it comes to pass.
    pub fn peek(&self, node: Node, args: &[&str]) -> anyhow::Result<Value> {
        json_of(&self.run(Some(node), args)?)
    }

    /// Shows a command, and then asks again and again until what is wanted has come to pass.
    pub fn await_in<T>(
        &mut self,
        node: Node,
        args: &[&str],
        what: &str,
        mut wanted: impl FnMut(&Value) -> Option<T>,
    ) -> anyhow::Result<T> {
        self.announce(&[args, &["--home", &self.home(node).display().to_string()]].concat(), "")?;
        let found = poll(what, READY_TIME, &self.interrupted, || Ok(wanted(&self.peek(node, args)?)))?;
        self.report.exited(0)?;
        Ok(found)
    }

    /// Adds lines to a file as a person would with an editor.
    pub fn append(&mut self, file: &Path, lines: &str) -> anyhow::Result<()> {
        use std::io::Write;
        let shown = self.short(&file.display().to_string());
        self.report.command(&format!("cat >> {shown} <<END"))?;
        lines.lines().chain(["END"]).try_for_each(|line| self.report.typed(line))?;
        let open = std::fs::OpenOptions::new().append(true).open(file);
        open.and_then(|mut file| write!(file, "\n{lines}\n"))
            .with_context(|| format!("{} cannot be written", file.display()))?;
        self.report.exited(0)
    }

    /// Makes up a passphrase and writes it into a file that only its owner reads. Gives the file, as an argument.
    pub fn secret(&mut self, name: &str) -> anyhow::Result<String> {
        let file = make_passphrase(&self.root.join(name))?;
        self.value("passphrase", format!("a random one, in {}", self.short(&file)))?;
        Ok(file)
    }

    /// Starts a node that dials these addresses, and waits until it is ready. Gives its process and what it said.
    pub fn start(&mut self, node: Node, bootstrap: &[String]) -> anyhow::Result<(u32, Value)> {
        self.starts += 1;
        let name = format!("logs/{}-{}", self.starts, node.department());
        let (log, ready) = (self.root.join(format!("{name}.log")), self.root.join(format!("{name}.ready")));
        let mut args: Vec<String> =
            ["up", "--http", "127.0.0.1:0", "--listen", "/ip4/127.0.0.1/tcp/0"].map(str::to_string).into();
        args.extend(["--listen".into(), "/ip4/127.0.0.1/udp/0/quic-v1".into()]);
        args.extend(bootstrap.iter().flat_map(|address| ["--bootstrap".to_string(), address.clone()]));
        args.extend(["--home".into(), self.home(node).display().to_string()]);
        self.announce(&args.iter().map(String::as_str).collect::<Vec<_>>(), "")?;

        let mut command = self.command();
        command.args(&args);
        let (running, said) = Running::start_node(command, &log, &ready, &self.interrupted)?;
        let pid = running.pid();
        self.running.insert(node, running);
        self.report.exited(0)?;
        Ok((pid, said))
    }

    /// Ends a node in order, and gives its process and its exit code.
    pub fn stop(&mut self, node: Node) -> anyhow::Result<(u32, i32)> {
        let running = self.running.remove(&node).ok_or_else(|| anyhow!("{node:?} does not run"))?;
        let pid = running.pid();
        self.report.command(&format!("kill -TERM {pid}"))?;
        let status = running.stop()?;
        self.report.exited(0)?;
        Ok((pid, status.code().unwrap_or(-1)))
    }

    /// Shows a command as a person would type it.
    fn announce(&mut self, args: &[&str], before: &str) -> anyhow::Result<()> {
        let words: Vec<String> = args.iter().map(|arg| quoted(&self.short(arg))).collect();
        self.report.command(&format!("{before}plumb {}", words.join(" ")))
    }

    /// Folders of the stage by their short names.
    fn short(&self, text: &str) -> String {
        let homes = Node::ALL.iter().fold(text.to_string(), |text, node| {
            text.replace(&self.home(*node).display().to_string(), node.variable())
        });
        homes.replace(&self.root.display().to_string(), "$DEMO")
    }

    fn run(&self, node: Option<Node>, args: &[&str]) -> anyhow::Result<Outcome> {
        let mut command = self.command();
        command.args(args);
        if let Some(node) = node {
            command.arg("--home").arg(self.home(node));
        }
        command.arg("--json");
        finish(command, &self.interrupted)
    }

    fn command(&self) -> Command {
        this_program(&self.program, &self.root.join("elsewhere"))
    }

    fn judge(&mut self, outcome: &Outcome, codes: &[i32]) -> anyhow::Result<()> {
        self.report.exited(outcome.code)?;
        if codes.contains(&outcome.code) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&outcome.stdout);
        let said = if outcome.stderr.trim().is_empty() { &said } else { outcome.stderr.as_str() };
        bail!("a command ended with exit code {} and not {codes:?}: {}", outcome.code, head(said))
    }
}

/// A word as it must stand on a command line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:$=,#".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_string() } else { format!("\"{word}\"") }
}
