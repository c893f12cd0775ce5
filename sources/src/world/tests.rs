use proptest::prelude::*;

use super::*;

fn told(json: &str) -> Vec<(String, Nature, Option<String>)> {
    let file = read_world(json.as_bytes()).unwrap();
    assert_eq!(file.feed, Feed::Crossref);
    file.reports.into_iter().map(|r| (r.work.to_string(), r.nature, r.notice.map(|n| n.to_string()))).collect()
}

#[test]
fn a_notice_names_the_work_that_it_updates() {
    let notice = r#"{"message": {"DOI": "10.5555/NOTICE", "title": ["Retraction: A study"],
        "update-to": [{"DOI": "10.5555/Work", "type": "retraction", "label": "Retraction",
                       "updated": {"date-parts": [[2031, 5, 19]]}}]}}"#;
    let retracted = ("10.5555/work".to_string(), Nature::Retraction, Some("10.5555/notice".to_string()));
    assert_eq!(told(notice), std::slice::from_ref(&retracted), "the work is withdrawn, and the notice is not");
    assert_eq!(read_world(notice.as_bytes()).unwrap().reports[0].day, Some(20_310_519));

    let work = r#"{"DOI": "10.5555/Work", "title": ["A study"],
        "updated-by": [{"DOI": "10.5555/notice", "type": "retraction", "updated": {"date-parts": [[null]]}}]}"#;
    assert_eq!(told(work), [retracted], "both directions say the same");
    assert_eq!(read_world(work.as_bytes()).unwrap().reports[0].day, None);
}

#[test]
fn every_type_of_crossref_has_its_effect() {
    use NoticeKind::{Correction, ExpressionOfConcern, PartialRetraction, Retraction};
    for (name, kind) in [
        ("retraction", Retraction),
        ("partial_retraction", PartialRetraction),
        ("withdrawal", Retraction),
        ("removal", Retraction),
        ("expression_of_concern", ExpressionOfConcern),
        ("correction", Correction),
        ("erratum", Correction),
        ("corrigendum", Correction),
        ("addendum", Correction),
        ("clarification", Correction),
        ("new_edition", Correction),
        ("new_version", Correction),
    ] {
        let notice = format!(r#"{{"DOI": "10.5555/n", "update-to": [{{"DOI": "10.5555/w", "type": "{name}"}}]}}"#);
        let file = read_world(notice.as_bytes()).unwrap();
        assert_eq!(file.reports[0].nature.as_str(), name);
        assert_eq!(file.reports[0].nature.kind(), Some(kind), "{name}");
    }
    assert_eq!(Nature::Reinstatement.kind(), None);
}

#[test]
fn a_record_may_name_itself() {
    let itself = r#"{"DOI": "10.5555/w", "update-to": [{"DOI": "10.5555/W", "type": "withdrawal"}]}"#;
    assert_eq!(told(itself), [("10.5555/w".to_string(), Nature::Withdrawal, None)]);
    let by_itself = r#"{"DOI": "10.5555/w", "updated-by": [{"DOI": "10.5555/W", "type": "withdrawal"}]}"#;
    assert_eq!(told(by_itself), told(itself));
}

#[test]
fn a_title_is_the_last_resort() {
    let retracted = ("10.5555/w".to_string(), Nature::Retraction, None);
    for title in ["RETRACTED: A study", "RETRACTED ARTICLE: A study", "RETRACTED—A study"] {
        assert_eq!(
            told(&format!(r#"{{"DOI": "10.5555/w", "title": ["{title}"]}}"#)),
            std::slice::from_ref(&retracted),
            "{title}"
        );
    }
    for title in ["Retracted potentials of the heart", "RETRACTEDLY", "On what was RETRACTED", ""] {
        assert_eq!(told(&format!(r#"{{"DOI": "10.5555/w", "title": ["{title}"]}}"#)), [], "{title}");
    }
    let notice = r#"{"DOI": "10.5555/n", "title": ["RETRACTED: A study"], "update-to": [{"DOI": "10.5555/w", "type": "retraction"}]}"#;
    assert_eq!(told(notice).len(), 1, "a notice with the title of its work is not retracted itself");
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_stands() {
    let page = r#"{"message": {"items": [{"DOI": "no"}, {"DOI": "10.5555/n", "update-to": [
        {"DOI": "10.5555/w", "type": "retraction"}, {"DOI": "10.5555/v", "type": "apology"}, {"type": "retraction"}]}]}}"#;
    let file = read_world(page.as_bytes()).unwrap();
    assert_eq!((file.n_records, file.reports.len(), file.n_problems), (2, 1, 3), "{:?}", file.problems);
    for bad in ["{", "[1]x", "{\"a\": 1}", "a,b\n1,2\n", "", "original_doi\n"] {
        assert!(read_world(bad.as_bytes()).is_err(), "{bad}");
    }
}

const CSV: &str = "Record ID,Title,RetractionDate,RetractionDOI,OriginalPaperDOI,RetractionNature,Reason\n\
    1,\"A study, with a comma\",5/19/2031 0:00,10.5555/N1,10.5555/W1,Retraction,+Plagiarism of Text;+Copyright Claims;\n\
    2,B,1/2/2030 0:00,unavailable,unavailable,Retraction,\n\
    3,C,3/1/2031 0:00,10.5555/w3,10.5555/W3,Expression of concern,+Unreliable Data;\n\
    4,D,1/1/2030 0:00,10.5555/n4,10.5555/w4,Retraction,+Something New;\n\
    5,D,1/1/2031 0:00,10.5555/r4,10.5555/w4,Reinstatement,\n\
    6,E,1/1/2031 0:00,,10.5555/w5,Reinstatement,\n\
    7,F,1/1/2031 0:00,,10.5555/w6,Reinstatement,\n\
    8,F,2/1/2031 0:00,,10.5555/w6,Retraction,\n\
    9,G,2/1/2031 0:00,,10.5555/w7,Apology,\n";

#[test]
fn the_published_list_is_read_by_its_columns() {
    let file = read_world(CSV.as_bytes()).unwrap();
    assert_eq!((file.feed, file.n_records, file.reports.len(), file.n_problems), (Feed::RetractionWatch, 9, 7, 1));
    let of = |work: &str| -> Vec<&Report> {
        standing_of(file.reports.iter().filter(|r| r.work.as_str() == format!("10.5555/{work}")))
    };
    let first = of("w1")[0];
    assert_eq!(
        (first.nature, first.reason, first.day),
        (Nature::Retraction, Some(Reason::Plagiarism), Some(20_310_519))
    );
    assert_eq!(first.notice.as_ref().unwrap().as_str(), "10.5555/n1");
    assert_eq!((of("w3")[0].nature, &of("w3")[0].notice), (Nature::ExpressionOfConcern, &None), "its own DOI is none");
    assert_eq!(of("w4"), [] as [&Report; 0], "it was reinstated afterwards");
    assert_eq!(of("w5"), [] as [&Report; 0], "a reinstatement alone is not a retraction");
    assert_eq!(of("w6")[0].nature, Nature::Retraction, "it was retracted again");
}

#[test]
fn the_derived_list_has_one_line_for_each_paper() {
    let tsv = "original_doi\tstatus\tretraction_notice_doi\tconcern_notice_doi\tsources\n\
        10.5555/a\tRetraction\t10.5555/n\t\tA+B\n\
        10.5555/b\tReinstatement\t\t\tA\n\
        10.5555/c\tRetraction;Expression of concern\t10.5555/n\t10.5555/m\tB\n\
        10.5555/d\tRetraction;Reinstatement\t\t\tA\n\
        10.5555/\"e\tCorrection\t\t\tA\n\
        nothing\tRetraction\t\t\tA\n";
    let file = read_world(tsv.as_bytes()).unwrap();
    assert_eq!((file.n_records, file.n_problems), (6, 1));
    let natures = |work: &str| -> Vec<Nature> {
        let of = file.reports.iter().filter(|r| r.work.as_str() == work);
        standing_of(of).iter().map(|r| r.nature).collect()
    };
    assert_eq!(natures("10.5555/a"), [Nature::Retraction]);
    assert_eq!(natures("10.5555/b"), []);
    assert_eq!(natures("10.5555/c"), [Nature::Retraction, Nature::ExpressionOfConcern]);
    assert_eq!(natures("10.5555/d"), [Nature::Retraction], "without days the withdrawal stands");
    assert_eq!(natures("10.5555/\"e"), [Nature::Correction], "a quote is a character like any other");
}

proptest! {
    #[test]
    fn any_bytes_give_a_list_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        head in prop_oneof![Just(""), Just("{\"DOI\":\"10.5555/a\","), Just("OriginalPaperDOI,RetractionNature\n"), Just("original_doi\tstatus\n")],
    ) {
        let _ = read_world(&[head.as_bytes(), &bytes].concat());
    }
}
