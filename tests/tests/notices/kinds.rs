//! The table of `docs/notices.md`, a row for each kind.

use plumb_tests::{count, list, text};

use super::{Pair, await_state, did, document, found, receipts, retract, seal, take_in};

#[test]
fn every_kind_has_its_effect_at_home_and_across_the_border() {
    const GAUGES: [&str; 8] =
        ["aldrin", "borealis", "cindermoor", "dunlin", "eskerine", "fennimore", "gossamer", "hollowell"];
    let pair = Pair::begin();
    let (home, away, at) = (&pair.publisher.home, &pair.importer.home, pair.scratch.path());
    let mut bundles = std::collections::BTreeMap::new();
    for gauge in GAUGES {
        take_in(home, at, gauge);
        let (bundle, file) = seal(home, at, gauge);
        let import = away.ok(&["bundle", "import", file.to_str().unwrap()]);
        assert!(count(&import, "/imported") >= 1, "{import:#}");
        bundles.insert(gauge, bundle);
    }
    let importer = did(&pair.importer);
    let publish = |gauge: &str, kind: &str, more: &[&str]| {
        let notice = retract(home, &format!("{gauge}.md"), kind, more);
        await_state(home, &notice, &importer, "acknowledged");
        notice
    };
    let about = |gauge: &str| format!("{gauge} gauge read metres dawn");
    let state = |gauge: &str| away.ok(&["answers", "show", &bundles[gauge]]);

    // A reason is mandatory, and is one of the codes.
    assert_eq!(home.run(&["retract", "aldrin.md"]).code, 2);
    assert_eq!(home.run(&["retract", "aldrin.md", "--reason", "because"]).code, 2);
    assert_eq!(home.run(&["retract", "aldrin.md", "--reason", "not-stated"]).code, 2);

    // retraction: found nowhere, and the answer says so.
    let retraction = publish("aldrin", "retraction", &[]);
    assert!(found(home, &about("aldrin"), "aldrin").is_empty() && found(away, &about("aldrin"), "aldrin").is_empty());
    let shown = state("aldrin");
    assert_eq!(shown["state"], "retracted-source", "{shown:#}");
    assert!(list(&shown, "/claims").iter().all(|claim| claim["state"] == "unsupported"), "{shown:#}");

    // partial_retraction of the chunk that nobody cited: that chunk is gone, the other and what rests on it stand.
    let paint = found(home, "borealis hut painted colour", "borealisochre");
    let chunk = text(&paint[0], "/chunk").to_string();
    let partial = publish("borealis", "partial-retraction", &["--chunk", &chunk]);
    assert!(found(home, "borealis hut painted colour", "borealisochre").is_empty());
    assert_eq!(
        found(home, &about("borealis"), "4.2 metres").iter().filter(|h| text(h, "/title").contains("borealis")).count(),
        1
    );
    assert!(!found(away, &about("borealis"), "borealis").is_empty(), "what was cited stands");
    let shown = state("borealis");
    assert_eq!((&shown["state"], list(&shown, "/notices").len()), (&"current".into(), 0), "{shown:#}");
    assert_eq!(home.ok(&["notices", "show", &partial])["chunks"][0], chunk);
    let verdict = away.ok(&["bundle", "verify", at.join("borealis.car").to_str().unwrap()]);
    assert_eq!(verdict["verdict"], "authentic", "a bundle that rests on the sound part stands: {verdict:#}");
    // Naming no chunk withdraws the whole.
    publish("cindermoor", "partial-retraction", &[]);
    assert!(found(away, &about("cindermoor"), "cindermoor").is_empty());
    // A chunk of another source is refused.
    assert_eq!(
        home.run(&[
            "retract",
            "dunlin.md",
            "--kind",
            "partial-retraction",
            "--reason",
            "data-error",
            "--chunk",
            &chunk
        ])
        .code,
        2
    );

    // supersession: withdrawn, and the answer names what stands in its place.
    let newer = publish("dunlin", "supersession", &["--by", "eskerine.md"]);
    assert!(found(away, &about("dunlin"), "dunlin").is_empty() && found(home, &about("dunlin"), "dunlin").is_empty());
    let shown = state("dunlin");
    assert!(text(&shown, "/flags/0").contains("in its place stands `The eskerine gauge`"), "{shown:#}");
    assert_eq!(home.ok(&["notices", "show", &newer])["superseded_by"]["title"], "The eskerine gauge");

    // narrowing: gone across the border; at home its label rises, so peers are not told of it either.
    publish("fennimore", "narrowing", &["--to", "internal"]);
    assert!(found(away, &about("fennimore"), "fennimore").is_empty());
    let at_home = found(home, &about("fennimore"), "fennimore");
    assert!(!at_home.is_empty() && at_home.iter().all(|hit| hit["sensitivity"] == "internal"), "{at_home:#?}");
    let asked = away.ok(&["search", &about("fennimore"), "--peers"]);
    assert!(!asked.to_string().contains("The fennimore gauge read"), "{asked:#}");
    // It does not come back as public at home, whatever is declared.
    let again = at.join("again.md");
    std::fs::write(&again, document("fennimore").replace('\n', "\r\n")).unwrap();
    home.ok(&["ingest", again.to_str().unwrap(), "--sensitivity", "public"]);
    assert!(found(home, &about("fennimore"), "fennimore").iter().all(|hit| hit["sensitivity"] == "internal"));

    // expression_of_concern and correction: found, and marked.
    for (gauge, kind) in [("gossamer", "expression-of-concern"), ("hollowell", "correction")] {
        let notice = publish(gauge, kind, &[]);
        for side in [home, away] {
            let hits = found(side, &about(gauge), gauge);
            assert!(!hits.is_empty() && hits.iter().all(|hit| hit["caution"] == notice), "{kind}: {hits:#?}");
        }
        assert_eq!(state(gauge)["state"], "caution");
    }

    // reinstatement: found again on both sides, and the answer is current. It is owed to the same holders.
    let lifted = home.ok(&["reinstate", &retraction]);
    await_state(home, text(&lifted, "/notice"), &importer, "acknowledged");
    assert!(!found(home, &about("aldrin"), "aldrin").is_empty() && !found(away, &about("aldrin"), "aldrin").is_empty());
    let shown = state("aldrin");
    assert_eq!(shown["state"], "current", "{shown:#}");
    assert!(list(&shown, "/claims").iter().all(|claim| claim["state"] == "supported"), "{shown:#}");

    // The ledger in words, and by holder.
    let view = home.ok(&["notices", "receipts", &retraction]);
    assert_eq!((count(&view, "/holders"), count(&view, "/confirmed")), (1, 1), "{view:#}");
    assert_eq!(text(&view, "/receipts/0/name"), "Northwater, operations");
    assert_eq!(receipts(home, &retraction), [(importer, "acknowledged".to_string())]);
    assert!(count(&view, "/receipts/0/units") >= 1 && count(&view, "/receipts/0/answers") == 1, "{view:#}");
}
