//! What the actors of one node stand on: its store and index, its key and certificate, the people who may ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use plumb_core::boundary::{DepartmentPolicy, ReadableSet, Requester};
use plumb_core::identity::{EntityId, EntityType, NodeId, OrgId, SecretKey, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{Capability, Certificate, Incoming, Outgoing, Pin, Roots, TrustError, WEIGHT_NEUTRAL};
use plumb_sources::Registry;
use plumb_storage::{AuditEvent, Change, StorageError, Store, TextIndex};

use crate::caller::Caller;
use crate::entities::{Draft, Known};
use crate::error::NodeError;
use crate::meaning::Meaning;
use crate::node::Person;
use crate::retrieval::Learned;

/// What a node keeps: the store, and what is derived from it.
pub(crate) struct Kept {
    pub store: Store,
    pub index: TextIndex,
    pub meaning: Meaning,
}

/// Shared by every actor of a node. All of it is either immutable or guards itself.
pub(crate) struct Premises {
    /// What is kept.
    pub store: Store,
    /// The text index over it.
    pub index: TextIndex,
    /// The vectors over it.
    pub meaning: Meaning,
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
    entities: RwLock<Arc<Known>>,
    drafting: Mutex<()>,
    learned: Mutex<Option<Arc<Learned>>>,
}

impl Premises {
    /// Puts the premises together; the trusted organisations come from the store, and the own one is always trusted.
    pub fn new(
        kept: Kept,
        registry: Registry,
        key: SecretKey,
        certificate: Signed<Certificate>,
        people: Vec<Person>,
        policy: DepartmentPolicy,
    ) -> Result<Arc<Premises>, NodeError> {
        let Kept { store, index, meaning } = kept;
        let entities = RwLock::new(Arc::new(Known::read(&store)?));
        let mut roots = crate::kept::roots(&store)?;
        roots.pin(certificate.value().org, Pin::full(&certificate.value().org_name));
        let people = people.into_iter().map(|p| (p.id.clone(), p)).collect();
        Ok(Arc::new(Premises {
            store,
            index,
            meaning,
            registry,
            key,
            certificate,
            people,
            policy,
            roots: RwLock::new(roots),
            ingesting: Mutex::new(()),
            comparing: Mutex::new(()),
            entities,
            drafting: Mutex::new(()),
            learned: Mutex::new(None),
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

    /// Trusts an organisation so far, or trusts it no more.
    pub fn set_trust(&self, by: &str, org: OrgId, pin: Option<Pin>) -> Result<(), NodeError> {
        if org == self.org() {
            return Err(NodeError::Conflict("a node always trusts its own organisation".to_string()));
        }
        let action = if pin.is_some() { "trust.set" } else { "trust.remove" };
        let detail = pin.as_ref().map(|pin| {
            let (incoming, outgoing) = (pin.incoming.as_str(), pin.outgoing.as_str());
            format!("{}: incoming {incoming}, outgoing {outgoing}, weight {}", pin.name, pin.weight)
        });
        let mut change = Change::new(self.event(by, action, org, "ok", detail.unwrap_or_default()));
        match &pin {
            Some(pin) => crate::kept::put_pin(&mut change, org, pin),
            None => crate::kept::delete_pin(&mut change, &org),
        }
        plumb_storage::Records::commit(&self.store, change)?;
        self.change_roots(|roots| match pin {
            Some(pin) => roots.pin(org, pin),
            None => roots.unpin(&org),
        });
        Ok(())
    }

    /// Follows in memory what was written to the store about roots.
    pub fn change_roots(&self, change: impl FnOnce(&mut Roots)) {
        change(&mut self.roots.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// The entity graph as it is now. What changes later does not change what was given out.
    pub fn entities(&self) -> Arc<Known> {
        self.entities.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the entity graph: the store first, in one transaction, then what is held in memory. One change at a time,
    /// since what an edge becomes depends on what it was.
    pub fn change_entities<T>(
        &self,
        work: impl FnOnce(&mut Draft<'_>) -> Result<(AuditEvent, T), NodeError>,
    ) -> Result<T, NodeError> {
        let _one_at_a_time = self.drafting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut draft = Draft::of(&self.store, (*self.entities()).clone());
        let (event, value) = work(&mut draft)?;
        let (change, known) = draft.into_change(event);
        plumb_storage::Records::commit(&self.store, change)?;
        *self.entities.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
        self.meaning.entities_changed();
        Ok(value)
    }

    /// What was learned from feedback; trained when it is first asked for.
    pub fn learned(&self) -> Result<Arc<Learned>, NodeError> {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        match &*learned {
            Some(learned) => Ok(learned.clone()),
            None => Ok(learned.insert(Arc::new(Learned::read(self)?)).clone()),
        }
    }

    /// Trains anew when it is next asked what was learned: there is other feedback now.
    pub fn relearn(&self) {
        *self.learned.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Reads the entity graph anew from the store.
    pub fn reread_entities(&self) -> Result<(), NodeError> {
        let _one_at_a_time = self.drafting.lock().unwrap_or_else(PoisonError::into_inner);
        let known = Arc::new(Known::read(&self.store)?);
        *self.entities.write().unwrap_or_else(PoisonError::into_inner) = known;
        self.meaning.entities_changed();
        Ok(())
    }

    /// The certificate by which a node is known here: its own, or the one of its log.
    pub fn certificate_of(&self, node: &NodeId) -> Result<Option<Signed<Certificate>>, StorageError> {
        if *node == self.node() {
            return Ok(Some(self.certificate.clone()));
        }
        Ok(crate::kept::log_head(&self.store, &self.node(), node)?.map(|head| head.state.certificate))
    }

    /// Whether an admitted peer gets content of this kind from here, or why not. It gets notices and logs in any case.
    pub fn serves(&self, certificate: &Certificate, capability: &Capability) -> Result<(), String> {
        if !certificate.may(capability) {
            return Err(format!("the node's certificate does not let it ask for this: it lacks `{capability}`"));
        }
        match self.roots().pin_of(&certificate.org).map(|pin| pin.outgoing) {
            Some(Outgoing::Full) => Ok(()),
            Some(Outgoing::None) | None => Err("content is not shared with this organisation".to_string()),
        }
    }

    /// What is let in from an organisation. From one that is not pinned, nothing is.
    pub fn lets_in(&self, org: &OrgId) -> Incoming {
        self.roots().pin_of(org).map_or(Incoming::None, |pin| pin.incoming)
    }

    /// What the evidence of an organisation weighs here, where that is not neutral.
    pub fn weight(&self, org: &OrgId) -> Option<u8> {
        self.roots().pin_of(org).map(|pin| pin.weight).filter(|weight| *weight != WEIGHT_NEUTRAL)
    }

    /// Whether a certificate is in order, whoever shows it.
    pub fn vouch(&self, certificate: &Signed<Certificate>) -> Result<(), TrustError> {
        self.roots().vouch(certificate)
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
