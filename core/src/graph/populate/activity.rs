//! What people do: commits (ENT-17, ENT-18), accesses to their knowledge (ENT-19), topics that they speak of (ENT-16).

use std::collections::{BTreeMap, BTreeSet};

use super::{ModuleMap, Population, names};
use crate::graph::weight::{EXPERT_STEP, WEIGHT_ASSUMED, touches_weight, works_on_weight};
use crate::graph::{Details, EdgeKey, EdgeUpsert, Entity, GraphError, Relation};
use crate::identity::{EntityId, EntityType};
use crate::measure::{Milli, Timestamp};

/// So often a topic must be spoken of to be one, and so often by one person to be that person's.
const TOPIC_MENTIONS_MIN: u64 = 2;
const EXPERT_MENTIONS_MIN: u64 = 3;

/// Commits of one person in one project that touched the same files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commits {
    /// Who made them.
    pub author: EntityId,
    /// Where.
    pub project: EntityId,
    /// The files that each of them touched, from the root of the repository.
    pub paths: BTreeSet<String>,
    /// How many there were.
    pub count: u64,
    /// When the last of them was made.
    pub at: Timestamp,
}

/// Commits counted so far, and when the last was made.
#[derive(Clone, Copy, Default)]
struct Tally {
    commits: u64,
    last: Timestamp,
}

impl Tally {
    fn add(&mut self, commits: &Commits) {
        self.last = if self.commits == 0 { commits.at } else { self.last.max(commits.at) };
        self.commits = self.commits.saturating_add(commits.count);
    }
}

/// Who works on what and touches which modules, from *all* commits of the time that the caller looks at: weights are
/// computed from the totals, so that counting the same history again changes nothing, in whatever order it comes.
pub fn from_commits(history: &[Commits], modules: &ModuleMap) -> Result<Population, GraphError> {
    let mut works_on: BTreeMap<EdgeKey, Tally> = BTreeMap::new();
    let mut touches: BTreeMap<EdgeKey, Tally> = BTreeMap::new();
    for commits in history.iter().filter(|commits| commits.count > 0) {
        let key = EdgeKey::new(commits.author.clone(), Relation::WorksOn, commits.project.clone())?;
        works_on.entry(key).or_default().add(commits);
        for module in touched(commits, modules) {
            let key = EdgeKey::new(commits.author.clone(), Relation::Touches, module.clone())?;
            touches.entry(key).or_default().add(commits);
        }
    }
    let set = |weigh: fn(u64) -> Milli| {
        move |(key, tally): (EdgeKey, Tally)| EdgeUpsert::set(key, weigh(tally.commits), tally.last)
    };
    let edges = works_on.into_iter().map(set(works_on_weight)).chain(touches.into_iter().map(set(touches_weight)));
    Ok(Population { edges: edges.collect(), ..Population::default() })
}

/// The growth of `touches` by commits that just happened (ENT-18): the first one creates the edge. An event, to be said
/// once; the next count of the whole history comes to the same weight, and brings `works_on` with it.
pub fn from_new_commit(commits: &Commits, modules: &ModuleMap) -> Result<Population, GraphError> {
    let mut edges = Vec::new();
    if commits.count > 0 {
        for module in touched(commits, modules) {
            let key = EdgeKey::new(commits.author.clone(), Relation::Touches, module.clone())?;
            edges.push(EdgeUpsert::grow(key, touches_weight(commits.count), commits.at));
        }
    }
    Ok(Population { edges, ..Population::default() })
}

/// The modules that commits touched, each once: a commit counts once for a module, however many of its files it changed.
fn touched<'m>(commits: &Commits, modules: &'m ModuleMap) -> BTreeSet<&'m EntityId> {
    commits.paths.iter().filter_map(|path| modules.of_path(path)).collect()
}

/// Somebody read what somebody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whose knowledge it is.
    pub owner: EntityId,
    /// Who read it.
    pub reader: EntityId,
    /// What it is about. The topics must be in the graph.
    pub topics: BTreeSet<EntityId>,
    /// When.
    pub at: Timestamp,
}

/// The growth of the owner's `expert_in` by one access (ENT-19). An event, to be said once. Who reads their own
/// knowledge proves nothing by it.
pub fn from_access(access: &Access) -> Result<Population, GraphError> {
    let Access { owner, reader, topics, at } = access;
    names("owner", owner, EntityType::Person)?;
    names("reader", reader, EntityType::Person)?;
    let mut population = Population::default();
    if owner != reader {
        for topic in topics {
            let key = EdgeKey::new(owner.clone(), Relation::ExpertIn, topic.clone())?;
            population.edges.push(EdgeUpsert::grow(key, EXPERT_STEP, *at));
        }
    }
    Ok(population)
}

/// How often a topic was spoken of in one place: a unit, a path, a tag of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionFacts {
    /// The topic's name.
    pub topic: String,
    /// Who spoke of it, if it was a person.
    pub person: Option<EntityId>,
    /// The module in which it was, if it was in one.
    pub module: Option<EntityId>,
    /// How often.
    pub count: u64,
    /// When, for the last time.
    pub at: Timestamp,
}

/// Topics and whose they are, from *all* mentions (ENT-16): what was said twice is a topic, of which a module speaks, and
/// who said it three times knows something of it, by [`EXPERT_STEP`] for each time.
pub fn from_mentions(mentions: &[MentionFacts]) -> Result<Population, GraphError> {
    let mut topics: BTreeMap<EntityId, (u64, &str)> = BTreeMap::new();
    let mut people: BTreeMap<EdgeKey, (u64, Timestamp)> = BTreeMap::new();
    let mut modules: BTreeMap<EdgeKey, Timestamp> = BTreeMap::new();
    for MentionFacts { topic, person, module, count, at } in mentions.iter().filter(|m| m.count > 0) {
        let id = EntityId::new(EntityType::Topic, topic)?;
        let (total, name) = topics.entry(id.clone()).or_insert((0, topic));
        *total = total.saturating_add(*count);
        // Of several spellings of one id, the same one whatever the order.
        *name = (*name).min(topic);
        if let Some(person) = person {
            let key = EdgeKey::new(person.clone(), Relation::ExpertIn, id.clone())?;
            let (total, last) = people.entry(key).or_insert((0, *at));
            (*total, *last) = (total.saturating_add(*count), (*last).max(*at));
        }
        if let Some(module) = module {
            let last = modules.entry(EdgeKey::new(module.clone(), Relation::RelatesTo, id)?).or_insert(*at);
            *last = (*last).max(*at);
        }
    }
    topics.retain(|_, (total, _)| *total >= TOPIC_MENTIONS_MIN);
    let mut population = Population::default();
    for (id, (_, name)) in &topics {
        population.entity(Entity::with_id(id.clone(), name, Details::unknown(EntityType::Topic))?)?;
    }
    let experts = people.into_iter().filter(|(_, (total, _))| *total >= EXPERT_MENTIONS_MIN);
    let by_step = |total: u64| Milli::from_ratio(total.saturating_mul(u64::from(EXPERT_STEP.get())), 1000);
    population.edges.extend(experts.map(|(key, (total, last))| EdgeUpsert::set(key, by_step(total), last)));
    let spoken = modules.into_iter().filter(|(key, _)| topics.contains_key(key.target()));
    population.edges.extend(spoken.map(|(key, last)| EdgeUpsert::set(key, WEIGHT_ASSUMED, last)));
    Ok(population)
}
