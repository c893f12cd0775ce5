//! `plumb bundle show`: what stands in a bundle, in a file or kept here.

use std::fmt::Write;
use std::path::Path;

use plumb_actors::grounding::BundleView;
use plumb_core::content::parse_cid;
use serde::Serialize;

use crate::api::envelope::Answer;
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::commands::ask;
use crate::exit::Exit;
use crate::offline::{self, Contents};
use crate::output::short;
use crate::problem::{Problem, Reason};
use crate::{output, session};

#[derive(Debug, Serialize)]
struct ContentsView {
    bundle: String,
    matter: String,
    format: &'static str,
    issuer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer_name: Option<String>,
    organisation: String,
    issued_at: String,
    max_age_ms: u64,
    query: String,
    sensitivity: String,
    blocks: usize,
    claims_log: bool,
    /// Of bundles that are kept here: those that say otherwise.
    conflicts_with: Vec<String>,
    answer: Answer,
    evidence: Vec<EvidenceView>,
    heads: Vec<HeadView>,
}

#[derive(Debug, Serialize)]
struct EvidenceView {
    chunk: String,
    source: String,
    title: String,
    uri: String,
    publisher: String,
    score: u64,
}

#[derive(Debug, Serialize)]
struct HeadView {
    publisher: String,
    as_of: String,
    checkpoint: String,
}

impl From<Contents> for ContentsView {
    fn from(contents: Contents) -> ContentsView {
        let Contents { cid, bundle, answer, sources, n_blocks, form, issuer_name, matter, claims_log } = contents;
        let evidence = bundle.evidence.iter().filter_map(|cited| {
            let source = sources.get(&cited.source)?;
            Some(EvidenceView {
                chunk: cited.chunk.to_string(),
                source: cited.source.to_string(),
                title: source.title.clone(),
                uri: source.uri.clone(),
                publisher: source.publisher.to_string(),
                score: cited.score,
            })
        });
        ContentsView {
            bundle: cid.to_string(),
            matter: matter.to_string(),
            format: form.as_str(),
            issuer_name: issuer_name.filter(|name| *name != bundle.issuer.to_string()),
            issuer: bundle.issuer.to_string(),
            organisation: bundle.org.to_string(),
            issued_at: bundle.issued_at.to_string(),
            max_age_ms: bundle.max_age.0,
            query: bundle.query.clone(),
            sensitivity: bundle.sensitivity.to_string(),
            blocks: n_blocks,
            claims_log,
            conflicts_with: Vec::new(),
            evidence: evidence.collect(),
            heads: bundle
                .heads
                .iter()
                .map(|head| HeadView {
                    publisher: head.publisher.to_string(),
                    as_of: head.as_of.to_string(),
                    checkpoint: head.checkpoint.to_string(),
                })
                .collect(),
            answer: answer.into(),
        }
    }
}

/// The bytes of a file; or of a bundle that is kept here, with those that contradict it.
async fn file_or_kept(cx: &Context, file: &Path) -> anyhow::Result<(Vec<u8>, Vec<String>)> {
    let name = file.to_str().filter(|name| !file.exists() && (*name == "last" || parse_cid(name).is_ok()));
    let Some(name) = name else { return Ok((offline::read_file(file)?, Vec::new())) };
    session::with_node(cx, async |client| {
        let about = with_query("/v1/bundles", &[("bundle", Some(name.to_string()))]);
        let kept: Vec<BundleView> = client.get(&about).await?;
        let bytes = client.get_bytes(&format!("/v1/bundles/{}", escape(name))).await?;
        Ok((bytes.to_vec(), kept.into_iter().flat_map(|view| view.conflicts_with).collect()))
    })
    .await
}

/// Does it.
pub async fn show(cx: &Context, file: &Path) -> anyhow::Result<Exit> {
    let (bytes, conflicts_with) = file_or_kept(cx, file).await?;
    let contents = match Contents::read(&bytes) {
        Ok(contents) => contents,
        Err(error) => {
            let what = format!("{} is no bundle: {error}", file.display());
            return Err(Problem::new(Reason::NotAuthentic, what).into());
        }
    };
    let view = ContentsView { conflicts_with, ..ContentsView::from(contents) };
    output::emit(cx.json, &view, || show_contents(&view))?;
    Ok(Exit::Done)
}

fn show_contents(view: &ContentsView) -> String {
    let mut text = format!(
        "Bundle {}\n  issued by    {}\n  of           {}\n  at           {}\n  label        {}\n  form         {}, {} blocks\n  matter       {}\n  question     {}\n\n{}",
        view.bundle,
        view.issuer,
        view.organisation,
        view.issued_at,
        view.sensitivity,
        view.format,
        view.blocks,
        view.matter,
        view.query,
        ask::answer(&view.answer),
    );
    let _ = writeln!(text, "\nEvidence in rank order:");
    for e in &view.evidence {
        let _ = writeln!(text, "  {} · {} · score {} · published by {}", e.title, e.uri, e.score, short(&e.publisher));
    }
    for head in &view.heads {
        let _ = writeln!(text, "The log of {} was confirmed at {}", short(&head.publisher), head.as_of);
    }
    if let Some(name) = &view.issuer_name {
        let _ = writeln!(text, "Its issuer signed as {name}");
    }
    text.push_str(if view.claims_log {
        "It claims to stand in the log of its issuer\n"
    } else {
        "It does not claim to stand in the log of its issuer\n"
    });
    for other in &view.conflicts_with {
        let _ = writeln!(text, "! {other}, which is kept here too, says otherwise to the same question");
    }
    text.push_str("\nThis is what it says. `plumb bundle verify` checks it.\n");
    text
}
