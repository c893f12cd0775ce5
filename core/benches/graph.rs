//! What a hundred thousand entities cost in memory, and how long a request waits for its proximities.
//!
//! `cargo bench -p plumb-core --bench graph` builds an organisation of 100,000 entities and some 500,000 edges, and prints
//! two tables: the memory of either side (growth of the resident set, Linux only), and the medians of interleaved rounds
//! against a plain breadth-first search over a `BTreeMap` of ids to ids, on the same sources and in the same run. Both
//! sides stop when they have found what is wanted, or after four hops. Every answer of the one is held against the other.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench reads the clock, and divides")]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::{Duration, Instant};

use plumb_core::graph::{
    Aliases, Details, EdgeKey, EdgeUpsert, Entity, Graph, MAX_GRAPH_HOPS, ProximityCache, Relation, WEIGHT_ASSUMED,
};
use plumb_core::identity::{EntityId, EntityType};
use plumb_core::measure::Timestamp;

/// Entities of each type: 100,000 in all, as many people as modules.
const SIZES: [(EntityType, usize); 8] = [
    (EntityType::Organization, 1),
    (EntityType::Department, 60),
    (EntityType::Team, 1_939),
    (EntityType::Person, 30_000),
    (EntityType::Project, 8_000),
    (EntityType::System, 20_000),
    (EntityType::Module, 30_000),
    (EntityType::Topic, 10_000),
];
const SOURCES: usize = 40;
/// Scopes and entities that one question wants the proximity of.
const WANTED: usize = 20;
const NOW: Timestamp = Timestamp(1_800_000_000_000);

type Plain = BTreeMap<EntityId, BTreeSet<EntityId>>;

fn main() {
    // `cargo test` runs benches without this flag to see that they start; a debug build says nothing of speed.
    if !std::env::args().any(|a| a == "--bench") {
        println!("graph: run with `cargo bench -p plumb-core --bench graph`");
        return;
    }
    let mut random = Random(7);
    let ids: BTreeMap<EntityType, Vec<EntityId>> = SIZES.into_iter().map(|(kind, n)| (kind, names(kind, n))).collect();
    let edges = organisation(&ids, &mut random);
    let all: Vec<&EntityId> = ids.values().flatten().collect();

    let (mut graph, graph_kib, built) = measured(|| {
        let mut graph = Graph::default();
        for id in &all {
            graph.insert(id).expect("one organisation");
        }
        for key in &edges {
            graph.upsert(&EdgeUpsert::set(key.clone(), WEIGHT_ASSUMED, NOW)).expect("both ends are there");
        }
        graph.compact();
        graph
    });
    let (plain, plain_kib, plain_built) = measured(|| {
        let mut plain: Plain = all.iter().map(|id| ((*id).clone(), BTreeSet::new())).collect();
        for key in &edges {
            for (one, other) in [(key.source(), key.target()), (key.target(), key.source())] {
                plain.get_mut(one).expect("both ends are there").insert(other.clone());
            }
        }
        plain
    });
    let (aliases, aliases_kib, aliases_built) = measured(|| {
        let mut aliases = Aliases::default();
        for id in &all {
            let entity = Entity::with_id((*id).clone(), id.slug(), Details::unknown(id.kind()));
            aliases.enter(&entity.expect("a name"));
        }
        aliases
    });
    println!("{} entities, {} edges, {} names\n", graph.len(), graph.edge_count(), aliases.len());
    println!("| in memory | MiB | bytes an entity | built in, ms |\n| --- | --- | --- | --- |");
    for (what, kib, took) in [
        ("graph, with every edge's weight, role and time", graph_kib, built),
        ("plain `BTreeMap` of ids to ids, without these", plain_kib, plain_built),
        ("names, with the index of misspelt ones", aliases_kib, aliases_built),
    ] {
        let bytes = kib as f64 * 1024.0 / all.len() as f64;
        println!("| {what} | {:.1} | {bytes:.0} | {:.0} |", kib as f64 / 1024.0, ms(took));
    }

    println!("\n| question | graph, µs | plain search, µs | graph / plain |\n| --- | --- | --- | --- |");
    let people = &ids[&EntityType::Person];
    let sources: Vec<&EntityId> = (0..SOURCES).map(|_| random.of(people)).collect();
    let anywhere: Vec<Vec<&EntityId>> =
        sources.iter().map(|_| (0..WANTED).map(|_| *random.of(&all)).collect()).collect();
    let scopes: Vec<Vec<&EntityId>> = sources.iter().map(|person| own_scopes(&plain, person)).collect();
    for (question, wanted) in [("own team, department, organisation", &scopes), ("20 entities anywhere", &anywhere)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (from, wanted) in sources.iter().zip(wanted) {
            let (a, took) = timed(|| graph.distances(from, wanted.iter().copied()));
            ours.push(took);
            let (b, took) = timed(|| plain_distances(&plain, from, wanted));
            theirs.push(took);
            assert_eq!(a, b, "{from}");
        }
        row(question, ours, Some(theirs));
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for from in &sources {
        let (a, took) = timed(|| graph.within(from, 2));
        ours.push(took);
        let (b, took) = timed(|| plain_reach(&plain, from, 2, |_| false));
        theirs.push(took);
        assert_eq!(a.into_iter().collect::<BTreeMap<_, _>>(), b, "{from}");
    }
    row("everything within 2 hops", ours, Some(theirs));

    let (mut cold, mut theirs, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for (from, wanted) in sources.iter().zip(&anywhere) {
        let mut cache = ProximityCache::default();
        cold.push(timed(|| cache.warm(&graph, [*from])).1);
        theirs.push(timed(|| black_box(plain_reach(&plain, from, MAX_GRAPH_HOPS, |_| false))).1);
        let ask = || wanted.iter().map(|to| cache.distance(&graph, from, to)).collect::<Vec<_>>();
        warm.push(timed(ask).1);
    }
    row("a session's start: all within 4 hops remembered", cold, Some(theirs));
    row("20 entities anywhere, remembered", warm, None);

    let keys: Vec<&EdgeKey> = (0..2_000).map(|_| random.of(&edges)).collect();
    let updates = keys.iter().map(|key| {
        timed(|| {
            graph.remove_edge(key);
            graph.upsert(&EdgeUpsert::set((*key).clone(), WEIGHT_ASSUMED, NOW)).expect("both ends are there");
        })
        .1
    });
    row("one edge removed and made again", updates.collect(), None);
    let questions: Vec<String> = sources
        .iter()
        .map(|id| format!("who works with q{} on the pump that was replaced last week", &id.slug()[1..]))
        .collect();
    let answers = questions.iter().zip(&sources).map(|(question, id)| {
        let (found, took) = timed(|| aliases.resolve(question, &[]));
        assert!(found.iter().any(|r| r.entity == **id), "{question}");
        took
    });
    row("entities of a question of twelve words, one misspelt", answers.collect(), None);
}

fn row(question: &str, ours: Vec<Duration>, plain: Option<Vec<Duration>>) {
    let ours = median(ours);
    match plain.map(median) {
        Some(plain) => {
            let ratio = ours.as_secs_f64() / plain.as_secs_f64();
            println!("| {question} | {:.1} | {:.1} | {ratio:.4} |", 1e3 * ms(ours), 1e3 * ms(plain));
        }
        None => println!("| {question} | {:.1} | | |", 1e3 * ms(ours)),
    }
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = black_box(work());
    (done, begun.elapsed())
}

/// What was made, by how many KiB the resident set grew, and how long it took.
fn measured<T>(make: impl FnOnce() -> T) -> (T, u64, Duration) {
    let before = resident_kib();
    let (made, took) = timed(make);
    (made, resident_kib().saturating_sub(before), took)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Names of four syllables, no two of one type alike, in no order.
fn names(kind: EntityType, n: usize) -> Vec<EntityId> {
    let name = |i: usize| {
        // An odd factor only shuffles the numbers below 2^24.
        let mixed = i.wrapping_mul(2_654_435_761).wrapping_add(kind as usize * 77_777) & 0xff_ffff;
        let syllable = |part: usize| {
            let bits = mixed >> (6 * part) & 63;
            [char::from(b"bdfghjklmnprstvz"[bits >> 2]), char::from(b"aeio"[bits & 3])]
        };
        (0..4).flat_map(syllable).collect::<String>()
    };
    (0..n).map(|i| EntityId::new(kind, &name(i)).expect("a name")).collect()
}

/// An organisation: people in teams, teams in departments; most work near home, some topics and systems are everybody's.
fn organisation(ids: &BTreeMap<EntityType, Vec<EntityId>>, random: &mut Random) -> Vec<EdgeKey> {
    use EntityType::{Department, Module, Organization, Person, Project, System, Team, Topic};
    let mut edges = BTreeSet::new();
    let mut join = |source: EntityType, relation, target: EntityType, each: usize, skewed: bool| {
        for from in &ids[&source] {
            for _ in 0..each {
                let to = if skewed { random.skewed(&ids[&target]) } else { random.of(&ids[&target]) };
                // The same edge drawn twice is one edge, and none leads back to where it begins.
                edges.extend(EdgeKey::new(from.clone(), relation, to.clone()).ok());
            }
        }
    };
    join(Department, Relation::PartOf, Organization, 1, false);
    join(Team, Relation::PartOf, Department, 1, false);
    join(Team, Relation::Owns, Project, 4, false);
    join(Team, Relation::Owns, System, 10, false);
    join(Person, Relation::MemberOf, Team, 1, false);
    join(Person, Relation::WorksOn, Project, 2, true);
    join(Person, Relation::ExpertIn, Topic, 4, true);
    join(Person, Relation::Touches, Module, 5, true);
    join(Project, Relation::Contains, System, 3, false);
    join(System, Relation::Contains, Module, 2, false);
    join(System, Relation::DependsOn, System, 3, true);
    join(Module, Relation::RelatesTo, Topic, 2, true);
    edges.into_iter().collect()
}

/// The team, department and organisation of a person.
fn own_scopes<'p>(plain: &'p Plain, person: &'p EntityId) -> Vec<&'p EntityId> {
    let up = |from: &EntityId, kind| plain[from].iter().find(|to: &&EntityId| to.kind() == kind).expect("one above");
    let team = up(person, EntityType::Team);
    let department = up(team, EntityType::Department);
    vec![team, department, up(department, EntityType::Organization)]
}

fn plain_distances(plain: &Plain, from: &EntityId, wanted: &[&EntityId]) -> Vec<Option<u8>> {
    let mut open: BTreeSet<&EntityId> = wanted.iter().copied().collect();
    let reached = plain_reach(plain, from, MAX_GRAPH_HOPS, |found| {
        open.remove(found);
        open.is_empty()
    });
    wanted.iter().map(|to| reached.get(to).copied()).collect()
}

fn plain_reach(
    plain: &Plain,
    from: &EntityId,
    hops_max: u8,
    mut enough: impl FnMut(&EntityId) -> bool,
) -> BTreeMap<EntityId, u8> {
    let mut reached = BTreeMap::from([(from.clone(), 0)]);
    let mut ring = vec![from];
    if enough(from) {
        return reached;
    }
    for hops in 1..=hops_max {
        let mut next = Vec::new();
        for at in ring {
            for near in &plain[at] {
                if !reached.contains_key(near) {
                    reached.insert(near.clone(), hops);
                    next.push(near);
                    if enough(near) {
                        return reached;
                    }
                }
            }
        }
        ring = next;
    }
    reached
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize
    }

    fn of<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.next() % from.len()]
    }

    /// Half of what is drawn is in the first tenth: a few things are everybody's.
    fn skewed<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let some = if self.next() % 2 == 0 { from.len().div_ceil(10) } else { from.len() };
        &from[self.next() % some]
    }
}
