use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::content::RawBlock;
use crate::knowledge::ScopeLevel;
use crate::measure::{Milli, Timestamp};

fn id(text: &str) -> EntityId {
    text.parse().unwrap()
}

fn key(text: &str) -> EdgeKey {
    let parts: Vec<&str> = text.split(' ').collect();
    EdgeKey::new(id(parts[0]), parts[1].parse().unwrap(), id(parts[2])).unwrap()
}

fn milli(value: u16) -> Milli {
    Milli::new(value).unwrap()
}

/// A graph of these edges and nothing else, each of full weight.
fn graph(edges: &[&str]) -> Graph {
    let mut graph = Graph::default();
    for key in edges.iter().map(|edge| key(edge)) {
        graph.insert(key.source()).unwrap();
        graph.insert(key.target()).unwrap();
        graph.upsert(&EdgeUpsert::set(key, WEIGHT_DEFAULT, Timestamp(0))).unwrap();
    }
    graph
}

/// Six systems in a row.
fn chain() -> Graph {
    let edges: Vec<String> = (0..5).map(|n| format!("system-s{n} depends_on system-s{}", n + 1)).collect();
    graph(&edges.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn proximity_falls_with_distance_and_ends_after_four_hops() {
    let graph = chain();
    for (to, distance, proximity) in [
        ("system-s0", Some(0), 1000),
        ("system-s1", Some(1), 500),
        ("system-s2", Some(2), 333),
        ("system-s3", Some(3), 250),
        ("system-s4", Some(4), 200),
        ("system-s5", None, 500),
        ("system-unheard-of", None, 500),
    ] {
        for (from, to) in [("system-s0", to), (to, "system-s0")] {
            assert_eq!(graph.distance(&id(from), &id(to)), distance, "{from} {to}");
            assert_eq!(graph.proximity(&id(from), &id(to), ScopeLevel::Team).get(), proximity, "{from} {to}");
        }
    }
}

#[test]
fn without_a_path_the_level_says_what_is_near() {
    let mut graph = Graph::default();
    for node in ["person-alone", "team-a", "department-a", "organization-a"] {
        graph.insert(&id(node)).unwrap();
    }
    for (level, scope, proximity) in [
        (ScopeLevel::Personal, "person-alone", 1000),
        (ScopeLevel::Team, "team-a", 500),
        (ScopeLevel::Department, "department-a", 333),
        (ScopeLevel::Organization, "organization-a", 250),
    ] {
        assert_eq!(graph.proximity(&id("person-alone"), &id(scope), level).get(), proximity);
        assert_eq!(Graph::default().proximity(&id("person-alone"), &id(scope), level).get(), proximity);
        assert_eq!(assumed_proximity(level).get(), proximity);
    }
}

#[test]
fn a_person_stands_to_the_scopes_as_the_levels_assume() {
    let graph = graph(&[
        "person-mara member_of team-platform",
        "team-platform part_of department-operations",
        "department-operations part_of organization-waterworks",
    ]);
    let scopes = ["person-mara", "team-platform", "department-operations", "organization-waterworks"].map(id);
    assert_eq!(graph.distances(&scopes[0], &scopes), [Some(0), Some(1), Some(2), Some(3)]);
    let near: Vec<_> = graph.within(&scopes[1], 1).into_iter().map(|(id, hops)| (id.to_string(), hops)).collect();
    let expected = [("team-platform", 0), ("person-mara", 1), ("department-operations", 1)];
    assert_eq!(near, expected.map(|(id, hops)| (id.to_string(), hops)));
    assert!(graph.within(&id("person-nobody"), 4).is_empty());
}

#[test]
fn a_department_follows_from_the_team() {
    let mut graph = graph(&[
        "person-a member_of team-x",
        "person-a member_of team-y",
        "person-a belongs_to department-d",
        "person-a expert_in topic-t",
        "team-x part_of department-d",
        "team-y part_of department-e",
    ]);
    let belongings = |graph: &Graph| -> Vec<String> {
        let said = graph.departments_of(&id("person-a")).into_iter();
        said.map(|b| format!("{} {:?}", b.department, b.through)).collect()
    };
    let all = ["department-d None", "department-d Some(team-x)", "department-e Some(team-y)"];
    assert_eq!(belongings(&graph), all);
    graph.remove(&id("team-y"));
    assert_eq!(belongings(&graph), all[..2]);
}

#[test]
fn edges_are_held_to_the_rules() {
    let new = |source: &str, relation, target: &str| EdgeKey::new(id(source), relation, id(target));
    assert!(matches!(new("person-a", Relation::Owns, "project-p"), Err(GraphError::Pair { .. })));
    assert_eq!(new("system-a", Relation::DependsOn, "system-a"), Err(GraphError::Loop(id("system-a"))));
    let leads = key("person-a member_of team-x");
    let works = key("person-a works_on project-p");
    assert_eq!(
        EdgeUpsert::set_role(works.clone(), WEIGHT_DEFAULT, Role::Lead, Timestamp(0)),
        Err(GraphError::Role(Relation::WorksOn))
    );
    let mut graph = Graph::default();
    let lead = EdgeUpsert::set_role(leads.clone(), WEIGHT_DEFAULT, Role::Lead, Timestamp(5)).unwrap();
    graph.insert(&id("person-a")).unwrap();
    assert_eq!(graph.upsert(&lead), Err(GraphError::Absent(id("team-x"))));
    graph.insert(&id("team-x")).unwrap();
    assert_eq!(graph.upsert(&lead).unwrap().role, Some(Role::Lead));
    let stored = serde_ipld_dagcbor::to_vec(&graph.edge(&leads).unwrap()).unwrap();
    assert_eq!(serde_ipld_dagcbor::from_slice::<Edge>(&stored).unwrap(), graph.edge(&leads).unwrap());
    let wrong = serde_json::json!({ "source": "team-x", "relation": "member_of", "target": "person-a" });
    assert!(serde_json::from_value::<EdgeKey>(wrong).is_err());
    assert_eq!(("lead".parse(), "member".parse()), (Ok(Role::Lead), Ok(Role::Member)));
    assert_eq!("boss".parse::<Role>(), Err(GraphError::RoleName("boss".into())));
}

#[test]
fn a_node_has_one_organisation() {
    let mut graph = Graph::default();
    assert_eq!(graph.insert(&id("organization-a")), Ok(true));
    assert_eq!(graph.insert(&id("organization-a")), Ok(false));
    let second = GraphError::SecondOrganization { known: id("organization-a"), given: id("organization-b") };
    assert_eq!(graph.insert(&id("organization-b")), Err(second));
    assert!(graph.remove(&id("organization-a")) && !graph.remove(&id("organization-a")));
    assert_eq!((graph.insert(&id("organization-b")), graph.organization()), (Ok(true), Some(&id("organization-b"))));
}

#[test]
fn an_upsert_changes_in_place() {
    let mut graph = graph(&["person-a touches module-m"]);
    let touches = key("person-a touches module-m");
    let mut weigh = |upsert| graph.upsert(&upsert).map(|edge| (edge.weight.get(), edge.active_at.0)).unwrap();
    assert_eq!(weigh(EdgeUpsert::set(touches.clone(), milli(400), Timestamp(10))), (400, 10), "the later one");
    assert_eq!(weigh(EdgeUpsert::set(touches.clone(), milli(900), Timestamp(9))), (400, 10), "too late");
    assert_eq!(weigh(EdgeUpsert::set(touches.clone(), milli(300), Timestamp(10))), (400, 10), "lighter");
    assert_eq!(weigh(EdgeUpsert::set(touches.clone(), milli(500), Timestamp(10))), (500, 10), "heavier");
    assert_eq!(
        weigh(EdgeUpsert::grow(touches.clone(), milli(499), Timestamp(3))),
        (999, 10),
        "late, and still happened"
    );
    assert_eq!(weigh(EdgeUpsert::grow(touches.clone(), milli(1), Timestamp(12))), (1000, 12));
    assert_eq!(weigh(EdgeUpsert::grow(touches, milli(1), Timestamp(13))), (1000, 13));
    assert_eq!(graph.edge_count(), 1);
}

#[test]
fn what_fades_is_named_and_stays() {
    let mut graph = graph(&["person-a member_of team-x", "person-a touches module-m", "person-a expert_in topic-t"]);
    let later = |days: i64| Timestamp(days * 86_400_000);
    let expert = key("person-a expert_in topic-t");
    graph.upsert(&EdgeUpsert::grow(expert.clone(), Milli::ZERO, later(30))).unwrap();
    let faded = |graph: &Graph, days| graph.faded_edges(later(days)).iter().map(EdgeKey::to_string).collect::<Vec<_>>();
    assert!(faded(&graph, 29 * 30 - 1).is_empty(), "52 thousandths are left");
    let touches = ["person-a touches module-m"];
    assert_eq!(faded(&graph, 29 * 30), touches, "47 are");
    assert_eq!(faded(&graph, 29 * 30), touches, "asking changes nothing");
    assert_eq!(graph.edge(&expert).unwrap().strength(later(60)).get(), 900);
    assert_eq!(faded(&graph, 30 * 30).len(), 2);
    graph.upsert(&EdgeUpsert::grow(expert, EXPERT_STEP, later(30 * 30))).unwrap();
    assert_eq!(faded(&graph, 30 * 30), touches, "what is active again is strong again");
}

#[test]
fn a_request_asks_the_graph_once() {
    let mut graph = chain();
    let mut cache = ProximityCache::default();
    let (from, to) = (id("system-s0"), id("system-s2"));
    assert_eq!(cache.proximity(&graph, &from, &to, ScopeLevel::Team).get(), 333);
    assert_eq!(cache.searches(), 1);
    for (to, distance) in [("system-s2", Some(2)), ("system-s4", Some(4)), ("system-s5", None), ("system-x", None)] {
        assert_eq!(cache.distance(&graph, &from, &id(to)), distance);
    }
    assert_eq!(cache.searches(), 1, "no other graph read");
    let mut warmed = ProximityCache::default();
    warmed.warm(&graph, [&from, &to, &from]);
    assert_eq!((warmed.searches(), warmed.distance(&graph, &to, &from), warmed.searches()), (2, Some(2), 2));
    // A weight moves nobody; a new connection does.
    graph.upsert(&EdgeUpsert::set(key("system-s0 depends_on system-s1"), milli(1), Timestamp(9))).unwrap();
    assert_eq!((cache.distance(&graph, &from, &to), cache.searches()), (Some(2), 1));
    graph.upsert(&EdgeUpsert::set(key("system-s0 depends_on system-s2"), milli(1), Timestamp(9))).unwrap();
    assert_eq!((cache.distance(&graph, &from, &to), cache.searches()), (Some(1), 2));
    graph.remove_edge(&key("system-s0 depends_on system-s2")).unwrap();
    assert_eq!((cache.distance(&graph, &from, &to), cache.searches()), (Some(2), 3));
}

#[test]
fn units_hang_on_entities_and_are_as_near_as_these() {
    let unit = |n: u8| RawBlock::raw(vec![n]).cid;
    let entity = |text: &str| LinkTarget::Entity(id(text));
    let link = |n, relation, target| UnitLink::new(unit(n), relation, target, WEIGHT_DEFAULT);
    assert!(matches!(link(1, Relation::About, entity("team-x")), Err(GraphError::Pair { .. })));
    assert!(link(1, Relation::MemberOf, entity("team-x")).is_err());
    let graph = chain();
    let mut links = UnitLinks::default();
    for (n, relation, target) in [
        (1, Relation::About, entity("system-s1")),
        (1, Relation::About, entity("system-s3")),
        (2, Relation::About, entity("system-s3")),
        (2, Relation::DerivedFrom, LinkTarget::Unit(unit(1))),
        (3, Relation::About, entity("system-s4")),
        (4, Relation::About, entity("system-s5")),
    ] {
        links.upsert(&link(n, relation, target).unwrap());
    }
    let near = |links: &UnitLinks, hops| links.within(&graph, &id("system-s0"), hops);
    assert_eq!(near(&links, 3), BTreeMap::from([(unit(1), 1), (unit(2), 3)]));
    assert_eq!(near(&links, 9), BTreeMap::from([(unit(1), 1), (unit(2), 3), (unit(3), 4)]), "never more than four");
    let stored = serde_ipld_dagcbor::to_vec(&links.of_unit(&unit(2))).unwrap();
    assert_eq!(serde_ipld_dagcbor::from_slice::<Vec<UnitLink>>(&stored).unwrap(), links.of_unit(&unit(2)));
    links.remove_unit(&unit(1));
    assert_eq!(near(&links, 3), BTreeMap::from([(unit(2), 3)]));
    let left: Vec<_> = links.of_unit(&unit(2)).iter().map(|l| l.target().to_string()).collect();
    assert_eq!(left, ["system-s3"]);
    let taken = links.remove(&unit(2), Relation::About, &entity("system-s3"));
    assert_eq!(taken, link(2, Relation::About, entity("system-s3")).ok());
    assert_eq!(links.remove(&unit(2), Relation::About, &entity("system-s3")), None);
    assert_eq!(links.to_entity(&id("system-s4")), [link(3, Relation::About, entity("system-s4")).unwrap()]);
    links.remove_unit(&unit(3));
    links.remove_unit(&unit(4));
    assert_eq!(links, UnitLinks::default(), "nothing is left over");
}

/// The entities of the random graphs, and every edge that they allow.
fn pool() -> (Vec<EntityId>, Vec<EdgeKey>) {
    let sizes =
        [("person", 4), ("team", 3), ("department", 2), ("project", 2), ("system", 9), ("module", 3), ("topic", 2)];
    let ids: Vec<EntityId> =
        sizes.iter().flat_map(|(kind, n)| (0..*n).map(move |i| id(&format!("{kind}-{i}")))).collect();
    let mut keys = Vec::new();
    for source in &ids {
        for target in &ids {
            let pair = |relation| EdgeKey::new(source.clone(), relation, target.clone()).ok();
            keys.extend(Relation::ALL.into_iter().filter_map(pair));
        }
    }
    (ids, keys)
}

/// What may happen to a graph.
#[derive(Clone, Debug)]
enum Step {
    Insert(Index),
    Remove(Index),
    Set(Index, u16, i64),
    Grow(Index, u16, i64),
    RemoveEdge(Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => any::<Index>().prop_map(Step::Insert),
        1 => any::<Index>().prop_map(Step::Remove),
        12 => (any::<Index>(), 0u16..=1000, 0i64..4).prop_map(|(i, w, t)| Step::Set(i, w, t)),
        3 => (any::<Index>(), 0u16..=1000, 0i64..4).prop_map(|(i, w, t)| Step::Grow(i, w, t)),
        3 => any::<Index>().prop_map(Step::RemoveEdge),
    ]
}

/// A graph as plain maps say it.
#[derive(Default)]
struct Model {
    ids: BTreeSet<EntityId>,
    edges: BTreeMap<EdgeKey, (i64, u16)>,
}

impl Model {
    /// Breadth first, over every edge at every step, with no bound.
    fn distances(&self, from: &EntityId) -> BTreeMap<EntityId, u8> {
        let mut distances = BTreeMap::from([(from.clone(), 0)]);
        let mut queue = VecDeque::from([from.clone()]);
        while let Some(at) = queue.pop_front() {
            let hops = distances[&at] + 1;
            for edge in self.edges.keys() {
                let ends = [(edge.source(), edge.target()), (edge.target(), edge.source())];
                for (_, next) in ends.into_iter().filter(|(end, _)| **end == at) {
                    if !distances.contains_key(next) {
                        distances.insert(next.clone(), hops);
                        queue.push_back(next.clone());
                    }
                }
            }
        }
        distances
    }
}

/// Walks the steps on both.
fn walk(ids: &[EntityId], keys: &[EdgeKey], steps: &[Step]) -> (Graph, Model) {
    let (mut graph, mut model) = (Graph::default(), Model::default());
    for id in ids {
        graph.insert(id).unwrap();
        model.ids.insert(id.clone());
    }
    for step in steps {
        match step {
            Step::Insert(i) => {
                let id = i.get(ids);
                assert_eq!(graph.insert(id), Ok(model.ids.insert(id.clone())));
            }
            Step::Remove(i) => {
                let id = i.get(ids);
                assert_eq!(graph.remove(id), model.ids.remove(id));
                model.edges.retain(|key, _| key.source() != id && key.target() != id);
            }
            Step::RemoveEdge(i) => {
                let key = i.get(keys);
                assert_eq!(graph.remove_edge(key).is_some(), model.edges.remove(key).is_some());
            }
            Step::Set(i, weight, at) | Step::Grow(i, weight, at) => {
                let key = i.get(keys);
                let set = matches!(step, Step::Set(..));
                let upsert = if set { EdgeUpsert::set } else { EdgeUpsert::grow };
                let done = graph.upsert(&upsert(key.clone(), milli(*weight), Timestamp(*at)));
                let ends = model.ids.contains(key.source()) && model.ids.contains(key.target());
                assert_eq!(done.is_ok(), ends);
                if ends {
                    let (t, w) = model.edges.get(key).copied().unwrap_or((i64::MIN, 0));
                    let new = if set { (t, w).max((*at, *weight)) } else { (t.max(*at), (w + weight).min(1000)) };
                    model.edges.insert(key.clone(), new);
                }
            }
        }
    }
    (graph, model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_graph_is_what_plain_maps_say(steps in prop::collection::vec(step(), 0..80)) {
        let (ids, keys) = pool();
        let (graph, model) = walk(&ids, &keys, &steps);
        prop_assert!(graph.entities().eq(model.ids.iter()) && graph.len() == model.ids.len());
        prop_assert_eq!(graph.edge_count(), model.edges.len());
        let edges: BTreeMap<_, _> = graph.edges().map(|e| (e.key, (e.active_at.0, e.weight.get()))).collect();
        prop_assert_eq!(&edges, &model.edges);
        let mut into: Vec<Edge> = ids.iter().flat_map(|id| graph.edges_into(id)).collect();
        into.sort_by(|a, b| a.key.cmp(&b.key));
        prop_assert!(into.into_iter().eq(graph.edges()), "every edge ends where it ends");
        // Put together anew from its edges, last first, it is the same graph.
        let mut again = Graph::default();
        for id in model.ids.iter().rev() {
            again.insert(id).unwrap();
        }
        let edges: Vec<Edge> = graph.edges().collect();
        for edge in edges.iter().rev() {
            again.upsert(&edge.to_upsert()).unwrap();
        }
        again.compact();
        prop_assert_eq!(again, graph);
    }

    #[test]
    fn distances_are_those_of_a_plain_search(steps in prop::collection::vec(step(), 0..80)) {
        let (ids, keys) = pool();
        let (graph, model) = walk(&ids, &keys, &steps);
        let mut cache = ProximityCache::default();
        for from in &model.ids {
            let mut plain = model.distances(from);
            plain.retain(|_, hops| *hops <= MAX_GRAPH_HOPS);
            let expected: Vec<Option<u8>> = ids.iter().map(|to| plain.get(to).copied()).collect();
            prop_assert_eq!(&graph.distances(from, &ids), &expected);
            for (to, expected) in ids.iter().zip(&expected) {
                prop_assert_eq!(graph.distance(from, to), *expected);
                prop_assert_eq!(cache.distance(&graph, from, to), *expected);
                let proximity = expected.map_or(milli(333), |hops| Milli::from_ratio(1, 1 + u64::from(hops)));
                prop_assert_eq!(graph.proximity(from, to, ScopeLevel::Department), proximity);
            }
            for hops in 0..=MAX_GRAPH_HOPS + 1 {
                let within: BTreeMap<_, _> = graph.within(from, hops).into_iter().collect();
                let near = plain.iter().filter(|(_, d)| **d <= hops).map(|(id, d)| (id.clone(), *d));
                prop_assert_eq!(within, near.collect::<BTreeMap<_, _>>());
            }
        }
    }

    #[test]
    fn upserts_come_in_any_order(
        sets in prop::collection::vec((any::<Index>(), 0u16..=1000, any::<bool>(), 0i64..3), 1..20),
        growths in prop::collection::vec((any::<Index>(), 0u16..=1000, 0i64..3), 1..20),
        turn in any::<Index>(),
    ) {
        let (ids, keys) = pool();
        // Sets of some edges and growths of the others: between the two kinds the order is meant to matter.
        let (set, grown) = keys.split_at(keys.len() / 2);
        let sets = sets.iter().map(|(i, w, lead, t)| {
            let key = i.get(set).clone();
            let role = if *lead { Role::Lead } else { Role::Member };
            EdgeUpsert::set_role(key.clone(), milli(*w), role, Timestamp(*t))
                .unwrap_or_else(|_| EdgeUpsert::set(key, milli(*w), Timestamp(*t)))
        });
        let growths = growths.iter().map(|(i, w, t)| EdgeUpsert::grow(i.get(grown).clone(), milli(*w), Timestamp(*t)));
        let mut upserts: Vec<EdgeUpsert> = sets.chain(growths).collect();
        let build = |upserts: &[EdgeUpsert]| {
            let mut graph = Graph::default();
            for id in &ids {
                graph.insert(id).unwrap();
            }
            for upsert in upserts {
                graph.upsert(upsert).unwrap();
            }
            graph
        };
        let first = build(&upserts);
        prop_assert!(first.edges().all(|e| e.weight <= Milli::ONE));
        prop_assert!(first.edges().all(|e| e.role.is_some() == (e.key.relation() == Relation::MemberOf)));
        let turned = turn.index(upserts.len());
        upserts.rotate_left(turned);
        upserts.reverse();
        prop_assert_eq!(build(&upserts), first);
    }
}
