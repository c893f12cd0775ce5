//! `plumb entity`: the graph of people, teams, projects, systems, and who is near to whom.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use plumb_actors::entities::{DistanceView, EdgeView, EntityPage, EntityView, PopulatedView};
use plumb_core::graph::{Relation, Role};
use plumb_core::identity::{EntityId, EntityType};

use crate::api::Done;
use crate::api::entities::{EntityRequest, LinkRequest, NameRequest, PopulateRequest};
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::exit::Exit;
use crate::output::{Table, count};
use crate::{output, session};

/// The entity graph.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb entity populate                           the people of plumb.toml, their teams and departments\n  \
    plumb entity populate ~/src/plant --team pumps  packages, folders and commits of a project\n  \
    plumb entity add team \"Pump crew\" --set department=department-operations\n  \
    plumb entity link person-mara member_of \"pump crew\" --role lead\n  \
    plumb entity show \"pump crew\"                   an id or any of its names\n  \
    plumb entity distance person-mara system-telemetry\n\n\
    Everybody of the organisation may look; only the operator changes it. A search uses it: what is near to who asks, and\n\
    to what the question names, counts for more (plumb search … --explain).")]
pub struct EntityArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List entities
    List {
        /// Of one type only: person, team, department, organization, project, system, module or topic
        #[arg(long, value_name = "TYPE")]
        kind: Option<EntityType>,
        /// Behind this id, to go on with a list
        #[arg(long, value_name = "ID")]
        after: Option<String>,
        /// At most so many, up to 1000
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Create an entity
    Add {
        /// person, team, department, organization, project, system, module or topic
        kind: EntityType,
        /// Its name
        name: String,
        /// Its id, where it is not to be made of type and name
        #[arg(long)]
        id: Option<EntityId>,
        /// What is known of it, such as email=mara@northwater.example; may be repeated
        #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = field)]
        fields: Vec<(String, String)>,
    },
    /// Give an entity another name; it is still found by the old one
    Rename {
        /// Which: an id, or a name that no other goes by
        entity: String,
        /// The new name
        name: String,
    },
    /// Give an entity one more name to find it by
    Alias {
        /// Which
        entity: String,
        /// The name
        alias: String,
    },
    /// Remove an entity and every edge that it has
    Remove {
        /// Which
        entity: String,
    },
    /// Draw an edge between two entities, or hang a unit on one
    Link {
        /// Where it begins: an entity, or a unit by its chunk
        source: String,
        /// What it says: member_of, belongs_to, part_of, works_on, expert_in, touches, owns, contains, depends_on,
        /// relates_to, created_by, about, scoped_to or derived_from
        relation: Relation,
        /// Where it ends
        target: String,
        /// Its weight in thousandths
        #[arg(long, value_name = "MILLI", value_parser = clap::value_parser!(u16).range(0..=1000))]
        weight: Option<u16>,
        /// Of member_of: member or lead
        #[arg(long)]
        role: Option<Role>,
    },
    /// Take an edge away
    Unlink {
        /// Where it begins
        source: String,
        /// What it says
        relation: Relation,
        /// Where it ends
        target: String,
    },
    /// Show an entity, its edges, and the units on it that you may read
    Show {
        /// Which
        entity: String,
    },
    /// Say how many edges lie between two entities
    Distance {
        /// From here
        from: String,
        /// To there
        to: String,
    },
    /// Fill the graph from facts: the people of plumb.toml, and a workspace if one is named
    Populate {
        /// A folder with a project: its manifests, folders and git history are read
        dir: Option<PathBuf>,
        /// The project's name, where it is not that of the folder
        #[arg(long, requires = "dir")]
        name: Option<String>,
        /// The team that owns the project
        #[arg(long, requires = "dir")]
        team: Option<String>,
    },
}

fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not FIELD=VALUE"))?;
    Ok((name.to_string(), value.to_string()))
}

fn path_of(entity: &str) -> String {
    format!("/v1/entities/{}", escape(entity))
}

/// Does it.
pub async fn run(cx: &Context, args: EntityArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { kind, after, limit } => {
            let parameters =
                [("kind", kind.map(|k| k.to_string())), ("after", after), ("limit", limit.map(|n| n.to_string()))];
            let path = with_query("/v1/entities", &parameters);
            let all: Vec<EntityView> = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &all, || {
                let mut table = Table::new(&["id", "name", "also"]);
                for entity in &all {
                    table.row([entity.id.clone(), entity.name.clone(), entity.aliases.join(", ")]);
                }
                table.show("no entities; plumb entity populate fills the graph from the people of plumb.toml")
            })?;
        }
        Verb::Add { kind, name, id, fields } => {
            let request = EntityRequest {
                kind: kind.to_string(),
                name,
                id: id.map(|id| id.to_string()),
                fields: fields.into_iter().collect(),
            };
            let made: EntityView =
                session::with_node(cx, async |client| client.post("/v1/entities", &request).await).await?;
            output::emit(cx.json, &made, || entity(&made))?;
        }
        Verb::Rename { entity: which, name } => {
            let request = NameRequest { name };
            let path = path_of(&which);
            let view: EntityView = session::with_node(cx, async |client| client.patch(&path, &request).await).await?;
            output::emit(cx.json, &view, || entity(&view))?;
        }
        Verb::Alias { entity: which, alias } => {
            let request = NameRequest { name: alias };
            let path = format!("{}/aliases", path_of(&which));
            let view: EntityView = session::with_node(cx, async |client| client.post(&path, &request).await).await?;
            output::emit(cx.json, &view, || entity(&view))?;
        }
        Verb::Remove { entity: which } => {
            let path = path_of(&which);
            let done: Done = session::with_node(cx, async |client| client.delete(&path).await).await?;
            output::emit(cx.json, &done, || format!("{which} is removed, with its edges.\n"))?;
        }
        Verb::Link { source, relation, target, weight, role } => {
            let (relation, role) = (relation.to_string(), role.map(|role| role.to_string()));
            let request = LinkRequest { source, relation, target, weight, role };
            let drawn: EdgeView =
                session::with_node(cx, async |client| client.post("/v1/edges", &request).await).await?;
            output::emit(cx.json, &drawn, || edge(&drawn))?;
        }
        Verb::Unlink { source, relation, target } => {
            let parameters =
                [("source", Some(source)), ("relation", Some(relation.to_string())), ("target", Some(target))];
            let path = with_query("/v1/edges", &parameters);
            let done: Done = session::with_node(cx, async |client| client.delete(&path).await).await?;
            output::emit(cx.json, &done, || "The edge is taken away.\n".to_string())?;
        }
        Verb::Show { entity: which } => {
            let path = path_of(&which);
            let page: EntityPage = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &page, || show(&page))?;
        }
        Verb::Distance { from, to } => {
            let path = format!("{}/distance/{}", path_of(&from), escape(&to));
            let view: DistanceView = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &view, || match (view.distance, view.proximity) {
                (Some(distance), Some(proximity)) => format!(
                    "{} to {}: {}, proximity {}.{:03}\n",
                    view.from,
                    view.to,
                    count(distance.into(), "edge", "edges"),
                    proximity / 1000,
                    proximity % 1000
                ),
                _ => format!("{} to {}: more than four edges, or no way at all\n", view.from, view.to),
            })?;
        }
        Verb::Populate { dir, name, team } => {
            let request = PopulateRequest { dir: dir.map(absolute).transpose()?, name, team };
            let view: PopulatedView =
                session::with_node(cx, async |client| client.post("/v1/entities/populate", &request).await).await?;
            output::emit(cx.json, &view, || populated(&view))?;
        }
    }
    Ok(Exit::Done)
}

/// The folder as the node, which stands elsewhere, must hear it.
fn absolute(dir: PathBuf) -> anyhow::Result<String> {
    let canonical = std::fs::canonicalize(&dir).with_context(|| format!("{} cannot be read", dir.display()))?;
    let text = canonical.to_str().map(str::to_string);
    text.ok_or_else(|| anyhow!("the name {} is not UTF-8; rename the folder", dir.display()))
}

fn entity(view: &EntityView) -> String {
    let mut text = format!("{} · {}\n", view.id, view.name);
    let _ = writeln!(text, "  also: {}", view.aliases.join(", "));
    for (name, value) in &view.fields {
        let _ = writeln!(text, "  {name}: {value}");
    }
    text
}

fn edge(view: &EdgeView) -> String {
    let role = view.role.as_ref().map(|role| format!(" as {role}")).unwrap_or_default();
    let now = if view.strength == view.weight { String::new() } else { format!(", {} now", view.strength) };
    format!("{} {} {}{role} (weight {}{now})\n", view.source, view.relation, view.target, view.weight)
}

fn show(page: &EntityPage) -> String {
    let mut text = entity(&page.entity);
    for view in page.edges.iter().chain(&page.edges_into) {
        let _ = write!(text, "  {}", edge(view));
    }
    for belongs in &page.departments {
        let through = belongs.through.as_ref().map(|team| format!(" through {team}")).unwrap_or_default();
        let _ = writeln!(text, "  in {}{through}", belongs.department);
    }
    for unit in &page.units {
        let _ = writeln!(text, "  {} {} · {}", unit.relation, unit.chunk, unit.title);
    }
    text
}

fn populated(view: &PopulatedView) -> String {
    let mut text = format!(
        "{} and {} are new or changed.\n",
        count(view.entities, "entity", "entities"),
        count(view.edges, "edge", "edges")
    );
    if let Some(project) = &view.project {
        let (systems, commits) = (count(view.systems, "package", "packages"), count(view.commits, "commit", "commits"));
        let _ = writeln!(text, "{project}: {systems}, {commits}");
    }
    for remark in &view.remarks {
        let _ = writeln!(text, "  {remark}");
    }
    text
}
