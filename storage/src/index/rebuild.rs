//! Opening the partitions, and building anew those that cannot be used.

use std::path::Path;

use plumb_core::boundary::Sensitivity;

use super::error::IndexError;
use super::partition::{self, Found, Partition};
use super::reading::{Reading, read};
use super::{IndexOptions, LiveOps};
use crate::outbox::Position;
use crate::store::Store;

/// Operations after which a partition that is being built is committed, so that what it remembers of uncommitted
/// documents stays small.
const BUILD_COMMIT: usize = 50_000;

/// Operations after which the free space is looked at.
const CHECK_ROOM: usize = 256;

/// What was built anew.
#[derive(Default)]
pub(super) struct Rebuilt {
    pub partitions: u64,
    pub unreadable: u64,
}

pub(super) fn open_all(
    dir: &Path,
    store: &Store,
    options: &IndexOptions,
) -> Result<(Vec<Partition>, Rebuilt), IndexError> {
    partition::prepare(dir)?;
    let rows = store.trimmed()..=store.position();
    let open = |class| Partition::open(dir, class, store.id(), rows.clone(), options.writer_bytes);
    let mut found: Vec<Option<Partition>> = Vec::new();
    let mut unusable = Vec::new();
    for class in Sensitivity::ALL {
        match open(class) {
            Found::Usable(partition) => found.push(Some(*partition)),
            Found::Unusable(reason) => {
                tracing::info!(partition = %class, %reason, "building the index anew");
                unusable.push(class);
                found.push(None);
            }
        }
    }
    let mut rebuilt = Rebuilt::default();
    if !unusable.is_empty() {
        rebuilt = build(dir, store, options, &unusable)?;
        for class in unusable {
            Partition::replace(dir, class)?;
            found[class as usize] = match Partition::open(
                dir,
                class,
                store.id(),
                Position::default()..=Position(u64::MAX),
                options.writer_bytes,
            ) {
                Found::Usable(partition) => Some(*partition),
                Found::Unusable(reason) => {
                    let source = tantivy::TantivyError::InternalError(reason);
                    return Err(IndexError::Open { partition: class, source });
                }
            };
        }
    }
    Ok((found.into_iter().flatten().collect(), rebuilt))
}

/// Builds these partitions beside the old ones. They reflect the store at some position not before the one that they
/// carry; the outbox rows behind it are given to them afterwards, and giving what they have already does no harm.
pub(super) fn build(
    dir: &Path,
    store: &Store,
    options: &IndexOptions,
    classes: &[Sensitivity],
) -> Result<Rebuilt, IndexError> {
    let position = store.position();
    let mut partitions = classes
        .iter()
        .map(|class| Partition::build(dir, *class, store.id(), position, options.writer_bytes))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rebuilt = Rebuilt { partitions: classes.len() as u64, unreadable: 0 };
    let live: LiveOps = options.live;
    for (n, op) in live(store).enumerate() {
        if n.is_multiple_of(CHECK_ROOM) {
            store.check_room()?;
        }
        if n % BUILD_COMMIT == BUILD_COMMIT - 1 {
            partitions.iter_mut().try_for_each(|partition| partition.commit(Position::default()))?;
        }
        match read(store, &op?)? {
            Reading::Entry { class, entry, body } => {
                if let Some(partition) = partitions.iter_mut().find(|p| p.class() == class) {
                    partition.add(&entry, &body)?;
                }
            }
            Reading::Unreadable(_) => rebuilt.unreadable += 1,
            Reading::Gone(_) => {}
        }
    }
    // What was read while it was on its way to the disk is there before the index says that it holds it.
    store.barrier()?;
    partitions.iter_mut().try_for_each(|partition| partition.commit(position))?;
    Ok(rebuilt)
}
