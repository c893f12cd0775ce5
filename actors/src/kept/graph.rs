//! Entities, the edges between them, and what units hang on them.
//!
//! | key | value |
//! | --- | --- |
//! | `n` ‖ entity id | [`Entity`] |
//! | `e` ‖ SHA-256(source ‖ 0 ‖ relation ‖ 0 ‖ target) | [`Edge`] |
//! | `u` ‖ CID of the unit ‖ SHA-256(relation ‖ 0 ‖ target) | [`UnitLink`] |
//!
//! Two ids are longer than a key may be, so an edge lies under a digest of its name; the name stands in the value.

use cid::Cid;
use plumb_core::graph::{Edge, EdgeKey, Entity, LinkTarget, Relation, UnitLink};
use plumb_core::identity::{EntityId, EntityType};
use plumb_storage::{Change, Keyspace, RecordsExt, StorageError, Store, stored};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::SHAPE;

fn entity_key(id: &EntityId) -> Vec<u8> {
    format!("n{id}").into_bytes()
}

fn digest(parts: &[&str]) -> [u8; 32] {
    Sha256::digest(parts.join("\0")).into()
}

fn edge_key(key: &EdgeKey) -> Vec<u8> {
    let name = digest(&[&key.source().to_string(), key.relation().as_str(), &key.target().to_string()]);
    [&b"e"[..], &name].concat()
}

fn link_key(unit: &Cid, relation: Relation, target: &LinkTarget) -> Vec<u8> {
    [&b"u"[..], &unit.to_bytes(), &digest(&[relation.as_str(), &target.to_string()])].concat()
}

/// One entity.
pub(crate) fn entity(store: &Store, id: &EntityId) -> Result<Option<Entity>, StorageError> {
    store.value(Keyspace::Graph, SHAPE, &entity_key(id))
}

/// Every entity, or those of one type, in the order of the ids.
pub(crate) fn entities(
    store: &Store,
    kind: Option<EntityType>,
) -> impl Iterator<Item = Result<Entity, StorageError>> + '_ {
    rows(store, kind.map_or("n".to_string(), |kind| format!("n{kind}-")))
}

/// Every edge.
pub(crate) fn edges(store: &Store) -> impl Iterator<Item = Result<Edge, StorageError>> + '_ {
    rows(store, "e".to_string())
}

/// Every link of a unit.
pub(crate) fn unit_links(store: &Store) -> impl Iterator<Item = Result<UnitLink, StorageError>> + '_ {
    rows(store, "u".to_string())
}

fn rows<'a, T: DeserializeOwned + 'a>(
    store: &'a Store,
    prefix: String,
) -> impl Iterator<Item = Result<T, StorageError>> + 'a {
    store.rows(Keyspace::Graph, prefix.as_bytes()).map(|row| stored::decode(Keyspace::Graph, SHAPE, &row?.1))
}

/// Writes an entity.
pub(crate) fn put_entity(change: &mut Change, entity: &Entity) {
    change.put_value(Keyspace::Graph, SHAPE, &entity_key(entity.id()), entity);
}

/// Deletes an entity's row. Its edges and links have rows of their own.
pub(crate) fn delete_entity(change: &mut Change, id: &EntityId) {
    change.delete(Keyspace::Graph, &entity_key(id));
}

/// Writes an edge.
pub(crate) fn put_edge(change: &mut Change, edge: &Edge) {
    change.put_value(Keyspace::Graph, SHAPE, &edge_key(&edge.key), edge);
}

/// Deletes an edge.
pub(crate) fn delete_edge(change: &mut Change, key: &EdgeKey) {
    change.delete(Keyspace::Graph, &edge_key(key));
}

/// Writes what a unit hangs on.
pub(crate) fn put_unit_link(change: &mut Change, link: &UnitLink) {
    change.put_value(Keyspace::Graph, SHAPE, &link_key(link.unit(), link.relation(), link.target()), link);
}

/// Deletes what a unit hung on.
pub(crate) fn delete_unit_link(change: &mut Change, link: &UnitLink) {
    change.delete(Keyspace::Graph, &link_key(link.unit(), link.relation(), link.target()));
}
