//! Which entities a text means (CTX-08): by a name exactly, by a name inside it, by a name misspelt, or by likeness.
//!
//! | how | confidence |
//! | --- | --- |
//! | the whole text is an alias | 950 |
//! | an alias of three or more letters stands in it as words | 850 |
//! | the text, or words of it, are one or two edits from an alias | 900 − 150 · edits: 750, 600 |
//! | the caller found it similar, by vectors or otherwise | the caller's score, at most 590 |
//!
//! Similarity comes last in the design's order, and so stays below every name. Nothing here knows who may see an
//! entity: the caller resolves among what the requester may.

use std::collections::BTreeMap;

use super::alias::{Aliases, Row, fold, words};
use super::fuzzy::EDITS_MAX;
use crate::identity::EntityId;
use crate::measure::Milli;

const EXACT: Milli = Milli::from_const(950);
const MENTION: Milli = Milli::from_const(850);
const SIMILAR_MAX: Milli = Milli::from_const(590);
/// Fewer letters than this are found in every other sentence.
const MENTION_LETTERS_MIN: usize = 3;
/// Words of a text that are looked at: a long question. The whole of a longer text is still compared exactly.
const WORDS_MAX: usize = 128;
/// Words of the longest alias that is found inside a text, whole or misspelt.
const MENTION_WORDS_MAX: usize = 8;
const FUZZY_WORDS_MAX: usize = 3;
/// Words inside a text are held to more than a text that is nothing but a name: ordinary words are near to many names.
/// So many letters must there be, and so many for each edit.
const FUZZY_LETTERS_MIN: usize = 5;
const FUZZY_LETTERS_AN_EDIT: usize = 4;
/// Most entities that one text can mean.
const RESOLUTIONS_MAX: usize = 32;

/// How a text came to mean an entity. The surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The text is one of its names.
    Exact,
    /// One of its names stands in the text.
    Mention,
    /// One of its names is misspelt by so many letters.
    Fuzzy {
        /// Insertions, deletions, substitutions: 1 or 2.
        edits: u8,
    },
    /// Something else than its name is like the text.
    Similar,
}

/// An entity that a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The entity.
    pub entity: EntityId,
    /// How sure that is.
    pub confidence: Milli,
    /// By what.
    pub how: How,
    /// The name, folded, by which it was found; none if by likeness.
    pub alias: Option<String>,
}

/// An entity that the caller found similar to the text, with its own score: the slot for vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Similar {
    /// The entity.
    pub entity: EntityId,
    /// How similar.
    pub score: Milli,
}

/// What counts of an entity that was found twice: more confidence, then the surer way, then the longer name.
type Rank = (std::cmp::Reverse<Milli>, How, std::cmp::Reverse<usize>);

impl Aliases {
    /// The entities that a text means, each once and by its surest way, the surest first. Ties stand in the order of how
    /// they were found, then of the longer name, then of the ids: the same on every machine.
    pub fn resolve(&self, text: &str, similar: &[Similar]) -> Vec<Resolution> {
        let mut found = Found::default();
        let whole = fold(text);
        if let Some(row) = self.exact(&whole) {
            found.take(row, EXACT, How::Exact);
        }
        for (row, edits) in self.misspelt(&whole) {
            found.take_misspelt(row, edits);
        }
        let words: Vec<String> = words(text).into_iter().take(WORDS_MAX).collect();
        for first in 0..words.len() {
            for len in 1..=MENTION_WORDS_MAX.min(words.len() - first) {
                self.mentioned(&words[first..first + len], &mut found);
            }
        }
        for Similar { entity, score } in similar {
            found.offer(entity, None, (*score).min(SIMILAR_MAX), How::Similar);
        }
        found.ranked()
    }

    /// What some words inside a text mean.
    fn mentioned(&self, words: &[String], found: &mut Found) {
        let phrase = words.join(" ");
        let letters = phrase.chars().filter(|c| *c != ' ').count();
        if letters >= MENTION_LETTERS_MIN
            && let Some(row) = self.exact(&phrase)
        {
            found.take(row, MENTION, How::Mention);
        }
        if words.len() <= FUZZY_WORDS_MAX && letters >= FUZZY_LETTERS_MIN {
            for (row, edits) in self.misspelt(&phrase) {
                if usize::from(edits) * FUZZY_LETTERS_AN_EDIT <= letters {
                    found.take_misspelt(row, edits);
                }
            }
        }
    }
}

#[derive(Default)]
struct Found {
    best: BTreeMap<EntityId, (Rank, Option<String>)>,
}

impl Found {
    fn take(&mut self, row: &Row, confidence: Milli, how: How) {
        for entity in &row.carriers {
            self.offer(entity, Some(&row.text), confidence, how);
        }
    }

    fn take_misspelt(&mut self, row: &Row, edits: u8) {
        debug_assert!(edits <= EDITS_MAX);
        self.take(row, Milli::clamped(900 - 150 * i64::from(edits)), How::Fuzzy { edits });
    }

    fn offer(&mut self, entity: &EntityId, alias: Option<&str>, confidence: Milli, how: How) {
        let rank = (std::cmp::Reverse(confidence), how, std::cmp::Reverse(alias.map_or(0, str::len)));
        let offered = (rank, alias.map(str::to_string));
        match self.best.get_mut(entity) {
            Some(best) => *best = offered.min(best.clone()),
            None => {
                self.best.insert(entity.clone(), offered);
            }
        }
    }

    fn ranked(self) -> Vec<Resolution> {
        let mut all: Vec<_> = self.best.into_iter().collect();
        all.sort_by(|(a, (rank_a, _)), (b, (rank_b, _))| rank_a.cmp(rank_b).then_with(|| a.cmp(b)));
        all.truncate(RESOLUTIONS_MAX);
        let resolution = |(entity, ((confidence, how, _), alias))| {
            let std::cmp::Reverse(confidence): std::cmp::Reverse<Milli> = confidence;
            Resolution { entity, confidence, how, alias }
        };
        all.into_iter().map(resolution).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Details, Entity};
    use super::*;
    use crate::identity::EntityType;

    fn aliases(entities: &[(EntityType, &str, &[&str])]) -> Aliases {
        let mut aliases = Aliases::default();
        for (kind, name, more) in entities {
            let mut entity = Entity::new(name, Details::unknown(*kind)).unwrap();
            more.iter().for_each(|alias| entity.add_alias(alias).unwrap());
            aliases.enter(&entity);
        }
        aliases
    }

    fn check(aliases: &Aliases, text: &str, expected: &[(&str, u16, How)]) {
        let resolved = aliases.resolve(text, &[]);
        let said: Vec<_> = resolved.iter().map(|r| (r.entity.to_string(), r.confidence.get(), r.how)).collect();
        let expected: Vec<_> = expected.iter().map(|(id, c, how)| (id.to_string(), *c, *how)).collect();
        assert_eq!(said, expected, "{text}");
    }

    fn plant() -> Aliases {
        aliases(&[
            (EntityType::Team, "Platform", &[]),
            (EntityType::System, "Auth Service", &["auth"]),
            (EntityType::Topic, "HR", &[]),
            (EntityType::Topic, "Ops", &[]),
            (EntityType::Topic, "経営者", &[]),
            (EntityType::Topic, "Größe", &[]),
            (EntityType::Organization, "Default", &["org-default"]),
        ])
    }

    #[test]
    fn a_name_is_recognised_and_by_what() {
        let (one, two) = (How::Fuzzy { edits: 1 }, How::Fuzzy { edits: 2 });
        let plant = plant();
        for (text, expected) in [
            ("platform", &[("team-platform", 950, How::Exact)][..]),
            ("  PLATFORM! ", &[("team-platform", 950, How::Exact)]),
            ("plattform", &[("team-platform", 750, one)]),
            ("platfrom", &[("team-platform", 600, two)]),
            ("plattfrom", &[]),
            ("auth", &[("system-auth-service", 950, How::Exact)]),
            ("auth_service", &[("system-auth-service", 950, How::Exact)]),
            ("who owns the platform?", &[("team-platform", 850, How::Mention)]),
            ("who owns the plattform?", &[("team-platform", 750, one)]),
            ("who is the author of platforms", &[("team-platform", 750, one)]),
            (
                "the auth of the platform",
                &[("team-platform", 850, How::Mention), ("system-auth-service", 850, How::Mention)],
            ),
            ("HR", &[("topic-hr", 950, How::Exact)]),
            ("ask HR about it", &[]),
            ("ask ops about it", &[("topic-ops", 850, How::Mention)]),
            ("ask opt about it", &[]),
            ("日本の経営者は誰ですか", &[("topic-経営者", 850, How::Mention)]),
            ("GRÖSSE", &[("topic-größe", 600, two)]),
            ("GRÖßE", &[("topic-größe", 950, How::Exact)]),
            ("org-default", &[("organization-default", 950, How::Exact)]),
            ("", &[]),
            ("?!", &[]),
        ] {
            check(&plant, text, expected);
        }
    }

    #[test]
    fn words_inside_a_text_need_four_letters_an_edit() {
        let found = |name: &str, text: &str| {
            let resolved = aliases(&[(EntityType::Topic, name, &[])]).resolve(text, &[]);
            resolved.first().map(|r| r.confidence.get())
        };
        assert_eq!(found("pump", "my bump here"), None, "four letters are too few");
        assert_eq!(found("pumps", "my bumps here"), Some(750));
        assert_eq!(found("pumping", "my bumbing here"), None, "seven letters carry one edit");
        assert_eq!(found("pumpings", "my bumbings here"), Some(600));
    }

    #[test]
    fn ties_stand_in_one_order_whoever_came_first() {
        let entities: [(EntityType, &str, &[&str]); 3] = [
            (EntityType::Project, "Atlas", &[]),
            (EntityType::System, "Atlas", &[]),
            (EntityType::Team, "Atlas", &["atlas team"]),
        ];
        let mut turned = entities;
        turned.reverse();
        let text = "what does the atlas team do";
        let resolved = aliases(&entities).resolve(text, &[]);
        assert_eq!(resolved, aliases(&turned).resolve(text, &[]));
        let ids: Vec<_> = resolved.iter().map(|r| (r.entity.to_string(), r.alias.as_deref())).collect();
        let longest = Some("atlas team");
        let ids: Vec<_> = ids.iter().map(|(id, alias)| (id.as_str(), *alias)).collect();
        assert_eq!(ids, [("team-atlas", longest), ("project-atlas", Some("atlas")), ("system-atlas", Some("atlas"))]);
    }

    #[test]
    fn likeness_comes_after_every_name() {
        let similar = |id: &str, score| Similar { entity: id.parse().unwrap(), score: Milli::new(score).unwrap() };
        let given = [similar("topic-hr", 980), similar("team-platform", 990), similar("topic-ops", 300)];
        let resolved = plant().resolve("platfrom", &given);
        let said: Vec<_> = resolved.iter().map(|r| (r.entity.to_string(), r.confidence.get(), r.how)).collect();
        assert_eq!(
            said,
            [
                ("team-platform".into(), 600, How::Fuzzy { edits: 2 }),
                ("topic-hr".into(), 590, How::Similar),
                ("topic-ops".into(), 300, How::Similar),
            ]
        );
    }

    #[test]
    fn a_renamed_entity_answers_to_both_names_and_a_removed_one_to_none() {
        let mut team = Entity::new("Platform", Details::unknown(EntityType::Team)).unwrap();
        let mut aliases = plant();
        team.rename("Foundations").unwrap();
        aliases.enter(&team);
        for name in ["platform", "Foundations", "plattform", "foundation"] {
            assert_eq!(aliases.resolve(name, &[])[0].entity, *team.id(), "{name}");
        }
        let names = aliases.len();
        aliases.remove(team.id());
        assert_eq!(aliases.len(), names - 2);
        for name in ["platform", "Foundations", "plattform", "foundation"] {
            assert_eq!(aliases.resolve(name, &[]), [], "{name}");
        }
        assert!(aliases.named("auth").len() == 1 && aliases.named("platform").is_empty());
    }

    #[test]
    fn a_text_means_no_more_than_so_many() {
        let mut aliases = Aliases::default();
        for n in 0..RESOLUTIONS_MAX + 1 {
            let id = format!("topic-t{n}").parse().unwrap();
            aliases.enter(&Entity::with_id(id, "Same", Details::unknown(EntityType::Topic)).unwrap());
        }
        assert_eq!(aliases.resolve("same", &[]).len(), RESOLUTIONS_MAX);
    }
}
