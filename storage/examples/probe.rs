//! Temporary.
#![allow(clippy::unwrap_used)]
use plumb_core::boundary::*;
use plumb_core::content::*;
use plumb_core::identity::SecretKey;
use plumb_core::knowledge::*;
use plumb_core::measure::Timestamp;
use plumb_storage::*;
use std::time::Instant;

struct Dice(u64);
impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn word(&mut self) -> String {
        // log-uniform rank: roughly Zipf
        let u = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (u * (50_000f64).ln()).exp() as u64;
        format!("w{rank}")
    }
    fn text(&mut self, n: u64) -> String {
        (0..n).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}
fn event() -> AuditEvent {
    AuditEvent {
        at: Timestamp(0),
        actor: "a".into(),
        action: "b".into(),
        subject: "c".into(),
        outcome: "ok".into(),
        detail: "".into(),
    }
}
fn block(n: u32, text: String) -> RawBlock {
    RawBlock::encode(&Chunk {
        tag: ChunkTag,
        source: RawBlock::raw(vec![]).cid,
        ordinal: n,
        start: 0,
        end: 0,
        title: "t".into(),
        headings: vec![],
        page: None,
        text,
    })
    .unwrap()
}
fn unit_of(cid: cid::Cid, class: Sensitivity, team: &str) -> KnowledgeUnit {
    let node = SecretKey::from_seed([1; 32]).public();
    KnowledgeUnit {
        chunk: cid,
        source: cid,
        kind: KnowledgeType::Context,
        scope: team.parse().unwrap(),
        sensitivity: class,
        origin: Origin {
            source_type: SourceType::Document,
            source_ref: "f".into(),
            creator: None,
            publisher: node,
            org: node,
            department: "department-operations".parse().unwrap(),
        },
        state: UnitState::Active,
    }
}
fn pct(mut v: Vec<f64>) -> String {
    v.sort_by(f64::total_cmp);
    format!("p50 {:.3} p95 {:.3} max {:.3} ms", v[v.len() / 2], v[v.len() * 95 / 100], v[v.len() - 1])
}
fn main() {
    let n_docs: u32 = std::env::args().nth(1).map_or(100_000, |a| a.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store"), StoreOptions::default()).unwrap();
    for threads in [1usize, 8, 64] {
        let per = 3000 / threads;
        let t = Instant::now();
        std::thread::scope(|s| {
            for k in 0..threads {
                let store = &store;
                s.spawn(move || {
                    for n in 0..per {
                        let mut c = Change::new(event());
                        c.put(Keyspace::Jobs, format!("{threads}-{k}-{n}").as_bytes(), vec![0; 1000]);
                        store.commit(c).unwrap();
                    }
                });
            }
        });
        println!("{threads} threads: {:.0} commits/s", (per * threads) as f64 / t.elapsed().as_secs_f64());
    }
    let mut dice = Dice(1);
    let texts: Vec<RawBlock> = (0..n_docs)
        .map(|n| {
            let k = 60 + dice.next() % 120;
            block(n, dice.text(k))
        })
        .collect();
    let t = Instant::now();
    let mut chunks = Vec::new();
    for (g, group) in texts.chunks(20).enumerate() {
        let mut c = Change::new(event());
        for (i, b) in group.iter().enumerate() {
            let team = format!("team:team-{}", (g * 20 + i) % 10);
            chunks.push(b.cid);
            c.put_block(b.clone()).put_unit(&unit_of(b.cid, Sensitivity::Restricted, &team));
        }
        store.commit(c).unwrap();
    }
    println!("{n_docs} chunks stored, 20 a change: {:.0}/s", n_docs as f64 / t.elapsed().as_secs_f64());
    let t = Instant::now();
    let index = TextIndex::open(&dir.path().join("index"), &store, IndexOptions::default()).unwrap();
    println!("built anew: {:.0}/s", n_docs as f64 / t.elapsed().as_secs_f64());
    let c = Change::new(event());
    store.commit(c).unwrap();
    let mut lat = vec![];
    for n in 0..20u32 {
        let b = block(n_docs + n, dice.text(100));
        let mut c = Change::new(event());
        c.put_unit(&unit_of(b.cid, Sensitivity::Restricted, "team:team-0")).put_block(b);
        let p = store.commit(c).unwrap();
        let t = Instant::now();
        index.flush_to(p).unwrap();
        lat.push(t.elapsed().as_secs_f64() * 1e3);
    }
    println!("flush_to of one chunk: {}", pct(lat));
    let search = |index: &TextIndex, dice: &mut Dice, access: &Access, what: &str| {
        let s = index.searcher();
        let (mut a, mut b, mut n) = (vec![], vec![], 0);
        for _ in 0..300 {
            let mut q: Vec<String> = (0..3).map(|_| dice.word()).collect();
            q.sort();
            q.dedup();
            let t = Instant::now();
            let stats = s.stats(&[Sensitivity::Restricted], &q).unwrap();
            a.push(t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            n += s.candidates(Sensitivity::Restricted, access, &q, &stats, 20).unwrap().len();
            b.push(t.elapsed().as_secs_f64() * 1e3);
        }
        println!("{what}: stats {}; candidates {} ({n} hits)", pct(a), pct(b));
    };
    let team = Access::Part(Clause { scopes: ["team-3".parse().unwrap()].into(), ..Clause::default() });
    search(&index, &mut dice, &Access::Whole, "whole, 3 words");
    search(&index, &mut dice, &team, "a tenth, 3 words");
    let t = Instant::now();
    for group in chunks.chunks(500).step_by(20) {
        let mut c = Change::new(event());
        for cid in group {
            c.delete_unit(cid);
        }
        store.commit(c).unwrap();
    }
    index.flush_to(store.position()).unwrap();
    println!("5 % deleted and flushed in {:?}", t.elapsed());
    search(&index, &mut dice, &Access::Whole, "whole, 3 words, after deletion");
    search(&index, &mut dice, &Access::Whole, "the same again");
    search(&index, &mut dice, &team, "a tenth, after deletion");
    let t = Instant::now();
    store.audit_verify().unwrap();
    println!("audit of {} verified in {:?}", store.audit_head().size, t.elapsed());
    println!("{:?} {:?}", store.counters().unwrap(), index.counters());
    drop(index);
    drop(store);
    let t = Instant::now();
    let store = Store::open(&dir.path().join("store"), StoreOptions::default()).unwrap();
    println!("store reopened in {:?}", t.elapsed());
    let t = Instant::now();
    let index = TextIndex::open(&dir.path().join("index"), &store, IndexOptions::default()).unwrap();
    println!("index reopened in {:?}, {}", t.elapsed(), index.counters().rebuilt);
}
