//! A node that runs: its socket, its lock, its end.

use super::support::{Place, mode, until};

const TEXT: &str = "# Valves\n\nThe crew of Ridgefoot closes valve 12 before every storm.\n";
const QUESTION: &str = "Which valve does the crew of Ridgefoot close before a storm?";

#[test]
fn commands_go_through_the_running_node() {
    let place = Place::founded();
    let running = place.up();
    assert_eq!(mode(&place.home.join("plumb.sock")), 0o600);
    assert!(running.ready["node"].as_str().unwrap().starts_with("did:key:"));
    assert!(running.ready["p2p"][0].as_str().unwrap().starts_with("/ip4/127.0.0.1/tcp/"), "{}", running.ready);

    let file = place.write("valves.md", TEXT);
    assert_eq!(place.json(&["ingest", &file], 0)["new"], 1);
    place.run(&["ask", QUESTION], 0);
    let peers = place.json(&["peers", "list"], 0);
    assert_eq!((&peers["peers"], &peers["node"]), (&serde_json::json!([]), &running.ready["node"]));
    assert!(place.run(&["peers", "status"], 0).text().contains("listens on /ip4/127.0.0.1/tcp/"));
    assert_eq!(place.json(&["peers", "connect", "nowhere"], 2)["reason"], "invalid_request");

    let second = place.run(&["up", "--http", "127.0.0.1:0"], 8);
    assert!(second.stderr.contains("one node at a time"), "{}", second.stderr);

    let (code, said) = running.stop();
    assert_eq!(code, 0);
    assert!(said.starts_with("plumb is up: http://127.0.0.1:") && said.lines().count() == 1, "{said}");
    assert!(!place.home.join("plumb.sock").exists());
    place.run(&["ask", QUESTION], 0);
    let log = std::fs::read_to_string(place.path("up.log")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{log}");
    assert!(!log.contains("Ridgefoot"), "what is asked does not belong in a log");
}

#[test]
fn what_a_killed_node_left_behind_is_replaced() {
    let place = Place::founded();
    let running = place.up();
    let file = place.write("valves.md", TEXT);
    place.run(&["ingest", &file], 0);
    running.kill();
    assert!(place.home.join("plumb.sock").exists(), "nobody was there to take it away");
    place.run(&["ask", QUESTION], 0);
    let again = place.up();
    place.run(&["ask", QUESTION], 0);
    assert_eq!(again.stop().0, 0);
}

#[test]
fn commands_at_once_wait_for_each_other() {
    let place = Place::founded();
    let file = place.write("valves.md", TEXT);
    place.run(&["ingest", &file], 0);
    std::thread::scope(|scope| {
        let commands: Vec<_> = (0..4).map(|_| scope.spawn(|| place.run(&["ask", QUESTION], 0))).collect();
        for command in commands {
            command.join().unwrap();
        }
    });
    for socket in ["plumb.sock", "command.sock"] {
        assert!(!place.home.join(socket).exists(), "{socket} is taken away by whoever made it");
    }
}

#[test]
fn an_address_in_use_is_said() {
    let (place, other) = (Place::founded(), Place::founded());
    let running = place.up();
    let taken = running.ready["http"].as_str().unwrap().strip_prefix("http://").unwrap();
    let refused = other.run(&["up", "--http", taken], 1);
    assert!(refused.stderr.contains("cannot listen on"), "{}", refused.stderr);
    let bad = other.run(&["up", "--http", "127.0.0.1:0", "--listen", "somewhere"], 1);
    assert!(bad.stderr.contains("not a multiaddress"), "{}", bad.stderr);
}

#[test]
fn a_job_of_a_running_node_can_be_cancelled() {
    let place = Place::founded();
    let _running = place.up();
    for i in 0..300 {
        place.write(&format!("docs/{i}.md"), &format!("# Document {i}\n\nThe value of item {i} is {}.\n", i * 7));
    }
    let docs = place.path("docs").display().to_string();
    std::thread::scope(|scope| {
        let ingest = scope.spawn(|| {
            let mut command = place.command();
            command.args(["ingest", &docs, "--json", "--home"]).arg(&place.home).output().unwrap()
        });
        let id = until("the job is listed", || place.json(&["jobs", "list"], 0)[0]["id"].as_str().map(str::to_string));
        let cancelled = place.json(&["jobs", "cancel", &id], 0);
        let output = ingest.join().unwrap();
        let job: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // It may have been faster than we were; then it is done.
        let (state, code) = (job["state"].as_str().unwrap(), output.status.code().unwrap());
        assert!(matches!((state, code), ("cancelled", 1) | ("done", 0)), "{cancelled} {job}");
    });
}
