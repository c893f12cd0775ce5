//! The writer: one thread through which every change goes, many at a time.
//!
//! **Group commit.** While one group is on its way to the disk, new changes gather; the writer then takes all of them
//! (up to a bound), checks each one's conditions against what is stored and what stands before it in the group, and
//! writes those that hold as one batch with one flush. A flush costs the same for one change as for a hundred, so the
//! more callers there are, the less each pays. Every caller hears only when its change is on the disk.
//!
//! **After a failed write** it is unknown what reached the disk, and a second flush may report success for pages that
//! were dropped (Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020). So nothing more is
//! accepted until the store is opened again and its log has been read from the disk.

mod group;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use plumb_core::log::CompactRange;

use crate::audit::AuditHead;
use crate::bell::Bell;
use crate::change::{CHANGE_BYTES_MAX, Prepared};
use crate::engine::Engine;
use crate::error::StorageError;
use crate::outbox::Position;
use crate::witness;
use group::Group;

/// Changes that may wait. More than callers that could be waiting at once; what comes beyond is told to come back.
pub(crate) const QUEUE_CHANGES: usize = 1024;

/// Bytes that may wait, so that a thousand large changes do not fill the memory. At least one change of the largest
/// size always finds room in an empty queue.
const QUEUE_BYTES: usize = CHANGE_BYTES_MAX;

/// Changes in one group. Beyond a few hundred the flush is a small part of the work already.
const GROUP_CHANGES: usize = 512;

/// Bytes in one group after which no further change is taken into it.
const GROUP_BYTES: usize = 32 * 1024 * 1024;

type Answer = Result<Position, StorageError>;

enum Message {
    Commit {
        change: Box<Prepared>,
        answer: SyncSender<Answer>,
    },
    /// Answered like a change, without being one.
    Barrier {
        answer: SyncSender<Answer>,
    },
    Trim {
        up_to: u64,
    },
}

/// What the writer knows, as far as others may look at it.
pub(crate) struct Marks {
    pub position: Position,
    pub trimmed: Position,
    pub audit: CompactRange,
}

#[derive(Clone)]
struct Public {
    marks: Arc<Mutex<(Position, Position, AuditHead)>>,
    bells: Arc<Mutex<Vec<Weak<Bell>>>>,
}

/// The handle to the writer. Dropping it lets the writer finish what it has taken, and waits for that.
pub(crate) struct Writer {
    /// Always there until the drop, where taking it out is what ends the thread.
    sender: Option<SyncSender<Message>>,
    waiting_bytes: Arc<AtomicUsize>,
    public: Public,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(engine: Arc<dyn Engine>) -> Result<Writer, StorageError> {
        let marks = group::load_marks(engine.as_ref())?;
        witness::check(engine.remembered().as_deref(), head_of(&marks.audit))?;
        let (sender, receiver) = sync_channel(QUEUE_CHANGES);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let public = Public {
            marks: Arc::new(Mutex::new((marks.position, marks.trimmed, head_of(&marks.audit)))),
            bells: Arc::default(),
        };
        let state = State {
            engine,
            marks,
            broken: false,
            receiver,
            waiting_bytes: Arc::clone(&waiting_bytes),
            public: public.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("plumb-store".into())
            .spawn(move || state.run())
            .map_err(|e| StorageError::Write { source: e.into() })?;
        Ok(Writer { sender: Some(sender), waiting_bytes, public, thread: Some(thread) })
    }

    /// Hands the change over and waits until it is on the disk or refused.
    pub(crate) fn commit(&self, change: Prepared) -> Answer {
        let bytes = change.bytes;
        let (answer, answered) = sync_channel(1);
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = if before > 0 && before.saturating_add(bytes) > QUEUE_BYTES {
            Err(StorageError::Busy)
        } else {
            self.send(Message::Commit { change: Box::new(change), answer })
        };
        if let Err(error) = sent {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(error);
        }
        answered.recv().unwrap_or(Err(StorageError::Stopped))
    }

    /// Waits until everything that could be read when it was called is on the disk.
    pub(crate) fn barrier(&self) -> Result<(), StorageError> {
        let (answer, answered) = sync_channel(1);
        let sender = self.sender.as_ref().ok_or(StorageError::Stopped)?;
        sender.send(Message::Barrier { answer }).map_err(|_| StorageError::Stopped)?;
        answered.recv().unwrap_or(Err(StorageError::Stopped)).map(drop)
    }

    /// Lets outbox rows go that the index has no more use for. It is housekeeping: it may be dropped when the writer
    /// is busy, since the next trim covers it.
    pub(crate) fn trim(&self, up_to: Position) {
        let _ = self.send(Message::Trim { up_to: up_to.0 });
    }

    fn send(&self, message: Message) -> Result<(), StorageError> {
        let sender = self.sender.as_ref().ok_or(StorageError::Stopped)?;
        sender.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => StorageError::Busy,
            TrySendError::Disconnected(_) => StorageError::Stopped,
        })
    }

    pub(crate) fn position(&self) -> Position {
        self.public.marks.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// The last outbox row that is gone.
    pub(crate) fn trimmed(&self) -> Position {
        self.public.marks.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    pub(crate) fn audit_head(&self) -> AuditHead {
        self.public.marks.lock().unwrap_or_else(PoisonError::into_inner).2
    }

    /// Rings this bell after every group, as long as somebody else holds it.
    pub(crate) fn ring_after_commit(&self, bell: &Arc<Bell>) {
        self.public.bells.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(bell));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had stopped by a panic");
        }
    }
}

struct State {
    engine: Arc<dyn Engine>,
    marks: Marks,
    broken: bool,
    receiver: Receiver<Message>,
    waiting_bytes: Arc<AtomicUsize>,
    public: Public,
}

impl State {
    fn run(mut self) {
        while let Ok(first) = self.receiver.recv() {
            let mut group = Group::begin(self.engine.as_ref(), &self.marks);
            let mut waiting = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Trim { up_to } => {
                        if let Err(error) = group.trim(up_to) {
                            tracing::warn!(%error, "the outbox was not trimmed");
                        }
                    }
                    Message::Barrier { answer } => waiting.push((self.marks.position, answer)),
                    Message::Commit { change, answer } => {
                        self.waiting_bytes.fetch_sub(change.bytes, Ordering::Relaxed);
                        let taken = if self.broken { Err(StorageError::Broken) } else { group.add(*change) };
                        match taken {
                            Ok(position) => waiting.push((position, answer)),
                            // Nobody listens any more if the caller is gone; that is its affair.
                            Err(error) => drop(answer.send(Err(error))),
                        }
                    }
                }
                if waiting.len() < GROUP_CHANGES && group.bytes() < GROUP_BYTES {
                    next = self.receiver.try_recv().ok();
                }
            }
            let written = if self.broken { Err(StorageError::Broken) } else { group.write() };
            match written {
                Ok(marks) => {
                    self.publish(marks);
                    waiting.into_iter().for_each(|(position, answer)| drop(answer.send(Ok(position))));
                }
                Err(error) => {
                    self.broken |= matches!(error, StorageError::Write { .. });
                    waiting.into_iter().for_each(|(_, answer)| drop(answer.send(Err(error.clone()))));
                }
            }
        }
    }

    fn publish(&mut self, marks: Marks) {
        let public = (marks.position, marks.trimmed, head_of(&marks.audit));
        if public.2.size > self.marks.audit.size() {
            self.engine.remember(&witness::encode(public.2));
        }
        self.marks = marks;
        *self.public.marks.lock().unwrap_or_else(PoisonError::into_inner) = public;
        self.public.bells.lock().unwrap_or_else(PoisonError::into_inner).retain(|bell| match bell.upgrade() {
            Some(bell) => {
                bell.ring();
                true
            }
            None => false,
        });
    }
}

fn head_of(audit: &CompactRange) -> AuditHead {
    AuditHead { size: audit.size(), root: audit.root() }
}
