//! From facts to the graph: the people of the node, and the project in a folder.

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::graph::{
    Account, Commits, Details, EdgeKey, EdgeUpsert, Entity, MentionFacts, ModuleMap, Relation, Role, WEIGHT_DEFAULT,
    Workspace, from_accounts, from_commits, from_manifests, from_mentions, from_workspace,
};
use plumb_core::identity::{EntityId, EntityType};
use plumb_core::measure::Timestamp;
use plumb_sources::workspace::{Commit, WorkspaceFacts};

use super::known::Draft;
use crate::error::NodeError;
use crate::kept;
use crate::premises::Premises;

/// Authors of one history who become people of the graph, the busiest first.
const AUTHORS_MAX: usize = 1_000;

/// The organisation, the department, and everybody who may ask, with their teams and departments (ENT-12, ENT-13).
pub(super) fn people(premises: &Premises, draft: &mut Draft<'_>, now: Timestamp) -> Result<(), NodeError> {
    let certificate = premises.certificate.value();
    let organisation = Entity::new(&certificate.org_name, Details::unknown(EntityType::Organization))?;
    let organisation_id = organisation.id().clone();
    draft.learn(organisation)?;
    let own = std::iter::once(premises.department());
    let departments: BTreeSet<&EntityId> =
        own.chain(premises.people.values().flat_map(|person| &person.departments)).collect();
    for id in departments {
        let details = Details::Department { organization: Some(organisation_id.clone()) };
        let department = Entity::with_id(id.clone(), &name_of(id), details)?;
        let edges = department.implied_edges(now)?;
        draft.learn(department)?;
        edges.iter().try_for_each(|edge| draw_once(draft, edge))?;
    }
    for id in premises.people.values().flat_map(|person| &person.teams).collect::<BTreeSet<_>>() {
        draft.learn(Entity::with_id(id.clone(), &name_of(id), Details::unknown(EntityType::Team))?)?;
    }
    let accounts: Vec<Account> = premises
        .people
        .values()
        .map(|person| Account {
            person: person.id.clone(),
            name: name_of(&person.id),
            email: None,
            role: None,
            teams: person.teams.iter().map(|team| (team.clone(), Role::Member)).collect(),
            department: person.departments.first().cloned(),
        })
        .collect();
    let population = from_accounts(&accounts, now)?;
    population.entities().try_for_each(|person| draft.learn(person.clone()).map(drop))?;
    population.edges().iter().try_for_each(|edge| draw_once(draft, edge))?;
    for person in premises.people.values() {
        for department in person.departments.iter().skip(1) {
            let key = EdgeKey::new(person.id.clone(), Relation::BelongsTo, department.clone())?;
            draw_once(draft, &EdgeUpsert::set(key, WEIGHT_DEFAULT, now))?;
        }
    }
    Ok(())
}

/// Draws an edge that a configuration declares, if there is none: what somebody made of it since then stays, such as
/// that a member leads.
fn draw_once(draft: &mut Draft<'_>, edge: &EdgeUpsert) -> Result<(), NodeError> {
    if draft.known().graph.edge(edge.key()).is_none() {
        draft.upsert(edge)?;
    }
    Ok(())
}

/// A name for people out of an id.
fn name_of(id: &EntityId) -> String {
    id.slug().replace('-', " ")
}

/// The project in a folder: its packages and their parts, who works on it, and of what it speaks (ENT-14 to ENT-18).
/// Returns the project.
pub(super) fn project(
    premises: &Premises,
    draft: &mut Draft<'_>,
    facts: &WorkspaceFacts,
    name: Option<&str>,
    team: Option<EntityId>,
    now: Timestamp,
) -> Result<EntityId, NodeError> {
    let name = name.unwrap_or(&facts.name).to_string();
    let workspace =
        Workspace { name, workspace_id: None, repo_url: facts.repo_url.clone(), team, members: BTreeMap::new() };
    let population = from_workspace(&workspace, now)?;
    draft.take(&population)?;
    let project = EntityId::new(EntityType::Project, &workspace.name).map_err(plumb_core::graph::GraphError::from)?;
    let systems = kept::entities(&premises.store, Some(EntityType::System));
    let known = systems.map(|entity| entity.map(|e| e.id().clone())).collect::<Result<BTreeSet<_>, _>>()?;
    let code = from_manifests(&project, &facts.manifests, &known, now)?;
    draft.take(&code)?;
    let modules = ModuleMap::of(code.entities());
    draft.take(&from_mentions(&mentions(facts, now))?)?;
    let authors = authors(draft, &facts.commits)?;
    let history: Vec<Commits> = facts
        .commits
        .iter()
        .filter_map(|commit| {
            let author = authors.get(&identity(commit))?.clone();
            Some(Commits { author, project: project.clone(), paths: commit.paths.clone(), count: 1, at: commit.at })
        })
        .collect();
    draft.take(&from_commits(&history, &modules)?)?;
    Ok(project)
}

/// A keyword is said by a package, of its first part. One that only one package says is no topic yet.
fn mentions(facts: &WorkspaceFacts, at: Timestamp) -> Vec<MentionFacts> {
    let module_of = |system: &str| {
        let manifest = facts.manifests.iter().find(|manifest| manifest.name == system)?;
        EntityId::new(EntityType::Module, &format!("{system} {}", manifest.modules.first()?.name)).ok()
    };
    let has_id = |word: &str| EntityId::new(EntityType::Topic, word).is_ok();
    let said = facts.keywords.iter().filter(|(_, word)| has_id(word));
    said.map(|(system, word)| MentionFacts {
        topic: word.clone(),
        person: None,
        module: module_of(system),
        count: 1,
        at,
    })
    .collect()
}

/// By what commits are told to be of one author.
fn identity(commit: &Commit) -> (String, String) {
    (commit.author.clone(), commit.email.to_lowercase())
}

/// The people who wrote the commits: those that are in the graph, by address or by name, and else new ones.
fn authors(draft: &mut Draft<'_>, commits: &[Commit]) -> Result<BTreeMap<(String, String), EntityId>, NodeError> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for commit in commits {
        *counts.entry(identity(commit)).or_default() += 1;
    }
    let mut busiest: Vec<_> = counts.into_iter().collect();
    busiest.sort_by(|(a, n_a), (b, n_b)| n_b.cmp(n_a).then_with(|| a.cmp(b)));
    busiest.truncate(AUTHORS_MAX);
    let mut by_address: BTreeMap<String, EntityId> = BTreeMap::new();
    let people: Vec<EntityId> =
        draft.known().graph.entities().filter(|id| id.kind() == EntityType::Person).cloned().collect();
    for id in people {
        if let Some(Details::Person { email: Some(email), .. }) = draft.entity(&id)?.as_ref().map(Entity::details) {
            by_address.insert(email.to_lowercase(), id);
        }
    }
    let mut authors = BTreeMap::new();
    for ((name, email), _) in busiest {
        let named = draft.known().aliases.named(&name).into_iter().find(|id| id.kind() == EntityType::Person);
        let id = match by_address.get(&email).cloned().or(named) {
            Some(id) => id,
            None => {
                // A name without a letter or digit is nobody's, and its commits count for nobody.
                let Ok(id) = EntityId::new(EntityType::Person, &name) else { continue };
                let email = (!email.is_empty()).then(|| email.clone());
                let details = Details::Person { email, role: None, expertise: BTreeSet::new() };
                draft.learn(Entity::with_id(id.clone(), &name, details)?)?;
                id
            }
        };
        by_address.entry(email.clone()).or_insert_with(|| id.clone());
        authors.insert((name, email), id);
    }
    Ok(authors)
}
