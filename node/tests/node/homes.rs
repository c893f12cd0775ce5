//! Homes, keys, organisations, configuration.

use super::support::{Place, mode};

#[test]
fn a_new_home_keeps_its_keys_to_its_owner() {
    let place = Place::empty();
    let made =
        place.json(&["init", "--org", "Northwater", "--department", "Operations", "--person", "Mara Lindqvist"], 0);
    assert_eq!(made["department"], "department-operations");
    assert_eq!(made["person"], "person-mara-lindqvist");
    assert!(made["node"].as_str().unwrap().starts_with("did:key:z6Mk"));
    assert!(made["request"].is_null());
    for (file, bits) in [("", 0o700), ("keys", 0o700), ("keys/node.key", 0o600), ("keys/organisation.key", 0o600)] {
        assert_eq!(mode(&place.home.join(file)), bits, "{file}");
    }

    let shown = place.json(&["org", "show"], 0);
    assert_eq!(shown["organisation"], made["organisation"]);
    assert_eq!(shown["root_is_here"], true);

    let key = std::fs::read(place.home.join("keys/node.key")).unwrap();
    let again = place.run(&["init", "--org", "Other", "--department", "operations"], 1);
    assert!(again.stderr.contains("already"), "{}", again.stderr);
    assert_eq!(std::fs::read(place.home.join("keys/node.key")).unwrap(), key);
}

#[test]
fn without_a_home_the_way_to_one_is_said() {
    let place = Place::empty();
    for verb in [&["ask", "x"][..], &["doctor"], &["up"], &["config", "show"]] {
        assert!(place.run(verb, 1).stderr.contains("plumb init"), "{verb:?}");
    }
    let problem = place.json(&["ask", "x"], 1);
    assert_eq!(problem["reason"], "failed");
    assert!(!place.home.exists(), "asking makes nothing");
}

#[test]
fn a_node_joins_an_organisation_whose_root_lies_elsewhere() {
    let place = Place::empty();
    let root = place.path("root").display().to_string();
    let founded = place.run_homeless(&["org", "init", "Northwater", "--out", &root, "--json"], 0).json();
    assert_eq!(mode(&place.path("root/organisation.root")), 0o600);
    let made = place.json(&["init", "--org", "Northwater", "--department", "laboratory", "--join"], 0);
    assert!(made["organisation"].is_null());
    let request = made["request"].as_str().unwrap();

    let refused = place.run(&["ask", "x"], 1);
    assert!(
        refused.stderr.contains("no certificate") && refused.stderr.contains("plumb org accept"),
        "{}",
        refused.stderr
    );

    let certificate = place.path("certificate").display().to_string();
    let signed =
        place.run_homeless(&["org", "certify", request, "--root", &root, "--out", &certificate, "--json"], 0).json();
    assert_eq!(signed["node"], made["node"]);
    assert_eq!(place.json(&["org", "accept", &certificate], 0)["organisation"], founded["organisation"]);
    assert_eq!(place.json(&["org", "show"], 0)["department"], "department-laboratory");
    place.run(&["ask", "x"], 3);
}

#[test]
fn a_certificate_that_is_not_for_this_node_is_not_installed() {
    let (place, other) = (Place::empty(), Place::empty());
    let root = place.path("root").display().to_string();
    place.run_homeless(&["org", "init", "Northwater", "--out", &root], 0);
    for place in [&place, &other] {
        place.run(&["init", "--org", "Northwater", "--department", "laboratory", "--join"], 0);
    }
    let request = place.home.display().to_string();
    let certificate = place.path("certificate").display().to_string();
    place.run_homeless(&["org", "certify", &request, "--root", &root, "--out", &certificate], 0);
    assert!(other.run(&["org", "accept", &certificate], 1).stderr.contains("this node is"));
    let other_home = other.home.display().to_string();
    assert!(
        place
            .run_homeless(&["org", "certify", &request, "--root", &root, "--install", &other_home], 1)
            .stderr
            .contains("this node is")
    );

    let strange = place.path("strange").display().to_string();
    place.run_homeless(&["org", "init", "Halden", "--out", &strange], 0);
    let refused = place.run_homeless(&["org", "certify", &request, "--root", &strange, "--install", &request], 1);
    assert!(refused.stderr.contains("asks to belong to `Northwater`"), "{}", refused.stderr);
}

#[test]
fn a_root_lies_under_a_passphrase_and_is_rotated_under_it() {
    let place = Place::empty();
    let root = place.path("root").display().to_string();
    let (right, wrong) = (place.write("right", "a long passphrase\n"), place.write("wrong", "another passphrase\n"));
    let no_terminal = place.run(&["org", "init", "Northwater", "--root", &root], 2);
    assert!(no_terminal.stderr.contains("--passphrase-file"), "{}", no_terminal.stderr);
    let short = place.write("short", "short");
    place.run(&["org", "init", "Northwater", "--root", &root, "--passphrase-file", &short], 2);
    let founded = place.json(&["org", "init", "Northwater", "--root", &root, "--passphrase-file", &right], 0);

    place.run(&["init", "--org", "Northwater", "--department", "laboratory", "--join"], 0);
    let home = place.home.display().to_string();
    let certify = ["org", "certify", &home, "--root", &root, "--install", &home, "--passphrase-file"];
    let denied = place.json(&[&certify[..], &[&wrong]].concat(), 7);
    assert_eq!(denied["reason"], "denied");
    assert!(denied["detail"].as_str().unwrap().contains("passphrase"), "{denied}");
    let terms = ["--department", "laboratory", "--capability", "search", "--capability", "later", "--valid", "90d"];
    let certified = place.json(&[&certify[..], &[&right], &terms[..]].concat(), 0);
    assert_eq!(certified["capabilities"], serde_json::json!(["search", "later"]));
    let other = place.run(&[&certify[..], &[&right, "--department", "canteen"]].concat(), 1);
    assert!(other.stderr.contains("department-laboratory"), "{}", other.stderr);

    let rotation = place.path("rotation").display().to_string();
    let rotate = ["org", "rotate", "--root", &root, "--out", &rotation, "--passphrase-file"];
    place.run(&[&rotate[..], &[&wrong]].concat(), 7);
    let rotated = place.json(&[&rotate[..], &[&right, "--new-passphrase-file", &wrong]].concat(), 0);
    assert_eq!(rotated["organisation"], founded["organisation"], "the name stays");
    assert_ne!(rotated["new"], founded["organisation"]);
    place.run(&[&rotate[..], &[&wrong]].concat(), 1);
    let shown = place.json(&["org", "show", "--root", &root, "--passphrase-file", &wrong], 0);
    assert_eq!(shown["roots"].as_array().unwrap().len(), 2);

    // The node was certified by the old root, takes the rotation up, and is certified anew under the same name.
    let taken = place.json(&["trust", "rotate", &rotation], 0);
    assert_eq!((taken["news"].clone(), taken["published"].clone()), (true.into(), true.into()));
    assert_eq!(place.json(&["trust", "import", &rotation], 0)["news"], false);
    let again = place.json(&[&certify[..], &[&wrong]].concat(), 0);
    assert_eq!(again["organisation"], founded["organisation"]);
    assert_eq!(again["capabilities"], serde_json::Value::Null);
    let own = &place.json(&["trust", "list"], 0)[0];
    assert_eq!(own["roots"].as_array().unwrap().len(), 2, "{own}");
    place.run(&["trust", "rotate", &right], 1);
}

#[test]
fn a_key_that_others_could_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::founded();
    let file = place.home.join("keys/node.key");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(place.run(&["ask", "x"], 1).stderr.contains("chmod 600"));
}

#[test]
fn each_value_says_where_it_comes_from() {
    let place = Place::founded();
    let file = place.home.join("plumb.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("# mdns = false", "mdns = true");
    std::fs::write(&file, text).unwrap();
    let shown = place
        .run_with(&["config", "show", "--json"], 0, |command| {
            command.env("PLUMB_LOG_FORMAT", "json");
        })
        .json();
    let of = |name: &str| shown["settings"].as_array().unwrap().iter().find(|s| s["name"] == name).unwrap().clone();
    assert_eq!(
        (of("federation.mdns")["value"].clone(), of("federation.mdns")["origin"].clone()),
        (true.into(), "plumb.toml".into())
    );
    assert_eq!(of("log.format")["origin"], "PLUMB_LOG_FORMAT");
    assert_eq!(of("http.listen")["origin"], "default");
    assert_eq!(shown["people"].as_array().unwrap().len(), 2);

    let text = std::fs::read_to_string(&file).unwrap().replace("mdns = true", "mdsn = true");
    std::fs::write(&file, text).unwrap();
    assert!(place.run(&["config", "show"], 1).stderr.contains("no setting `federation.mdsn`"));
}

#[test]
fn wrong_usage_is_two_and_help_is_zero() {
    let place = Place::empty();
    place.run_homeless(&["ask"], 2);
    place.run_homeless(&["fly"], 2);
    place.run_homeless(&["retract", "x", "--reason", "because"], 2);
    assert!(place.run_homeless(&["--help"], 0).text().contains("Exit codes"));
    assert!(place.run_homeless(&["ask", "--help"], 0).text().contains("Examples"));
    assert!(place.run_homeless(&["--version"], 0).text().starts_with("plumb "));
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run_homeless(&["completions", shell], 0).text().contains("reinstate"), "{shell}");
    }
}
