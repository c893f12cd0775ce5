//! Running a parser where it can do no harm: on a thread with a large stack, under a time limit, its panics caught.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use crate::adapter::{Emit, Item};
use crate::limits::Limits;
use crate::parked::{ParkReason, Parked};

/// Name of the threads that parse. A panic there is caught and ends as a parked source; a program that does not want
/// the default hook to print it as well can tell it by this name.
pub const WORKER_THREAD: &str = "plumb-parser";

/// Items on their way from the parser to whoever takes them. An item may be large, so few.
const QUEUE: usize = 4;

/// Counts the parsers that were given up and still run.
pub(crate) type Stuck = Arc<AtomicUsize>;

const RUNNING: usize = 0;
const GIVEN_UP: usize = 1;
const ENDED: usize = 2;

enum Message<T> {
    Item(Item),
    Done(Result<T, Parked>),
}

/// How a job ended.
pub(crate) enum Outcome<T> {
    /// By itself.
    Done(T),
    /// Because `emit` did not want more.
    Stopped,
}

/// Runs `job` and hands on what it emits. Only the time in which the job is awaited counts, not the time that
/// `emit` takes.
pub(crate) fn isolated<T: Send + 'static>(
    limits: &Limits,
    stuck: &Stuck,
    job: impl FnOnce(&mut Emit<'_>) -> Result<T, Parked> + Send + 'static,
    emit: &mut Emit<'_>,
) -> Result<Outcome<T>, Parked> {
    if stuck.load(Ordering::SeqCst) >= limits.stuck_parsers {
        return Err(ParkReason::Busy.into());
    }
    let (sender, receiver) = sync_channel(QUEUE);
    let state = Arc::new(AtomicUsize::new(RUNNING));
    let unwanted = Arc::new(AtomicBool::new(false));
    let worker = {
        let (state, stuck, unwanted) = (state.clone(), stuck.clone(), unwanted.clone());
        move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                job(&mut |item| {
                    // After a send that fails nobody listens any more.
                    if unwanted.load(Ordering::SeqCst) || sender.send(Message::Item(item)).is_err() {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
            }));
            let outcome = outcome.unwrap_or_else(|panic| Err(Parked::new(ParkReason::Panicked, message(&*panic))));
            // Nobody may be listening any more; then nobody wants to know.
            let _ = sender.send(Message::Done(outcome));
            if state.swap(ENDED, Ordering::SeqCst) == GIVEN_UP {
                stuck.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    thread::Builder::new()
        .name(WORKER_THREAD.into())
        .stack_size(limits.stack_bytes)
        .spawn(worker)
        .map_err(|e| Parked::new(ParkReason::Busy, e.to_string()))?;

    let mut stopped = false;
    loop {
        match receiver.recv_timeout(limits.parse_time) {
            // Items that were on their way when it was stopped.
            Ok(Message::Item(_)) if stopped => {}
            Ok(Message::Item(item)) => {
                if emit(item).is_break() {
                    stopped = true;
                    unwanted.store(true, Ordering::SeqCst);
                }
            }
            Ok(Message::Done(_)) if stopped => return Ok(Outcome::Stopped),
            Ok(Message::Done(outcome)) => return outcome.map(Outcome::Done),
            Err(RecvTimeoutError::Timeout) => {
                // Counted before it is marked, so that the worker never takes off what was not yet put on.
                stuck.fetch_add(1, Ordering::SeqCst);
                if state.compare_exchange(RUNNING, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                    stuck.fetch_sub(1, Ordering::SeqCst);
                }
                if stopped {
                    return Ok(Outcome::Stopped);
                }
                return Err(Parked::new(ParkReason::TooSlow, format!("more than {:?}", limits.parse_time)));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Parked::new(ParkReason::Panicked, "its thread ended without a word"));
            }
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string()).or_else(|| panic.downcast_ref().cloned());
    text.unwrap_or_else(|| "it gave no reason".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    fn run(
        limits: &Limits,
        stuck: &Stuck,
        job: impl FnOnce(&mut Emit<'_>) -> Result<(), Parked> + Send + 'static,
    ) -> Result<Outcome<()>, Parked> {
        isolated(limits, stuck, job, &mut |_| ControlFlow::Continue(()))
    }

    #[test]
    fn a_panic_is_parked() {
        let stuck = Stuck::default();
        let parked = run(&Limits::default(), &stuck, |_| panic!("odd {}", 1)).err().unwrap();
        assert_eq!(parked, Parked::new(ParkReason::Panicked, "odd 1"));
        assert_eq!(stuck.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_deep_recursion_has_room() {
        #[inline(never)]
        fn deep(n: u64) -> u64 {
            let room = std::hint::black_box([n; 64]);
            if n == 0 { room[0] } else { deep(n - 1) + room[1] % 2 }
        }
        let done = run(&Limits::default(), &Stuck::default(), |_| {
            std::hint::black_box(deep(40_000));
            Ok(())
        });
        assert!(matches!(done, Ok(Outcome::Done(()))));
    }

    #[test]
    fn a_parser_that_hangs_is_given_up_and_counted_until_it_ends() {
        let limits = Limits { parse_time: Duration::from_millis(20), stuck_parsers: 1, ..Limits::default() };
        let stuck = Stuck::default();
        let (release, held) = channel::<()>();
        let parked = run(&limits, &stuck, move |_| {
            let _ = held.recv();
            Ok(())
        })
        .err()
        .unwrap();
        assert_eq!(parked.reason, ParkReason::TooSlow);
        assert_eq!(run(&limits, &stuck, |_| Ok(())).err().unwrap().reason, ParkReason::Busy);
        release.send(()).unwrap();
        let begun = Instant::now();
        while stuck.load(Ordering::SeqCst) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(30), "the count does not go down");
            thread::yield_now();
        }
        assert!(run(&limits, &stuck, |_| Ok(())).is_ok());
    }
}
