//! What a credential says: all of it follows from the blocks, so a verifier writes the document again and compares.

use multibase::Base;
use serde_json::{Map, Value, json};

use super::super::verify::Verified;
use crate::grounding::{Answer, Citation};

/// The context that every credential of the second data model begins with.
const CREDENTIALS_V2: &str = "https://www.w3.org/ns/credentials/v2";
/// Where our own terms live. Nothing is there to be fetched: the context stands in the document.
const TERMS: &str = "urn:plumbline:bundle:";

/// Members of the subject that are plain text, numbers or flags.
const PLAIN: [&str; 7] = ["root", "issuedBy", "question", "answer", "abstained", "confidence", "sensitivity"];
/// Members of the subject whose inside is JSON of our own, and no linked data.
const STRUCTURED: [&str; 8] =
    ["organisation", "sentences", "citations", "conflicts", "reliability", "heads", "logged", "blocks"];

/// The document without its proof, by an issuer that goes by this name.
pub(super) fn document(verified: &Verified, issuer: &str) -> Value {
    json!({
        "@context": [CREDENTIALS_V2, terms()],
        "type": ["VerifiableCredential", "ContextBundleCredential"],
        "issuer": issuer,
        "validFrom": verified.bundle.issued_at.to_string(),
        "credentialSubject": subject(verified),
    })
}

fn terms() -> Value {
    let mut terms = Map::new();
    for name in ["ContextBundleCredential", "ContextBundle"].iter().chain(&PLAIN) {
        terms.insert(name.to_string(), format!("{TERMS}{name}").into());
    }
    for name in STRUCTURED {
        terms.insert(name.to_string(), json!({ "@id": format!("{TERMS}{name}"), "@type": "@json" }));
    }
    terms.into()
}

fn subject(verified: &Verified) -> Value {
    let (bundle, answer) = (&verified.bundle, &verified.answer);
    let blocks: Map<String, Value> = verified
        .blocks
        .iter()
        .map(|(cid, bytes)| (cid.to_string(), multibase::encode(Base::Base64Url, bytes).into()))
        .collect();
    let heads = bundle.heads.iter().map(|head| {
        json!({
            "publisher": head.publisher.to_string(),
            "asOf": head.as_of.to_string(),
            "checkpoint": head.checkpoint.as_str(),
        })
    });
    let mut subject = json!({
        "id": format!("ipfs://{}", verified.cid),
        "type": "ContextBundle",
        "root": verified.root.to_string(),
        "issuedBy": bundle.issuer.to_string(),
        "organisation": { "id": bundle.org.to_string(), "name": verified.certificate.value().org_name },
        "question": bundle.query,
        "answer": answer.answer,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "sentences": sentences(answer),
        "citations": answer.citations.iter().map(citation).collect::<Vec<_>>(),
        "conflicts": answer.conflicts,
        "reliability": answer.reliability,
        "sensitivity": bundle.sensitivity.as_str(),
        "heads": heads.collect::<Vec<_>>(),
        "blocks": blocks,
    });
    if let Some(logged) = &verified.logged {
        subject["logged"] = json!({ "log": logged.origin, "index": logged.index, "size": logged.size });
    }
    subject
}

fn sentences(answer: &Answer) -> Vec<Value> {
    answer.claims.iter().map(|c| json!({ "id": c.id, "text": c.text, "citations": c.citations })).collect()
}

fn citation(citation: &Citation) -> Value {
    let mut value = json!({
        "id": citation.id,
        "title": citation.title,
        "address": citation.uri,
        "publisher": citation.publisher.to_string(),
        "source": citation.source.to_string(),
        "chunk": citation.chunk.to_string(),
        "start": citation.start,
        "end": citation.end,
    });
    // What is not there is left out: a credential has no nulls.
    if let Some(page) = citation.page {
        value["page"] = page.into();
    }
    if let Some(caution) = citation.caution {
        value["caution"] = caution.to_string().into();
    }
    value
}
