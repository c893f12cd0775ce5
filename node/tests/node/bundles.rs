//! Bundles as files: verified with and without a home, shown, replayed.

use super::support::Place;

const TEXT: &str =
    "# Boil water\n\nA boil-water notice is issued when two consecutive samples contain Escherichia coli.\n";
const QUESTION: &str = "When is a boil-water notice issued?";

/// A home with a saved answer, and its bundle in a file.
fn saved() -> (Place, String) {
    let place = Place::founded();
    let document = place.write("boil.md", TEXT);
    place.run(&["ingest", &document, "--sensitivity", "public"], 0);
    let file = place.path("answer.car").display().to_string();
    let view = place.json(&["ask", QUESTION, "--bundle", &file], 0);
    assert!(view["bundle"].is_string(), "{view}");
    (place, file)
}

#[test]
fn a_bundle_is_verified_where_there_is_nothing_else() {
    let (place, file) = saved();
    let stranger = Place::empty();
    let verdict = stranger.run_homeless(&["bundle", "verify", &file, "--json"], 0).json();
    assert_eq!((&verdict["verdict"], &verdict["organisation_is_trusted"]), (&"authentic".into(), &false.into()));
    let root = verdict["organisation"].as_str().unwrap();
    let trusting = stranger.run_homeless(&["bundle", "verify", &file, "--trust", root, "--json"], 0).json();
    assert_eq!(trusting["organisation_is_trusted"], true);
    let text = stranger.run_homeless(&["bundle", "verify", &file], 0).text();
    assert!(text.contains("✓ ") && text.contains("→ authentic"), "{text}");

    let mut bytes = std::fs::read(&file).unwrap();
    for at in [10, bytes.len() / 2, bytes.len() - 1] {
        bytes[at] ^= 1;
        let forged = stranger.path("forged.car");
        std::fs::write(&forged, &bytes).unwrap();
        bytes[at] ^= 1;
        let verdict = stranger.run_homeless(&["bundle", "verify", &forged.display().to_string(), "--json"], 6).json();
        assert_eq!(verdict["verdict"], "not_authentic", "byte {at}");
        assert!(verdict["summary"].as_str().unwrap().len() > 20);
    }
    // Exporting gives the same file again.
    let again = place.path("again.car").display().to_string();
    place.run(&["bundle", "export", "last", "--out", &again], 0);
    assert_eq!(std::fs::read(again).unwrap(), bytes);
}

#[test]
fn replaying_gives_the_same_bytes_anywhere() {
    let (place, file) = saved();
    let stranger = Place::empty();
    let (a, b) = (place.path("a.cbor").display().to_string(), stranger.path("b.cbor").display().to_string());
    let here = place.run(&["bundle", "replay", &file, "--out", &a, "--json"], 0).json();
    let there = stranger.run_homeless(&["bundle", "replay", &file, "--out", &b, "--json"], 0).json();
    assert_eq!(here, there);
    assert_eq!((&here["equal"], &here["given"]), (&true.into(), &here["replayed"]));
    assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
    let human = stranger.run_homeless(&["bundle", "replay", &file], 0);
    let answer: serde_json::Value = serde_json::from_str(&human.text()).unwrap();
    assert_eq!(answer, here["answer"]);
    assert!(human.stderr.contains("byte for byte"), "{}", human.stderr);
}

#[test]
fn a_retraction_turns_authentic_into_authentic_and_retracted() {
    let (place, file) = saved();
    assert_eq!(place.json(&["bundle", "verify", &file], 0)["verdict"], "authentic");
    place.run(&["retract", "boil.md", "--reason", "analysis-error"], 0);
    let verdict = place.json(&["bundle", "verify", &file], 4);
    assert_eq!((&verdict["verdict"], &verdict["withdrawn"][0]["title"]), (&"retracted".into(), &"Boil water".into()));
    // With the file alone nobody can know of it; with the signed notice beside it everybody can.
    place.run(&["bundle", "verify", &file, "--offline"], 0);
    let notice = verdict["withdrawn"][0]["notice"].as_str().unwrap();
    let signed = place.path("retraction.notice").display().to_string();
    place.run(&["notices", "export", notice, "--out", &signed], 0);
    let stranger = Place::empty();
    let told = stranger.run_homeless(&["bundle", "verify", &file, "--notice", &signed, "--json"], 4).json();
    assert_eq!(told["withdrawn"], verdict["withdrawn"]);
    stranger.run_homeless(&["bundle", "verify", &file, "--notice", &file], 1);

    // A notice whose signature does not hold is refused.
    let mut bytes = std::fs::read(&signed).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&signed, bytes).unwrap();
    stranger.run_homeless(&["bundle", "verify", &file, "--notice", &signed], 1);
}

#[test]
fn a_bundle_shows_what_it_says() {
    let (place, file) = saved();
    let view = place.json(&["bundle", "show", &file], 0);
    assert_eq!((&view["query"], &view["evidence"][0]["uri"]), (&QUESTION.into(), &"file:boil.md".into()));
    assert!(place.run_homeless(&["bundle", "show", &file], 0).text().contains("`plumb bundle verify` checks it"));
    let document = place.write("no.car", "this is no bundle");
    assert!(place.run_homeless(&["bundle", "show", &document], 6).stderr.contains("no bundle"));
    assert!(place.run_homeless(&["bundle", "replay", &document], 6).stderr.contains("cannot be replayed"));
    place.run_homeless(&["bundle", "verify", "nowhere.car"], 1);
}

#[test]
fn a_bundle_is_taken_in_elsewhere() {
    let (_place, file) = saved();
    let other = Place::founded();
    let root = other.json(&["bundle", "verify", &file], 0)["organisation"].as_str().unwrap().to_string();
    other.run(&["trust", "add", &root, "--name", "The other Northwater"], 0);
    let import = other.json(&["bundle", "import", &file], 0);
    assert!(import["imported"].as_u64().unwrap() > 0, "{import}");
    assert_eq!(import["receipts"].as_array().unwrap().len(), 1, "{import}");
    let answer = other.json(&["ask", QUESTION], 0);
    assert_eq!(answer["answer"]["citations"][0]["uri"], "file:boil.md");
    assert_eq!(other.json(&["bundle", "import", &file], 0)["imported"], 0);
}
