//! A simulated node: a disk, the machines in memory, and the shell between them and the network.

mod disk;
mod frames;
mod publish;
mod shell;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use cid::Cid;
use plumb_core::identity::{EntityId, NodeId, OrgId, SecretKey, Signed};
use plumb_core::log::Hash;
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::notice::Notice;
use plumb_core::trust::{Certificate, Roots, certify};

use super::packet::{Message, Packet};
use super::shelf::Source;
use super::{EPOCH, SimError, byzantine};
use crate::protocol::log_sync::Fault;
use crate::protocol::{Delivery, LogSync, Random};
use crate::wire::log::{Fork, Head};
use crate::wire::log_state::LogState;

pub(super) use disk::{Disk, Leaf, Write, taking_up};

/// How a node behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// As it should.
    Honest,
    /// It changes what it passes on, signs for others, acknowledges for others, and takes back what is not its own.
    Forger,
    /// It shows two histories of its own log.
    Equivocator,
    /// It says that it holds what others hold, and gives nothing of it, passes nothing on and acknowledges nothing.
    Withholder,
    /// It sends garbage, made-up publishers and old gossip to all its neighbours all the time.
    Flooder,
    /// It sends old messages again, and answers with old answers.
    Replayer,
}

impl Behaviour {
    /// Every way to lie.
    pub const LIARS: [Behaviour; 5] =
        [Behaviour::Forger, Behaviour::Equivocator, Behaviour::Withholder, Behaviour::Flooder, Behaviour::Replayer];
}

/// What a node wants done.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Send {
        to: NodeId,
        packet: Packet,
    },
    /// To all neighbours.
    Publish {
        except: Option<NodeId>,
        packet: Packet,
    },
    Write(Box<Write>),
    /// To take up entries that came from somebody.
    Store {
        from: u64,
        entries: Vec<Vec<u8>>,
        state: Box<LogState>,
        via: NodeId,
    },
    Fact(Fact),
}

/// What happened at a node, for those who look from outside.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// Its own log grew. On disk.
    Published { notices: Vec<Signed<Notice>>, sources: Vec<Arc<Source>> },
    /// What it holds of a log grew. On disk.
    Grew { publisher: NodeId, size: u64, root: Hash },
    /// Entries came that do not follow what is on the disk.
    Gap { publisher: NodeId, from: u64 },
    /// Something is to be stored of a log in quarantine.
    Quarantined { publisher: NodeId },
    /// It applied a notice. On disk.
    Applied { notice: Signed<Notice>, via: Option<NodeId> },
    /// Evidence came in. On disk.
    TookIn { source: Cid },
    /// It sent a notice to somebody who owes to hear it.
    Delivered { notice: Cid, holder: NodeId },
    /// It heard that somebody applied a notice.
    Heard { notice: Cid, holder: NodeId },
    /// It has that on disk.
    Closed { notice: Cid, holder: NodeId },
    /// It holds a proof against a publisher.
    Convicted { proof: Box<Fork> },
    /// It says that somebody sent what no honest peer sends.
    Blamed { peer: NodeId, fault: Fault },
    /// Its machine says that its own log is behind or broken.
    OwnLog(String),
}

#[derive(Clone, Debug)]
struct Running {
    sync: LogSync,
    delivery: Delivery,
    /// Gossip that was seen, by the beginning of its hash.
    seen: BTreeSet<u64>,
    peers: BTreeSet<NodeId>,
    n_ticks: u64,
}

/// Organisations; every node trusts them all.
const ORGS: [u8; 3] = [201, 202, 203];

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) key: SecretKey,
    pub(super) certificate: Signed<Certificate>,
    pub(super) behaviour: Behaviour,
    pub(super) disk: Disk,
    /// Writes that have not reached the disk.
    pub(super) queue: VecDeque<Write>,
    /// When the last of them will have.
    pub(super) flushed_at: Timestamp,
    /// Index of the first entry of its own log since it began to lie.
    pub(super) lies_from: Option<usize>,
    /// What a replayer has heard.
    pub(super) tape: VecDeque<Packet>,
    /// Counts boots, so that what belongs to an earlier life is not taken for this one's.
    pub(super) life: u64,
    /// It has left, and does not come back.
    pub(super) is_gone: bool,
    pub(super) random: Random,
    skew_ms: i64,
    running: Option<Running>,
    n_made: u64,
}

fn root(org: u8) -> SecretKey {
    SecretKey::from_seed([org; 32])
}

/// The organisations that everybody trusts, made once.
fn roots() -> &'static Roots {
    static ROOTS: OnceLock<Roots> = OnceLock::new();
    let named = |org: &u8| (root(*org).public(), format!("organisation {org}"));
    ROOTS.get_or_init(|| Roots::full(ORGS.iter().map(named)))
}

/// The key of the organisation of a node.
fn root_of(at: &OrgId) -> Option<SecretKey> {
    ORGS.iter().map(|org| root(*org)).find(|root| root.public() == *at)
}

impl Node {
    pub(super) fn new(at: usize, behaviour: Behaviour, skew_ms: i64, random: Random) -> Result<Node, SimError> {
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&(at as u64).to_be_bytes());
        let key = SecretKey::from_seed(seed);
        let org = ORGS[at % ORGS.len()];
        let department: EntityId = "department-simulation".parse().map_err(|e| SimError::Name(format!("{e}")))?;
        let year = Duration::days(365);
        let certificate = certify(&root(org), "Simulated", key.public(), department, EPOCH, year)?;
        Ok(Node {
            id: key.public(),
            key,
            certificate,
            behaviour,
            disk: Disk::default(),
            queue: VecDeque::new(),
            flushed_at: EPOCH,
            lies_from: None,
            tape: VecDeque::new(),
            life: 0,
            is_gone: false,
            random,
            skew_ms,
            running: None,
            n_made: 0,
        })
    }

    /// What its clock shows.
    pub(super) fn clock(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0 + self.skew_ms)
    }

    /// Its clock is set.
    pub(super) fn set_clock(&mut self, skew_ms: i64) {
        self.skew_ms = skew_ms;
    }

    pub(super) fn is_honest(&self) -> bool {
        self.behaviour == Behaviour::Honest
    }

    pub(super) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    pub(super) fn lives(&self, life: u64) -> bool {
        self.is_up() && self.life == life
    }

    /// Starts from what is on the disk.
    pub(super) fn boot(&mut self, now: Timestamp, seed: u64) -> Result<(), SimError> {
        let states = self.disk.states()?;
        let certificate = self.certificate.clone();
        self.life += 1;
        self.running = Some(Running {
            sync: LogSync::new(certificate, roots().clone(), states, self.disk.forks.values().cloned(), now, seed),
            delivery: Delivery::restore(self.disk.standings(), seed),
            seen: BTreeSet::new(),
            peers: BTreeSet::new(),
            n_ticks: 0,
        });
        Ok(())
    }

    /// Stops. The writes under way are those that may have reached the disk, from the first on, or not.
    pub(super) fn crash(&mut self) -> VecDeque<Write> {
        self.running = None;
        std::mem::take(&mut self.queue)
    }

    /// A write had reached the disk when the node crashed, and nobody was told.
    pub(super) fn reached(&mut self, write: Write) -> Result<Vec<Fact>, SimError> {
        Ok(self.commit(write)?.0)
    }

    /// How far its machine knows a log to be stored.
    pub(super) fn size_in_memory(&self, publisher: &NodeId) -> u64 {
        self.running.as_ref().map_or(0, |running| running.sync.size(publisher))
    }

    /// How many logs its machine knows of, made-up ones among them.
    pub(super) fn n_known(&self) -> usize {
        self.running.as_ref().map_or(0, |running| running.sync.n_known())
    }

    /// What it says of itself in a hello.
    pub(super) fn introduction(&mut self) -> (NodeId, Vec<Head>) {
        let heads = self.running.as_mut().map(|running| running.sync.introduction());
        (self.id, heads.unwrap_or_default())
    }

    /// From here on it lies, if it is one that does.
    pub(super) fn begin_to_lie(&mut self) {
        self.lies_from = Some(self.disk.entries(&self.id).len());
    }

    fn message(&mut self, to: NodeId, message: Message, effects: &mut Vec<Effect>) {
        if let Some(packet) = byzantine::outgoing(self, &to, message) {
            effects.push(Effect::Send { to, packet });
        }
    }

    /// Obligations of this node that are open, by notice and holder.
    pub(super) fn open_obligations(&self) -> impl Iterator<Item = (&Cid, &NodeId)> {
        let standings: &BTreeMap<_, _> = &self.disk.obligations;
        let is_open = |standing| !matches!(standing, &crate::protocol::delivery::Standing::Acknowledged { .. });
        standings.iter().filter(move |(_, standing)| is_open(standing)).map(|((notice, holder), _)| (notice, holder))
    }
}
