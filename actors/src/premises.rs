//! What the actors of one node stand on: its store and index, its key and certificate, the people who may ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use plumb_core::boundary::{DepartmentPolicy, ReadableSet, Requester};
use plumb_core::identity::{EntityId, EntityType, NodeId, OrgId, SecretKey, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{Certificate, Roots};
use plumb_sources::Registry;
use plumb_storage::{AuditEvent, Change, Keyspace, RecordsExt, StorageError, Store, TextIndex};

use crate::caller::Caller;
use crate::error::NodeError;
use crate::node::Person;

/// Shared by every actor of a node. All of it is either immutable or guards itself.
pub(crate) struct Premises {
    /// What is kept.
    pub store: Store,
    /// The text index over it.
    pub index: TextIndex,
    /// Adapters.
    pub registry: Registry,
    /// The node's key.
    pub key: SecretKey,
    /// Its certificate.
    pub certificate: Signed<Certificate>,
    /// Who may ask.
    pub people: BTreeMap<EntityId, Person>,
    /// What the organisation lets through where the matrix says "policy".
    pub policy: DepartmentPolicy,
    roots: RwLock<Roots>,
    ingesting: Mutex<()>,
    comparing: Mutex<()>,
}

impl Premises {
    /// Puts the premises together; the trusted organisations come from the store, and the own one is always trusted.
    pub fn new(
        store: Store,
        index: TextIndex,
        registry: Registry,
        key: SecretKey,
        certificate: Signed<Certificate>,
        people: Vec<Person>,
        policy: DepartmentPolicy,
    ) -> Result<Arc<Premises>, StorageError> {
        let mut roots = trusted(&store)?;
        roots.0.insert(certificate.value().org, certificate.value().org_name.clone());
        let people = people.into_iter().map(|p| (p.id.clone(), p)).collect();
        Ok(Arc::new(Premises {
            store,
            index,
            registry,
            key,
            certificate,
            people,
            policy,
            roots: RwLock::new(roots),
            ingesting: Mutex::new(()),
            comparing: Mutex::new(()),
        }))
    }

    /// Held by whoever decides what becomes of sources and writes it: nothing else may decide about the same ones.
    pub fn ingest_lock(&self) -> MutexGuard<'_, ()> {
        self.ingesting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held by whoever compares sources with what the world published: two at once would say the same thing twice.
    pub fn compare_lock(&self) -> MutexGuard<'_, ()> {
        self.comparing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock is read here and nowhere below.
    pub fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// This node.
    pub fn node(&self) -> NodeId {
        self.key.public()
    }

    /// Its organisation.
    pub fn org(&self) -> OrgId {
        self.certificate.value().org
    }

    /// Its department.
    pub fn department(&self) -> &EntityId {
        &self.certificate.value().department
    }

    /// The organisations that are trusted.
    pub fn roots(&self) -> Roots {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Trusts an organisation, or trusts it no more.
    pub fn set_trust(&self, by: &str, org: OrgId, name: Option<&str>) -> Result<(), NodeError> {
        if org == self.org() {
            return Err(NodeError::Conflict("a node always trusts its own organisation".to_string()));
        }
        let action = if name.is_some() { "trust.add" } else { "trust.remove" };
        let mut change = Change::new(self.event(by, action, org, "ok", name.unwrap_or_default()));
        let key = [&b"t"[..], org.as_bytes()].concat();
        match name {
            Some(name) => change.put_value(Keyspace::Peers, crate::kept::SHAPE, &key, &(org, name)),
            None => change.delete(Keyspace::Peers, &key),
        };
        plumb_storage::Records::commit(&self.store, change)?;
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        match name {
            Some(name) => roots.0.insert(org, name.to_string()),
            None => roots.0.remove(&org),
        };
        Ok(())
    }

    /// The requester that a caller is.
    pub fn requester(&self, caller: &Caller) -> Result<Requester, NodeError> {
        let person = self.people.get(&caller.person).ok_or_else(|| {
            NodeError::Denied(format!(
                "`{}` is not known here; list them under [[people]] in plumb.toml",
                caller.person
            ))
        })?;
        let organisation = EntityId::new(EntityType::Organization, &self.certificate.value().org_name)
            .map_err(|e| NodeError::Damaged(e.to_string()))?;
        let scopes = [person.id.clone(), organisation]
            .into_iter()
            .chain(person.teams.iter().cloned())
            .chain(person.departments.iter().cloned())
            .collect();
        Ok(Requester {
            org: self.org(),
            person: Some(person.id.clone()),
            departments: person.departments.iter().cloned().collect(),
            scopes,
            grants: BTreeSet::new(),
        })
    }

    /// What a requester may search here.
    pub fn readable_set(&self, requester: &Requester) -> ReadableSet {
        ReadableSet::of(requester, &self.org(), self.policy)
    }

    /// An audit event of now.
    pub fn event(
        &self,
        actor: &str,
        action: &str,
        subject: impl ToString,
        outcome: &str,
        detail: impl ToString,
    ) -> AuditEvent {
        AuditEvent {
            at: self.now(),
            actor: actor.to_string(),
            action: action.to_string(),
            subject: subject.to_string(),
            outcome: outcome.to_string(),
            detail: detail.to_string(),
        }
    }
}

fn trusted(store: &Store) -> Result<Roots, StorageError> {
    let mut roots = Roots::default();
    for row in store.rows(Keyspace::Peers, b"t") {
        let (org, name): (OrgId, String) = plumb_storage::stored::decode(Keyspace::Peers, crate::kept::SHAPE, &row?.1)?;
        roots.0.insert(org, name);
    }
    Ok(roots)
}

/// Runs work that blocks (the store, the index, hashing) where that is allowed. A panic in it reaches the caller as a
/// panic, so the supervisor sees it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER }),
        },
    }
}
