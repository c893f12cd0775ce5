//! Reading one source: sniff, choose the adapter, keep the limits.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use plumb_core::knowledge::KnowledgeType;

use crate::adapter::{Emit, Item, Source, SourceAdapter};
use crate::envelope::{Input, MetaValue, SignalEnvelope, shorten};
use crate::html::Html;
use crate::isolate::{Outcome, Stuck, isolated};
use crate::jsonl::JsonLines;
use crate::limits::Limits;
use crate::markdown::Markdown;
use crate::parked::{ParkReason, Parked, ParkedItem};
use crate::pdf::Pdf;
use crate::plain::Plain;
use crate::sniff::{Sniffed, sniff};

/// The adapters of a node, and the limits under which they run.
#[derive(Clone)]
pub struct Registry {
    adapters: Vec<Arc<dyn SourceAdapter>>,
    limits: Limits,
    stuck: Stuck,
}

impl Registry {
    /// A registry of these adapters. The first that accepts a source reads it.
    pub fn new(adapters: Vec<Arc<dyn SourceAdapter>>) -> Registry {
        Registry { adapters, limits: Limits::default(), stuck: Stuck::default() }
    }

    /// Every adapter of this crate.
    pub fn standard() -> Registry {
        Registry::new(vec![Arc::new(Pdf), Arc::new(Html), Arc::new(JsonLines), Arc::new(Markdown), Arc::new(Plain)])
    }

    /// The same adapters under other limits.
    pub fn with_limits(mut self, limits: Limits) -> Registry {
        self.limits = limits;
        self
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The adapter for bytes of this kind.
    pub fn adapter_for(&self, sniffed: &Sniffed) -> Option<&Arc<dyn SourceAdapter>> {
        self.adapters.iter().find(|adapter| adapter.accepts(sniffed))
    }

    /// The adapter of this name, as a [`Summary`] gives it.
    pub fn adapter_named(&self, name: &str) -> Option<&Arc<dyn SourceAdapter>> {
        self.adapters.iter().find(|adapter| adapter.name() == name)
    }
}

/// What came out of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The adapter that read it.
    pub adapter: &'static str,
    /// Its media type, by content.
    pub media_type: &'static str,
    /// Envelopes emitted.
    pub items: usize,
    /// Items parked on their own.
    pub parked: usize,
    /// Whether `emit` did not want the rest.
    pub stopped: bool,
}

/// Reads a source and emits its items as they are found. `Err` parks the source as a whole; for a container it may
/// come after items, which then stand.
pub fn read_source(registry: &Registry, input: &Input, emit: &mut Emit<'_>) -> Result<Summary, Parked> {
    let limits = registry.limits;
    if input.bytes.len() > limits.source_bytes {
        let detail = format!("{} bytes, and {} are allowed", input.bytes.len(), limits.source_bytes);
        return Err(Parked::new(ParkReason::TooLarge, detail));
    }
    let (mut items, mut parked) = (0, 0);
    // Told before the first item, so that it is known even if the rest is not wanted.
    let choice = Arc::new(OnceLock::new());
    let (job_registry, job_input, job_choice) = (registry.clone(), input.clone(), choice.clone());
    let outcome = isolated(
        &limits,
        &registry.stuck,
        move |emit| read_here(&job_registry, job_input, &job_choice, emit),
        &mut |item| {
            match item {
                Ok(_) => items += 1,
                Err(_) => parked += 1,
            }
            emit(item)
        },
    )?;
    let (adapter, media_type) = choice.get().copied().unwrap_or_default();
    Ok(Summary { adapter, media_type, items, parked, stopped: matches!(outcome, Outcome::Stopped) })
}

/// Name of the adapter, and the media type.
type Choice = (&'static str, &'static str);

/// The part that runs on the worker.
fn read_here(registry: &Registry, input: Input, choice: &OnceLock<Choice>, emit: &mut Emit<'_>) -> Result<(), Parked> {
    let sniffed = sniff(&input.bytes, input.declared.as_deref());
    if let Some(why) = &sniffed.refused {
        return Err(why.clone());
    }
    let Some(adapter) = registry.adapter_for(&sniffed) else {
        return Err(ParkReason::NoAdapter { media_type: sniffed.media_type.to_string() }.into());
    };
    let _ = choice.set((adapter.name(), sniffed.media_type));
    let source = Source { input, sniffed, limits: registry.limits };
    let mut gate = Gate { source: &source, seen: 0, whole: None };
    adapter.parse(&source, &mut |item| gate.pass(item, emit))?;
    gate.whole.map_or(Ok(()), Err)
}

/// Holds whatever an adapter emits to the limits.
struct Gate<'a> {
    source: &'a Source,
    seen: usize,
    /// Why the source is parked as a whole, where an item that stands alone did not pass.
    whole: Option<Parked>,
}

impl Gate<'_> {
    fn pass(&mut self, item: Item, emit: &mut Emit<'_>) -> ControlFlow<()> {
        let limits = &self.source.limits;
        self.seen += 1;
        if self.seen > limits.items {
            let parked = Parked::new(ParkReason::TooMany, format!("only the first {} were read", limits.items));
            let _ = emit(Err(ParkedItem { fragment: format!("item-{}", self.seen), parked }));
            return ControlFlow::Break(());
        }
        let item = item.and_then(|envelope| {
            let fragment = envelope.origin.fragment.clone();
            finish(envelope, self.source).map_err(|parked| match fragment {
                Some(fragment) => ParkedItem { fragment, parked },
                None => {
                    self.whole = Some(parked.clone());
                    ParkedItem { fragment: String::new(), parked }
                }
            })
        });
        if self.whole.is_some() {
            return ControlFlow::Break(());
        }
        emit(item)
    }
}

/// Puts an envelope into order: bounds kept, what was cut noted, suggestions of the source itself taken over.
fn finish(mut envelope: SignalEnvelope, source: &Source) -> Result<SignalEnvelope, Parked> {
    let limits = &source.limits;
    if !envelope.text.chars().any(|c| !c.is_whitespace() && c != '\u{feff}') {
        return Err(ParkReason::Empty.into());
    }
    if envelope.text.len() > limits.text_bytes {
        let detail = format!("{} bytes of text, and {} are allowed", envelope.text.len(), limits.text_bytes);
        return Err(Parked::new(ParkReason::TooLarge, detail));
    }
    let damaged = envelope.text.matches('\u{fffd}').count();
    if damaged > 0 {
        envelope.raw_metadata.insert("damaged_characters".into(), damaged.into());
    }

    let title = envelope.title.split_whitespace().collect::<Vec<_>>().join(" ");
    envelope.title = shorten(if title.is_empty() { source.input.name() } else { title }.trim(), limits.title_chars);

    envelope.marks.retain(|mark| mark.at < envelope.text.len() && envelope.text.is_char_boundary(mark.at));
    envelope.marks.sort_by_key(|mark| mark.at);
    if envelope.marks.len() > limits.marks {
        let left_out = envelope.marks.len() - limits.marks;
        envelope.raw_metadata.insert("marks_left_out".into(), left_out.into());
        envelope.marks.truncate(limits.marks);
    }

    if envelope.suggested_type == KnowledgeType::default()
        && let Some(word) = envelope.metadata_text(&["knowledge_type", "type"])
        && let Ok(kind) = serde_json::from_value(word.to_lowercase().into())
    {
        envelope.suggested_type = kind;
    }
    if envelope.suggested_sensitivity.is_none() {
        let word = envelope.raw_metadata.get("sensitivity").and_then(MetaValue::as_text);
        envelope.suggested_sensitivity = word.and_then(|word| word.to_lowercase().parse().ok());
    }
    Ok(envelope)
}

#[cfg(test)]
pub(crate) mod tests;
