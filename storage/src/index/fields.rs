//! The fields of a document, the same in every partition.

use cid::Cid;
use plumb_core::identity::EntityId;
use plumb_core::retrieval;
use tantivy::schema::{BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{Index, TantivyDocument, Term};

/// Version of the fields here. Whoever changes them raises it.
const FIELDS_VERSION: u32 = 2;

/// Version of the fields *and* of how `core::retrieval` cuts text into terms. Where either is another, a node rebuilds its
/// index on the next start.
pub const INDEX_VERSION: u32 = FIELDS_VERSION * 10_000 + retrieval::ANALYSIS_VERSION;

pub(super) const CHUNK: &str = "chunk";
pub(super) const N_TERMS: &str = "n_terms";

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// CID bytes; indexed to delete by, a column to read by. Nothing is stored, so there is no document store.
    pub chunk: Field,
    /// The entity of the unit's scope.
    pub scope: Field,
    pub department: Field,
    pub creator: Field,
    /// The words, with frequencies and without positions: phrases are looked for in the text itself.
    pub body: Field,
    /// The compounds of these words. They are apart since they do not count towards the length: tantivy's field norm
    /// of the body is that of its words alone, and on this rests the pruning.
    pub compounds: Field,
    /// How many words the body has, exactly. tantivy's own field norm keeps about three significant bits.
    pub n_terms: Field,
}

impl Fields {
    pub(super) fn new() -> (Schema, Fields) {
        let mut schema = Schema::builder();
        let exact = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_fieldnorms(false)
                .set_index_option(IndexRecordOption::Basic),
        );
        let words = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(READY_MADE)
                .set_fieldnorms(true)
                .set_index_option(IndexRecordOption::WithFreqs),
        );
        let names = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(READY_MADE)
                .set_fieldnorms(false)
                .set_index_option(IndexRecordOption::WithFreqs),
        );
        let fields = Fields {
            chunk: schema.add_bytes_field(CHUNK, BytesOptions::default().set_indexed().set_fast()),
            scope: schema.add_text_field("scope", exact.clone()),
            department: schema.add_text_field("department", exact.clone()),
            creator: schema.add_text_field("creator", exact),
            body: schema.add_text_field("body", words),
            compounds: schema.add_text_field("compounds", names),
            n_terms: schema.add_u64_field(N_TERMS, NumericOptions::default().set_fast()),
        };
        (schema.build(), fields)
    }

    /// Tells tantivy how to read the terms.
    pub(super) fn register(index: &Index) {
        index.tokenizers().register(READY_MADE, TextAnalyzer::from(ReadyMade::default()));
    }

    pub(super) fn chunk_term(&self, chunk: &Cid) -> Term {
        Term::from_field_bytes(self.chunk, &chunk.to_bytes())
    }

    pub(super) fn entity_term(&self, field: Field, entity: &EntityId) -> Term {
        Term::from_field_text(field, &entity.to_string())
    }

    /// The term in the field where it stands.
    pub(super) fn text_term(&self, term: &str) -> Term {
        Term::from_field_text(if retrieval::is_word(term) { self.body } else { self.compounds }, term)
    }

    pub(super) fn document(&self, entry: &Entry, body: &str) -> TantivyDocument {
        let (mut words, mut compounds) = (String::with_capacity(body.len()), String::new());
        let mut n_words = 0;
        retrieval::each_term(body, &mut |term| {
            let is_word = retrieval::is_word(term);
            n_words += u64::from(is_word);
            let list = if is_word { &mut words } else { &mut compounds };
            list.push_str(term);
            list.push_str(SEPARATOR);
        });
        let mut document = TantivyDocument::default();
        document.add_bytes(self.chunk, &entry.chunk.to_bytes());
        document.add_text(self.scope, entry.scope.to_string());
        document.add_text(self.department, entry.department.to_string());
        if let Some(creator) = &entry.creator {
            document.add_text(self.creator, creator.to_string());
        }
        document.add_u64(self.n_terms, n_words);
        document.add_text(self.body, words);
        document.add_text(self.compounds, compounds);
        document
    }
}

/// Behind each term. A line feed parts words in every script (UAX #29, WB3a and WB3b), so no term contains one.
const SEPARATOR: &str = "\n";
const READY_MADE: &str = "ready-made";

/// Takes terms as `core::retrieval` made them. tantivy's own way to take ready-made terms writes each of them as JSON and
/// reads it again.
#[derive(Clone, Default)]
struct ReadyMade {
    token: Token,
}

struct Terms<'a> {
    left: std::str::Split<'a, &'static str>,
    token: &'a mut Token,
}

impl Tokenizer for ReadyMade {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        self.token.reset();
        Terms { left: text.split(SEPARATOR), token: &mut self.token }
    }
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        let Some(term) = self.left.find(|term| !term.is_empty()) else { return false };
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// The labels under which a chunk is indexed.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub chunk: Cid,
    pub scope: EntityId,
    pub department: EntityId,
    pub creator: Option<EntityId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The assumption on which [`SEPARATOR`] rests, and with it the exact counts.
        #[test]
        fn every_term_comes_through_unchanged(text in "(\\PC|[\n\r\t\u{85}\u{2028}\u{2029}\u{202f}\0]){0,200}") {
            let terms = retrieval::terms(&text);
            let joined = terms.join(SEPARATOR);
            let mut tokenizer = ReadyMade::default();
            let mut stream = tokenizer.token_stream(&joined);
            let mut through = Vec::new();
            stream.process(&mut |token| through.push(token.text.clone()));
            prop_assert_eq!(through, terms);
        }
    }
}
