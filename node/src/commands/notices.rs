//! `plumb retract`, `plumb reinstate`, `plumb notices`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand};
use plumb_actors::supervisor::HealthView;
use plumb_actors::verification::{EventsView, NoticeView, ObligationView, WatchView};
use plumb_core::content::RawBlock;
use plumb_core::notice::{Notice, NoticeKind, Reason};
use serde::Serialize;

use crate::api::notices::{NoticeRequest, ReceiptsView, WatchRequest};
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
    plumb retract bafy… --kind expression-of-concern --reason not-reproducible\n  \
    plumb retract guide-1.md --kind supersession --by guide-2.md --reason superseded\n  \
    plumb retract prices.md --kind narrowing --to internal --reason publisher-error\n\n\
    Kinds: retraction and supersession withdraw a source; partial-retraction withdraws the chunks that are named, or all;\n\
    narrowing withdraws it from other organisations and raises its label at home; expression-of-concern and correction\n\
    counsel caution. What others published is revoked in this node alone, and nothing is published.\n\
    Reasons: data-error, analysis-error, not-reproducible, fabrication, plagiarism, duplicate, consent, legal, privacy,\n\
    security, superseded, publisher-error, resolved.")]
pub struct RetractArgs {
    /// Sources: CIDs, addresses, or ends of addresses
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
    /// Of a partial retraction: a chunk that is withdrawn; may be repeated
    #[arg(long = "chunk", value_name = "CID")]
    chunks: Vec<String>,
    /// Of a supersession: the source that stands in their place
    #[arg(long = "by", value_name = "SOURCE")]
    superseded_by: Option<String>,
    /// Of a narrowing: the label at home
    #[arg(long = "to", value_name = "LABEL")]
    audience: Option<String>,
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
    /// Compare files of retractions with what this node holds: Crossref records, the list of Retraction Watch
    #[command(after_help = "Examples:\n  \
        plumb notices watch retraction_watch.csv --complete    the whole list: what it names no more is lifted\n  \
        plumb notices watch work.json                          a record of Crossref\n\n\
        The comparison is made here, by DOI; nothing is asked or sent. What matches becomes a local notice: it counts in\n\
        this node, and is published nowhere. The lists are kept, and what is taken in later is compared too.")]
    Watch {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Each file is all that its feed says: lift what it names no more
        #[arg(long)]
        complete: bool,
        /// Say what would happen, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// List what notices changed here, oldest first, for whoever derives something from it
    Events {
        /// The id of the last event that was worked off
        #[arg(long, value_name = "ID")]
        after: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
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
    publish(
        cx,
        NoticeRequest {
            kind: args.kind.as_str().to_string(),
            reason: args.reason.as_str().to_string(),
            note: args.note,
            targets: args.targets,
            chunks: args.chunks,
            superseded_by: args.superseded_by,
            audience: args.audience,
        },
        &args.as_root,
    )
    .await
}

/// Undoes a notice.
pub async fn reinstate(cx: &Context, args: ReinstateArgs) -> anyhow::Result<Exit> {
    publish(
        cx,
        NoticeRequest {
            kind: NoticeKind::Reinstatement.as_str().to_string(),
            reason: args.reason.as_str().to_string(),
            note: args.note,
            targets: vec![args.notice],
            chunks: Vec::new(),
            superseded_by: None,
            audience: None,
        },
        &args.as_root,
    )
    .await
}

async fn publish(cx: &Context, request: NoticeRequest, as_root: &AsRoot) -> anyhow::Result<Exit> {
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
            let (notices, health) = session::with_node(cx, async |client| {
                let notices: Vec<NoticeView> = client.get(&address).await?;
                Ok((notices, client.get::<HealthView>("/health/ready").await.ok()))
            })
            .await?;
            if let Some(stopped) = health.and_then(|h| h.publishing_stopped) {
                output::remark(&format!("plumb: {stopped}"));
            }
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
        Verb::Watch { files, complete, dry_run } => {
            let mut views: Vec<WatchView> = Vec::new();
            for file in files {
                let path = std::path::absolute(&file).unwrap_or(file).to_string_lossy().into_owned();
                let request = WatchRequest { path, complete, dry_run };
                views.push(
                    session::with_node(cx, async |client| client.post("/v1/notices/watch", &request).await).await?,
                );
            }
            output::emit(cx.json, &views, || views.iter().map(show_watch).collect())?;
        }
        Verb::Events { after, limit } => {
            let address = with_query("/v1/notices/events", &[("after", after), ("limit", Some(limit.to_string()))]);
            let view: EventsView = session::with_node(cx, async |client| client.get(&address).await).await?;
            output::emit(cx.json, &view, || show_events(&view))?;
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
    if notice.origin != "publisher" {
        let _ = writeln!(text, "  local      {}: it counts in this node, and was published nowhere", notice.origin);
    }
    if let Some(newer) = &notice.superseded_by {
        let _ = writeln!(text, "  newer      {} {}", newer.source, newer.title.as_deref().unwrap_or("(not held here)"));
    }
    if let Some(audience) = &notice.audience {
        let _ = writeln!(text, "  at home    {audience}");
    }
    for chunk in &notice.chunks {
        let _ = writeln!(text, "  part       {chunk}");
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
    for state in ["silent", "unreachable", "refused", "open"] {
        let of_state: Vec<&ObligationView> = view.receipts.iter().filter(|r| r.state == state).collect();
        // RFC 3339 in UTC sorts as text, so the least is the longest.
        let Some(since) = of_state.iter().map(|r| r.at.as_str()).min() else { continue };
        let who: Vec<String> = of_state.iter().take(HOLDERS_NAMED).map(|r| holder(r)).collect();
        let more = if of_state.len() > HOLDERS_NAMED { ", …" } else { "" };
        let _ = write!(text, ", {} {state} since {since}: {}{more}", number_word(of_state.len()), who.join(", "));
    }
    text.push_str("\n\n");
    let mut table = Table::new(&["holder", "of", "state", "at", "units", "answers", "why"]);
    let number = |n: Option<u64>| n.map_or_else(|| "–".to_string(), |n| n.to_string());
    for receipt in &view.receipts {
        table.row([
            short(&receipt.holder),
            receipt.name.clone().unwrap_or_default(),
            if receipt.state == "acknowledged" { "confirmed".to_string() } else { receipt.state.clone() },
            receipt.at.clone(),
            number(receipt.units),
            number(receipt.answers),
            line(receipt.reason.as_deref().unwrap_or_default(), 60),
        ]);
    }
    text.push_str(&table.show(""));
    text
}

/// Holders that are named in the sentence; the table has all.
const HOLDERS_NAMED: usize = 5;

fn holder(receipt: &ObligationView) -> String {
    match &receipt.name {
        Some(name) => format!("{} ({name})", short(&receipt.holder)),
        None => short(&receipt.holder),
    }
}

fn number_word(n: usize) -> String {
    const WORDS: [&str; 10] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    WORDS.get(n).map_or_else(|| n.to_string(), ToString::to_string)
}

fn show_watch(view: &WatchView) -> String {
    let mut text = format!(
        "{}: {} read, {} about works with a DOI; {} here with a DOI, {} of them spoken of\n",
        view.feed,
        count(view.records, "record", "records"),
        count(view.reports, "report", "reports"),
        count(view.sources_with_doi, "source", "sources"),
        view.matched,
    );
    if view.unreadable > 0 {
        let _ = writeln!(text, "{} could not be read", count(view.unreadable, "record", "records"));
        for problem in &view.problems {
            let _ = writeln!(text, "  {problem}");
        }
    }
    let mut table = Table::new(&["what", "done", "doi", "title", "local notice"]);
    for found in &view.matches {
        table.row([
            found.nature.replace('_', " "),
            found.done.replace('_', " "),
            found.doi.clone(),
            line(&found.title, 50),
            found.notice.as_deref().map(short).unwrap_or_default(),
        ]);
    }
    if !view.matches.is_empty() {
        text.push_str(&table.show(""));
    }
    text
}

fn show_events(view: &EventsView) -> String {
    let mut table = Table::new(&["at", "what", "state", "subject", "claim", "notice"]);
    for event in &view.events {
        table.row([
            event.at.clone(),
            event.what.clone(),
            event.state.replace('_', " "),
            short(&event.subject),
            event.claim.clone().unwrap_or_default(),
            short(&event.notice),
        ]);
    }
    table.show("nothing was changed by a notice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_told_in_one_line() {
        let receipt = |state: &str, at: &str, name: Option<&str>| ObligationView {
            holder: "did:key:z6MkABCDEFGH".into(),
            name: name.map(str::to_string),
            state: state.into(),
            at: at.into(),
            reason: (state == "refused").then(|| "not trusted here".to_string()),
            units: None,
            answers: Some(1),
        };
        let receipts = vec![
            receipt("acknowledged", "2031-01-03T00:00:00.000Z", None),
            receipt("silent", "2031-01-02T00:00:00.000Z", Some("Halden, hydrology")),
            receipt("silent", "2031-01-04T00:00:00.000Z", None),
            receipt("refused", "2031-01-05T00:00:00.000Z", None),
            receipt("acknowledged", "2031-01-01T00:00:00.000Z", None),
        ];
        let view = ReceiptsView { notice: "bafy".into(), holders: 5, confirmed: 2, receipts };
        let text = show_receipts(&view);
        let key = short("did:key:z6MkABCDEFGH");
        let told = format!(
            "2 of 5 confirmed, two silent since 2031-01-02T00:00:00.000Z: {key} (Halden, hydrology), {key}, one refused \
             since 2031-01-05T00:00:00.000Z: {key}\n"
        );
        assert!(text.starts_with(&told), "{text}");
        assert!(text.contains("not trusted here"), "{text}");
    }
}
