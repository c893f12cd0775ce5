//! Strangers at the doors: noise, bombs and slow callers. The node stays well, and who is not certified stays outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use plumb_tests::{Home, Http, Organisation, Rng, RunningNode, hits, list, text, until};
use serde_json::{Value, json};
use tempfile::TempDir;

const PERSON: &str = "person-guard";
/// Callers that hold a connection open and say almost nothing.
const SLOW_CALLERS: usize = 200;

#[test]
fn noise_at_the_doors_changes_nothing() {
    let mut rng = Rng::announced("--test hostile noise");
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Fort").node(scratch.path(), "gate", PERSON);
    let file = scratch.path().join("note.md");
    std::fs::write(&file, "# Note\n\nThe drawbridge is raised at dusk.\n").unwrap();
    home.ok(&["ingest".as_ref(), file.as_os_str()]);
    let mut node = RunningNode::start(&home, &[]);
    let memory = resident_kib(node.pid());

    let (tcp, udp) = ports(&node);
    for round in 0..60 {
        let length = 1 + rng.below(4096) as usize;
        let noise = rng.bytes(length);
        shout(&format!("127.0.0.1:{tcp}"), &noise);
        shout(node.http_addr(), &noise);
        // What libp2p begins with, followed by a length that claims the world.
        shout(&format!("127.0.0.1:{tcp}"), b"\x13/multistream/1.0.0\n\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&noise[..length.min(1200)], ("127.0.0.1", udp)).unwrap();
        assert!(node.is_alive(), "after round {round}");
    }
    for request in [
        &b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: ",
    ] {
        let reply = shout(node.http_addr(), request);
        assert!(!reply.starts_with("HTTP/1.1 200") || !reply.contains("root:"), "{reply}");
    }
    assert_well(&node, &home);
    let grown = resident_kib(node.pid()).saturating_sub(memory);
    assert!(grown < 200 * 1024, "the node grew by {grown} KiB");
    assert!(!node.log().contains("panicked"), "{}", node.log());
    assert!(node.stop().success());
}

#[test]
fn oversized_and_slow_requests_are_bounded() {
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Fort").node(scratch.path(), "gate", PERSON);
    let file = scratch.path().join("note.md");
    std::fs::write(&file, "# Note\n\nThe drawbridge is raised at dusk.\n").unwrap();
    home.ok(&["ingest".as_ref(), file.as_os_str()]);
    let node = RunningNode::start(&home, &[]);
    let http = node.http(PERSON);

    // No token, a wrong one, and a body that is no JSON: each its own answer.
    let anonymous = Http::new(node.http_addr(), None);
    assert_eq!(anonymous.post("/v1/search", &json!({"query": "drawbridge"})).status, 401);
    assert_eq!(Http::new(node.http_addr(), Some("nonsense")).get("/v1/notices").status, 401);
    let refused = http.send("POST", "/v1/search", Some(b"{\"query\": ")).unwrap();
    assert_eq!(refused.status, 400);
    assert!(text(&refused.json(), "/reason").len() > 3, "a problem document");
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(http.send("POST", "/v1/search", Some(deep.as_bytes())).unwrap().status, 400);

    // 200 MB are refused long before they are read. The node may hang up in the middle of them.
    let huge = vec![b' '; 200 << 20];
    if let Ok(response) = http.send("POST", "/v1/search", Some(&huge)) {
        assert_eq!(response.status, 413, "{}", response.head);
    }
    drop(huge);

    let slow: Vec<TcpStream> = (0..SLOW_CALLERS)
        .filter_map(|_| {
            let mut stream = http.connect().ok()?;
            stream.write_all(b"POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n").ok()?;
            Some(stream)
        })
        .collect();
    assert_well(&node, &home);
    // A caller who never ends the request is sent away.
    let mut first = slow.into_iter().next().expect("a connection was taken");
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reply = Vec::new();
    assert!(first.read_to_end(&mut reply).is_ok(), "the node hangs up within a minute");
    assert_well(&node, &home);
    assert!(node.stop().success());
}

#[test]
fn who_is_not_certified_under_a_trusted_root_stays_outside() {
    let scratch = TempDir::new().unwrap();
    let fort = Organisation::found(scratch.path(), "Fort");
    let inside = fort.node(scratch.path(), "gate", PERSON);
    let file = scratch.path().join("note.md");
    std::fs::write(&file, "# Note\n\nThe drawbridge is raised at dusk.\n").unwrap();
    inside.ok(&["ingest".as_ref(), file.as_os_str(), "--sensitivity".as_ref(), "public".as_ref()]);
    // The stranger trusts the fort; the fort has never heard of the stranger's organisation.
    let strangers = Organisation::found(scratch.path(), "Strangers");
    let stranger = strangers.node(scratch.path(), "road", "person-stranger");
    stranger.trust(&fort);
    let gate = RunningNode::start(&inside, &[]);
    let road = RunningNode::start(&stranger, &[&gate]);

    until("the gate has refused the stranger", Duration::from_secs(60), || {
        let peers = inside.ok(&["peers", "list"]);
        list(&peers, "/peers").iter().any(|p| p["state"] == "refused")
    });
    let peers = inside.ok(&["peers", "list"]);
    assert!(list(&peers, "/peers").iter().all(|p| p["state"] != "admitted"), "{peers:#}");
    let found = stranger.ok(&["search", "drawbridge", "--peers"]);
    assert_eq!(hits(&found), &[] as &[Value], "not even what is public is told to who was not admitted");
    assert_eq!(hits(&inside.ok(&["search", "drawbridge"])).len(), 1);

    // Trust from both sides opens the door.
    inside.trust(&strangers);
    inside.run(&["peers", "connect", &road.addresses()[0]]);
    gate.await_peers(1);
    road.await_peers(1);
    assert_eq!(hits(&stranger.ok(&["search", "drawbridge", "--peers"])).len(), 1);
}

#[test]
fn who_has_no_certificate_does_not_come_up() {
    let scratch = TempDir::new().unwrap();
    let home = Home::join(scratch.path(), "Nobody", "nowhere", "person-nobody");
    let outcome = home.run(&["up", "--http", "127.0.0.1:0", "--listen", "/ip4/127.0.0.1/tcp/0"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains("no certificate"), "{outcome}");
}

/// Says something at a TCP port and gives what comes back until the other side hangs up or says nothing more.
fn shout(addr: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).expect("the port is open");
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // The other side may hang up at any moment; that is what this is about.
    let _ = stream.write_all(bytes);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

/// The ports of the node's TCP and QUIC addresses.
fn ports(node: &RunningNode) -> (u16, u16) {
    let addresses = node.addresses();
    let port = |protocol: &str| {
        let behind = addresses.iter().find_map(|a| a.split_once(protocol)).expect("the node listens on it").1;
        behind.split('/').next().and_then(|p| p.parse().ok()).expect("an address has a port")
    };
    (port("/tcp/"), port("/udp/"))
}

#[track_caller]
fn assert_well(node: &RunningNode, home: &Home) {
    let ready = Http::new(node.http_addr(), None).get("/health/ready");
    assert_eq!(ready.status, 200, "{}", ready.head);
    assert_eq!(hits(&home.ok(&["search", "drawbridge"])).len(), 1);
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
