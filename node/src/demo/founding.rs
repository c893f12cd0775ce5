//! The beginning and the end: organisations, nodes, documents; and everything stopped.

use serde_json::Value;

use super::stage::{Node, Stage};
use super::{asking::text, asking::texts};

/// Northwater's colleague who may not read everything.
pub const COLLEAGUE: &str = "person-mara-lindqvist";

/// Founds the organisations and certifies the nodes.
pub fn found(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Found two organisations and certify three nodes",
        "A node is let in because the root key of its organisation signed for it. Roots are pinned by people; nothing \
         is trusted because it could be reached.",
    )?;
    let passphrase = stage.secret("passphrase")?;
    let mut roots = Vec::new();
    for organisation in ["Northwater", "Halden Institute"] {
        let root = root_of(stage, organisation);
        let init = ["org", "init", organisation, "--root", &root, "--passphrase-file", &passphrase];
        let made: Value = serde_json::from_slice(&stage.plumb_elsewhere(&init, 0)?.stdout)?;
        let did = text(&made, "/organisation")?.to_string();
        stage.value("organisation", &did)?;
        roots.push((organisation, did));
    }
    for node in Node::ALL {
        let (organisation, department, person) = (node.organisation(), node.department(), node.person());
        let args = ["init", "--org", organisation, "--department", department, "--person", person, "--join"];
        let made = stage.plumb(node, &args, &[0])?;
        stage.value("node", text(&made, "/node")?)?;
        let request = stage.path(&format!("{department}/node.request.json"));
        let (root, home) = (root_of(stage, organisation), stage.path(department));
        let certify =
            ["org", "certify", &request, "--root", &root, "--install", &home, "--passphrase-file", &passphrase];
        stage.plumb_elsewhere(&certify, 0)?;
    }
    for node in Node::ALL {
        for (name, did) in roots.iter().filter(|(name, _)| *name != node.organisation()) {
            stage.plumb(node, &["trust", "add", did, "--name", name], &[0])?;
        }
    }
    let people = format!("[[people]]\nid = \"{COLLEAGUE}\"\nteams = []\ndepartments = [\"department-laboratory\"]");
    let file = stage.home(Node::Laboratory).join("plumb.toml");
    stage.append(&file, &people)?;
    for node in Node::ALL {
        let trusted = stage.peek(node, &["trust", "list"])?;
        let n = trusted.as_array().map_or(0, Vec::len);
        stage.shows(&format!("{} trusts {n} organisations: its own and the other", node.department()), n == 2)?;
    }
    Ok(())
}

/// Starts the nodes.
pub fn start(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Start the nodes and let them find each other",
        "Each is a process with a store and an index of its own. They speak libp2p over TCP and QUIC, and show each \
         other their certificates before anything else.",
    )?;
    let mut addresses: Vec<String> = Vec::new();
    for node in Node::ALL {
        let (pid, ready) = stage.start(node, &addresses)?;
        stage.value("process", pid)?;
        stage.value("http", text(&ready, "/http")?)?;
        addresses.extend(texts(&ready, "/p2p")?.first().map(ToString::to_string));
    }
    for node in Node::ALL {
        await_peers(stage, node)?;
    }
    stage.shows("each node has admitted the two others", true)
}

/// Waits until a node has admitted the two others, and shows who they are.
pub fn await_peers(stage: &mut Stage, node: Node) -> anyhow::Result<()> {
    let admitted = |view: &Value| -> Option<Vec<String>> {
        let peers = view["peers"].as_array()?.iter().filter(|p| p["state"] == "admitted");
        let name = |p: &Value| match (p["organisation"].as_str(), p["department"].as_str()) {
            (Some(organisation), Some(department)) => format!("{organisation}, {department}"),
            // What a peer has published says more of it than its key; it may have published nothing yet.
            _ => p["node"].as_str().unwrap_or_default().to_string(),
        };
        let names: Vec<String> = peers.map(name).collect();
        (names.len() == 2).then_some(names)
    };
    let peers = stage.await_in(node, &["peers", "list"], "two peers are admitted", admitted)?;
    peers.iter().try_for_each(|peer| stage.value("admitted", peer))
}

/// Ingests the documents.
pub fn ingest(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Take the documents in",
        "Every source goes through six stages and is acknowledged only when it is on the disk. Whoever brings it says \
         how sensitive it is; detectors look for secrets, personnel matters, security and business, and may only raise that.",
    )?;
    for (node, folder, sensitivity) in [
        (Node::Operations, "northwater-operations", "internal"),
        (Node::Laboratory, "northwater-laboratory", "internal"),
        (Node::Hydrology, "halden-hydrology/public", "public"),
        (Node::Hydrology, "halden-hydrology/internal", "internal"),
    ] {
        let folder = stage.path(&format!("documents/{folder}"));
        let job = stage.plumb(node, &["ingest", &folder, "--sensitivity", sensitivity], &[0])?;
        let count = |name: &str| job.pointer(name).and_then(Value::as_u64).unwrap_or(0);
        let stages = ["parse", "chunk", "enrich", "embed", "index", "quality"]
            .map(|name| format!("{name} {}", count(&format!("/stages/{name}"))));
        stage.value("stages", stages.join(" → "))?;
        stage.value("taken in", format!("{} sources, {} chunks", count("/new"), count("/chunks")))?;
        for raised in job["raised"].as_array().into_iter().flatten() {
            let name = text(raised, "/address")?.rsplit('/').next().unwrap_or_default();
            stage.value("raised", format!("{name}: {}", text(raised, "/reason")?))?;
        }
        let lost = ["parked", "refused"].iter().any(|list| job[list].as_array().is_none_or(|l| !l.is_empty()));
        stage.shows("every source came in", count("/new") > 0 && count("/new") == count("/seen") && !lost)?;
    }
    Ok(())
}

/// Stops everything.
pub fn stop(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step("Stop everything", "A node that is told to stop finishes what it has begun, flushes, and ends.")?;
    for node in Node::ALL {
        let (pid, code) = stage.stop(node)?;
        stage.shows(&format!("process {pid} ended in order"), code == 0)?;
    }
    Ok(())
}

/// Where the root key of an organisation is kept: in no node's home.
fn root_of(stage: &Stage, organisation: &str) -> String {
    let name = organisation.split(' ').next().unwrap_or(organisation).to_lowercase();
    stage.path(&format!("root-of-{name}"))
}
