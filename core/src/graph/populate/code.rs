//! Projects from workspaces (ENT-14), systems and modules from manifests and folders (ENT-15).

use std::collections::{BTreeMap, BTreeSet};

use super::{Population, names};
use crate::graph::weight::{WEIGHT_ASSUMED, WEIGHT_DEFAULT};
use crate::graph::{Details, EdgeKey, EdgeUpsert, Entity, GraphError, Relation, Role};
use crate::identity::{EntityId, EntityType};
use crate::measure::Timestamp;

/// A workspace: a place where people work on one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The project's name.
    pub name: String,
    /// The workspace's own id.
    pub workspace_id: Option<String>,
    /// The git remote.
    pub repo_url: Option<String>,
    /// The team that owns the project, where somebody said so. It must be in the graph.
    pub team: Option<EntityId>,
    /// Who works there, and what they are in the team. They must be in the graph.
    pub members: BTreeMap<EntityId, Role>,
}

/// The project of a workspace, and who works on it. Without a team that somebody named, the members are taken for one
/// that has the workspace's name (ENT-13); with one, only that team's own members are its members.
pub fn from_workspace(workspace: &Workspace, at: Timestamp) -> Result<Population, GraphError> {
    let Workspace { name, workspace_id, repo_url, team, members } = workspace;
    let mut population = Population::default();
    let details = Details::Project { repo_url: repo_url.clone(), workspace_id: workspace_id.clone() };
    let project = Entity::new(name, details)?;
    let project_id = project.id().clone();
    population.entity(project)?;
    for person in members.keys() {
        // Being there is no signal of how much; commits are, and come later.
        let key = EdgeKey::new(person.clone(), Relation::WorksOn, project_id.clone())?;
        population.edges.push(EdgeUpsert::set(key, WEIGHT_ASSUMED, at));
    }
    match team {
        Some(team) => population.set(team, Relation::Owns, &project_id, WEIGHT_DEFAULT, at)?,
        None if members.is_empty() => {}
        None => {
            let team = Entity::new(name, Details::unknown(EntityType::Team))?;
            population.set(team.id(), Relation::Owns, &project_id, WEIGHT_ASSUMED, at)?;
            for (person, role) in members {
                let key = EdgeKey::new(person.clone(), Relation::MemberOf, team.id().clone())?;
                population.edges.push(EdgeUpsert::set_role(key, WEIGHT_ASSUMED, *role, at)?);
            }
            population.entity(team)?;
        }
    }
    Ok(population)
}

/// What a manifest (`Cargo.toml`, `package.json`, …) says of one system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The package's name.
    pub name: String,
    /// The kind of manifest, such as `cargo` or `npm`.
    pub system_type: String,
    /// The names of the packages that it depends on.
    pub dependencies: BTreeSet<String>,
    /// Its parts.
    pub modules: Vec<Module>,
}

/// A part of a system: a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name inside the system, such as `src/log`.
    pub name: String,
    /// Its files: a folder, with or without `/**` at its end, from the root of the repository.
    pub path_pattern: String,
}

/// Systems and modules of a project. A dependency becomes an edge where it is a system of the organisation: one of these
/// manifests, or one of `known`. The rest of the world's packages are no part of the graph.
///
/// A module's id carries its system's name, since every system has a `src`.
pub fn from_manifests(
    project: &EntityId,
    manifests: &[Manifest],
    known: &BTreeSet<EntityId>,
    at: Timestamp,
) -> Result<Population, GraphError> {
    names("project", project, EntityType::Project)?;
    let mut population = Population::default();
    let system_id = |name: &str| EntityId::new(EntityType::System, name);
    let own = manifests.iter().map(|m| system_id(&m.name)).collect::<Result<BTreeSet<_>, _>>()?;
    for Manifest { name, system_type, dependencies, modules } in manifests {
        let details = Details::System { system_type: Some(system_type.clone()), project: Some(project.clone()) };
        let system = Entity::new(name, details)?;
        let id = system.id().clone();
        population.entity_with_edges(system, at)?;
        for dependency in dependencies {
            // A package whose name gives no id is nobody's system.
            let Ok(dependency) = system_id(dependency) else { continue };
            if dependency != id && (own.contains(&dependency) || known.contains(&dependency)) {
                population.set(&id, Relation::DependsOn, &dependency, WEIGHT_DEFAULT, at)?;
            }
        }
        for Module { name: part, path_pattern } in modules {
            let details = Details::Module { path_pattern: Some(path_pattern.clone()), system: Some(id.clone()) };
            population.entity_with_edges(Entity::new(&format!("{name} {part}"), details)?, at)?;
        }
    }
    Ok(population)
}

/// Which module a file belongs to: that of the longest folder above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMap {
    by_folder: BTreeMap<String, EntityId>,
}

impl ModuleMap {
    /// The map of some modules; entities of other types and modules without a pattern are passed over. Of two modules of
    /// one folder the first by id has it.
    pub fn of<'a>(entities: impl IntoIterator<Item = &'a Entity>) -> ModuleMap {
        let mut by_folder: BTreeMap<String, EntityId> = BTreeMap::new();
        for entity in entities {
            if let Details::Module { path_pattern: Some(pattern), .. } = entity.details() {
                let folder = folder(pattern).to_string();
                let owner = by_folder.entry(folder).or_insert_with(|| entity.id().clone());
                if entity.id() < owner {
                    *owner = entity.id().clone();
                }
            }
        }
        ModuleMap { by_folder }
    }

    /// The module of a file, if there is one.
    pub fn of_path(&self, path: &str) -> Option<&EntityId> {
        let path = path.trim_start_matches("./").trim_matches('/');
        let folders = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        // A pattern may name one file; the empty pattern is the whole repository.
        std::iter::once(path).chain(folders).chain([""]).find_map(|folder| self.by_folder.get(folder))
    }
}

fn folder(pattern: &str) -> &str {
    let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
    pattern.trim_end_matches("**").trim_end_matches('/')
}
