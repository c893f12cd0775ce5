//! `plumb context`: what was found for a question as one portable document, to inspect, answer from, or sign elsewhere.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use plumb_actors::retrieval::{BlockView, HitView, K_MAX, SearchView};
use plumb_core::exchange::session::{
    BUDGET_CHARS_DEFAULT, Budget, MAX_CHUNKS_DEFAULT, OVERSAMPLE, SESSION_BYTES_MAX, Session, SessionAnswer,
    SessionChunk, SourceTrust, TrustPair, WEIGHT_DEFAULT,
};
use serde::Serialize;

use crate::api::asking::Peers;
use crate::api::search::{BlockRequest, SearchRequest};
use crate::cli::Context;
use crate::exit::Exit;
use crate::home::write_atomically;
use crate::{output, session};

/// How much a document of a node counts, as the format has it for evidence.
const PRIORITY: i64 = 10;
/// Hops that a peer's evidence came.
const PEER_DISTANCE: u32 = 1;

/// Portable contexts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb context make \"pump 7 suction pressure\" --out pump.json\n  \
    plumb context make chloramine --max-chunks 4 --budget-chars 2000 --trust bafy…=80 --markdown\n  \
    plumb context show pump.json --markdown     look into it; needs no node\n  \
    plumb context answer pump.json              the same answer always; needs no node, and none of the sources\n  \
    plumb context block \"why does pump 7 trip\"    a few lines for the prompt of a model\n\n\
    A context is not signed. For a proof, save an answer as a bundle: plumb ask … --save --bundle FILE.")]
pub struct ContextArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Rank what you may read for a question, and cut it to a budget. Nothing is kept
    Make {
        /// The question
        query: String,
        /// Where to; otherwise it is printed
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Most chunks
        #[arg(long, value_name = "N", default_value_t = MAX_CHUNKS_DEFAULT)]
        max_chunks: u32,
        /// Most characters of their texts together
        #[arg(long, value_name = "N", default_value_t = BUDGET_CHARS_DEFAULT)]
        budget_chars: u32,
        /// How far you trust a source, 0 to 100, by its id; may be repeated. Nothing of it is kept
        #[arg(long, value_name = "SOURCE=N")]
        trust: Vec<TrustPair>,
        /// Ask other nodes too
        #[arg(long)]
        peers: bool,
        /// Print it for people
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
    /// Show a context file
    Show {
        /// The file
        file: PathBuf,
        /// For people
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
    /// Print what a model should know of a question: the best few results, a line each. Empty if there are none
    Block {
        /// The question
        query: String,
        /// Most results, up to 20; the other side of a contested one comes in addition
        #[arg(long, value_name = "N")]
        k: Option<usize>,
        /// Most tokens, at four characters each; 1500 where nobody says
        #[arg(long, value_name = "N")]
        max_tokens: Option<usize>,
    },
    /// Answer from exactly what a context file holds
    Answer {
        /// The file
        file: PathBuf,
        /// How far you trust a source, 0 to 100, by its id; may be repeated
        #[arg(long, value_name = "SOURCE=N")]
        trust: Vec<TrustPair>,
        /// For people
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
}

/// A session as it is printed: with the digest over its texts, which its id does not cover.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    session: &'a Session,
    content_digest: String,
}

/// Does it.
pub async fn run(cx: &Context, args: ContextArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Make { query, out, max_chunks, budget_chars, trust, peers, markdown } => {
            let budget = Budget { max_chunks, budget_chars };
            let k = usize::try_from(max_chunks.saturating_mul(OVERSAMPLE)).unwrap_or(K_MAX).clamp(1, K_MAX);
            let peers = Peers::Flag(peers);
            let request = SearchRequest { query: query.clone(), k: Some(k), peers, ..SearchRequest::default() };
            let own = cx.home()?.node_key()?.public().to_string();
            let found: SearchView =
                session::with_node(cx, async |client| client.post("/v1/search", &request).await).await?;
            let chunks = found.hits.into_iter().map(|hit| chunk_of(hit, &own)).collect();
            let session = Session::assemble(&query, chunks, trust_of(trust).as_ref(), budget);
            match out {
                Some(file) => {
                    write_atomically(&file, session.to_json()?.as_bytes())
                        .with_context(|| format!("{} cannot be written", file.display()))?;
                    show(cx, &session, true)?;
                }
                None => show(cx, &session, markdown)?,
            }
            Ok(if session.ranked_chunks.is_empty() { Exit::Abstained } else { Exit::Done })
        }
        Verb::Block { query, k, max_tokens } => {
            let request = BlockRequest { query, k, max_tokens };
            let block: BlockView =
                session::with_node(cx, async |client| client.post("/v1/context", &request).await).await?;
            output::emit(cx.json, &block, || block.context.clone())?;
            Ok(Exit::Done)
        }
        Verb::Show { file, markdown } => {
            show(cx, &read(&file)?, markdown)?;
            Ok(Exit::Done)
        }
        Verb::Answer { file, trust, markdown } => {
            let session = read(&file)?;
            let answer: SessionAnswer = session.answer(trust_of(trust).as_ref());
            output::emit(cx.json, &answer, || match markdown {
                true => session.answer_to_markdown(&answer),
                false => format!("{}\n", answer.text),
            })?;
            Ok(if answer.reliability.abstained { Exit::Abstained } else { Exit::Done })
        }
    }
}

fn show(cx: &Context, session: &Session, markdown: bool) -> anyhow::Result<()> {
    let shown = Shown { session, content_digest: session.content_digest()? };
    let json = session.to_json()?;
    output::emit(cx.json, &shown, || if markdown { session.to_markdown() } else { format!("{json}\n") })
}

fn read(file: &Path) -> anyhow::Result<Session> {
    let size = std::fs::metadata(file).with_context(|| format!("{} cannot be read", file.display()))?.len();
    anyhow::ensure!(
        size <= SESSION_BYTES_MAX as u64,
        "{} has {size} bytes; a context has at most {SESSION_BYTES_MAX}",
        file.display()
    );
    let bytes = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Session::from_json(&bytes).with_context(|| format!("{} is no context", file.display()))
}

fn trust_of(pairs: Vec<TrustPair>) -> Option<SourceTrust> {
    (!pairs.is_empty()).then(|| pairs.into_iter().map(|TrustPair(source, points)| (source, points)).collect())
}

fn chunk_of(hit: HitView, own: &str) -> SessionChunk {
    let distance = if hit.providers.iter().any(|p| p == own) { 0 } else { PEER_DISTANCE };
    SessionChunk {
        source_id: hit.source,
        source_uri: hit.uri,
        cid: Some(hit.chunk),
        node_id: Some(hit.publisher),
        path: hit.headings,
        title: hit.title,
        text: hit.text,
        priority: PRIORITY,
        weight: WEIGHT_DEFAULT,
        distance,
    }
}
