//! The order in which notices and evidence come does not matter, and neither does what comes twice. Every notice here has
//! crossed the wire.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_core::content::{Fingerprint, RawBlock};
use plumb_core::identity::{SecretKey, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::notice::{Notice, NoticeKind, NoticeTag, Reason};
use plumb_core::trust::certify;
use plumb_federation::sim::shelf::{Shelf, Source};
use plumb_federation::wire::notice::NoticeRequest;

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn source(text: &str) -> Arc<Source> {
    let cid = RawBlock::raw(text.as_bytes().to_vec()).cid;
    Arc::new(Source { cid, text: Fingerprint::of(text), publisher: key(1).public(), org: key(2).public() })
}

/// A notice as it arrives: sealed, sent, read.
fn notice(kind: NoticeKind, of: &Source, undoes: Option<&Signed<Notice>>, by: &SecretKey) -> Signed<Notice> {
    let notice = Notice {
        tag: NoticeTag,
        kind,
        reason: Reason::DataError,
        note: String::new(),
        targets: vec![of.cid],
        fingerprints: vec![of.text],
        undoes: undoes.map(Signed::cid),
        chunks: Vec::new(),
        superseded_by: None,
        audience: None,
        publisher: key(1).public(),
        org: key(2).public(),
        issued_at: Timestamp(0),
    };
    let department = "department-laboratory".parse().unwrap();
    let certificate = certify(&key(2), "N", key(1).public(), department, Timestamp(0), Duration::days(1)).unwrap();
    let request = NoticeRequest::Deliver { notice: Signed::seal(notice, by).unwrap(), certificate };
    match NoticeRequest::decode(&request.encode()).unwrap() {
        NoticeRequest::Deliver { notice, .. } => notice,
        other => panic!("{other:?}"),
    }
}

#[derive(Clone)]
enum Step {
    TakeIn(Arc<Source>),
    Apply(Signed<Notice>),
}

fn after<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Shelf {
    let mut shelf = Shelf::default();
    for step in steps {
        match step {
            Step::TakeIn(source) => shelf.take_in(source.clone()),
            Step::Apply(notice) => drop(shelf.apply(notice)),
        }
    }
    shelf
}

fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for order in orders(n - 1) {
        for at in 0..n {
            let mut longer = order.clone();
            longer.insert(at, n - 1);
            all.push(longer);
        }
    }
    all
}

/// {v1, retract, v2, retract, reinstate}: 120 orders, each with each step once more at each later place.
#[test]
fn every_order_with_duplicates_gives_the_same_state() {
    let (v1, v2) = (source("version one"), source("version two"));
    let down1 = notice(NoticeKind::Retraction, &v1, None, &key(1));
    let down2 = notice(NoticeKind::Retraction, &v2, None, &key(2));
    let up1 = notice(NoticeKind::Reinstatement, &v1, Some(&down1), &key(1));
    let steps =
        [Step::TakeIn(v1.clone()), Step::Apply(down1), Step::TakeIn(v2.clone()), Step::Apply(down2), Step::Apply(up1)];
    let (mut states, mut n_runs) = (BTreeSet::new(), 0);
    for order in orders(steps.len()) {
        let mut runs = vec![order.clone()];
        for (at, again) in order.iter().enumerate() {
            for to in at + 1..=order.len() {
                let mut longer = order.clone();
                longer.insert(to, *again);
                runs.push(longer);
            }
        }
        // And everything twice.
        runs.push(order.iter().chain(&order).copied().collect());
        for run in runs {
            let shelf = after(run.iter().map(|at| &steps[*at]));
            assert!(shelf.is_active(&v1.cid) && !shelf.is_active(&v2.cid), "{run:?}");
            states.insert(shelf.state());
            n_runs += 1;
        }
    }
    assert_eq!((states.len(), n_runs), (1, 120 * (1 + 15 + 1)));
}

#[test]
fn a_notice_may_come_before_what_it_names() {
    let (named, copy) = (source("a text"), Source { cid: source("x").cid, ..(*source("a text")).clone() });
    let down = notice(NoticeKind::Retraction, &named, None, &key(1));
    let shelf = after(&[Step::Apply(down), Step::TakeIn(named.clone()), Step::TakeIn(Arc::new(copy.clone()))]);
    assert!(!shelf.is_active(&named.cid), "the evidence never shows");
    assert!(!shelf.is_active(&copy.cid), "and neither does its text under another name");
}

#[test]
fn an_old_retraction_does_not_win_over_its_reinstatement() {
    let v1 = source("a text");
    let down = notice(NoticeKind::Retraction, &v1, None, &key(1));
    let up = notice(NoticeKind::Reinstatement, &v1, Some(&down), &key(1));
    let replayed = || Step::Apply(down.clone());
    let steps = [Step::TakeIn(v1.clone()), replayed(), Step::Apply(up), replayed(), replayed()];
    assert!(after(&steps[..2]).source(&v1.cid).is_some() && !after(&steps[..2]).is_active(&v1.cid));
    assert!(after(&steps).is_active(&v1.cid));
    // A new one does.
    let again = notice(NoticeKind::PartialRetraction, &v1, None, &key(1));
    assert!(!after(steps.iter().chain([&Step::Apply(again)])).is_active(&v1.cid));
}

#[test]
fn every_kind_does_what_it_says_in_every_order() {
    for kind in NoticeKind::ALL.into_iter().filter(|kind| *kind != NoticeKind::Reinstatement) {
        let v1 = source("a text");
        let said = notice(kind, &v1, None, &key(2));
        let steps = [Step::TakeIn(v1.clone()), Step::Apply(said)];
        let is_down = kind.effect() == plumb_core::notice::Effect::Withdraw;
        let (one, other) = (after(&steps), after(steps.iter().rev()));
        assert_eq!(one.is_active(&v1.cid), !is_down, "{kind:?}");
        assert_eq!(one.state(), other.state(), "{kind:?}");
    }
}

#[test]
fn a_stranger_takes_nothing_back_by_name() {
    let v1 = source("a text");
    let stranger = key(9);
    let usurped = Notice {
        fingerprints: Vec::new(),
        publisher: stranger.public(),
        org: stranger.public(),
        ..notice(NoticeKind::Retraction, &v1, None, &key(1)).value().clone()
    };
    let usurped = Signed::seal(usurped, &stranger).unwrap();
    let shelf = after(&[Step::TakeIn(v1.clone()), Step::Apply(usurped)]);
    assert!(shelf.is_active(&v1.cid), "well signed, and without the right");
}
