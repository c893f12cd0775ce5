//! The knowledge unit: a chunk with what the organisation says of it — type, scope, sensitivity, origin, state.
//!
//! The chunk is evidence and never changes; the unit around it does. Two owners of equal bytes have two units, and
//! nothing that one does to its unit touches the other's.

use std::fmt;
use std::str::FromStr;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::boundary::Sensitivity;
use crate::identity::{EntityId, EntityType, NodeId, OrgId};

/// A word that is none of the expected ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not one of {expected}")]
pub struct WordError {
    /// What was given.
    pub given: String,
    /// What would have been understood.
    pub expected: &'static str,
}

/// The nine types (KNU-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum KnowledgeType {
    Decision,
    Pattern,
    Preference,
    ErrorFix,
    #[default]
    Context,
    CodePattern,
    Command,
    Conversation,
    Summary,
}

/// How wide a scope is (KNU-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum ScopeLevel {
    Personal,
    Team,
    Department,
    Organization,
}

/// Whose a unit is: a person's, a team's, a department's or the organisation's. Text form `level:entity`, such as
/// `department:department-operations`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "ScopeFields")]
pub struct Scope {
    /// How wide.
    pub level: ScopeLevel,
    /// Whose.
    pub entity: EntityId,
}

/// A scope as it is stored: a level and an entity that may not fit each other.
#[derive(Deserialize)]
struct ScopeFields {
    level: ScopeLevel,
    entity: EntityId,
}

impl TryFrom<ScopeFields> for Scope {
    type Error = WordError;
    fn try_from(fields: ScopeFields) -> Result<Scope, WordError> {
        let given = format!("{}:{}", fields.level, fields.entity);
        let scope = Scope::of(fields.entity)?;
        if scope.level == fields.level { Ok(scope) } else { Err(WordError { given, expected: SCOPE_FORM }) }
    }
}

impl Scope {
    /// The scope of an entity that can own knowledge.
    pub fn of(entity: EntityId) -> Result<Scope, WordError> {
        let level = match entity.kind() {
            EntityType::Person => ScopeLevel::Personal,
            EntityType::Team => ScopeLevel::Team,
            EntityType::Department => ScopeLevel::Department,
            EntityType::Organization => ScopeLevel::Organization,
            EntityType::Project | EntityType::System | EntityType::Module | EntityType::Topic => {
                return Err(WordError { given: entity.to_string(), expected: SCOPE_FORM });
            }
        };
        Ok(Scope { level, entity })
    }
}

const SCOPE_FORM: &str = "personal:person-…, team:team-…, department:department-…, organization:organization-…";

impl fmt::Display for ScopeLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScopeLevel::Personal => "personal",
            ScopeLevel::Team => "team",
            ScopeLevel::Department => "department",
            ScopeLevel::Organization => "organization",
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.entity)
    }
}

impl FromStr for Scope {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Scope, WordError> {
        let refused = || WordError { given: text.chars().take(200).collect(), expected: SCOPE_FORM };
        let (level, entity) = text.split_once(':').ok_or_else(refused)?;
        let scope = Scope::of(entity.parse().map_err(|_| refused())?).map_err(|_| refused())?;
        if scope.level.to_string() == level { Ok(scope) } else { Err(refused()) }
    }
}

/// From what kind of signal a unit came (KNU-15, D11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum SourceType {
    Conversation,
    GitCommit,
    PrReview,
    #[default]
    Document,
    Behavioral,
    Distillation,
    Manual,
    TestRun,
    Deployment,
}

impl SourceType {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            SourceType::Conversation => "conversation",
            SourceType::GitCommit => "git_commit",
            SourceType::PrReview => "pr_review",
            SourceType::Document => "document",
            SourceType::Behavioral => "behavioral",
            SourceType::Distillation => "distillation",
            SourceType::Manual => "manual",
            SourceType::TestRun => "test_run",
            SourceType::Deployment => "deployment",
        }
    }
}

/// Where a unit came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// From what kind of signal.
    pub source_type: SourceType,
    /// The full address, as only this node sees it.
    pub source_ref: String,
    /// Who brought it in, if a person did.
    pub creator: Option<EntityId>,
    /// The node that published it: this one, or the one it was imported from.
    pub publisher: NodeId,
    /// That node's organisation.
    pub org: OrgId,
    /// The department whose node that is.
    pub department: EntityId,
}

/// Whether a unit may be found and cited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum UnitState {
    /// Found and cited.
    Active,
    /// Taken back by a notice. Kept, shown as such where it was cited, found no more.
    Retracted {
        /// The notice.
        notice: Cid,
    },
    /// Its source has a newer version.
    Superseded {
        /// The newer source record.
        by: Cid,
    },
    /// Its source was removed from this node. What remains of it is who may know of it.
    Removed,
}

/// One chunk as this node knows it. A promoted copy will be a unit of its own; an original is named by its chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeUnit {
    /// The chunk that it is about; also its name.
    pub chunk: Cid,
    /// The chunk's source record.
    pub source: Cid,
    /// What kind of knowledge.
    pub kind: KnowledgeType,
    /// Whose it is.
    pub scope: Scope,
    /// Who may read it, together with `scope`.
    pub sensitivity: Sensitivity,
    /// Where it came from.
    pub origin: Origin,
    /// Whether it may be found.
    pub state: UnitState,
}

impl KnowledgeUnit {
    /// Whether it may be found and cited.
    pub fn is_active(&self) -> bool {
        self.state == UnitState::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_reads_as_level_and_entity() {
        let scope: Scope = "department:department-operations".parse().unwrap();
        assert_eq!(scope.to_string(), "department:department-operations");
        for bad in ["", "team", "team:person-a", "project:project-x", "team:team-"] {
            assert!(bad.parse::<Scope>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_stored_scope_is_held_to_the_same_rule() {
        let stored = |level: &str| serde_json::json!({ "level": level, "entity": "team-pumps" });
        assert!(serde_json::from_value::<Scope>(stored("team")).is_ok());
        assert!(serde_json::from_value::<Scope>(stored("organization")).is_err());
    }
}
