//! What an operator sees of peers that are not there, and what becomes of those that were blocked.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plumb_tests::{Http, Organisation, RunningNode, count, list, text, until, until_some};
use serde_json::Value;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(90);

fn status(node: &RunningNode) -> Value {
    node.home.ok(&["peers", "status"])
}

fn peer<'a>(status: &'a Value, did: &str) -> Option<&'a Value> {
    list(status, "/peers").iter().find(|peer| peer["node"] == did)
}

/// The part of an address that says where, without who.
fn place(address: &str) -> &str {
    address.split("/p2p/").next().unwrap()
}

#[test]
fn status_says_of_each_peer_why_it_is_not_reached() {
    let scratch = TempDir::new().unwrap();
    let (fort, strangers) =
        (Organisation::found(scratch.path(), "Fort"), Organisation::found(scratch.path(), "Strangers"));
    let gate = fort.node(scratch.path(), "gate", "person-guard");
    let tower = fort.node(scratch.path(), "tower", "person-watch");
    let bridge = fort.node(scratch.path(), "bridge", "person-keeper");
    let road = strangers.node(scratch.path(), "road", "person-stranger");
    let (tower, bridge) = (RunningNode::start(&tower, &[]), RunningNode::start(&bridge, &[]));
    let road = RunningNode::start(&road, &[]);
    let did = |node: &RunningNode| text(&node.ready, "/node").to_string();
    let (tower_did, bridge_did, road_did) = (did(&tower), did(&bridge), did(&road));
    let tower_at = tower.addresses()[0].clone();
    // The bridge's name at the tower's address; and a port at which nobody is.
    let bridge_name = bridge.addresses()[0].rsplit("/p2p/").next().unwrap().to_string();
    let wrong = format!("{}/p2p/{bridge_name}", place(&tower_at));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = format!("/ip4/127.0.0.1/tcp/{closed}");
    let bootstrap = [tower_at.clone(), wrong.clone(), nobody.clone(), road.addresses()[0].clone()];
    let listen = ["/ip4/127.0.0.1/tcp/0".to_string()];
    let mut gate = RunningNode::launch_at(&gate, None, &listen, &bootstrap);
    gate.ready = gate.await_ready();

    let seen = until_some("everybody is accounted for", PATIENCE, || {
        let seen = status(&gate);
        let is_known = peer(&seen, &tower_did).is_some_and(|p| p["admitted"] == true && !p["log_age_ms"].is_null())
            && peer(&seen, &bridge_did).is_some_and(|p| !p["reason"].is_null())
            && peer(&seen, &road_did).is_some_and(|p| p["state"] == "refused")
            && list(&seen, "/unanswered").iter().any(|tried| !tried["reason"].is_null());
        is_known.then_some(seen)
    });
    let of_tower = peer(&seen, &tower_did).unwrap();
    assert_eq!((text(of_tower, "/organisation"), count(of_tower, "/score")), ("Fort", 100));
    assert_eq!(of_tower["connected"], true);
    assert!(list(of_tower, "/tried")[0]["next_try_ms"].is_null(), "nobody dials who is there: {of_tower:#}");
    let of_bridge = peer(&seen, &bridge_did).unwrap();
    assert_eq!((text(of_bridge, "/reason"), text(of_bridge, "/state")), ("wrong_key", "away"));
    let tried = &list(of_bridge, "/tried")[0];
    assert_eq!(text(tried, "/address"), wrong);
    assert!(text(tried, "/last_error").contains("another peer answers there"), "{tried}");
    assert!(count(tried, "/failures") >= 1 && tried["next_try_ms"].is_u64(), "{tried}");
    let of_road = peer(&seen, &road_did).unwrap();
    assert_eq!(text(of_road, "/reason"), "unknown_root");
    assert!(text(of_road, "/detail").contains("plumb trust add"), "it says what to do: {of_road:#}");
    let unanswered = list(&seen, "/unanswered");
    assert_eq!(
        (text(&unanswered[0], "/address"), text(&unanswered[0], "/reason")),
        (nobody.as_str(), "connection_refused")
    );

    // Over HTTP it is the same, for whoever has a token.
    assert_eq!(Http::new(gate.http_addr(), None).get("/v1/peers").status, 401);
    let over_http = gate.http("person-guard").get("/v1/peers").expect(200);
    assert_eq!(peer(&over_http, &bridge_did).unwrap()["reason"], "wrong_key");
    let spelled = gate.home.run(&["peers", "status", tower_did.as_str()]);
    assert_eq!(spelled.expect(0)["node"], tower_did);

    // The tower goes. It is said why it is away, how old its log is here, and the log does not fill with it.
    assert!(tower.stop().success());
    let away = until_some("the tower is away", PATIENCE, || {
        let seen = status(&gate);
        let of_tower = peer(&seen, &tower_did)?.clone();
        let failures = list(&of_tower, "/tried")[0]["failures"].as_u64()?;
        (of_tower["connected"] == false && 4 <= failures).then_some(of_tower)
    });
    assert_eq!(text(&away, "/reason"), "connection_refused");
    assert!(away["log_age_ms"].is_u64() && count(&away, "/log_size") >= 1);
    let failures = count(&list(&away, "/tried")[0], "/failures");
    let lines =
        gate.log().lines().filter(|line| line.contains("not reached") && line.contains(&tower_at)).count() as u64;
    assert!(1 <= lines && lines <= u64::from(failures.ilog2()) + 2, "{lines} lines for {failures} failures");
}

#[test]
fn a_blocked_peer_stays_out_over_a_restart_until_it_is_let_in() {
    let scratch = TempDir::new().unwrap();
    let fort = Organisation::found(scratch.path(), "Fort");
    let gate = fort.node(scratch.path(), "gate", "person-guard");
    let tower = fort.node(scratch.path(), "tower", "person-watch");
    let gate = RunningNode::start(&gate, &[]);
    let tower = RunningNode::start(&tower, &[&gate]);
    gate.await_peers(1);
    let did = text(&tower.ready, "/node").to_string();

    gate.home.ok(&["peers", "block", did.as_str()]);
    let is_out = |gate: &RunningNode| {
        peer(&status(gate), &did).is_some_and(|p| p["state"] == "blocked" && p["connected"] == false)
    };
    until("the tower is out", PATIENCE, || is_out(&gate));
    // Again at the same addresses, where the tower goes on trying; and with the tower among its own bootstrap peers.
    let (home, listen) = (gate.home.clone(), gate.addresses().iter().map(|a| place(a).to_string()).collect::<Vec<_>>());
    assert!(gate.stop().success());
    let mut gate = RunningNode::launch_at(&home, None, &listen, &tower.addresses());
    gate.ready = gate.await_ready();
    let seen = status(&gate);
    assert_eq!(text(peer(&seen, &did).unwrap(), "/reason"), "blocked");
    // Its own re-dials come to nothing, and it says so.
    let gate_did = text(&gate.ready, "/node").to_string();
    until("the tower does not get in", PATIENCE, || {
        peer(&status(&tower), &gate_did).is_some_and(|p| p["connected"] == false && !p["reason"].is_null())
    });
    assert!(is_out(&gate));
    let audit = gate.home.ok(&["audit", "list", "--limit", "50"]).to_string();
    assert!(audit.contains("peer.block"), "{audit}");

    gate.home.ok(&["peers", "unblock", did.as_str()]);
    gate.home.ok(&["peers", "connect", tower.addresses()[0].as_str()]);
    gate.await_peers(1);
}
