use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::graph::{Details, Role};
use crate::measure::Duration;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn id(text: &str) -> EntityId {
    text.parse().unwrap()
}

fn said(population: &Population) -> Vec<String> {
    let mut graph = Graph::default();
    let ends = population.edges().iter().flat_map(|edge| [edge.key().source(), edge.key().target()]);
    for end in ends {
        graph.insert(end).unwrap();
    }
    let edges = population.apply(&mut graph).unwrap().into_iter();
    edges.map(|e| format!("{} {}{}", e.key, e.weight, e.role.map(|r| format!(" {r}")).unwrap_or_default())).collect()
}

#[test]
fn accounts_become_people_with_their_places() {
    let account = Account {
        person: id("person-mara"),
        name: "Mara Lindqvist".into(),
        email: Some("mara@waterworks.example".into()),
        role: Some("principal".into()),
        teams: BTreeMap::from([(id("team-platform"), Role::Lead), (id("team-web"), Role::Member)]),
        department: Some(id("department-operations")),
    };
    let population = from_accounts(std::slice::from_ref(&account), NOW).unwrap();
    assert_eq!(
        said(&population),
        [
            "person-mara member_of team-platform 1000 lead",
            "person-mara member_of team-web 1000 member",
            "person-mara belongs_to department-operations 1000",
        ]
    );
    let person = population.entities().next().unwrap();
    assert!(person.aliases().contains("mara lindqvist") && person.aliases().contains("mara"));
    let mut graph = Graph::default();
    assert_eq!(population.apply(&mut graph), Err(GraphError::Absent(id("team-platform"))));
    let nobody = Account { person: id("team-platform"), ..account };
    assert!(matches!(from_accounts(&[nobody], NOW), Err(GraphError::Reference { field: "person", .. })));
}

#[test]
fn a_workspace_is_a_project_and_a_team_unless_one_owns_it() {
    let members = BTreeMap::from([(id("person-a"), Role::Lead), (id("person-b"), Role::Member)]);
    let mut workspace = Workspace {
        name: "Pump Control".into(),
        workspace_id: Some("w1".into()),
        repo_url: Some("https://git.example/pumps".into()),
        team: None,
        members,
    };
    assert_eq!(
        said(&from_workspace(&workspace, NOW).unwrap()),
        [
            "person-a member_of team-pump-control 500 lead",
            "person-a works_on project-pump-control 500",
            "person-b member_of team-pump-control 500 member",
            "person-b works_on project-pump-control 500",
            "team-pump-control owns project-pump-control 500",
        ]
    );
    workspace.team = Some(id("team-plant"));
    assert_eq!(
        said(&from_workspace(&workspace, NOW).unwrap()),
        [
            "person-a works_on project-pump-control 500",
            "person-b works_on project-pump-control 500",
            "team-plant owns project-pump-control 1000",
        ]
    );
    let empty = Workspace { team: None, members: BTreeMap::new(), ..workspace };
    let population = from_workspace(&empty, NOW).unwrap();
    assert_eq!(population.entities().count(), 1, "nobody is no team");
}

fn plant() -> Population {
    let words = |words: &[&str]| words.iter().map(|w| w.to_string()).collect();
    let module = |name: &str, pattern: &str| Module { name: name.into(), path_pattern: pattern.into() };
    let core = Manifest {
        name: "plant-core".into(),
        system_type: "cargo".into(),
        dependencies: words(&["serde", "plant-core", "@waterworks/auth"]),
        modules: vec![module("src", "core/src/**"), module("src/log", "core/src/log")],
    };
    let ui = Manifest {
        name: "plant_ui".into(),
        system_type: "npm".into(),
        dependencies: words(&["plant-core", "react", "@"]),
        modules: vec![module("src", "./ui/src/")],
    };
    let known = BTreeSet::from([id("system-waterworks-auth")]);
    from_manifests(&id("project-plant"), &[ui, core], &known, NOW).unwrap()
}

#[test]
fn manifests_become_systems_that_depend_on_our_own_systems_only() {
    let edges = [
        "project-plant contains system-plant-core 1000",
        "project-plant contains system-plant-ui 1000",
        "system-plant-core contains module-plant-core-src 1000",
        "system-plant-core contains module-plant-core-src-log 1000",
        "system-plant-core depends_on system-waterworks-auth 1000",
        "system-plant-ui contains module-plant-ui-src 1000",
        "system-plant-ui depends_on system-plant-core 1000",
    ];
    assert_eq!(said(&plant()), edges);
    let kind = |e: &&Entity| matches!(e.details(), Details::System { system_type: Some(t), .. } if t == "npm");
    assert_eq!(plant().entities().find(kind).unwrap().id(), &id("system-plant-ui"));
}

#[test]
fn a_file_belongs_to_the_longest_folder_above_it() {
    let plant = plant();
    let map = ModuleMap::of(plant.entities());
    for (path, module) in [
        ("core/src/log/tree.rs", Some("module-plant-core-src-log")),
        ("core/src/log.rs", Some("module-plant-core-src")),
        ("./core/src/log", Some("module-plant-core-src-log")),
        ("core/src/logs/a.rs", Some("module-plant-core-src")),
        ("ui/src/a/b/c.ts", Some("module-plant-ui-src")),
        ("ui/package.json", None),
        ("", None),
    ] {
        assert_eq!(map.of_path(path).map(EntityId::to_string).as_deref(), module, "{path}");
    }
    let whole = Details::Module { path_pattern: Some("**".into()), system: None };
    let map = ModuleMap::of([&Entity::new("all", whole).unwrap()]);
    assert_eq!(map.of_path("README.md"), Some(&id("module-all")));
}

fn commits(author: &str, paths: &[&str], count: u64, day: u64) -> Commits {
    Commits {
        author: id(author),
        project: id("project-plant"),
        paths: paths.iter().map(|p| p.to_string()).collect(),
        count,
        at: NOW.plus(Duration::days(day)),
    }
}

#[test]
fn commits_weigh_by_their_number() {
    let plant = plant();
    let map = ModuleMap::of(plant.entities());
    let history = [
        commits("person-a", &["core/src/log/a.rs", "core/src/log/b.rs", "core/src/x.rs"], 1, 2),
        commits("person-a", &["core/src/log/a.rs"], 9, 1),
        commits("person-b", &["README.md"], 1, 3),
        commits("person-c", &["core/src/x.rs"], 0, 4),
    ];
    let population = from_commits(&history, &map).unwrap();
    assert_eq!(
        said(&population),
        [
            "person-a works_on project-plant 500",
            "person-a touches module-plant-core-src 50",
            "person-a touches module-plant-core-src-log 500",
            "person-b works_on project-plant 90",
        ]
    );
    assert!(population.edges().iter().take(1).all(|e| e.at() == NOW.plus(Duration::days(2))), "the last one");
}

#[test]
fn the_first_commit_creates_the_edge_and_the_next_ones_add_to_it() {
    let plant = plant();
    let map = ModuleMap::of(plant.entities());
    let mut graph = Graph::default();
    for node in ["person-a", "project-plant", "system-waterworks-auth"] {
        graph.insert(&id(node)).unwrap();
    }
    plant.apply(&mut graph).unwrap();
    let one = commits("person-a", &["core/src/log/a.rs", "core/src/log/b.rs"], 1, 0);
    let weights = (1..=22).map(|_| from_new_commit(&one, &map).unwrap().apply(&mut graph).unwrap()[0].weight.get());
    let weights: Vec<u16> = weights.collect();
    assert_eq!((weights[0], weights[1], weights[18], weights[19], weights[21]), (50, 100, 950, 1000, 1000));
}

#[test]
fn counting_again_changes_nothing_and_agrees_with_what_grew() {
    let plant = plant();
    let map = ModuleMap::of(plant.entities());
    let ready = || {
        let mut graph = Graph::default();
        for node in ["person-a", "project-plant", "system-waterworks-auth"] {
            graph.insert(&id(node)).unwrap();
        }
        plant.apply(&mut graph).unwrap();
        graph
    };
    let history: Vec<Commits> = (0..7).map(|day| commits("person-a", &["core/src/x.rs"], 1, day)).collect();
    let (mut counted, mut grown) = (ready(), ready());
    from_commits(&history, &map).unwrap().apply(&mut counted).unwrap();
    let once = counted.clone();
    from_commits(&history, &map).unwrap().apply(&mut counted).unwrap();
    assert_eq!(counted, once);
    for one in history.iter().rev() {
        from_new_commit(one, &map).unwrap().apply(&mut grown).unwrap();
    }
    from_commits(&history, &map).unwrap().apply(&mut grown).unwrap();
    assert_eq!(grown, counted);
}

#[test]
fn expertise_grows_when_others_read() {
    let access = |reader: &str| Access {
        owner: id("person-a"),
        reader: id(reader),
        topics: [id("topic-pumps")].into(),
        at: NOW,
    };
    let mut graph = Graph::default();
    for node in ["person-a", "person-b", "topic-pumps"] {
        graph.insert(&id(node)).unwrap();
    }
    assert!(from_access(&access("person-a")).unwrap().apply(&mut graph).unwrap().is_empty());
    let weights = (0..51).map(|_| from_access(&access("person-b")).unwrap().apply(&mut graph).unwrap()[0].weight.get());
    let weights: Vec<u16> = weights.collect();
    assert_eq!((weights[0], weights[1], weights[48], weights[49], weights[50]), (20, 40, 980, 1000, 1000));
    assert!(from_access(&access("team-b")).is_err());
}

#[test]
fn what_is_said_twice_is_a_topic_and_three_times_an_expert() {
    let mention = |topic: &str, person: &str, count| MentionFacts {
        topic: topic.into(),
        person: Some(id(person)),
        module: Some(id("module-m")),
        count,
        at: NOW,
    };
    let once = from_mentions(&[mention("Rust", "person-a", 1)]).unwrap();
    assert_eq!((once.entities().count(), once.edges().len()), (0, 0));
    let twice = from_mentions(&[mention("rust", "person-a", 1), mention("Rust", "person-b", 1)]).unwrap();
    assert_eq!(twice.entities().next().unwrap().name(), "Rust");
    assert_eq!(said(&twice), ["module-m relates_to topic-rust 500"]);
    let thrice = from_mentions(&[mention("rust", "person-a", 2), mention("Rust", "person-a", 1)]).unwrap();
    assert_eq!(said(&thrice), ["person-a expert_in topic-rust 60", "module-m relates_to topic-rust 500"]);
}

#[test]
fn populations_join_to_what_both_know() {
    let mut all = plant();
    let again = plant();
    all.merge(again).unwrap();
    let mut names = said(&all);
    names.sort();
    assert_eq!(names, {
        let mut once = said(&plant());
        once.sort();
        once
    });
}

proptest! {
    /// Whatever the history and its order, weights stay weights and the graph is the same.
    #[test]
    fn the_order_of_a_history_does_not_matter(
        history in prop::collection::vec((0u8..3, 0u8..3, prop_oneof![0u64..30, Just(u64::MAX)], 0u64..9), 1..12),
        turn in any::<prop::sample::Index>(),
    ) {
        let plant = plant();
        let map = ModuleMap::of(plant.entities());
        let paths = ["core/src/log/a.rs", "core/src/b.rs", "README.md"];
        let mut history: Vec<Commits> = history
            .into_iter()
            .map(|(who, path, count, day)| commits(&format!("person-{who}"), &paths[..=usize::from(path)], count, day))
            .collect();
        let first = from_commits(&history, &map).unwrap();
        let turned = turn.index(history.len());
        history.rotate_left(turned);
        history.reverse();
        prop_assert_eq!(&first, &from_commits(&history, &map).unwrap());
        prop_assert!(said(&first).len() == first.edges().len());
    }
}
