use proptest::prelude::*;

use super::chain::faded;
use super::judge::likeness;
use super::*;
use crate::content::RawBlock;
use crate::identity::{SecretKey, Signed};
use crate::measure::Micro;

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn cid(n: u8) -> Cid {
    RawBlock::raw(vec![n]).cid
}

fn teaching() -> Teaching {
    Teaching {
        tag: TeachingTag,
        chunk: cid(1),
        source: cid(2),
        kind: KnowledgeType::Decision,
        sensitivity: Sensitivity::Internal,
        confidence: Milli::from_const(920),
        validated: true,
        seen: 0,
        at: Timestamp(0),
    }
}

/// From node 1 over nodes 2, 3, … to the last.
fn taught(n_hops: u8) -> Taught {
    let signed = Signed::seal(teaching(), &key(1)).unwrap();
    (1..=n_hops).fold(Taught { teaching: signed, hops: vec![] }, |t, n| {
        t.pass_on(&key(n), key(n + 1).public(), Timestamp(0)).unwrap()
    })
}

/// Vectors of the acceptance map, B6; ours are truncated.
#[test]
fn confidence_fades_by_the_vectors() {
    let left: Vec<u32> = (0..=4).map(|n| faded(Micro::new(920_000).unwrap(), n).get()).collect();
    for (ours, vector) in left.iter().zip([920_000u32, 782_000, 664_700, 564_995, 480_246]) {
        assert!(ours.abs_diff(vector) <= 1, "{ours} {vector}");
    }
    assert_eq!(taught(2).confidence().get(), 664_700);
}

#[test]
fn a_chain_holds_for_whom_it_is_and_from_whom_it_comes() {
    for n in 1..=3u8 {
        let (me, giver) = (key(n + 1).public(), key(n).public());
        assert_eq!(taught(n).check(&me, &giver), Ok(()));
        assert!(matches!(taught(n).check(&key(9).public(), &giver), Err(ChainError::Receiver(_))));
        assert!(matches!(taught(n).check(&me, &key(9).public()), Err(ChainError::Giver { .. })));
    }
    assert_eq!(taught(4).check(&key(5).public(), &key(4).public()), Err(ChainError::TooFar(4)));
    assert_eq!(taught(0).check(&key(1).public(), &key(1).public()), Err(ChainError::Empty));
    assert!(taught(2).may_go_on() && !taught(3).may_go_on());
}

#[test]
fn a_forged_chain_is_refused() {
    let (me, giver) = (key(4).public(), key(3).public());
    let whole = taught(3);
    // Shortened: the last hop stands alone, or the middle one is gone.
    let mut alone = whole.clone();
    alone.hops.drain(..2);
    assert!(matches!(alone.check(&me, &giver), Err(ChainError::Broken { at: 1 })));
    let mut gap = whole.clone();
    gap.hops.remove(1);
    assert!(matches!(gap.check(&me, &giver), Err(ChainError::Broken { at: 2 })));
    // Begun anew by somebody to whom nothing was given.
    let stolen = Taught { hops: vec![], ..whole.clone() }.pass_on(&key(8), me, Timestamp(0)).unwrap();
    assert!(matches!(stolen.check(&me, &key(8).public()), Err(ChainError::Signer { at: 1, .. })));
    // The hops of another teaching.
    let other = Signed::seal(Teaching { confidence: Milli::ONE, ..teaching() }, &key(1)).unwrap();
    let swapped = Taught { teaching: other, ..whole };
    assert!(matches!(swapped.check(&me, &giver), Err(ChainError::Other { at: 1, .. })));
}

#[test]
fn only_what_proved_itself_is_offered() {
    assert!(teaching().may_propagate());
    for poor in [
        Teaching { confidence: Milli::from_const(849), ..teaching() },
        Teaching { kind: KnowledgeType::Conversation, ..teaching() },
        Teaching { validated: false, seen: 2, ..teaching() },
    ] {
        assert!(!poor.may_propagate(), "{poor:?}");
    }
    assert!(Teaching { validated: false, seen: 3, ..teaching() }.may_propagate());
}

#[test]
fn each_reply_has_its_case() {
    let taught = taught(1);
    let said = |text: &str, known: &[&str]| {
        let known: Vec<Known> = (10..).zip(known).map(|(n, text)| Known { unit: cid(n), text }).collect();
        judge(&taught, text, known)
    };
    assert_eq!(said("The pump room must use Redis for its queue.", &["A boat left."]), Reply::Accepted);
    assert_eq!(
        said(
            "The pump room must use Redis for its queue.",
            &["A boat left.", "The pump room must use Redis for its queue"]
        ),
        Reply::SkippedDuplicate { of: cid(11) }
    );
    assert_eq!(
        said("The pump room must use Redis for its queue.", &["The pump room must not use Redis for its queue."]),
        Reply::PendingReview { against: cid(10) }
    );
    let far = super::tests::taught(4);
    assert_eq!(judge(&far, "x", vec![]), Reply::MaxHopsExceeded);
    let poor = Signed::seal(Teaching { confidence: Milli::ZERO, ..teaching() }, &key(1)).unwrap();
    let poor = Taught::begin(poor, &key(1), key(2).public(), Timestamp(0)).unwrap();
    assert!(matches!(judge(&poor, "x", vec![]), Reply::Rejected { .. }));
}

#[test]
fn a_person_decides_what_waits() {
    let at = |n, r| resolve(Milli::from_const(n), r).map(Milli::get);
    assert_eq!(at(600, Resolution::Accept), Some(660));
    assert_eq!(at(900, Resolution::Accept), Some(950));
    assert_eq!(at(970, Resolution::Accept), Some(970));
    assert_eq!(at(600, Resolution::ContextDependent), Some(600));
    assert_eq!(at(600, Resolution::Reject), None);
    assert_eq!("context-dependent".parse::<Resolution>().unwrap(), Resolution::ContextDependent);
    assert!("maybe".parse::<Resolution>().is_err());
}

#[test]
fn a_long_queue_slows_its_givers_down() {
    assert_eq!(pace(0), (50, CYCLE));
    assert_eq!(pace(500).0, 10);
    assert!(pace(500).1 > CYCLE);
    assert_eq!(pace(1000).0, 0);
}

proptest! {
    #[test]
    fn likeness_is_symmetric(a in "[a-e ]{0,20}", b in "[a-e ]{0,20}") {
        prop_assert_eq!(likeness(&a, &b), likeness(&b, &a));
    }

    /// Taking out, doubling or exchanging hops never makes a chain that holds.
    #[test]
    fn only_the_whole_chain_holds(at in 0usize..3, other in 0usize..3, how in 0u8..3) {
        let mut chain = taught(3);
        match how {
            0 => drop(chain.hops.remove(at)),
            1 => chain.hops.swap(at, other),
            _ => chain.hops.insert(at, chain.hops[other].clone()),
        }
        let holds = chain.check(&key(4).public(), &key(3).public()).is_ok();
        prop_assert_eq!(holds, how == 1 && at == other);
    }
}
