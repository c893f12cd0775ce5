//! Where searches usually fail: accents, scripts without spaces, right-to-left text, identifiers, long tokens, phrases,
//! addresses, and questions that look like the syntax of a query language. All through the command line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use plumb_tests::{Home, Organisation, RunningNode, hits, list, text};
use serde_json::Value;
use tempfile::TempDir;

const COMMIT: &str = "9fceb02d0ae598e95dc970b74767f19372d61af8";
const CID: &str = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";

const TEXTS: [(&str, &str); 14] = [
    ("cafe.txt", "The Café at the harbour opens at six."),
    ("file.txt", "The \u{fb01}le with the drawings lies in the archive."),
    ("istanbul.txt", "The ferry leaves İstanbul in the morning."),
    ("keiei.txt", "この会議には多くの経営者が参加した。"),
    ("commit.txt", "The fault came in with commit 9fceb02d0ae598e95dc970b74767f19372d61af8 of last week."),
    ("cid.txt", "The block is bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy and nothing else."),
    ("names.txt", "Call read_dir_sorted and the HTTPServer of acme.billing.InvoiceWriter, since v1.12.3."),
    ("hebrew.txt", "הַשָּׁלוֹם הַגָּדוֹל יבוא מחר בבוקר"),
    ("arabic.txt", "الكِتَابُ الجديدُ على الطاولة"),
    ("phrase.txt", "Only the shutdown valve of pump nine was tested."),
    ("words.txt", "The valve is for a shutdown that nobody tested."),
    ("address.txt", "Read https://status.example.org/incidents/2026-04?view=full before you call."),
    ("syntax.txt", "The field acl:confidential is a label; NOT the reader decides, OR so it says."),
    ("bread.txt", "Rye bread needs a sourdough and a long, slow rise."),
];

fn taken_in(scratch: &Path) -> Home {
    let home = Organisation::found(scratch, "Northwater").node(scratch, "operations", "person-mara");
    let folder = scratch.join("texts");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in TEXTS {
        std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
    }
    home.ok(&["ingest".as_ref(), folder.as_os_str()]);
    home
}

fn names(found: &Value) -> Vec<&str> {
    hits(found).iter().map(|hit| text(hit, "/uri").rsplit(['/', ':']).next().unwrap()).collect()
}

#[test]
fn what_was_written_is_found_however_it_is_typed() {
    let scratch = TempDir::new().unwrap();
    let home = taken_in(scratch.path());
    let _node = RunningNode::start(&home, &[]);
    for (question, wanted) in [
        ("cafe", "cafe.txt"),
        ("CAFÉ", "cafe.txt"),
        ("cafe\u{301}", "cafe.txt"),
        ("file", "file.txt"),
        ("\u{fb01}le", "file.txt"),
        ("istanbul", "istanbul.txt"),
        ("ISTANBUL", "istanbul.txt"),
        ("İSTANBUL", "istanbul.txt"),
        ("経営者", "keiei.txt"),
        (COMMIT, "commit.txt"),
        (CID, "cid.txt"),
        ("sorted", "names.txt"),
        ("read_dir_sorted", "names.txt"),
        ("invoice", "names.txt"),
        ("InvoiceWriter", "names.txt"),
        ("acme.billing", "names.txt"),
        ("http server", "names.txt"),
        ("v1.12.3", "names.txt"),
        ("1.12.3", "names.txt"),
        ("השלום הגדול", "hebrew.txt"),
        ("\"השלום הגדול\"", "hebrew.txt"),
        ("الكتاب الجديد", "arabic.txt"),
        ("\"الكتاب الجديد\"", "arabic.txt"),
        ("https://status.example.org/incidents/2026-04?view=full", "address.txt"),
        ("status.example.org", "address.txt"),
        ("incidents", "address.txt"),
    ] {
        let found = home.ok(&["search", question]);
        assert_eq!(names(&found).first(), Some(&wanted), "{question}: {found:#}");
    }
    let phrase = home.ok(&["search", "\"shutdown valve\""]);
    assert_eq!(names(&phrase), ["phrase.txt"], "the words alone stand in another text too");
    let found = home.ok(&["search", "shutdown valve"]);
    let mut both = names(&found);
    both.sort_unstable();
    assert_eq!(both, ["phrase.txt", "words.txt"]);
    let other = home.ok(&["search", "9fceb02d0ae598e95dc970b74767f19372d61af9"]);
    assert_eq!(names(&other), [""; 0], "another commit is another word");
}

#[test]
fn the_syntax_of_a_query_language_is_plain_words() {
    let scratch = TempDir::new().unwrap();
    let home = taken_in(scratch.path());
    let _node = RunningNode::start(&home, &[]);
    for question in ["acl:confidential", "NOT the reader", "+label -field", "label^9 AND", "field:[a TO *]", "(label"] {
        let found = home.ok(&["search", question]);
        assert_eq!(names(&found).first(), Some(&"syntax.txt"), "{question}: {found:#}");
    }
    let brackets = "(".repeat(10_000);
    for question in ["*", "q:(^", "\"", "~", "\\", "[", "{}", brackets.as_str()] {
        let found = home.run(&["search", question]);
        assert_eq!(found.code, 0, "{}: {found}", &question[..question.len().min(20)]);
        assert_eq!(names(&found.json()), [""; 0], "nothing is a word of it");
    }
    let found = home.ok(&["search", "a:(^"]);
    let mut with_a = names(&found);
    with_a.sort_unstable();
    assert_eq!(with_a, ["bread.txt", "syntax.txt", "words.txt"], "the word of it is `a`");
    let words = format!("{brackets} sourdough");
    assert_eq!(names(&home.ok(&["search", words.as_str()])), ["bread.txt"]);
    let endless = home.run(&["search", "x".repeat(20_000).as_str()]);
    assert_ne!(endless.code, 0);
    let said = format!("{}{}", String::from_utf8_lossy(&endless.stdout), endless.stderr);
    assert!(said.contains("bytes"), "it says what is too long: {said}");
}

/// What is withdrawn is found no more: at once, and by a node that was killed and started again.
#[test]
fn what_is_withdrawn_is_gone_at_once_and_after_a_kill() {
    let scratch = TempDir::new().unwrap();
    let home = taken_in(scratch.path());
    let node = RunningNode::start(&home, &[]);
    let found = home.ok(&["search", "sourdough"]);
    let source = text(&list(&found, "/hits")[0], "/source").to_string();
    home.ok(&["retract", source.as_str(), "--reason", "data-error"]);
    assert_eq!(names(&home.ok(&["search", "sourdough"])), [""; 0]);
    node.kill();
    let _node = RunningNode::start(&home, &[]);
    assert_eq!(names(&home.ok(&["search", "sourdough"])), [""; 0]);
}

/// The same bytes under three names are three sources, each with a name of its own: taking one away takes nothing from the
/// others, and with the last one the bytes go too.
#[test]
fn the_same_bytes_under_three_names_are_removed_one_by_one() {
    let scratch = TempDir::new().unwrap();
    let home = taken_in(scratch.path());
    let folder = scratch.path().join("copies");
    std::fs::create_dir(&folder).unwrap();
    let text_of_all = "The spare pump stands behind the old boiler house.\n";
    for name in ["one.txt", "two.txt", "three.txt"] {
        std::fs::write(folder.join(name), text_of_all).unwrap();
    }
    home.ok(&["ingest".as_ref(), folder.as_os_str()]);
    let node = RunningNode::start(&home, &[]);
    let found = home.ok(&["search", "boiler house"]);
    assert_eq!(hits(&found).len(), 1, "copies fold under one result: {found:#}");

    let would = home.ok(&["sources", "remove", "/copies/one.txt", "--dry-run"]);
    assert_eq!(would[0]["dry_run"], true);
    assert_eq!(list(&home.ok(&["sources", "/copies/one.txt"]), "").len(), 1, "a dry run changes nothing");
    let removed = home.ok(&["sources", "remove", "/copies/one.txt", "/copies/two.txt"]);
    assert!(removed[0]["blocks_kept"].as_u64() > Some(0), "the bytes are another's too: {removed:#}");
    let found = home.ok(&["search", "boiler house"]);
    assert_eq!(names(&found), ["three.txt"]);
    let answer = home.ok(&["ask", "Where does the spare pump stand?"]);
    let cited = list(&answer, "/answer/citations");
    assert!(!cited.is_empty(), "{answer:#}");
    assert!(cited.iter().all(|c| text(c, "/uri").ends_with("three.txt")), "{answer:#}");
    assert_eq!(home.ok(&["doctor"])["healthy"], true);

    let gone = home.run(&["sources", "remove", "/copies/one.txt"]);
    assert_eq!(gone.code, 1, "what is removed has no name: {gone}");
    let raw = text(&list(&found, "/hits")[0], "/source").to_string();
    let last = home.ok(&["sources", "remove", "/copies/three.txt"]);
    assert_eq!(last[0]["source"], raw.as_str());
    assert_eq!(last[0]["blocks_kept"], 0, "nobody else has them: {last:#}");
    assert_eq!(names(&home.ok(&["search", "boiler house"])), [""; 0], "at once");
    node.kill();
    let _node = RunningNode::start(&home, &[]);
    assert_eq!(names(&home.ok(&["search", "boiler house"])), [""; 0], "and after a kill");
    assert_eq!(home.ok(&["doctor"])["healthy"], true);

    let again = home.ok(&["ingest".as_ref(), folder.join("one.txt").as_os_str()]);
    assert_eq!(again["new"], 1, "what was removed may come in again: {again:#}");
    assert_eq!(names(&home.ok(&["search", "boiler house"])), ["one.txt"]);
}

/// A file that is moved is the same source: it keeps the name that answers cite, and is not evidence for itself.
#[test]
fn a_rename_keeps_identity() {
    let scratch = TempDir::new().unwrap();
    let home = taken_in(scratch.path());
    let folder = scratch.path().join("texts");
    let before = home.ok(&["sources", "/texts/bread.txt"]);
    std::fs::rename(folder.join("bread.txt"), folder.join("sourdough.txt")).unwrap();
    let taken = home.ok(&["ingest".as_ref(), folder.as_os_str()]);
    assert_eq!((taken["renamed"].as_u64(), taken["new"].as_u64()), (Some(1), Some(0)), "{taken:#}");
    let after = home.ok(&["sources", "/texts/sourdough.txt"]);
    assert_eq!(before[0]["cid"], after[0]["cid"]);
    assert_eq!(list(&home.ok(&["sources", "/texts/bread.txt"]), "").len(), 0, "nothing lies there any more");
    let found = home.ok(&["search", "sourdough"]);
    assert_eq!(hits(&found).len(), 1, "{found:#}");
    let again = home.ok(&["ingest".as_ref(), folder.as_os_str()]);
    assert_eq!((again["renamed"].as_u64(), again["unchanged"].as_u64()), (Some(0), Some(14)), "{again:#}");

    // A copy is no move: the file that it was copied from is still there.
    std::fs::copy(folder.join("sourdough.txt"), folder.join("copy.txt")).unwrap();
    let copied = home.ok(&["ingest".as_ref(), folder.as_os_str()]);
    assert_eq!((copied["renamed"].as_u64(), copied["new"].as_u64()), (Some(0), Some(1)), "{copied:#}");
    // And one that is changed after it was moved is a newer version of it.
    std::fs::write(folder.join("sourdough.txt"), "Rye bread needs a sourdough, and a slow rise overnight.\n").unwrap();
    let changed = home.ok(&["ingest".as_ref(), folder.as_os_str()]);
    assert_eq!(changed["superseded"], 1, "{changed:#}");
}
