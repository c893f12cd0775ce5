//! Evidence that went on by file: A to B to C. C learns of what A takes back from whoever it meets, B owes it to C, and an
//! obligation ends with an acknowledgement and nothing else.

use plumb_tests::{Home, Organisation, RunningNode, count, list, text, until};
use tempfile::TempDir;

use super::{NOTICE_TIME, audited, await_state, did, found, receipts, retract, seal, take_in};

struct Chain {
    halden: Organisation,
    a: RunningNode,
    b: RunningNode,
    /// Not running. It meets B alone: A does not trust its organisation.
    c: Home,
    scratch: TempDir,
}

impl Chain {
    fn begin() -> Chain {
        let scratch = TempDir::new().unwrap();
        let at = scratch.path();
        let [halden, northwater, ridgefoot] =
            ["Halden", "Northwater", "Ridgefoot"].map(|name| Organisation::found(at, name));
        let a = halden.node(at, "hydrology", "person-noor-vasquell");
        let b = northwater.node(at, "operations", "person-tomas-brandvold");
        let c = ridgefoot.node(at, "farms", "person-ulla-ferrant");
        a.trust(&northwater);
        b.trust(&halden);
        b.trust(&ridgefoot);
        c.trust(&halden);
        c.trust(&northwater);
        let a = RunningNode::start(&a, &[]);
        let b = RunningNode::start(&b, &[&a]);
        b.await_peers(1);
        Chain { halden, a, b, c, scratch }
    }

    /// Evidence of A about a gauge goes to B, and the same file from B to C.
    fn pass_on(&self, gauge: &str) {
        take_in(&self.a.home, self.scratch.path(), gauge);
        let (_, file) = seal(&self.a.home, self.scratch.path(), gauge);
        let file = file.to_str().unwrap();
        self.b.home.ok(&["bundle", "import", file]);
        let import = self.c.ok(&["bundle", "import", file, "--from", &did(&self.b)]);
        assert_eq!(list(&import, "/receipts").len(), 2, "one for A, one for B: {import:#}");
    }
}

fn about(gauge: &str) -> String {
    format!("{gauge} gauge read metres dawn")
}

#[test]
fn whoever_got_evidence_by_file_hears_of_its_retraction_from_whomever_it_meets() {
    let chain = Chain::begin();
    chain.pass_on("aldrin");

    // Nobody was asked yet whether it still stands, and C says so wherever it shows it.
    let hits = found(&chain.c, &about("aldrin"), "aldrin");
    let since = text(&hits[0], "/unconfirmed/since").to_string();
    let answer = chain.c.ok(&["ask", &super::question("aldrin"), "--save"]);
    assert_eq!(text(&answer, "/unconfirmed/0/since"), since, "{answer:#}");
    let saved = text(&answer, "/bundle").to_string();
    let shown = chain.c.ok(&["answers", "show", &saved]);
    let told = format!("status not confirmed since {since}");
    assert!(list(&shown, "/flags").iter().any(|flag| flag.as_str().unwrap().starts_with(&told)), "{shown:#}");

    let notice = retract(&chain.a.home, "aldrin.md", "retraction", &[]);
    await_state(&chain.a.home, &notice, &did(&chain.b), "acknowledged");
    assert!(!found(&chain.c, &about("aldrin"), "aldrin").is_empty(), "C cannot know yet");
    // A is gone. C meets B, and hears it from there.
    assert!(chain.a.stop().success());
    let c = RunningNode::start(&chain.c, &[&chain.b]);
    until("C has heard of it", NOTICE_TIME, || found(&c.home, &about("aldrin"), "aldrin").is_empty());
    assert_eq!(c.home.ok(&["answers", "show", &saved])["state"], "retracted-source");
    // B passed it on, so C stands in B's ledger.
    await_state(&chain.b.home, &notice, &did(&c), "acknowledged");
    let view = chain.b.home.ok(&["notices", "receipts", &notice]);
    assert_eq!(text(&view, "/receipts/0/name"), "Ridgefoot, farms");
    assert!(count(&view, "/receipts/0/units") >= 1 && count(&view, "/receipts/0/answers") == 2, "{view:#}");
}

#[test]
fn a_refusal_or_a_silence_leaves_the_obligation_open_and_an_acknowledgement_ends_it() {
    let mut chain = Chain::begin();
    let delivered = |c: &Home, notice: &str| audited(c, "notice.delivered", notice).len();
    for gauge in ["aldrin", "borealis", "cindermoor", "dunlin"] {
        chain.pass_on(gauge);
    }
    // C is away: nothing can be delivered.
    let notice = retract(&chain.a.home, "aldrin.md", "retraction", &[]);
    await_state(&chain.a.home, &notice, &did(&chain.b), "acknowledged");
    assert_eq!(receipts(&chain.b.home, &notice), [], "B has no receipt of C's yet");

    // C comes, gives its receipts, and trusts A no more: it refuses what is A's.
    chain.c.ok(&["trust", "remove", &chain.halden.did]);
    let mut c = RunningNode::start(&chain.c, &[&chain.b]);
    let who = did(&c);
    await_state(&chain.b.home, &notice, &who, "refused");
    let view = chain.b.home.ok(&["notices", "receipts", &notice]);
    assert!(text(&view, "/receipts/0/reason").contains("not trusted"), "{view:#}");
    assert_eq!((count(&view, "/holders"), count(&view, "/confirmed")), (1, 0), "{view:#}");
    assert_eq!(audited(&chain.b.home, "notice.refuse", &notice)[0]["outcome"], "refused");

    // B forgets nothing of it when it starts anew, and tries again. By then C trusts A.
    c.home.ok(&["trust", "add", &chain.halden.did, "--name", "Halden"]);
    assert!(chain.b.restart(&[&chain.a]).success());
    assert!(c.restart(&[&chain.b]).success());
    await_state(&chain.b.home, &notice, &who, "acknowledged");
    let n_first = delivered(&c.home, &notice);

    // C hears, and says nothing: it is stopped in the middle of everything.
    let pid = rustix::process::Pid::from_raw(c.pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let second = retract(&chain.a.home, "borealis.md", "retraction", &[]);
    await_state(&chain.b.home, &second, &who, "silent");
    let view = chain.b.home.ok(&["notices", "receipts", &second]);
    assert_eq!(count(&view, "/confirmed"), 0, "{view:#}");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    await_state(&chain.b.home, &second, &who, "acknowledged");

    // What is acknowledged is not sent again, also after a restart. A later notice shows that B has gone through all that
    // it owes C since then: it delivers them in one queue.
    let n_second = delivered(&c.home, &second);
    assert!(n_second >= 1);
    assert!(chain.b.restart(&[&chain.a]).success());
    assert!(c.restart(&[&chain.b]).success());
    let third = retract(&chain.a.home, "cindermoor.md", "retraction", &[]);
    await_state(&chain.b.home, &third, &who, "acknowledged");
    assert!(delivered(&c.home, &third) >= 1);
    assert_eq!((delivered(&c.home, &notice), delivered(&c.home, &second)), (n_first, n_second));

    // C is gone for good.
    assert!(c.stop().success());
    let fourth = retract(&chain.a.home, "dunlin.md", "retraction", &[]);
    await_state(&chain.b.home, &fourth, &who, "unreachable");
}
