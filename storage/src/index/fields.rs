//! The fields of a document, the same in every partition.

use cid::Cid;
use plumb_core::identity::EntityId;
use plumb_core::retrieval;
use tantivy::schema::{BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{TantivyDocument, Term};

/// Version of the fields *and* of how `core::retrieval` cuts text into terms. Whoever changes either raises it, and
/// every node rebuilds its index on the next start.
pub const INDEX_VERSION: u32 = 1;

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
    /// The terms, with frequencies and without positions: nothing asks for phrases.
    pub body: Field,
    /// How many terms the body has, exactly. tantivy's own field norm keeps about three significant bits.
    pub n_terms: Field,
}

impl Fields {
    pub(super) fn new() -> (Schema, Fields) {
        let mut schema = Schema::builder();
        // Terms come ready-made; the tokenizer named here never sees a text.
        let exact = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_fieldnorms(false)
                .set_index_option(IndexRecordOption::Basic),
        );
        let words = TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_fieldnorms(true)
                .set_index_option(IndexRecordOption::WithFreqs),
        );
        let fields = Fields {
            chunk: schema.add_bytes_field(CHUNK, BytesOptions::default().set_indexed().set_fast()),
            scope: schema.add_text_field("scope", exact.clone()),
            department: schema.add_text_field("department", exact.clone()),
            creator: schema.add_text_field("creator", exact),
            body: schema.add_text_field("body", words),
            n_terms: schema.add_u64_field(N_TERMS, NumericOptions::default().set_fast()),
        };
        (schema.build(), fields)
    }

    pub(super) fn chunk_term(&self, chunk: &Cid) -> Term {
        Term::from_field_bytes(self.chunk, &chunk.to_bytes())
    }

    pub(super) fn entity_term(&self, field: Field, entity: &EntityId) -> Term {
        Term::from_field_text(field, &entity.to_string())
    }

    pub(super) fn body_term(&self, term: &str) -> Term {
        Term::from_field_text(self.body, term)
    }

    pub(super) fn document(&self, entry: &Entry, body: &str) -> TantivyDocument {
        let terms = retrieval::terms(body);
        let mut document = TantivyDocument::default();
        document.add_bytes(self.chunk, &entry.chunk.to_bytes());
        document.add_text(self.scope, entry.scope.to_string());
        document.add_text(self.department, entry.department.to_string());
        if let Some(creator) = &entry.creator {
            document.add_text(self.creator, creator.to_string());
        }
        document.add_u64(self.n_terms, terms.len() as u64);
        let tokens = terms
            .into_iter()
            .enumerate()
            .map(|(position, text)| Token { position, text, ..Token::default() })
            .collect();
        document.add_pre_tokenized_text(self.body, PreTokenizedString { text: String::new(), tokens });
        document
    }
}

/// The labels under which a chunk is indexed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub chunk: Cid,
    pub scope: EntityId,
    pub department: EntityId,
    pub creator: Option<EntityId>,
}
