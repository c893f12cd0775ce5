//! The text that a model is given: one line for each result, with who said it, how well it is supported and what
//! contradicts it, inside a budget (CTX-21, CTX-22).
//!
//! Text from outside is data. It cannot end the block, begin a line or hide what stands there: `<`, `>` and `&` are
//! written as entities, and line breaks, control and direction marks become spaces. (Every `<` is escaped, and not the
//! closing tag alone: readers of such blocks accept `< / Cortex-Context >` as well.)

use std::collections::BTreeMap;

use cid::Cid;
use serde::Serialize;

use super::Found;
use crate::evidence::STALE_FLAGGED;
use crate::knowledge::KnowledgeType;
use crate::measure::{Micro, Timestamp};

/// The name of the block's tag (CTX-21).
pub const TAG: &str = "cortex-context";
/// Characters that count as a token (CTX-21).
pub const CHARACTERS_A_TOKEN: usize = 4;
/// Tokens of a block over HTTP, if the caller says nothing (CTX-21).
pub const BUDGET_API: usize = 1500;
/// Tokens of a block inside the node, if the caller says nothing (CTX-21).
pub const BUDGET_ENGINE: usize = 2000;
/// Tokens of a block, if the configuration says nothing (CTX-21).
pub const BUDGET_CONFIGURED: usize = 5000;
/// No block is longer, whatever is asked (CTX-21).
pub const BUDGET_MAX: usize = 20_000;

/// A text that is cut to less than this says nothing; the line is left out instead.
const TEXT_CHARACTERS_MIN: usize = 40;
/// What stands where a text was cut.
const CUT: char = '…';

/// The label of a type (CTX-22).
pub const fn label(kind: KnowledgeType) -> &'static str {
    match kind {
        KnowledgeType::Decision => "Decision",
        KnowledgeType::Pattern => "Pattern",
        KnowledgeType::Preference => "Preference",
        KnowledgeType::ErrorFix => "Error Fix",
        KnowledgeType::Context => "Context",
        KnowledgeType::CodePattern => "Code",
        KnowledgeType::Command => "Command",
        KnowledgeType::Conversation => "Conversation",
        KnowledgeType::Summary => "Summary",
    }
}

/// What a unit says, and when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The text of its chunk.
    pub text: String,
    /// When its source was written, where that is known.
    pub written: Option<Timestamp>,
}

/// A block of context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The text; empty if there is nothing to say (CTX-30).
    pub text: String,
    /// The chunks of its lines, in order: line 1 is the first.
    pub shown: Vec<Cid>,
    /// How many texts were cut to fit.
    pub n_cut: usize,
    /// How many results did not fit at all.
    pub n_left_out: usize,
}

impl Block {
    /// Tokens as the budget counts them.
    pub fn tokens(&self) -> usize {
        self.text.chars().count().div_ceil(CHARACTERS_A_TOKEN)
    }
}

/// The block of some results within a budget of tokens.
///
/// ```text
/// <cortex-context>
/// 1. [Decision] [Contested] 2026-03-01 (person-ann, evidence 0.90, +2 corroborating): …
/// 2. [Decision] [Contested] 2025-11-20 (person-bob, evidence 0.60, stale 0.41): …
/// Conflicting: 1 against 2
/// </cortex-context>
/// ```
///
/// A contested result and its other sides are shown together or not at all: where they do not fit whole, each is cut to
/// an equal share. A result without a passage is left out and counted.
pub fn render(found: &[Found<'_>], passages: &BTreeMap<Cid, Passage>, budget_tokens: usize) -> Block {
    let (open, close) = (format!("<{TAG}>\n"), format!("</{TAG}>\n"));
    let room = budget_tokens.min(BUDGET_MAX) * CHARACTERS_A_TOKEN;
    let mut left = room.saturating_sub(open.len() + close.len());
    let mut block = Block::default();
    for cluster in clusters(found) {
        let lines: Vec<Line> = (block.shown.len() + 1..)
            .zip(cluster.iter().filter_map(|found| passages.get(&chunk_of(found)).map(|passage| (found, passage))))
            .map(|(number, (found, passage))| Line::new(number, found, passage))
            .collect();
        let conflict = conflict_line(&lines);
        let fixed = conflict.chars().count() + lines.iter().map(Line::fixed_characters).sum::<usize>();
        let texts: usize = lines.iter().map(|line| characters(line.text)).sum();
        let share = left.saturating_sub(fixed).checked_div(lines.len()).unwrap_or(0);
        let is_whole = fixed + texts <= left;
        // Half of a conflict would be worse than none of it, so a side without its passage takes the others with it.
        if lines.len() < cluster.len() || !(is_whole || share >= TEXT_CHARACTERS_MIN) {
            block.n_left_out += cluster.len();
            continue;
        }
        let mut written = String::new();
        for line in &lines {
            let (text, was_cut) = escaped(line.text, if is_whole { usize::MAX } else { share });
            block.n_cut += usize::from(was_cut);
            written.extend([line.head.as_str(), text.as_str(), "\n"]);
            block.shown.push(line.chunk);
        }
        written.push_str(&conflict);
        left = left.saturating_sub(written.chars().count());
        block.text.push_str(&written);
    }
    if !block.text.is_empty() {
        block.text = format!("{open}{}{close}", block.text);
    }
    block
}

struct Line<'p> {
    number: usize,
    chunk: Cid,
    head: String,
    text: &'p str,
}

impl<'p> Line<'p> {
    fn new(number: usize, found: &Found<'_>, passage: &'p Passage) -> Line<'p> {
        let unit = found.unit.unit();
        let mut marks = format!(", evidence {}", hundredths(found.score.evidence));
        let stale = found.score.fresh.complement();
        if stale > STALE_FLAGGED.into() {
            marks.push_str(&format!(", stale {}", hundredths(stale)));
        }
        if found.corroborations > 0 {
            marks.push_str(&format!(", +{} corroborating", found.corroborations));
        }
        let contested = if found.is_contested() { " [Contested]" } else { "" };
        let day = |at: Timestamp| at.to_string().chars().take_while(|c| *c != 'T').collect();
        let date: String = passage.written.map_or_else(|| "undated".to_string(), day);
        let creator = unit.origin.creator.as_ref().map_or("unknown".to_string(), ToString::to_string);
        let head = format!("{number}. [{}]{contested} {date} ({creator}{marks}): ", label(unit.kind));
        Line { number, chunk: unit.chunk, head, text: &passage.text }
    }

    /// Everything but the text, with the line break.
    fn fixed_characters(&self) -> usize {
        self.head.chars().count() + 1
    }
}

/// The results with their other sides: fusion puts these directly after the one that they contradict.
fn clusters<'f, 'a>(found: &'f [Found<'a>]) -> Vec<&'f [Found<'a>]> {
    let mut clusters = Vec::new();
    let mut rest = found;
    while let Some((first, others)) = rest.split_first() {
        let n_sides = others.iter().take_while(|other| first.opposed_by.contains(&chunk_of(other))).count();
        let (cluster, after) = rest.split_at(1 + n_sides);
        clusters.push(cluster);
        rest = after;
    }
    clusters
}

fn chunk_of(found: &Found<'_>) -> Cid {
    found.unit.unit().chunk
}

fn conflict_line(lines: &[Line<'_>]) -> String {
    match lines {
        [first, others @ ..] if !others.is_empty() => {
            let others: Vec<String> = others.iter().map(|line| line.number.to_string()).collect();
            format!("Conflicting: {} against {}\n", first.number, others.join(", "))
        }
        _ => String::new(),
    }
}

/// Two decimals, truncated.
fn hundredths(score: Micro) -> String {
    let hundredths = score.get() / 10_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Direction marks: they make text read otherwise than it is written.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text on one line, word by word.
fn on_one_line(text: &str) -> impl Iterator<Item = char> {
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control() || is_direction_mark(c))
        .filter(|word| !word.is_empty());
    words.enumerate().flat_map(|(i, word)| (i > 0).then_some(' ').into_iter().chain(word.chars()))
}

fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

/// Characters of a text as it is written.
fn characters(text: &str) -> usize {
    on_one_line(text).map(|c| entity(c).map_or(1, str::len)).sum()
}

/// A text as it is written, in at most `room` characters, and whether it was cut.
fn escaped(text: &str, room: usize) -> (String, bool) {
    let is_cut = characters(text) > room;
    let mut left = if is_cut { room.saturating_sub(1) } else { room };
    let mut written = String::new();
    for c in on_one_line(text) {
        let cost = entity(c).map_or(1, str::len);
        if cost > left {
            break;
        }
        left -= cost;
        match entity(c) {
            Some(entity) => written.push_str(entity),
            None => written.push(c),
        }
    }
    if is_cut {
        written.push(CUT);
    }
    (written, is_cut)
}

#[cfg(test)]
mod tests;
