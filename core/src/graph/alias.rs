//! Aliases: every name that an entity goes by, and the index from names to entities (ENT-11).

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::Entity;
use super::fuzzy::Pieces;
use crate::identity::EntityId;

/// Names of one entity. It bounds what a rename a day can pile up.
pub const ALIASES_PER_ENTITY_MAX: usize = 64;

/// A name as it is compared: its words in lower case with one space between them, so that `Auth-Service`, `auth_service`
/// and `auth  service` are one name. Empty if there is no letter or digit in it.
///
/// Words are found by UAX #29, so that a name in a script without spaces is found inside a sentence too.
pub fn fold(name: &str) -> String {
    words(name).join(" ")
}

/// The words of a text, in lower case, in their order.
pub(super) fn words(text: &str) -> Vec<String> {
    let lower: String = text.chars().flat_map(char::to_lowercase).collect();
    let runs = lower.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(|run| run.unicode_words()).map(str::to_string).collect()
}

/// Which entities a name means. One name may mean several; one entity has several names.
#[derive(Clone, Debug, Default)]
pub struct Aliases {
    by_text: BTreeMap<Arc<str>, u32>,
    rows: Vec<Row>,
    /// Rows without a carrier, to be taken again.
    free: Vec<u32>,
    of_entity: BTreeMap<Arc<EntityId>, Vec<u32>>,
    pieces: Pieces,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub text: Arc<str>,
    /// Who goes by it, in the order of the ids.
    pub carriers: Vec<Arc<EntityId>>,
}

impl Aliases {
    /// Takes in every alias of an entity. What it went by before and goes by no more is forgotten, so that entering an
    /// entity again after any change is always right.
    pub fn enter(&mut self, entity: &Entity) {
        self.remove(entity.id());
        let id = Arc::new(entity.id().clone());
        let mut rows = Vec::with_capacity(entity.aliases().len());
        for text in entity.aliases() {
            let row = self.row(text);
            let carriers = &mut self.rows[row as usize].carriers;
            if let Err(at) = carriers.binary_search(&id) {
                carriers.insert(at, id.clone());
            }
            rows.push(row);
        }
        self.of_entity.insert(id, rows);
    }

    /// Forgets an entity's names.
    pub fn remove(&mut self, id: &EntityId) {
        for row in self.of_entity.remove(id).unwrap_or_default() {
            let Row { text, carriers } = &mut self.rows[row as usize];
            carriers.retain(|carrier| **carrier != *id);
            if carriers.is_empty() {
                self.by_text.remove(&**text);
                self.pieces.remove(text, row);
                self.free.push(row);
            }
        }
    }

    /// How many different names there are.
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// The entities that go by exactly this name, in the order of the ids.
    pub fn named(&self, name: &str) -> Vec<EntityId> {
        let row = self.exact(&fold(name));
        row.into_iter().flat_map(|row| &row.carriers).map(|id| (**id).clone()).collect()
    }

    /// The row of a folded name.
    pub(super) fn exact(&self, folded: &str) -> Option<&Row> {
        self.by_text.get(folded).map(|row| &self.rows[*row as usize])
    }

    /// The rows whose name is one or two edits from a folded text, each with its number of edits.
    pub(super) fn misspelt(&self, folded: &str) -> Vec<(&Row, u8)> {
        let found = self.pieces.near(folded, |row| &*self.rows[row as usize].text);
        found.into_iter().map(|(row, edits)| (&self.rows[row as usize], edits)).collect()
    }

    fn row(&mut self, text: &str) -> u32 {
        if let Some(row) = self.by_text.get(text) {
            return *row;
        }
        let text: Arc<str> = text.into();
        let fresh = Row { text: text.clone(), carriers: Vec::new() };
        let row = if let Some(row) = self.free.pop() {
            self.rows[row as usize] = fresh;
            row
        } else {
            self.rows.push(fresh);
            u32::try_from(self.rows.len() - 1).expect("fewer names than a u32 counts: 2^24 entities with 64 each")
        };
        self.pieces.insert(&text, row);
        self.by_text.insert(text, row);
        row
    }
}
