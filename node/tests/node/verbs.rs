//! The verbs on a home with no node running.

use super::support::Place;

const RUNBOOK: &str =
    "# Pump 7\n\nPump 7 may be restarted only when the suction pressure has stayed above 2.4 bar for ten minutes.\n";
const QUESTION: &str = "At what suction pressure may pump 7 be restarted?";

#[test]
fn a_document_goes_in_and_an_answer_comes_out() {
    let place = Place::founded();
    let file = place.write("docs/pump.md", RUNBOOK);
    let job = place.json(&["ingest", &file], 0);
    assert_eq!((&job["state"], &job["new"]), (&"done".into(), &1.into()), "{job}");
    assert_eq!(place.json(&["ingest", &file], 0)["unchanged"], 1);

    let view = place.json(&["ask", QUESTION], 0);
    let citation = &view["answer"]["citations"][0];
    assert!(view["answer"]["answer"].as_str().unwrap().contains("above 2.4 bar"), "{view}");
    assert_eq!(citation["uri"], "file:pump.md");
    let (start, end) = (citation["start"].as_u64().unwrap() as usize, citation["end"].as_u64().unwrap() as usize);
    assert!(RUNBOOK[start..end].contains("2.4 bar"), "the passage stands there word for word");
    assert!(view["bundle"].is_null());

    let text = place.run(&["ask", QUESTION], 0).text();
    assert!(text.contains("[1] Pump 7\n    file:pump.md, bytes ") && text.contains("Reliability "), "{text}");

    let unknown = place.json(&["ask", "How tall is the Eiffel Tower?"], 3);
    assert_eq!(unknown["answer"]["abstained"], true);
    let found = place.json(&["search", "suction pressure", "--k", "1", "--explain"], 0);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    let method = |found: &serde_json::Value| found["hits"][0]["explain"]["method"].as_str().unwrap().to_string();
    // By words alone as long as the vectors are not made, which takes a while.
    assert!(method(&found) == "BM25" || method(&found).starts_with("BM25, blended with the vectors of "), "{found}");
    place.json(&["model", "status", "--wait"], 0);
    let found = place.json(&["search", "suction pressure", "--explain"], 0);
    assert!(method(&found).starts_with("BM25, blended with the vectors of plumb-model-1/paraphrase-minilm-l3-v2/"));
    assert_eq!(place.json(&["sources", "pump.md"], 0)[0]["state"], "active");
    let jobs = place.json(&["jobs", "list"], 0);
    assert_eq!(jobs.as_array().unwrap().len(), 2);
    let id = jobs[0]["id"].as_str().unwrap();
    assert!(place.run(&["jobs", "show", id], 0).text().contains("1 unchanged"));
    assert_eq!(place.json(&["jobs", "show", "nonesuch"], 1)["reason"], "not_found");
}

#[test]
fn a_dry_run_changes_nothing() {
    let place = Place::founded();
    let file = place.write("pump.md", RUNBOOK);
    let job = place.json(&["ingest", &file, "--dry-run"], 0);
    assert_eq!((&job["dry_run"], &job["new"]), (&true.into(), &1.into()));
    assert_eq!(place.json(&["sources"], 0), serde_json::json!([]));
    assert!(place.run(&["ingest", &file, "--dry-run"], 0).text().starts_with("Nothing was changed."));
    let parked = place.json(&["ingest", &file, "--adapter", "plain/1"], 0);
    assert_eq!(parked["parked"].as_array().unwrap().len(), 1, "what the adapter does not read is parked");
    assert_eq!(place.json(&["ingest", &file, "--adapter", "markdown/1"], 0)["new"], 1);
    assert_eq!(place.json(&["sources"], 0)[0]["adapter"], "markdown/1");
    assert_eq!(place.json(&["ingest", &file, "--adapter", "nonesuch"], 2)["reason"], "invalid_request");
}

#[test]
fn standard_input_is_a_source() {
    let place = Place::founded();
    let args = ["ingest", "-", "--name", "pump.md", "--sensitivity", "public", "--json"];
    let job = place.run_input(&args, RUNBOOK, 0).json();
    assert_eq!(job["new"], 1, "{job}");
    let source = &place.json(&["sources"], 0)[0];
    assert_eq!((&source["sensitivity"], &source["title"]), (&"public".into(), &"Pump 7".into()));
    place.run(&["ask", QUESTION], 0);
}

#[test]
fn what_cannot_be_read_is_parked_and_the_rest_goes_on() {
    let place = Place::founded();
    place.write("docs/pump.md", RUNBOOK);
    std::fs::write(place.path("docs/noise.bin"), [0u8, 159, 146, 150, 0, 1, 2, 3].repeat(50)).unwrap();
    let docs = place.path("docs").display().to_string();
    let job = place.json(&["ingest", &docs], 0);
    assert_eq!((&job["new"], job["parked"].as_array().unwrap().len()), (&1.into(), 1), "{job}");
    assert!(!job["parked"][0]["reason"].as_str().unwrap().is_empty());
    assert!(place.run(&["ingest", "not-there.md"], 1).stderr.contains("not-there.md"));
}

#[test]
fn who_may_not_read_it_gets_what_they_would_get_if_it_were_not_there() {
    let place = Place::founded();
    let note = "# One to one\n\nThe salary of Mara Lindqvist rises by 6.5 percent to 46,850 euros from July.\n";
    let file = place.write("note.md", note);
    let job = place.json(&["ingest", &file, "--sensitivity", "confidential"], 0);
    assert_eq!(job["new"], 1, "{job}");
    let question = "By how much does the salary of Mara Lindqvist rise?";
    place.run(&["ask", question], 0);
    let guest = place.json(&["ask", question, "--as", "person-guest"], 3);
    assert!(!guest.to_string().contains("46,850"));
    assert_eq!(place.json(&["search", "salary", "--as", "person-guest"], 0)["hits"], serde_json::json!([]));
    assert_eq!(place.json(&["sources", "--as", "person-guest"], 0), serde_json::json!([]));

    let problem = place.json(&["ask", question, "--as", "person-nobody"], 2);
    assert_eq!(problem["reason"], "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("person-guest, person-tomas"), "{problem}");
}

#[test]
fn a_retracted_source_stays_down_until_it_is_reinstated() {
    let place = Place::founded();
    let file = place.write("pump.md", RUNBOOK);
    place.run(&["ingest", &file], 0);
    place.run(&["ask", QUESTION, "--save"], 0);
    let notice = place.json(&["retract", "pump.md", "--reason", "data-error", "--note", "The gauge was wrong."], 0);
    let id = notice["notice"].as_str().unwrap();
    assert_eq!((&notice["kind"], &notice["reason"]), (&"retraction".into(), &"data_error".into()));

    place.run(&["ask", QUESTION], 3);
    let saved = place.json(&["answers", "show", "last"], 0);
    assert_eq!(saved["state"], "retracted-source", "{saved}");
    assert!(place.run(&["answers", "show", "last"], 0).text().starts_with("! "));
    assert_eq!(place.json(&["answers", "list"], 0)[0]["state"], "retracted-source");
    assert_eq!(place.json(&["notices", "list"], 0)[0]["notice"], id);
    assert!(place.run(&["notices", "receipts", id], 0).text().contains("Nobody is known"));

    let copy = place.write("copy.md", RUNBOOK);
    let refused = place.json(&["ingest", &copy], 7);
    assert_eq!((&refused["new"], refused["refused"].as_array().unwrap().len()), (&0.into(), 1), "{refused}");
    place.run(&["rebuild"], 0);
    place.run(&["ask", QUESTION], 3);

    place.run(&["reinstate", id, "--note", "The gauge was right."], 0);
    place.run(&["ask", QUESTION], 0);
    assert_eq!(place.json(&["retract", "nonesuch.md", "--reason", "legal"], 1)["reason"], "not_found");
}

#[test]
fn the_node_can_be_looked_after() {
    let place = Place::founded();
    let file = place.write("pump.md", RUNBOOK);
    place.run(&["ingest", &file], 0);
    let before = place.json(&["doctor"], 0);
    assert_eq!((&before["healthy"], &before["active_units"]), (&true.into(), &before["indexed"]));
    assert!(place.json(&["rebuild"], 0)["indexed"].as_u64().unwrap() > 0);
    assert_eq!(place.json(&["doctor"], 0)["state_digest"], before["state_digest"]);
    let verdict = place.json(&["audit", "verify"], 0);
    assert_eq!(verdict["intact"], true);
    assert!(!place.json(&["audit", "list", "--limit", "3"], 0).as_array().unwrap().is_empty());
    assert!(place.run(&["audit", "checkpoint"], 0).text().contains("\n\n— "));
}

#[test]
fn trust_is_said_and_taken_back() {
    let place = Place::founded();
    let root = place.path("root").display().to_string();
    let other = place.run_homeless(&["org", "init", "Halden", "--out", &root, "--json"], 0).json();
    let did = other["organisation"].as_str().unwrap();
    place.run(&["trust", "add", did, "--name", "Halden"], 0);
    let trusted = place.json(&["trust", "list"], 0);
    assert_eq!((&trusted[0]["own"], &trusted[1]["name"]), (&true.into(), &"Halden".into()));
    place.run(&["trust", "remove", did], 0);
    assert_eq!(place.json(&["trust", "list"], 0).as_array().unwrap().len(), 1);
    assert!(place.run(&["peers", "list"], 1).stderr.contains("plumb up"), "peers need a running node");
}
