//! `plumb retract`, `plumb reinstate`, `plumb notices`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand};
use plumb_actors::verification::NoticeView;
use plumb_core::content::RawBlock;
use plumb_core::notice::{Notice, NoticeKind, Reason};
use serde::Serialize;

use crate::api::notices::{NoticeRequest, ReceiptsView};
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::exit::{Exit, UsageError};
use crate::home::{Root, write_atomically};
use crate::output::{Table, count, line, short};
use crate::passphrase::PassphraseArgs;
use crate::{output, session};

/// Publishes a notice.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb retract study-chloramine.md --reason data-error --note \"Sensors were calibrated with an old bottle.\"\n  \
    plumb retract bafy… --kind expression-of-concern --reason not-reproducible\n\n\
    Kinds: retraction, partial-retraction, supersession and narrowing withdraw a source; expression-of-concern and\n\
    correction counsel caution.\n\
    Reasons: data-error, analysis-error, not-reproducible, fabrication, plagiarism, duplicate, consent, legal, privacy,\n\
    security, superseded, publisher-error, resolved.")]
pub struct RetractArgs {
    /// Sources of this node: CIDs, addresses, or ends of addresses
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// What kind of notice
    #[arg(long, value_name = "KIND", default_value = "retraction")]
    kind: NoticeKind,
    /// Why
    #[arg(long, value_name = "REASON")]
    reason: Reason,
    /// Why, in words
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    #[command(flatten)]
    as_root: AsRoot,
}

/// In whose name a notice is published.
#[derive(Debug, Args)]
pub struct AsRoot {
    /// Sign with the organisation's root in this folder: for what any of its nodes published, when that node cannot
    #[arg(long = "as-root", value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// Undoes a notice.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plumb reinstate bafy… --note \"The recalibrated data confirm the study.\"")]
pub struct ReinstateArgs {
    /// The notice that no longer holds, by its CID
    notice: String,
    /// Why
    #[arg(long, value_name = "REASON", default_value = "resolved")]
    reason: Reason,
    /// Why, in words
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    #[command(flatten)]
    as_root: AsRoot,
}

/// Notices.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plumb notices list\n  plumb notices show bafy…\n  plumb notices receipts bafy…    who holds what it names, and who has applied it"
)]
pub struct NoticesArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List notices, newest first: own ones and those that arrived
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show a notice: what it names, what it changed here, to whom it is owed
    Show {
        /// Its CID
        notice: String,
    },
    /// Show who is known to hold what a notice names, and whether they have applied it
    Receipts {
        /// The notice's CID
        notice: String,
    },
    /// Write a signed notice into a file, so that others can judge a bundle by it without a node
    Export {
        /// Its CID
        notice: String,
        /// Where to
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Debug, Serialize)]
struct ExportView {
    notice: String,
    file: PathBuf,
    bytes: usize,
}

/// Publishes a notice.
pub async fn retract(cx: &Context, args: RetractArgs) -> anyhow::Result<Exit> {
    if args.kind == NoticeKind::Reinstatement {
        return Err(UsageError("a notice is undone with `plumb reinstate NOTICE`".to_string()).into());
    }
    publish(cx, args.kind, args.reason, args.note, args.targets, &args.as_root).await
}

/// Undoes a notice.
pub async fn reinstate(cx: &Context, args: ReinstateArgs) -> anyhow::Result<Exit> {
    publish(cx, NoticeKind::Reinstatement, args.reason, args.note, vec![args.notice], &args.as_root).await
}

async fn publish(
    cx: &Context,
    kind: NoticeKind,
    reason: Reason,
    note: String,
    targets: Vec<String>,
    as_root: &AsRoot,
) -> anyhow::Result<Exit> {
    let request = NoticeRequest { kind: kind.as_str().to_string(), reason: reason.as_str().to_string(), note, targets };
    let notice: NoticeView = match &as_root.root {
        None => session::with_node(cx, async |client| client.post("/v1/notices", &request).await).await?,
        Some(dir) => {
            let root = Root::open(dir, || as_root.passphrase.ask())?;
            session::with_node(cx, async |client| {
                let draft = client.post_for_bytes("/v1/notices/draft", &request).await?;
                let draft: Notice = RawBlock::dag_cbor(draft.to_vec()).decode()?;
                if draft.org != root.org() {
                    bail!("this node belongs to another organisation than the root of `{}`", root.name());
                }
                client.post_file("/v1/notices/signed", "application/cbor", root.sign(draft)?.to_bytes()).await
            })
            .await?
        }
    };
    output::emit(cx.json, &notice, || show(&notice))?;
    Ok(Exit::Done)
}

/// Looks at notices.
pub async fn run(cx: &Context, args: NoticesArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { limit } => {
            let address = with_query("/v1/notices", &[("limit", Some(limit.to_string()))]);
            let notices: Vec<NoticeView> = session::with_node(cx, async |client| client.get(&address).await).await?;
            output::emit(cx.json, &notices, || list(&notices))?;
        }
        Verb::Show { notice } => {
            let path = format!("/v1/notices/{}", escape(&notice));
            let notice: NoticeView = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &notice, || show(&notice))?;
        }
        Verb::Receipts { notice } => {
            let address = with_query("/v1/receipts", &[("notice", Some(notice))]);
            let receipts: ReceiptsView = session::with_node(cx, async |client| client.get(&address).await).await?;
            output::emit(cx.json, &receipts, || show_receipts(&receipts))?;
        }
        Verb::Export { notice, out } => {
            let path = format!("/v1/notices/{}/signed", escape(&notice));
            let bytes = session::with_node(cx, async |client| client.get_bytes(&path).await).await?;
            write_atomically(&out, &bytes)?;
            let view = ExportView { notice, file: out, bytes: bytes.len() };
            output::emit(cx.json, &view, || {
                let file = view.file.display();
                format!(
                    "{} → {file} ({} bytes)\nOthers use it with `plumb bundle verify FILE --notice {file}`.\n",
                    view.notice, view.bytes
                )
            })?;
        }
    }
    Ok(Exit::Done)
}

fn list(notices: &[NoticeView]) -> String {
    let mut table = Table::new(&["issued", "kind", "reason", "applied", "sources", "notice"]);
    for notice in notices {
        let targets: Vec<&str> = notice.targets.iter().map(|t| t.title.as_deref().unwrap_or(&t.source)).collect();
        table.row([
            notice.issued_at.clone(),
            notice.kind.clone(),
            notice.reason.clone(),
            match (&notice.applied, &notice.refused) {
                (Some(_), _) => "yes".to_string(),
                (None, Some(_)) => "refused".to_string(),
                (None, None) => "no".to_string(),
            },
            line(&targets.join(", "), 60),
            notice.notice.clone(),
        ]);
    }
    table.show("no notices")
}

fn show(notice: &NoticeView) -> String {
    let mut text = format!(
        "Notice {}\n  {}, because of {}\n  publisher  {}\n  signed by  {}\n  issued     {}\n",
        notice.notice,
        notice.kind.replace('_', " "),
        notice.reason.replace('_', " "),
        notice.publisher,
        notice.signer,
        notice.issued_at,
    );
    if !notice.note.is_empty() {
        let _ = writeln!(text, "  {}", notice.note);
    }
    if let Some(undoes) = &notice.undoes {
        let _ = writeln!(text, "  undoes     {undoes}");
    }
    for target in &notice.targets {
        let _ =
            writeln!(text, "  names      {} {}", target.source, target.title.as_deref().unwrap_or("(not held here)"));
    }
    if let Some(applied) = &notice.applied {
        let _ = writeln!(
            text,
            "  applied    {}: {} changed, {} flagged",
            applied.at,
            count(applied.units, "unit", "units"),
            count(applied.answers, "saved answer", "saved answers")
        );
    }
    if let Some(why) = &notice.refused {
        let _ = writeln!(text, "  changed nothing: {why}");
    }
    if !notice.receipts.is_empty() {
        let confirmed = notice.receipts.iter().filter(|r| r.state == "acknowledged").count();
        let _ = writeln!(text, "  receipts   {confirmed} of {} confirmed", notice.receipts.len());
    }
    text
}

fn show_receipts(view: &ReceiptsView) -> String {
    if view.receipts.is_empty() {
        return "Nobody is known to hold what this notice names.\n".to_string();
    }
    let mut text = format!("{} of {} confirmed", view.confirmed, view.holders);
    // RFC 3339 in UTC sorts as text, so the least is the longest open.
    let open = view.receipts.iter().filter(|r| r.state == "open").map(|r| r.at.as_str()).min();
    if let Some(since) = open {
        let _ = write!(text, ", {} open since {since}", view.holders - view.confirmed);
    }
    text.push_str("\n\n");
    let mut table = Table::new(&["holder", "state", "at", "units", "answers"]);
    let number = |n: Option<u64>| n.map_or_else(|| "–".to_string(), |n| n.to_string());
    for receipt in &view.receipts {
        table.row([
            short(&receipt.holder),
            receipt.state.clone(),
            receipt.at.clone(),
            number(receipt.units),
            number(receipt.answers),
        ]);
    }
    text.push_str(&table.show(""));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_actors::verification::ObligationView;

    #[test]
    fn receipts_are_told_in_one_line() {
        let receipt = |state: &str, at: &str| ObligationView {
            holder: "did:key:z6MkABCDEFGH".into(),
            state: state.into(),
            at: at.into(),
            units: None,
            answers: Some(1),
        };
        let receipts = vec![
            receipt("acknowledged", "2031-01-03T00:00:00.000Z"),
            receipt("open", "2031-01-02T00:00:00.000Z"),
            receipt("acknowledged", "2031-01-01T00:00:00.000Z"),
        ];
        let view = ReceiptsView { notice: "bafy".into(), holders: 3, confirmed: 2, receipts };
        let text = show_receipts(&view);
        assert!(text.starts_with("2 of 3 confirmed, 1 open since 2031-01-02T00:00:00.000Z\n"), "{text}");
    }
}
