//! `plumb bundle`: signed bundles, out, checked, in. Showing, verifying and replaying need no node and no home.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use plumb_actors::grounding::{ImportView, VerdictView};
use plumb_core::identity::OrgId;
use serde::Serialize;

use super::ask;
use crate::api::bundles::MEDIA_TYPE;
use crate::api::envelope::Answer;
use crate::cli::Context;
use crate::client::escape;
use crate::exit::Exit;
use crate::home::write_atomically;
use crate::offline::{self, Contents};
use crate::output::{count, short};
use crate::{output, session};

/// Bundles.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb bundle export last --out answer.car\n  \
    plumb bundle verify answer.car      exit 0 authentic and current, 4 retracted, 5 unknown or stale, 6 not authentic\n  \
    plumb bundle verify answer.car --trust did:key:z6Mk… --notice retraction.notice\n  \
    plumb bundle replay answer.car      composes the answer again from the evidence\n  \
    plumb bundle import answer.car      its evidence becomes searchable here\n\n\
    show, verify and replay need no node. verify takes what the home's node knows of retractions, if there is one.")]
pub struct BundleArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write the file of a saved or imported bundle
    Export {
        /// Its CID, or `last`
        bundle: String,
        /// Where to
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Show what stands in a bundle file, without believing it
    Show {
        /// The file
        file: PathBuf,
    },
    /// Verify a bundle file
    Verify {
        /// The file
        file: PathBuf,
        /// Use nothing but the file and what is named here, even if there is a home
        #[arg(long)]
        offline: bool,
        /// Trust this organisation, by its root; may be repeated. Implies --offline
        #[arg(long, value_name = "DID")]
        trust: Vec<OrgId>,
        /// Take this signed notice into account; may be repeated. Implies --offline
        #[arg(long, value_name = "FILE")]
        notice: Vec<PathBuf>,
        /// Take this rotation or revocation into account, as a root wrote it; may be repeated. Implies --offline
        #[arg(long, value_name = "FILE")]
        statement: Vec<PathBuf>,
    },
    /// Compose the answer of a bundle file again from its evidence, and compare
    Replay {
        /// The file
        file: PathBuf,
        /// Write the answer's canonical bytes (DAG-CBOR) into this file
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Take a bundle file in: its evidence becomes searchable here, and its issuer gets a receipt
    Import {
        /// The file
        file: PathBuf,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: BundleArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Export { bundle, out } => export(cx, &bundle, out).await,
        Verb::Show { file } => show(cx, &file),
        Verb::Verify { file, offline, trust, notice, statement } => {
            verify(cx, &file, offline, &trust, &notice, &statement).await
        }
        Verb::Replay { file, out } => replay(cx, &file, out.as_deref()),
        Verb::Import { file } => import(cx, &file).await,
    }
}

#[derive(Debug, Serialize)]
struct ExportView {
    bundle: String,
    file: PathBuf,
    bytes: usize,
}

async fn export(cx: &Context, bundle: &str, out: PathBuf) -> anyhow::Result<Exit> {
    let path = format!("/v1/bundles/{}", escape(bundle));
    let car = session::with_node(cx, async |client| client.get_bytes(&path).await).await?;
    write_atomically(&out, &car)?;
    let contents = Contents::read(&car)?;
    let view = ExportView { bundle: contents.cid.to_string(), file: out, bytes: car.len() };
    output::emit(cx.json, &view, || format!("{} → {} ({} bytes)\n", view.bundle, view.file.display(), view.bytes))?;
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct ContentsView {
    bundle: String,
    issuer: String,
    organisation: String,
    issued_at: String,
    max_age_ms: u64,
    query: String,
    sensitivity: String,
    blocks: usize,
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
        let Contents { cid, bundle, answer, sources, n_blocks } = contents;
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
            issuer: bundle.issuer.to_string(),
            organisation: bundle.org.to_string(),
            issued_at: bundle.issued_at.to_string(),
            max_age_ms: bundle.max_age.0,
            query: bundle.query.clone(),
            sensitivity: bundle.sensitivity.to_string(),
            blocks: n_blocks,
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

fn show(cx: &Context, file: &Path) -> anyhow::Result<Exit> {
    let car = offline::read_file(file)?;
    let contents = match Contents::read(&car) {
        Ok(contents) => contents,
        Err(error) => {
            output::remark(&format!("plumb: {} is no bundle: {error}", file.display()));
            return Ok(Exit::NotAuthentic);
        }
    };
    let view = ContentsView::from(contents);
    output::emit(cx.json, &view, || {
        let mut text = format!(
            "Bundle {}\n  issued by    {}\n  of           {}\n  at           {}\n  label        {}\n  blocks       {}\n  question     {}\n\n{}",
            view.bundle,
            view.issuer,
            view.organisation,
            view.issued_at,
            view.sensitivity,
            view.blocks,
            view.query,
            ask::answer(&view.answer),
        );
        let _ = writeln!(text, "\nEvidence in rank order:");
        for e in &view.evidence {
            let _ =
                writeln!(text, "  {} · {} · score {} · published by {}", e.title, e.uri, e.score, short(&e.publisher));
        }
        for head in &view.heads {
            let _ = writeln!(text, "The log of {} was confirmed at {}", short(&head.publisher), head.as_of);
        }
        text.push_str("\nThis is what the file says. `plumb bundle verify` checks it.\n");
        text
    })?;
    Ok(Exit::Done)
}

async fn verify(
    cx: &Context,
    file: &Path,
    offline: bool,
    trust: &[OrgId],
    notices: &[PathBuf],
    statements: &[PathBuf],
) -> anyhow::Result<Exit> {
    let car = offline::read_file(file)?;
    let named = !trust.is_empty() || !notices.is_empty() || !statements.is_empty();
    let alone = offline || named || !cx.home()?.is_certified();
    let verdict: VerdictView = if alone {
        let notices = notices.iter().map(|f| offline::read_notice(f)).collect::<anyhow::Result<Vec<_>>>()?;
        let statements = statements.iter().map(|f| offline::read_statement(f)).collect::<anyhow::Result<Vec<_>>>()?;
        offline::verdict(&car, trust, &notices, &statements)
    } else {
        session::with_node(cx, async |client| client.post_file("/v1/bundles/verify", MEDIA_TYPE, car).await).await?
    };
    output::emit(cx.json, &verdict, || show_verdict(&verdict, alone))?;
    Ok(Exit::of_verdict(verdict.exit_code))
}

fn show_verdict(verdict: &VerdictView, alone: bool) -> String {
    let mut text = String::new();
    for check in &verdict.checks {
        let _ = writeln!(text, "✓ {check}");
    }
    let _ = writeln!(text, "{} {}", if verdict.exit_code == 6 { "✗" } else { "→" }, verdict.summary);
    for withdrawn in &verdict.withdrawn {
        let _ = writeln!(text, "  withdrawn: {}\n    by notice {}", withdrawn.title, withdrawn.notice);
    }
    if let (Some(name), Some(org)) = (&verdict.organisation_name, &verdict.organisation) {
        let trusted = if verdict.organisation_is_trusted { "trusted" } else { "not trusted" };
        let place = if alone { "by what was named" } else { "by this node" };
        let _ = writeln!(text, "  `{name}` ({org}) is {trusted} {place}");
    }
    if alone {
        text.push_str("  Checked with the file alone; a node with a home also knows of retractions.\n");
    }
    text
}

fn replay(cx: &Context, file: &Path, out: Option<&Path>) -> anyhow::Result<Exit> {
    let car = offline::read_file(file)?;
    let (view, bytes) = match offline::replayed(&car) {
        Ok(replayed) => replayed,
        Err(error) => {
            output::remark(&format!("plumb: {} cannot be replayed: {error}", file.display()));
            return Ok(Exit::NotAuthentic);
        }
    };
    if let Some(out) = out {
        write_atomically(out, &bytes)?;
    }
    let answer = serde_json::to_string_pretty(&view.answer)?;
    output::emit(cx.json, &view, || format!("{answer}\n"))?;
    if !cx.json {
        output::remark(&if view.equal {
            format!("The evidence gives the same answer, byte for byte ({} bytes, {})", bytes.len(), view.replayed)
        } else {
            format!("The evidence gives another answer: {}, and the bundle has {}", view.replayed, view.given)
        });
    }
    Ok(if view.equal { Exit::Done } else { Exit::NotAuthentic })
}

async fn import(cx: &Context, file: &Path) -> anyhow::Result<Exit> {
    let car = offline::read_file(file)?;
    let import: ImportView =
        session::with_node(cx, async |client| client.post_file("/v1/bundles/import", MEDIA_TYPE, car).await).await?;
    output::emit(cx.json, &import, || {
        let mut text = format!(
            "Imported {}: {} new, {} known, {}\n",
            import.bundle,
            count(import.imported, "unit", "units"),
            import.known,
            count(import.refused.len() as u64, "source refused", "sources refused"),
        );
        for note in &import.refused {
            let _ = writeln!(text, "  {}\n    {}", note.address, note.reason);
        }
        for receipt in &import.receipts {
            let _ = writeln!(text, "Receipt {receipt}");
        }
        let _ = writeln!(text, "{}", import.verdict.summary);
        text
    })?;
    Ok(Exit::Done)
}
