//! The transparency log as others read it: `signed_note` and `tlog_tiles` (Cloudflare) in this process, `aics-tlog` in
//! a Python one, against a running node with a witness. The commands are in `docs/interoperation.md`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use multibase::Base;
use plumb_tests::{
    Home, Http, Organisation, RunningNode, count, finish, list, story_dir, text, until_some, workspace_root,
};
use serde_json::{Value, json};
use signed_note::{Note, StandardVerifier, VerifierList};
use tempfile::TempDir;
use tlog_tiles::checkpoint::Checkpoint;
use tlog_tiles::tile::{Tile, TileHashReader, TileReader};
use tlog_tiles::tlog::{self, Error, Hash, check_record, check_tree, prove_record, prove_tree, record_hash, tree_hash};

/// The second opinion, pinned. Its metadata asks for Python 3.12; it runs on 3.11.
const AICS_TLOG: &str = "aics-tlog==0.2.1";
/// Entries of the log: a full tile, a partial one, and two levels.
const ENTRIES: u64 = 262;
/// When the older checkpoint is taken, to be proved consistent with the newer.
const OLDER: u64 = 9;

const PERSON: &str = "person-noor-vasquell";
const QUESTION: &str = "Which flushing velocity removes loose deposits from the pipe wall?";
const INSTALL_TIME: Duration = Duration::from_secs(300);
const COSIGN_TIME: Duration = Duration::from_secs(120);

/// A publisher whose log a witness has cosigned whole.
struct Witnessed {
    publisher: RunningNode,
    reader: Http,
    /// A checkpoint from when the log had [`OLDER`] entries.
    older: String,
    status: Value,
    _witness: RunningNode,
    scratch: TempDir,
}

fn witnessed() -> Witnessed {
    let scratch = TempDir::new().unwrap();
    let halden = Organisation::found(scratch.path(), "Halden Institute");
    let northwater = Organisation::found(scratch.path(), "Northwater");
    let publisher = halden.node(scratch.path(), "hydrology", PERSON);
    let witness = northwater.node(scratch.path(), "operations", "person-tomas-brandvold");
    publisher.trust(&northwater);
    witness.trust(&halden);
    let public = story_dir().join("halden-hydrology/public");
    publisher.ok(&["ingest", public.to_str().unwrap(), "--sensitivity", "public"]);
    let witness = RunningNode::start(&witness, &[]);
    let publisher = RunningNode::start(&publisher, &[&witness]);
    let reader = publisher.http(PERSON);
    // Every saved answer is an entry: the name of its bundle.
    let save = || reader.post("/v1/answer", &json!({"query": QUESTION, "save": true})).expect(200);
    (1..OLDER).for_each(|_| drop(save()));
    let older = String::from_utf8(reader.get("/v1/log/checkpoint").body).unwrap();
    (OLDER..ENTRIES).for_each(|_| drop(save()));
    let status = until_some("the witness has cosigned the whole log", COSIGN_TIME, || {
        let status = publisher.home.ok(&["log", "status"]);
        (status["cosigned_by"] == 1).then_some(status)
    });
    assert_eq!(count(&status, "/own/size"), ENTRIES);
    Witnessed { publisher, reader, older, status, _witness: witness, scratch }
}

#[test]
fn what_others_wrote_verifies_the_log_of_a_running_node() {
    let log = witnessed();
    rust_libraries_agree(&log);
    python_library_agrees(&log);
}

/// Tiles over HTTP for `tlog_tiles`, whose paths name the height of a tile too.
struct Tiles<'a> {
    http: &'a Http,
    read: RefCell<usize>,
}

impl TileReader for Tiles<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = tiles.iter().map(|tile| {
            let path = tile.path();
            let path = path.strip_prefix("tile/8/").unwrap();
            let response = self.http.get(&format!("/v1/log/tile/{path}"));
            assert_eq!(response.status, 200, "{path}");
            *self.read.borrow_mut() += 1;
            response.body
        });
        Ok(read.collect())
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

fn hash(text: &str) -> Hash {
    Hash(Base::Base64Pad.decode(text).unwrap().try_into().unwrap())
}

fn hashes(view: &Value) -> Vec<Hash> {
    list(view, "/proof").iter().map(|h| hash(h.as_str().unwrap())).collect()
}

fn signed_checkpoint(note: &[u8], vkey: &str) -> Checkpoint {
    let note = Note::from_bytes(note).unwrap();
    let verifier = StandardVerifier::new(vkey).unwrap();
    let (verified, _) = note.verify(&VerifierList::new(vec![Box::new(verifier)])).unwrap();
    assert_eq!(verified.len(), 1, "signed by its log");
    Checkpoint::from_bytes(note.text()).unwrap()
}

fn rust_libraries_agree(log: &Witnessed) {
    let anybody = Http::new(log.publisher.http_addr(), None);
    let vkey = text(&log.status, "/own/vkey");
    let checkpoint = signed_checkpoint(&anybody.get("/v1/log/checkpoint").body, vkey);
    assert_eq!((checkpoint.size(), checkpoint.origin()), (ENTRIES, text(&log.status, "/own/origin")));
    let (size, root) = (ENTRIES, *checkpoint.hash());

    let tiles = Tiles { http: &anybody, read: RefCell::default() };
    let reader = TileHashReader::new(size, root, &tiles);
    assert_eq!(tree_hash(size, &reader).unwrap(), root, "the tiles lead to the root");
    for index in [0, 1, 255, 256, size - 1] {
        let entry = log.reader.get(&format!("/v1/log/entry/{index}")).body;
        let view = anybody.get(&format!("/v1/log/proof/inclusion?index={index}&size={size}")).expect(200);
        let proof = hashes(&view);
        check_record(&proof, size, root, index, record_hash(&entry)).unwrap();
        assert_eq!(proof, prove_record(size, index, &reader).unwrap(), "from our proofs and from the tiles");
        let wrong = record_hash(&[&entry[..], b"!"].concat());
        assert!(check_record(&proof, size, root, index, wrong).is_err());
    }
    let older = signed_checkpoint(log.older.as_bytes(), vkey);
    let (from, from_root) = (older.size(), *older.hash());
    assert_eq!(from, OLDER);
    let view = anybody.get(&format!("/v1/log/proof/consistency?from={from}&to={size}")).expect(200);
    let proof: tlog::TreeProof = hashes(&view);
    check_tree(&proof, size, root, from, from_root).unwrap();
    assert_eq!(proof, prove_tree(size, from, &reader).unwrap());
    assert!(check_tree(&proof, size, root, from, root).is_err());
    assert!(*tiles.read.borrow() > 0);
    println!("signed_note and tlog_tiles agree: {size} entries, {} tiles read", tiles.read.borrow());
}

fn python_library_agrees(log: &Witnessed) {
    let older = log.scratch.path().join("older.txt");
    std::fs::write(&older, &log.older).unwrap();
    let witness = list(&log.status, "/own/witnesses").first().unwrap();
    let token = token(&log.publisher.home);
    let mut verify = Command::new(python());
    verify
        .arg(workspace_root().join("tests/tests/interop/log/verify.py"))
        .arg(format!("http://{}/v1/log/", log.publisher.http_addr()))
        .args([text(&log.status, "/own/vkey"), text(witness, "/vkey"), "1"])
        .arg(&older)
        .env("LOG_TOKEN", token);
    let outcome = finish(verify, COSIGN_TIME);
    let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(said.lines().count() > 20 && said.lines().all(|l| l.starts_with("ok: ")), "{said}");
    println!("{said}");
}

fn token(home: &Home) -> String {
    text(&home.ok(&["token", "create", "--person", PERSON, "--label", "aics"]), "/token").to_string()
}

/// A Python with `aics-tlog`, made once beside the binaries of the tests.
fn python() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/<profile>/deps/<test>-<hash>
    let venv = test.ancestors().nth(3).unwrap().join("interop-venvs/log");
    let python = venv.join("bin/python");
    let works = |python: &Path| {
        let probe = Command::new(python).args(["-c", "import aics_tlog"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    if !works(&python) {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&venv);
        let made = finish(make, INSTALL_TIME);
        assert_eq!(made.code, 0, "python3 with venv is needed: {made}");
        let mut install = Command::new(venv.join("bin/pip"));
        install.args(["install", "--quiet", "--ignore-requires-python", AICS_TLOG]);
        let installed = finish(install, INSTALL_TIME);
        assert_eq!(installed.code, 0, "{AICS_TLOG} cannot be installed: {installed}");
        assert!(works(&python), "{AICS_TLOG} is installed and cannot be imported");
    }
    python
}
