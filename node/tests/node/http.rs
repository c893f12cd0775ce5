//! HTTP over TCP: tokens, rights, problem documents, the description of the routes.

use serde_json::json;

use super::support::{Http, Place, Running};

const QUESTION: &str = "Who approves a planned shutdown of a trunk main?";

struct Stage {
    place: Place,
    _running: Running,
    http: Http,
    tomas: String,
    guest: String,
}

/// A node with a token for a person of the department and one for somebody who belongs to nothing.
fn stage() -> Stage {
    let place = Place::founded();
    let running = place.up();
    let http = running.http();
    let token = |person: &str| {
        let new = place.json(&["token", "create", "--person", person, "--label", "test"], 0);
        new["token"].as_str().unwrap().to_string()
    };
    let (tomas, guest) = (token("person-tomas"), token("person-guest"));
    Stage { place, http, tomas, guest, _running: running }
}

impl Stage {
    /// Takes a document in as Tomas.
    fn ingest(&self, name: &str, text: &str, sensitivity: &str) {
        let body = json!({"documents": [{"name": name, "text": text}], "sensitivity": sensitivity});
        let answer = self.http.post("/v1/ingest?wait=true", Some(&self.tomas), &body);
        assert_eq!((answer.status, &answer.json()["new"]), (200, &json!(1)), "{}", answer.json());
    }
}

const POLICY: &str = "# Shutdowns\n\nThe duty network manager approves every planned shutdown of a trunk main.\n";

#[test]
fn what_needs_no_token_tells_nothing_of_what_is_held() {
    let stage = stage();
    stage.ingest("shutdown.md", POLICY, "internal");
    let http = &stage.http;
    assert_eq!(http.get("/health/live", None).json(), json!({"live": true}));
    assert_eq!(http.get("/health/ready", None).json()["ready"], true);
    let metrics = http.get("/metrics", None);
    let text = String::from_utf8(metrics.body.clone()).unwrap();
    assert!(metrics.head.contains("content-type: application/openmetrics-text"), "{}", metrics.head);
    assert!(text.ends_with("# EOF\n") && text.contains("plumb_actor_alive"), "{text}");
    assert!(text.contains("route=\"/v1/ingest\",status=\"200\""), "{text}");
    assert!(!text.contains("plumb_index_documents"), "{text}");

    let openapi = http.get("/v1/openapi.json", None).json();
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3."));
    for path in ["/v1/answer", "/v1/jobs/{id}/events", "/v1/bundles/{id}", "/v1/notices", "/v1/trust/{org}"] {
        assert!(openapi["paths"][path].is_object(), "{path}");
    }
    assert_eq!(http.get("/docs", None).status, 308);
    let page = http.get("/docs/", None);
    assert!(page.status == 200 && String::from_utf8_lossy(&page.body).contains("swagger-ui"));
}

#[test]
fn no_token_is_401_and_no_right_is_403() {
    let stage = stage();
    for token in [None, Some("nonsense"), Some("")] {
        let refused = stage.http.post("/v1/answer", token, &json!({"query": QUESTION}));
        refused.problem(401, "unauthenticated");
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
    }
    stage.http.get("/v1/no/such/route", None).problem(401, "unauthenticated");
    let token = Some(stage.tomas.as_str());
    for (method, path) in [
        ("GET", "/v1/tokens"),
        ("GET", "/v1/trust"),
        ("GET", "/v1/audit"),
        ("POST", "/v1/audit/verify"),
        ("POST", "/v1/rebuild"),
        ("GET", "/v1/doctor"),
        ("GET", "/v1/receipts?notice=x"),
        ("DELETE", "/v1/tokens/x"),
    ] {
        stage.http.send(method, path, token, &[], None).problem(403, "denied");
    }
    let paths = json!({"paths": ["/etc/passwd"]});
    stage.http.post("/v1/ingest", token, &paths).problem(403, "denied");
    let address = json!({"address": "/ip4/127.0.0.1/tcp/1"});
    stage.http.post("/v1/peers", token, &address).problem(403, "denied");
    // The header of the local socket means nothing here.
    let as_header = [("x-plumb-as", "person-tomas")];
    stage.http.send("GET", "/v1/sources", None, &as_header, None).problem(401, "unauthenticated");
    let denied = stage.place.json(&["audit", "list", "--action", "http"], 0);
    assert!(denied.as_array().unwrap().len() >= 8, "{denied}");
    assert_eq!(denied[0]["outcome"], "denied");

    let listed = stage.place.json(&["token", "list"], 0);
    assert!(!listed.to_string().contains(&stage.tomas), "a token is shown once");
    for token in listed.as_array().unwrap() {
        stage.place.run(&["token", "revoke", token["id"].as_str().unwrap()], 0);
    }
    stage.http.get("/v1/sources", token).problem(401, "unauthenticated");
    stage.place.run(&["token", "create", "--person", "person-nobody"], 2);
}

#[test]
fn a_question_is_answered_and_what_is_hidden_is_absent() {
    let stage = stage();
    stage.ingest("shutdown.md", POLICY, "internal");
    stage.ingest("salary.md", "# Note\n\nThe salary of Mara Lindqvist rises to 46,850 euros.\n", "confidential");
    let token = Some(stage.tomas.as_str());
    let answer = stage.http.post("/v1/answer", token, &json!({"query": QUESTION, "save": true}));
    let view = answer.json();
    assert!(view["answer"]["answer"].as_str().unwrap().contains("duty network manager"), "{view}");
    let bundle = view["bundle"].as_str().unwrap();
    let same =
        stage.http.get("/v1/grounded?q=Who%20approves%20a%20planned%20shutdown%20of%20a%20trunk%20main%3F", token);
    assert_eq!(same.json()["answer"]["citations"], view["answer"]["citations"]);

    let car = stage.http.get(&format!("/v1/bundles/{bundle}"), token);
    assert!(car.status == 200 && car.head.contains("content-type: application/vnd.ipld.car"));
    let media_type = [("content-type", "application/vnd.ipld.car")];
    let verdict = stage.http.send("POST", "/v1/bundles/verify", token, &media_type, Some(&car.body));
    assert_eq!(verdict.json()["verdict"], "authentic");
    let chunk = view["answer"]["citations"][0]["chunk"].as_str().unwrap();
    let block = stage.http.get(&format!("/v1/blocks/{chunk}"), token);
    assert!(block.status == 200 && block.head.contains("content-type: application/vnd.ipld.dag-cbor"));

    let salary = json!({"query": "To what does the salary of Mara Lindqvist rise?"});
    let own = stage.http.post("/v1/answer", token, &salary).json();
    assert!(own.to_string().contains("46,850"), "{own}");
    let hidden = own["answer"]["citations"][0]["chunk"].as_str().unwrap();
    let absent = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
    let guest = Some(stage.guest.as_str());
    assert!(!stage.http.post("/v1/answer", guest, &salary).json().to_string().contains("46,850"));
    let body = |id: &str| {
        let problem = stage.http.get(&format!("/v1/blocks/{id}"), guest).problem(404, "not_found");
        problem.to_string().replace(id, "ID")
    };
    assert_eq!(body(hidden), body(absent), "hidden and absent are one answer");
    // What is internal a colleague may read, and so the answer that rests on it; not the one about the salary.
    assert_eq!(stage.http.get(&format!("/v1/answers/{bundle}"), guest).status, 200);
    let kept = json!({"query": salary["query"], "save": true});
    let own = stage.http.post("/v1/answer", token, &kept).json();
    let own = own["bundle"].as_str().unwrap();
    for path in ["answers", "bundles"] {
        assert_eq!(stage.http.get(&format!("/v1/{path}/{own}"), token).status, 200);
        stage.http.get(&format!("/v1/{path}/{own}"), guest).problem(404, "not_found");
    }
    stage.http.get("/v1/jobs/nonesuch", guest).problem(404, "not_found");
}

#[test]
fn what_makes_no_sense_is_a_problem_document() {
    let stage = stage();
    let token = Some(stage.tomas.as_str());
    let http = &stage.http;
    http.post("/v1/answer", token, &json!({"question": "x"})).problem(400, "invalid_request");
    http.post("/v1/search", token, &json!({"query": "x", "k": 0})).problem(400, "invalid_request");
    http.post("/v1/search", token, &json!({"query": "x".repeat(17_000)})).problem(400, "invalid_request");
    http.post("/v1/answer", token, &json!({"query": "x", "deadline_ms": 9_000_000})).problem(400, "invalid_request");
    http.send("POST", "/v1/answer", token, &[], Some(b"{")).problem(400, "invalid_request");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    http.send("POST", "/v1/answer", token, &form, Some(b"query=x")).problem(415, "unsupported_media_type");
    http.get("/v1/grounded", token).problem(400, "invalid_request");
    http.get("/v1/jobs?limit=many", token).problem(400, "invalid_request");
    http.get("/v1/blocks/nonsense", token).problem(400, "invalid_request");
    http.get("/v1/no/such/route", token).problem(404, "not_found");
    http.send("DELETE", "/v1/answer", token, &[], None).problem(405, "method_not_allowed");
    let json_type = [("content-type", "application/json")];
    http.send("POST", "/v1/answer", token, &json_type, Some(&vec![b' '; 17 << 20])).problem(413, "too_large");
}

#[test]
fn a_job_can_be_followed_and_a_write_is_done_once() {
    let stage = stage();
    let token = Some(stage.tomas.as_str());
    let body = json!({"documents": [{"name": "shutdown.md", "text": POLICY}]}).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "first"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ];
    let send = |body: &str| stage.http.send("POST", "/v1/ingest", token, &headers, Some(body.as_bytes()));
    let job = send(&body);
    assert_eq!(job.status, 202);
    let id = job.json()["id"].as_str().unwrap().to_string();
    assert_eq!(send(&body).json()["id"], id.as_str(), "the same answer, not another job");
    send(&body.replace("duty", "day")).problem(422, "key_reused");

    let events = stage.http.get(&format!("/v1/jobs/{id}/events"), token);
    let text = String::from_utf8(events.body).unwrap();
    assert!(events.head.contains("content-type: text/event-stream"), "{}", events.head);
    assert!(text.contains("event: end\ndata: {") && text.ends_with("\n\n"), "{text}");
    let done = stage.http.get(&format!("/v1/jobs/{id}"), token).json();
    assert_eq!((&done["state"], &done["new"]), (&json!("done"), &json!(1)));
    stage.http.get(&format!("/v1/jobs/{id}"), Some(&stage.guest)).problem(404, "not_found");
    assert_eq!(stage.http.get("/v1/jobs", token).json().as_array().unwrap().len(), 1);
    assert_eq!(stage.http.post(&format!("/v1/jobs/{id}/cancel"), token, &json!({})).status, 200);
    let log = std::fs::read_to_string(stage.place.path("up.log")).unwrap();
    assert!(log.contains("4bf92f3577b34da6a3ce929d0e0e4736"), "the caller's trace is in the log");
}
