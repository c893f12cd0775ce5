//! `plumb eval`: the same figures as `ir-measures`, a collection asked of a node of its own, and the gate's exit code.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plumb_tests::{Organisation, Outcome, RunningNode, count, data, finish, list, plumb_binary, text, workspace_root};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The second opinion, pinned.
const IR_MEASURES: [&str; 2] = ["ir-measures==0.4.3", "pytrec-eval-terrier==0.5.11"];
/// The measures that both have.
const MEASURES: &str = "nDCG@10,nDCG@3,AP@10,AP@100,R@100,R@5,P@10,RR";
const INSTALL_TIME: Duration = Duration::from_secs(300);
const SCORE_TIME: Duration = Duration::from_secs(60);
const COLLECTION_TIME: Duration = Duration::from_secs(400);

fn plumb(args: &[&str], deadline: Duration) -> Outcome {
    let mut command = Command::new(plumb_binary());
    command.arg("eval").args(args).arg("--json");
    finish(command, deadline)
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn fixture(name: &str) -> PathBuf {
    workspace_root().join("fixtures/eval").join(name)
}

/// The figures of the slice `all` by measure.
fn figures(report: &Value) -> BTreeMap<String, String> {
    let all = list(report, "/slices").first().unwrap();
    assert_eq!(text(all, "/slice"), "all");
    let figure = |f: &Value| (text(f, "/measure").to_string(), text(f, "/value").to_string());
    list(all, "/figures").iter().map(figure).collect()
}

#[test]
fn figures_are_those_of_ir_measures() {
    let (qrels, run) = (fixture("qrels.trec"), fixture("run.trec"));
    let theirs = measured(&qrels, &run);
    let kept = std::fs::read_to_string(fixture("ir-measures.txt")).unwrap();
    assert_eq!(
        theirs.lines().collect::<std::collections::BTreeSet<_>>(),
        kept.lines().collect(),
        "the fixture is stale"
    );
    let report = plumb(&["score", shown(&run), "--qrels", shown(&qrels), "--measure", MEASURES], SCORE_TIME).expect(0);
    assert_eq!(figures(&report), means(&theirs));
    println!("{} figures of ir-measures agree", means(&theirs).len());
}

#[test]
fn a_collection_is_asked_measured_and_held_against_another_run() {
    let Some(cranfield) = data("cranfield") else { return };
    let scratch = TempDir::new().unwrap();
    let file = |name: &str| scratch.path().join(name);
    let (run, svg, markdown) = (file("run.trec"), file("bars.svg"), file("table.md"));
    let mut args = vec!["run", shown(&cranfield), "--run", shown(&run)];
    args.extend(["--svg", shown(&svg), "--markdown", shown(&markdown)]);
    let report = plumb(&args, COLLECTION_TIME).expect(0);
    let ours = figures(&report);
    println!("{ours:#?}\n{:#}", report["node"]);
    assert_eq!(count(&report, "/node/documents"), 1400);
    assert_eq!(count(list(&report, "/slices").first().unwrap(), "/queries"), 225);
    assert!(ours["nDCG@10"].as_str() > "0.30", "a plain BM25 has 0.369: {ours:?}");
    assert!(std::fs::read_to_string(&svg).unwrap().matches("<title>").count() >= 7);
    assert!(std::fs::read_to_string(&markdown).unwrap().contains("| nDCG@10 | all | 225 |"));

    // The run that was written says the same to the other program.
    let qrels = cranfield.join("qrels.trec");
    let theirs = means(&measured(&qrels, &run));
    for measure in ["nDCG@10", "AP@10", "R@100", "P@10", "RR"] {
        assert_eq!(ours[measure], theirs[measure], "{measure}");
    }

    // A candidate that found nothing for the first twenty queries does not pass, and the test says why.
    let worse = file("worse.trec");
    let text_of_run = std::fs::read_to_string(&run).unwrap();
    let is_kept = |line: &&str| line.split(' ').next().and_then(|q| q.parse::<u32>().ok()).is_some_and(|q| q > 20);
    std::fs::write(&worse, text_of_run.lines().filter(is_kept).map(|l| format!("{l}\n")).collect::<String>()).unwrap();
    let gate = |base: &Path, candidate: &Path| {
        plumb(&["gate", shown(base), shown(candidate), "--qrels", shown(&qrels)], SCORE_TIME)
    };
    assert_eq!(gate(&run, &run).expect(0)["passes"], true);
    assert_eq!(gate(&worse, &run).expect(0)["passes"], true);
    assert_eq!(gate(&run, &worse).expect(1)["passes"], false);
    let compared = plumb(&["compare", shown(&run), shown(&worse), "--qrels", shown(&qrels)], SCORE_TIME).expect(0);
    let ndcg = compared.as_array().unwrap().iter().find(|c| text(c, "/measure") == "nDCG@10").unwrap();
    assert!(count(ndcg, "/worse") > 10 && count(ndcg, "/better") == 0, "{ndcg:#}");
    assert!(text(ndcg, "/p") < "0.01", "{ndcg:#}");
}

/// A service that ranks asks the node for its figures and its gate, and gets those of the command line.
#[test]
fn the_same_is_measured_over_http() {
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Northwater").node(scratch.path(), "operations", "person-mara");
    let node = RunningNode::start(&home, &[]);
    let http = node.http("person-mara");
    let read = |name: &str| std::fs::read_to_string(fixture(name)).unwrap();
    let (qrels, run) = (read("qrels.trec"), read("run.trec"));
    let measures: Vec<&str> = MEASURES.split(',').collect();
    let ask = json!({ "run": run, "qrels": qrels, "measures": measures, "base": run });
    let measured = http.post("/v1/eval", &ask).expect(200);
    let (run_file, qrels_file) = (fixture("run.trec"), fixture("qrels.trec"));
    let here = plumb(&["score", shown(&run_file), "--qrels", shown(&qrels_file), "--measure", MEASURES], SCORE_TIME);
    let here = here.expect(0);
    assert_eq!(figures(&measured["report"]), figures(&here));
    assert_eq!(measured["report"]["slices"], here["slices"], "intervals too: they are drawn from one seed");
    assert_eq!(measured["gate"]["passes"], true, "a run is no worse than itself");
    assert_eq!(text(&measured, "/comparison/0/difference"), "0.0000");

    // A candidate that finds nothing of one query drops by more than a hundredth.
    let query = run.split_whitespace().next().unwrap().to_string();
    let worse: String = run.lines().filter(|line| !line.starts_with(&query)).map(|line| format!("{line}\n")).collect();
    let ask = json!({ "run": worse, "qrels": qrels, "base": run });
    assert_eq!(http.post("/v1/eval", &ask).expect(200)["gate"]["passes"], false);

    for (what, named) in [
        (json!({ "run": "q1 Q0 d1", "qrels": qrels }), "run: line 1"),
        (json!({ "run": run, "qrels": "" }), "judge nothing"),
        (json!({ "run": run, "qrels": qrels, "measures": ["Luck@3"] }), "Luck@3"),
        (json!({ "run": run, "qrels": (0..1001).map(|q| format!("q{q} 0 d 1\n")).collect::<String>() }), "1000"),
    ] {
        let refused = http.post("/v1/eval", &what).expect(400);
        assert!(text(&refused, "/detail").contains(named), "{refused}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_line() {
    let scratch = TempDir::new().unwrap();
    let broken = scratch.path().join("broken.trec");
    std::fs::write(&broken, "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 high t\n").unwrap();
    let outcome = plumb(&["score", shown(&broken), "--qrels", shown(&fixture("qrels.trec"))], SCORE_TIME);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains("broken.trec cannot be read: line 2: `high` is no score"), "{outcome}");
}

/// What `ir-measures` prints of a run.
fn measured(qrels: &Path, run: &Path) -> String {
    let mut measure = Command::new(python());
    measure.arg(workspace_root().join("tests/tests/interop/eval/measure.py")).arg(qrels).arg(run);
    let outcome = finish(measure, SCORE_TIME);
    assert_eq!(outcome.code, 0, "{outcome}");
    String::from_utf8(outcome.stdout).unwrap()
}

fn means(measured: &str) -> BTreeMap<String, String> {
    let means = measured.lines().filter_map(|line| line.split_once(" all "));
    means.map(|(measure, value)| (measure.to_string(), value.to_string())).collect()
}

/// A Python with `ir-measures`, made once beside the binaries of the tests.
fn python() -> PathBuf {
    static MADE: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    MADE.get_or_init(make_python).clone()
}

fn make_python() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/<profile>/deps/<test>-<hash>
    let venv = test.ancestors().nth(3).unwrap().join("interop-venvs/eval");
    let python = venv.join("bin/python");
    let works = |python: &Path| {
        let probe = Command::new(python).args(["-c", "import ir_measures, pytrec_eval"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    if !works(&python) {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&venv);
        let made = finish(make, INSTALL_TIME);
        assert_eq!(made.code, 0, "python3 with venv is needed: {made}");
        let mut install = Command::new(venv.join("bin/pip"));
        install.args(["install", "--quiet"]).args(IR_MEASURES);
        let installed = finish(install, INSTALL_TIME);
        assert_eq!(installed.code, 0, "{IR_MEASURES:?} cannot be installed: {installed}");
        assert!(works(&python), "{IR_MEASURES:?} are installed and cannot be imported");
    }
    python
}
