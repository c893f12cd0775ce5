//! Five nodes in five network namespaces, on a link with delay and loss that is cut in two and heals.
//!
//! The link is a switch among TAP devices in user space (`interop/link.py`): 150 ms in each direction, so a round trip
//! takes 300 ms, and 5 % of the frames are lost in each direction. Both sides go on working while it is cut. Nothing is
//! restarted, and in the end everybody knows every notice.
//!
//! It needs root, `/dev/net/tun`, `ip` and `python3`, and fails where they are missing. `PLUMB_NO_NETNS=1` says that this is
//! known. The cut takes half a minute, with `PLUMB_LONG=1` five.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_tests::{Home, Organisation, Rng, RunningNode, finish, list, text, until, workspace_root};
use tempfile::TempDir;

const NODES: usize = 5;
/// In each direction.
const DELAY_MS: u32 = 150;
/// Of the frames, in each direction.
const LOSS: &str = "0.05";
/// Who is on which side of the cut.
const SIDES: [&[usize]; 2] = [&[0, 1], &[2, 3, 4]];
/// How long the cut takes, and how long with `PLUMB_LONG=1`.
const CUT: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(300));
/// A step on a network with 300 ms round trips and losses, on a machine under load.
const PATIENCE: Duration = Duration::from_secs(180);
/// Lines in the log of a node, requests of this test aside, whatever the length of the cut: a first failure for each of
/// eight addresses and further ones ever more rarely, and who came and went.
const LOG_LINES_MAX: usize = 250;

/// Namespaces and the link between them. They go when this is dropped.
struct Lab {
    names: Vec<String>,
    link: Option<Child>,
    cut_file: PathBuf,
}

impl Lab {
    fn begin(scratch: &TempDir, seed: u64) -> Lab {
        let id = std::process::id();
        let mut lab = Lab { names: Vec::new(), link: None, cut_file: scratch.path().join("cut") };
        for place in 0..NODES {
            let name = format!("plumb-{id}-{place}");
            ip(&["netns", "add", &name]);
            lab.names.push(name);
        }
        let mut link = Command::new("python3");
        link.arg(workspace_root().join("tests/interop/link.py"));
        link.args(["--delay-ms", &DELAY_MS.to_string(), "--loss", LOSS, "--seed", &seed.to_string()]);
        link.arg("--cut-file").arg(&lab.cut_file);
        link.args(lab.names.iter().map(|name| format!("{name}=tap0")));
        let mut link = link.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("python3 can be run");
        let mut said = String::new();
        let stdout = link.stdout.take().expect("it is piped");
        lab.link = Some(link);
        BufReader::new(stdout).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n", "the link stands");
        for (place, name) in lab.names.iter().enumerate() {
            ip(&["-n", name, "link", "set", "lo", "up"]);
            ip(&["-n", name, "addr", "add", &format!("{}/24", address(place)), "dev", "tap0"]);
            ip(&["-n", name, "link", "set", "tap0", "up"]);
        }
        lab
    }

    fn cut(&self) {
        let side = |places: &&[usize]| places.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let beside = self.cut_file.with_extension("new");
        std::fs::write(&beside, SIDES.iter().map(side).collect::<Vec<_>>().join("|")).unwrap();
        std::fs::rename(beside, &self.cut_file).unwrap();
    }

    fn heal(&self) {
        std::fs::remove_file(&self.cut_file).unwrap();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(link) = &mut self.link {
            // Errors mean that it has ended already.
            let _ = link.kill();
            let _ = link.wait();
        }
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

#[test]
fn both_sides_of_a_partition_converge_after_it_heals() {
    if std::env::var("PLUMB_NO_NETNS").is_ok_and(|v| v == "1") {
        eprintln!("DID NOT RUN: network namespaces (PLUMB_NO_NETNS=1)");
        return;
    }
    assert_possible();
    let is_long = std::env::var("PLUMB_LONG").is_ok_and(|v| v == "1");
    let cut_for = if is_long { CUT.1 } else { CUT.0 };
    let mut rng = Rng::announced("--test netns");
    let scratch = TempDir::new().unwrap();
    let homes = homes(&scratch);
    let lab = Lab::begin(&scratch, rng.next_u64() >> 1);
    let mut nodes = start(&lab, &homes);
    let everybody = Instant::now();
    for node in &nodes {
        until(&format!("{} has admitted the others", name(node)), PATIENCE, || admitted(node) == NODES - 1);
    }
    println!("all of {NODES} nodes admitted each other within {:.1} s", everybody.elapsed().as_secs_f64());

    let mut world = World::default();
    world.retract(&nodes, 0);
    world.await_all(&nodes, &[0, 1, 2, 3, 4], PATIENCE);

    lab.cut();
    let cut_at = Instant::now();
    let (mut left, mut right) = (BTreeSet::new(), BTreeSet::new());
    let mut is_noticed = false;
    let mut rounds = 0;
    while cut_at.elapsed() < cut_for || !is_noticed {
        // One on each side publishes, and one on each side asks everybody; the other side does not answer.
        left.insert(world.retract(&nodes, rounds % 2));
        right.insert(world.retract(&nodes, 2 + rounds % 3));
        for asker in [1, 4] {
            let answer = nodes[asker].home.run(&["search", "drawbridge", "--peers"]);
            assert_eq!(answer.code, 0, "who is away does not keep the others from answering: {answer}");
        }
        is_noticed = admitted(&nodes[0]) == 1 && admitted(&nodes[4]) == 2;
        assert!(is_noticed || cut_at.elapsed() < PATIENCE, "the cut is noticed");
        rounds += 1;
    }
    // Each side is whole in itself, and knows nothing of the other's.
    world.await_these(&nodes, SIDES[0], &left, PATIENCE);
    world.await_these(&nodes, SIDES[1], &right, PATIENCE);
    assert!(notices(&nodes[1]).is_disjoint(&right) && notices(&nodes[4]).is_disjoint(&left), "the cut is real");
    // Who dials says why nobody answers; who was only ever dialled says that it waits.
    for (node, away, reasons) in [(0, 3, &["no_address"][..]), (4, 2, &["timed_out", "no_route"])] {
        let mut said = Vec::new();
        until(&format!("{} says why {away} are away", name(&nodes[node])), PATIENCE, || {
            let peers = nodes[node].home.ok(&["peers", "status"]);
            let says: Vec<_> =
                list(&peers, "/peers").iter().map(|p| format!("{} {}", p["state"], p["reason"])).collect();
            if says != said {
                println!("{}: {}", name(&nodes[node]), says.join(", "));
                said = says;
            }
            let is_so = |peer: &&serde_json::Value| {
                peer["admitted"] == false && peer["reason"].as_str().is_some_and(|reason| reasons.contains(&reason))
            };
            list(&peers, "/peers").iter().filter(is_so).count() == away
        });
    }
    let cut_took = cut_at.elapsed();

    lab.heal();
    let healed_at = Instant::now();
    world.await_all(&nodes, &[0, 1, 2, 3, 4], PATIENCE);
    let converged = healed_at.elapsed();
    for node in &nodes {
        until(&format!("{} has admitted the others again", name(node)), PATIENCE, || admitted(node) == NODES - 1);
    }
    let reconnected = healed_at.elapsed();
    println!(
        "cut for {:.0} s with {rounds} rounds of traffic on both sides, {} notices; after the heal all nodes knew all \
         of them within {:.1} s and were connected again within {:.1} s",
        cut_took.as_secs_f64(),
        world.0.len(),
        converged.as_secs_f64(),
        reconnected.as_secs_f64()
    );
    for node in &mut nodes {
        assert!(node.is_alive(), "nobody was restarted");
        let log = node.log();
        let lines: Vec<&str> = log.lines().filter(|line| !line.contains("plumb::serve::gate")).collect();
        println!("{}: {} lines of log, and {} of requests", name(node), lines.len(), log.lines().count() - lines.len());
        assert!(lines.len() <= LOG_LINES_MAX, "{}", lines.join("\n"));
        assert!(!log.contains("panicked"), "{log}");
    }
    for node in nodes {
        assert!(node.stop().success());
    }
}

/// Every notice that anybody published.
#[derive(Default)]
struct World(BTreeSet<String>);

impl World {
    /// Somebody takes in a document and takes it back. The notice.
    fn retract(&mut self, nodes: &[RunningNode], by: usize) -> String {
        let home = &nodes[by].home;
        let file = home.scratch().join(format!("note-{by}-{}.md", self.0.len()));
        let said = format!(
            "# Note {}\n\nThe drawbridge number {} is raised at dusk by gate {by}.\n",
            self.0.len(),
            self.0.len()
        );
        std::fs::write(&file, said).unwrap();
        home.ok(&["ingest".as_ref(), file.as_os_str(), "--sensitivity".as_ref(), "public".as_ref()]);
        let notice = home.ok(&["retract".as_ref(), file.as_os_str(), "--reason".as_ref(), "data_error".as_ref()]);
        let notice = text(&notice, "/notice").to_string();
        self.0.insert(notice.clone());
        notice
    }

    fn await_all(&self, nodes: &[RunningNode], places: &[usize], patience: Duration) {
        self.await_these(nodes, places, &self.0, patience);
    }

    fn await_these(&self, nodes: &[RunningNode], places: &[usize], these: &BTreeSet<String>, patience: Duration) {
        for place in places {
            let node = &nodes[*place];
            until(&format!("{} knows all notices", name(node)), patience, || these.is_subset(&notices(node)));
        }
    }
}

/// Two organisations that trust each other: one has three nodes, the other two.
fn homes(scratch: &TempDir) -> Vec<Home> {
    let at = scratch.path();
    let (fort, moat) = (Organisation::found(at, "Fort"), Organisation::found(at, "Moat"));
    let department = |place: usize| ["gate", "tower", "bridge", "bank", "weir"][place];
    (0..NODES)
        .map(|place| {
            let (own, other) = if place < 3 { (&fort, &moat) } else { (&moat, &fort) };
            let home = own.node(at, department(place), "person-guard");
            home.trust(other);
            home
        })
        .collect()
}

/// Each listens in its namespace by TCP and QUIC, and dials those before it.
fn start(lab: &Lab, homes: &[Home]) -> Vec<RunningNode> {
    let mut nodes: Vec<RunningNode> = Vec::new();
    for (place, home) in homes.iter().enumerate() {
        let at = address(place);
        let listen = [format!("/ip4/{at}/tcp/7412"), format!("/ip4/{at}/udp/7412/quic-v1")];
        let bootstrap: Vec<String> = nodes.iter().flat_map(RunningNode::addresses).collect();
        let mut node = RunningNode::launch_at(home, Some(&lab.names[place]), &listen, &bootstrap);
        node.ready = node.await_ready();
        nodes.push(node);
    }
    nodes
}

fn address(place: usize) -> String {
    format!("10.77.0.{}", place + 1)
}

fn name(node: &RunningNode) -> String {
    node.dir().file_name().unwrap().to_string_lossy().into_owned()
}

fn admitted(node: &RunningNode) -> usize {
    let peers = node.home.ok(&["peers", "list"]);
    list(&peers, "/peers").iter().filter(|peer| peer["admitted"] == true).count()
}

fn notices(node: &RunningNode) -> BTreeSet<String> {
    let notices = node.home.ok(&["notices", "list", "--limit", "1000"]);
    // Those that were applied: to have heard of one is not enough.
    let applied = list(&notices, "").iter().filter(|notice| !notice["applied"].is_null());
    applied.map(|notice| text(notice, "/notice").to_string()).collect()
}

fn ip(args: &[&str]) {
    let mut command = Command::new("ip");
    command.args(args);
    let outcome = finish(command, Duration::from_secs(20));
    assert_eq!(outcome.code, 0, "{outcome}");
}

/// A check that silently did not run is worse than none.
fn assert_possible() {
    let advice = "this test makes network namespaces and needs root, `/dev/net/tun`, `ip` (iproute2) and `python3`; \
                  PLUMB_NO_NETNS=1 goes without";
    assert!(rustix::process::geteuid().is_root(), "not root: {advice}");
    assert!(std::fs::File::options().read(true).write(true).open("/dev/net/tun").is_ok(), "no /dev/net/tun: {advice}");
    for program in [&["ip", "-V"], &["python3", "--version"]] {
        let found = Command::new(program[0]).arg(program[1]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(found.is_ok_and(|status| status.success()), "no `{}`: {advice}", program[0]);
    }
}
