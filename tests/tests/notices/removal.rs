//! A removal is one node's own affair: it tells nobody, and takes nobody's word away. Who may remove is who brought it in.

use plumb_tests::{Home, Organisation, RunningNode, text};
use tempfile::TempDir;

use super::{Pair, await_state, did, found, retract, seal, take_in};

const ABOUT: &str = "corrin gauge read metres dawn";

#[test]
fn what_was_removed_at_home_can_still_be_taken_back_abroad() {
    let pair = Pair::begin();
    let at = pair.scratch.path();
    let (home, away) = (&pair.publisher.home, &pair.importer.home);
    let file = take_in(home, at, "corrin");
    let (bundle, car) = seal(home, at, "corrin");
    away.ok(&["bundle", "import", car.to_str().unwrap()]);
    super::until("the publisher hears that it is held", super::NOTICE_TIME, || {
        let would = home.ok(&["sources", "remove", "corrin.md", "--dry-run"]);
        would[0]["holders"].as_array().unwrap().iter().any(|holder| holder == &did(&pair.importer))
    });

    let removed = home.ok(&["sources", "remove", "corrin.md"]);
    let source = text(&removed, "/0/source").to_string();
    assert_eq!(removed[0]["answers"], serde_json::json!([bundle]));
    assert!(found(home, ABOUT, "corrin").is_empty());
    assert!(!found(away, ABOUT, "corrin").is_empty(), "others hear nothing of it");
    // What the saved answer cites stays, and the answer says what became of its source.
    home.run(&["bundle", "verify", car.to_str().unwrap()]).expect(0);
    let said = home.ok(&["answers", "show", &bundle]).to_string();
    assert!(said.contains("was removed from this node"), "{said}");

    let notice = retract(home, &source, "retraction", &[]);
    await_state(home, &notice, &did(&pair.importer), "acknowledged");
    assert!(found(away, ABOUT, "corrin").is_empty());
    let again = home.run(&["ingest", file.to_str().unwrap()]).expect(7);
    assert!(text(&again, "/refused/0/reason").contains(&notice), "its text is still known: {again:#}");
}

#[test]
fn who_brought_it_in_and_the_operator_may_remove_it_and_nobody_else_learns_of_it() {
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Halden").node(scratch.path(), "hydrology", "person-noor-vasquell");
    home.add_person("person-lin-okafor", &["hydrology"]);
    take_in(&home, scratch.path(), "corrin");
    let secret = scratch.path().join("secret.md");
    std::fs::write(&secret, "The reserve key lies under the third stone of the weir.\n").unwrap();
    let more = ["--scope", "personal:person-noor-vasquell", "--sensitivity", "restricted"];
    home.ok(&[&["ingest", secret.to_str().unwrap()][..], &more].concat());
    let cid = |home: &Home, name: &str| text(&home.ok(&["sources", name]), "/0/cid").to_string();
    let (open, hidden) = (cid(&home, "corrin.md"), cid(&home, "secret.md"));
    let node = RunningNode::start(&home, &[]);
    let delete = |person: &str, name: &str| node.http(person).send("DELETE", &format!("/v1/sources/{name}"), None);

    assert_eq!(delete("person-lin-okafor", &open).unwrap().status, 403);
    let absent = "bafyreidykglsfhoixmivffc5uwhcgshx4j465xwqntbmu43nb2dzqwfvae";
    let (of_hidden, of_absent) =
        (delete("person-lin-okafor", &hidden).unwrap(), delete("person-lin-okafor", absent).unwrap());
    assert_eq!((of_hidden.status, of_absent.status), (404, 404));
    let told = |response: &plumb_tests::Response, name: &str| response.json().to_string().replace(name, "NAME");
    assert_eq!(told(&of_hidden, &hidden), told(&of_absent, absent), "what may not be known of is as good as absent");
    assert_eq!(delete("person-lin-okafor", "no-cid").unwrap().status, 404);

    let removed = delete("person-noor-vasquell", &hidden).unwrap().expect(200);
    assert_eq!(removed["source"], hidden.as_str());
    assert_eq!(delete("person-noor-vasquell", &hidden).unwrap().status, 404, "once is enough");
}
