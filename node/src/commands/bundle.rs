//! `plumb bundle`: signed bundles, out, checked, in. Showing, verifying and replaying need no node and no home.

mod show;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use plumb_actors::grounding::{BundleView, ImportView, VerdictView};
use plumb_core::exchange::{Form, Manifest};
use plumb_core::identity::{NodeId, OrgId};
use serde::Serialize;

use crate::api::bundles::media_type;
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::exit::{Exit, UsageError};
use crate::home::write_atomically;
use crate::offline::{self, Contents};
use crate::output::{Table, count, line, short};
use crate::problem::{Problem, Reason};
use crate::{output, session};

/// Bundles.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb bundle list                   with the bundles that contradict each other\n  \
    plumb bundle export last --out answer.car\n  \
    plumb bundle export last --format json --out answer.json   a Verifiable Credential, from its issuer only\n  \
    plumb bundle verify answer.car      exit 0 authentic and current, 4 retracted, 5 unknown or stale, 6 not authentic\n  \
    plumb bundle verify answer.car --trust did:key:z6Mk… --notice retraction.notice\n  \
    plumb bundle replay answer.car      composes the answer again from the evidence\n  \
    plumb bundle import answer.car      its evidence becomes searchable here; 8 if not all of it could be had\n\n\
    show, verify, replay and import take both forms, and tell them apart by what is in the file.\n\
    show, verify and replay of a file need no node. verify takes what the home's node knows of retractions, if there is one.")]
pub struct BundleArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List saved and imported bundles, newest first
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Write the file of a saved or imported bundle
    Export {
        /// Its CID, or `last`
        bundle: String,
        /// In which form. JSON carries a proof with the issuer's key, so only the issuer can write it
        #[arg(long, value_name = "FORM", default_value = "car")]
        format: Format,
        /// Where to
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Leave the evidence out: whoever imports it fetches that from the nodes that have it
        #[arg(long)]
        thin: bool,
    },
    /// Show what stands in a bundle, without believing it
    Show {
        /// The file; or the CID of a bundle that is kept here, or `last`
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
        /// The node that passed the file on, if it is another than its issuer: it gets a receipt too, and owes its notices
        #[arg(long, value_name = "DID")]
        from: Option<NodeId>,
    },
}

/// The form of a bundle file.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// CAR v1, for programs that speak IPLD
    Car,
    /// A W3C Verifiable Credential with a Data Integrity proof
    Json,
}

impl From<Format> for Form {
    fn from(format: Format) -> Form {
        match format {
            Format::Car => Form::Car,
            Format::Json => Form::Json,
        }
    }
}

/// Does it.
pub async fn run(cx: &Context, args: BundleArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { limit } => list(cx, limit).await,
        Verb::Export { bundle, format, out, thin } => export(cx, &bundle, format.into(), out, thin).await,
        Verb::Show { file } => show::show(cx, &file).await,
        Verb::Verify { file, offline, trust, notice, statement } => {
            verify(cx, &file, offline, &trust, &notice, &statement).await
        }
        Verb::Replay { file, out } => replay(cx, &file, out.as_deref()),
        Verb::Import { file, from } => import(cx, &file, from).await,
    }
}

async fn list(cx: &Context, limit: usize) -> anyhow::Result<Exit> {
    let address = with_query("/v1/bundles", &[("limit", Some(limit.to_string()))]);
    let bundles: Vec<BundleView> = session::with_node(cx, async |client| client.get(&address).await).await?;
    output::emit(cx.json, &bundles, || {
        let mut table = Table::new(&["issued", "from", "question", "bundle", "conflicts"]);
        for b in &bundles {
            let from = if b.imported { short(&b.issuer) } else { "here".to_string() };
            let conflicts = if b.conflicts_with.is_empty() {
                String::new()
            } else {
                count(b.conflicts_with.len() as u64, "bundle says otherwise", "bundles say otherwise")
            };
            table.row([b.issued_at.clone(), from, line(&b.query, 60), b.bundle.clone(), conflicts]);
        }
        table.show("no bundles that you may read")
    })?;
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct ExportView {
    bundle: String,
    format: &'static str,
    file: PathBuf,
    bytes: usize,
}

async fn export(cx: &Context, bundle: &str, form: Form, out: PathBuf, thin: bool) -> anyhow::Result<Exit> {
    if thin && form == Form::Json {
        return Err(
            UsageError("a credential in JSON is always whole; --thin goes with --format car".to_string()).into()
        );
    }
    let path = with_query(&format!("/v1/bundles/{}", escape(bundle)), &[("format", Some(form.as_str().to_string()))]);
    let mut file = session::with_node(cx, async |client| client.get_bytes(&path).await).await?.to_vec();
    let contents = Contents::read(&file)?;
    if thin {
        file = Manifest::read(&file)?.to_thin_car();
    }
    write_atomically(&out, &file)?;
    let view =
        ExportView { bundle: contents.cid.to_string(), format: contents.form.as_str(), file: out, bytes: file.len() };
    output::emit(cx.json, &view, || format!("{} → {} ({} bytes)\n", view.bundle, view.file.display(), view.bytes))?;
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
    let bytes = offline::read_file(file)?;
    let named = !trust.is_empty() || !notices.is_empty() || !statements.is_empty();
    let alone = offline || named || !cx.home()?.is_certified();
    let verdict: VerdictView = if alone {
        let notices = notices.iter().map(|f| offline::read_notice(f)).collect::<anyhow::Result<Vec<_>>>()?;
        let statements = statements.iter().map(|f| offline::read_statement(f)).collect::<anyhow::Result<Vec<_>>>()?;
        offline::verdict(&bytes, trust, &notices, &statements)
    } else {
        let media_type = media_type(Form::of(&bytes));
        session::with_node(cx, async |client| client.post_file("/v1/bundles/verify", media_type, bytes).await).await?
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
    match &verdict.logged {
        Some(logged) => {
            let _ = writeln!(text, "  logged at index {} of {} in {}", logged.index, logged.size, logged.log);
        }
        None if verdict.exit_code != 6 => {
            text.push_str("  not logged: the file does not prove that its issuer put it on the public record\n");
        }
        None => {}
    }
    for withdrawn in &verdict.withdrawn {
        let _ = writeln!(text, "  withdrawn: {}\n    by notice {}", withdrawn.title, withdrawn.notice);
    }
    for caution in &verdict.cautions {
        let _ = writeln!(text, "  caution: {}\n    by notice {}", caution.title, caution.notice);
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
    let file_bytes = offline::read_file(file)?;
    let (view, bytes) = match offline::replayed(&file_bytes) {
        Ok(replayed) => replayed,
        Err(error) => {
            let what = format!("{} cannot be replayed: {error}", file.display());
            return Err(Problem::new(Reason::NotAuthentic, what).into());
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

async fn import(cx: &Context, file: &Path, from: Option<NodeId>) -> anyhow::Result<Exit> {
    let bytes = offline::read_file(file)?;
    let media_type = media_type(Form::of(&bytes));
    let address = with_query("/v1/bundles/import", &[("from", from.map(|node| node.to_string()))]);
    let import: ImportView =
        session::with_node(cx, async |client| client.post_file(&address, media_type, bytes).await).await?;
    output::emit(cx.json, &import, || {
        if !import.complete {
            return format!("{}\n", import.verdict.summary);
        }
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
        if import.blocks_fetched > 0 {
            let _ = writeln!(text, "{} came from peers", count(import.blocks_fetched, "block", "blocks"));
        }
        for unconfirmed in &import.unconfirmed {
            let _ = writeln!(text, "{}", unconfirmed.sentence());
        }
        for other in &import.conflicts_with {
            let _ =
                writeln!(text, "! {other} is kept here too, and says otherwise to the same question; both are kept");
        }
        let _ = writeln!(text, "{}", import.verdict.summary);
        text
    })?;
    Ok(if import.complete { Exit::Done } else { Exit::Busy })
}
