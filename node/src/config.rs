//! Configuration: defaults < `plumb.toml` < `PLUMB_*` environment < flags.

mod layers;
mod settings;
mod template;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use plumb_actors::Person;
use plumb_actors::federation::{SearchPolicy, SyncMode};
use plumb_actors::meaning::ModelChoice;
use plumb_core::boundary::DepartmentPolicy;
use plumb_core::identity::{DidWeb, EntityId, EntityType};
use plumb_core::measure::Duration;
use serde::Deserialize;

use crate::logs::Format;

pub use layers::{Flag, Resolved};
pub use settings::Value;
pub use template::render;

/// Most people of one node. A larger organisation will bring a directory.
const PEOPLE_MAX: usize = 10_000;
/// Largest `plumb.toml` that is read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What a node is told before it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whose node it is.
    pub department: EntityId,
    /// For whom commands on this machine ask.
    pub person: EntityId,
    /// Who may ask.
    pub people: Vec<Person>,
    /// Where HTTP is answered.
    pub http_listen: SocketAddr,
    /// The name that this node goes by in JSON bundles, instead of its key.
    pub did_web: Option<DidWeb>,
    /// Where other nodes reach this one.
    pub federation_listen: Vec<String>,
    /// Nodes to connect to from the start.
    pub federation_bootstrap: Vec<String>,
    /// Further addresses of this node.
    pub federation_announce: Vec<String>,
    /// Whether nodes are found on the local network.
    pub federation_mdns: bool,
    /// Whether admitted peers reach each other through this node.
    pub federation_relay: bool,
    /// Requests of one kind from one peer in a second.
    pub federation_requests_per_second: u32,
    /// The model by whose vectors texts are found.
    pub model: ModelChoice,
    /// What other nodes are told in a search.
    pub search: SearchPolicy,
    /// When knowledge is offered to peers.
    pub sync: SyncMode,
    /// How often, in the background.
    pub sync_every: Duration,
    /// What is let through where the matrix says "policy".
    pub policy: DepartmentPolicy,
    /// Largest source, in bytes.
    pub source_bytes_max: u64,
    /// What HTTP requests may cost.
    pub limits: Limits,
    /// How the log looks.
    pub log_format: Format,
    /// What is logged.
    pub log_filter: String,
    /// Every value with its origin.
    pub resolved: Resolved,
}

/// What HTTP requests may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest body, in bytes.
    pub body_bytes_max: usize,
    /// Longest time, in milliseconds.
    pub request_ms_max: u64,
    /// Requests at once.
    pub requests_max: usize,
    /// Connections at once.
    pub connections_max: usize,
    /// How long running requests may still take when the node stops, in milliseconds.
    pub drain_ms_max: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonEntry {
    id: EntityId,
    #[serde(default)]
    teams: Vec<EntityId>,
    #[serde(default)]
    departments: Vec<EntityId>,
}

impl Config {
    /// Reads the configuration of a home, from its file, the environment and the flags of the command.
    pub fn load(file: &Path, flags: &[Flag]) -> anyhow::Result<Config> {
        let read = || -> anyhow::Result<String> {
            let bytes = std::fs::metadata(file)?.len();
            if bytes > FILE_BYTES_MAX {
                bail!("it has {bytes} bytes; at most {FILE_BYTES_MAX} are read");
            }
            Ok(std::fs::read_to_string(file)?)
        };
        let text = read().with_context(|| format!("{} cannot be read", file.display()))?;
        Config::parse(&text, |variable| std::env::var(variable).ok(), flags)
            .with_context(|| format!("the configuration in {} cannot be used", file.display()))
    }

    fn parse(text: &str, environment: impl Fn(&str) -> Option<String>, flags: &[Flag]) -> anyhow::Result<Config> {
        let mut table: toml::Table = text.parse()?;
        let people = people_of(table.remove("people"))?;
        let resolved = Resolved::over(&table, environment, flags).map_err(|e| anyhow!(e))?;
        let entity = |name: &str, kind: EntityType| -> anyhow::Result<EntityId> {
            let id: EntityId = resolved
                .text(name)
                .map_err(|e| anyhow!(e))?
                .parse()
                .with_context(|| format!("{name} ({})", resolved.origin(name)))?;
            if id.kind() != kind {
                bail!("{name} names `{id}`, which is not a {}", kind.as_str());
            }
            Ok(id)
        };
        let text = |name: &str| resolved.text(name).map_err(|e| anyhow!(e));
        let number = |name: &str| -> anyhow::Result<usize> {
            match usize::try_from(resolved.number(name)) {
                Ok(0) | Err(_) => bail!("{name} must be at least 1"),
                Ok(n) => Ok(n),
            }
        };
        let listen = text("http.listen")?;
        let config = Config {
            department: entity("node.department", EntityType::Department)?,
            person: entity("node.person", EntityType::Person)?,
            people,
            http_listen: listen
                .parse()
                .with_context(|| format!("http.listen: `{listen}` is not an address such as 127.0.0.1:7411"))?,
            did_web: match text("http.did_web")? {
                "" => None,
                host => Some(DidWeb::of_host(host).context("http.did_web")?),
            },
            federation_listen: resolved.list("federation.listen"),
            federation_bootstrap: resolved.list("federation.bootstrap"),
            federation_announce: resolved.list("federation.announce"),
            federation_mdns: resolved.flag("federation.mdns"),
            federation_relay: resolved.flag("federation.relay"),
            federation_requests_per_second: u32::try_from(number("federation.requests_per_second")?)
                .unwrap_or(u32::MAX),
            model: text("search.model")?.parse().context("search.model")?,
            search: SearchPolicy {
                publish_summary: resolved.flag("federation.publish_summary"),
                share_statistics: resolved.flag("federation.share_statistics"),
                name_person: resolved.flag("federation.name_person"),
            },
            sync: text("federation.sync")?.parse().context("federation.sync")?,
            sync_every: Duration(number("federation.sync_every_ms")? as u64),
            policy: DepartmentPolicy {
                restricted_within_department: resolved.flag("policy.restricted_within_department"),
            },
            source_bytes_max: number("ingest.bytes_max")? as u64,
            limits: Limits {
                body_bytes_max: number("limits.body_bytes_max")?,
                request_ms_max: number("limits.request_ms_max")? as u64,
                requests_max: number("limits.requests_max")?,
                connections_max: number("limits.connections_max")?,
                drain_ms_max: number("limits.drain_ms_max")? as u64,
            },
            log_format: match text("log.format")? {
                "human" => Format::Human,
                "json" => Format::Json,
                other => bail!("log.format: `{other}` is neither human nor json"),
            },
            log_filter: text("log.filter")?.to_string(),
            resolved: resolved.clone(),
        };
        if !config.people.iter().any(|p| p.id == config.person) {
            bail!("node.person is `{}`, who is not among the [[people]] of plumb.toml", config.person);
        }
        Ok(config)
    }

    /// The ids of everybody who may ask.
    pub fn people_ids(&self) -> BTreeSet<EntityId> {
        self.people.iter().map(|p| p.id.clone()).collect()
    }
}

fn people_of(value: Option<toml::Value>) -> anyhow::Result<Vec<Person>> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let entries: Vec<PersonEntry> = value.try_into().context("[[people]]")?;
    if entries.len() > PEOPLE_MAX {
        bail!("[[people]] has {} entries; at most {PEOPLE_MAX} are read", entries.len());
    }
    let mut seen = BTreeSet::new();
    let mut people = Vec::new();
    for PersonEntry { id, teams, departments } in entries {
        if id.kind() != EntityType::Person {
            bail!("[[people]]: `{id}` is not a person");
        }
        if let Some(other) = teams.iter().find(|t| t.kind() != EntityType::Team) {
            bail!("[[people]]: `{other}`, a team of {id}, is not a team");
        }
        if let Some(other) = departments.iter().find(|d| d.kind() != EntityType::Department) {
            bail!("[[people]]: `{other}`, a department of {id}, is not a department");
        }
        if !seen.insert(id.clone()) {
            bail!("[[people]]: {id} stands twice");
        }
        people.push(Person { id, teams, departments });
    }
    Ok(people)
}

#[cfg(test)]
mod tests {
    use super::layers::Origin;
    use super::*;

    fn person(id: &str) -> Person {
        Person { id: id.parse().unwrap(), teams: vec![], departments: vec!["department-operations".parse().unwrap()] }
    }

    fn parse(text: &str) -> anyhow::Result<Config> {
        Config::parse(text, |_| None, &[])
    }

    #[test]
    fn the_template_is_a_configuration() {
        let text = render("department-operations", "person-mara", &[person("person-mara")]);
        let config = parse(&text).unwrap();
        assert_eq!(config.person.to_string(), "person-mara");
        assert_eq!(config.people, [person("person-mara")]);
        assert_eq!(config.http_listen.to_string(), "127.0.0.1:7411");
        assert_eq!(config.federation_listen.len(), 2);
        // Every default stands in it as a comment that, uncommented, changes nothing.
        let uncommented: String = text
            .lines()
            .map(|l| match l.strip_prefix("# ") {
                Some(rest) if rest.split_once(" = ").is_some_and(|(k, _)| !k.contains(' ')) => {
                    format!("{rest}\n")
                }
                _ => format!("{l}\n"),
            })
            .collect();
        let same = parse(&uncommented).unwrap();
        let values = |c: &Config| c.resolved.iter().map(|(n, v, _)| (n, v.clone())).collect::<Vec<_>>();
        assert_eq!(values(&same), values(&config));
        assert!(same.resolved.iter().all(|(_, _, origin)| *origin == Origin::File));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        let base = render("department-operations", "person-mara", &[person("person-mara")]);
        for (from, to, part) in [
            ("department = \"department-operations\"", "department = \"team-x\"", "not a department"),
            ("person = \"person-mara\"", "person = \"person-nobody\"", "not among the [[people]]"),
            ("# listen = \"127.0.0.1:7411\"", "listen = \"here\"", "http.listen"),
            ("# requests_max = 64", "requests_max = 0", "limits.requests_max must be at least 1"),
            ("# sync = \"query-only\"", "sync = \"always\"", "federation.sync"),
            ("# format = \"human\"", "format = \"xml\"", "log.format"),
            ("id = \"person-mara\"", "id = \"person-mara\"\nrole = \"boss\"", "people"),
            ("teams = []", "teams = [\"person-x\"]", "is not a team"),
        ] {
            assert!(base.contains(from), "{from}");
            let error = format!("{:#}", parse(&base.replace(from, to)).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
