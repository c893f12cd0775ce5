//! Sessions and their answers as Markdown (BUN-10).

use std::fmt::Write;

use super::{RankedChunk, Session, SessionAnswer};

impl Session {
    /// The context for people.
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# Lens Context\n\nQuestion: {}\n\n{}\n\n{} of at most {} chunks, {} of at most {} characters\n",
            plain(&self.query),
            self.session_id,
            self.ranked_chunks.len(),
            self.max_chunks,
            self.used_chars,
            self.budget_chars
        );
        for (k, ranked) in (1u64..).zip(&self.ranked_chunks) {
            let r = ranked;
            let _ = write!(
                text,
                "\n## {k}. {}\n\n{}\n\nscore {} = {} lexical + {} provenance + {} priority + {} weight + {} trust\n\n{}\n",
                plain(&r.chunk.title),
                citation(k, r),
                r.score,
                r.lexical_score,
                r.provenance_score,
                r.priority_score,
                r.weight_score,
                r.trust_score,
                quoted(&r.chunk.text)
            );
        }
        text
    }

    /// An answer of this session for people.
    pub fn answer_to_markdown(&self, answer: &SessionAnswer) -> String {
        let mut text = format!(
            "# Lens Answer\n\nQuestion: {}\n\n{}\n\nconfidence {}: {}\n",
            plain(&self.query),
            quoted(&answer.text),
            answer.reliability.confidence,
            answer.reliability.reason
        );
        for (k, ranked) in (1u64..).zip(&self.ranked_chunks).filter(|(k, _)| answer.citations.contains(k)) {
            let _ = write!(text, "\n{}\n", citation(k, ranked));
        }
        text
    }
}

/// `[n] source uri id path=a | b`
fn citation(k: u64, ranked: &RankedChunk) -> String {
    let chunk = &ranked.chunk;
    let id = chunk.cid.as_deref().or(chunk.node_id.as_deref()).unwrap_or("-");
    let path = plain(&chunk.path.join(" | "));
    format!("[{k}] {} {} {} path={path}", plain(&chunk.source_id), plain(&chunk.source_uri), plain(id))
}

/// On one line, without characters that steer a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// As a quotation: a text from outside cannot pass for a heading of the page.
fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {}", plain(line))).collect::<Vec<_>>().join("\n")
}
