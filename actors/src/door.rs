//! The door to an actor: bounded, with a deadline, and still there when the actor is not.
//!
//! actix closes an actor's address when it panics, and its own `Supervisor` does not help: it restarts an actor that
//! *stops*. So a door holds the recipe for the actor beside its address. Whoever finds the address closed gets an
//! error at once, and a new life begins from the recipe.
//!
//! What goes through the door is an [`Errand`]: actix's `send` waits for room in a full mailbox and its `try_send`
//! gives no answer back, so the message travels in a closure together with the way back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use actix::dev::{MessageResponse, OneshotSender};
use actix::prelude::*;
use plumb_core::measure::Duration;

use crate::error::NodeError;
use crate::supervisor::ActorView;

/// Messages that wait for one actor before further ones are turned away. At a few milliseconds each the last one
/// still meets its deadline.
pub const MAILBOX_MAX: usize = 256;

/// When to come back after being turned away.
pub const RETRY_AFTER: Duration = Duration(250);

/// A neighbour that is introduced later, because two actors need each other, and let go of when the node stops: a
/// circle of doors would keep the store open for ever.
pub struct Late<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Late<T> {
    fn clone(&self) -> Late<T> {
        Late(self.0.clone())
    }
}

impl<T> Default for Late<T> {
    fn default() -> Late<T> {
        Late(Arc::default())
    }
}

impl<T: Clone> Late<T> {
    /// The neighbour, while there is one.
    pub fn get(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Introduces the neighbour.
    pub fn set(&self, neighbour: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(neighbour);
    }

    /// Lets go of it.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

type Work<A> = dyn FnOnce(&mut A, &mut <A as Actor>::Context) + Send;

/// Work for an actor, with the way back inside.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Errand<A: Actor>(Box<Work<A>>);

impl<A: Actor> Errand<A> {
    /// Does it.
    pub fn run(self, actor: &mut A, ctx: &mut A::Context) {
        (self.0)(actor, ctx);
    }
}

/// An actor that can be started again. [`resident!`](crate::resident) writes it.
pub trait Resident: Actor<Context = Context<Self>> + Handler<Errand<Self>> {
    /// Its name, for people and logs.
    const NAME: &'static str;
}

/// Makes a type an actor that lives behind a [`Door`].
#[macro_export]
macro_rules! resident {
    ($actor:ty, $name:literal) => {
        impl ::actix::Actor for $actor {
            type Context = ::actix::Context<Self>;
        }

        $crate::living!($actor, $name);
    };
}

/// The same for an actor that does something when it starts, and so writes its `impl Actor` itself.
#[macro_export]
macro_rules! living {
    ($actor:ty, $name:literal) => {
        impl $crate::door::Resident for $actor {
            const NAME: &'static str = $name;
        }

        impl ::actix::Handler<$crate::door::Errand<$actor>> for $actor {
            type Result = ();
            fn handle(&mut self, errand: $crate::door::Errand<$actor>, ctx: &mut Self::Context) {
                errand.run(self, ctx);
            }
        }
    };
}

type Recipe<A> = Arc<dyn Fn() -> A + Send + Sync>;

struct House<A: Resident> {
    recipe: Recipe<A>,
    arbiter: ArbiterHandle,
    life: Mutex<Life<A>>,
    handled: AtomicU64,
    refused: AtomicU64,
}

struct Life<A: Resident> {
    addr: Addr<A>,
    incarnation: u64,
}

/// The door to an actor of one kind.
pub struct Door<A: Resident>(Arc<House<A>>);

impl<A: Resident> Clone for Door<A> {
    fn clone(&self) -> Door<A> {
        Door(self.0.clone())
    }
}

impl<A: Resident> Door<A> {
    /// Starts an actor on an arbiter, by a recipe that is kept.
    pub fn open(arbiter: &ArbiterHandle, recipe: impl Fn() -> A + Send + Sync + 'static) -> Door<A> {
        let recipe: Recipe<A> = Arc::new(recipe);
        let addr = start(arbiter, &recipe);
        Door(Arc::new(House {
            recipe,
            arbiter: arbiter.clone(),
            life: Mutex::new(Life { addr, incarnation: 1 }),
            handled: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }))
    }

    /// Asks, and waits for the answer until the deadline.
    pub async fn ask<M, T>(&self, message: M, deadline: Duration) -> Result<T, NodeError>
    where
        A: Handler<M>,
        M: Message<Result = Result<T, NodeError>> + Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer): (OneshotSender<Result<T, NodeError>>, _) = tokio::sync::oneshot::channel();
        let errand = Errand(Box::new(move |actor: &mut A, ctx: &mut Context<A>| {
            let response = <A as Handler<M>>::handle(actor, message, ctx);
            MessageResponse::handle(response, ctx, Some(reply));
        }));
        match self.addr().try_send(errand) {
            Ok(()) => {}
            Err(SendError::Full(_)) => {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                return Err(NodeError::Busy { retry_after: RETRY_AFTER });
            }
            Err(SendError::Closed(_)) => return Err(self.crashed()),
        }
        self.0.handled.fetch_add(1, Ordering::Relaxed);
        match tokio::time::timeout(std::time::Duration::from_millis(deadline.0), answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(self.crashed()),
            Err(_) => Err(NodeError::DeadlinePassed { after: deadline }),
        }
    }

    /// Starts the actor afresh if it is gone. Returns whether it had to.
    pub fn revive(&self) -> bool {
        let mut life = self.0.life.lock().unwrap_or_else(PoisonError::into_inner);
        if life.addr.connected() {
            return false;
        }
        life.addr = start(&self.0.arbiter, &self.0.recipe);
        life.incarnation += 1;
        tracing::error!(actor = A::NAME, incarnation = life.incarnation, "the actor failed and was started afresh");
        true
    }

    /// How it is.
    pub fn view(&self) -> ActorView {
        let life = self.0.life.lock().unwrap_or_else(PoisonError::into_inner);
        ActorView {
            name: A::NAME.to_string(),
            alive: life.addr.connected(),
            incarnation: life.incarnation,
            handled: self.0.handled.load(Ordering::Relaxed),
            refused: self.0.refused.load(Ordering::Relaxed),
        }
    }

    fn crashed(&self) -> NodeError {
        self.revive();
        NodeError::Crashed { actor: A::NAME }
    }

    fn addr(&self) -> Addr<A> {
        self.0.life.lock().unwrap_or_else(PoisonError::into_inner).addr.clone()
    }
}

fn start<A: Resident>(arbiter: &ArbiterHandle, recipe: &Recipe<A>) -> Addr<A> {
    let recipe = recipe.clone();
    A::start_in_arbiter(arbiter, move |ctx| {
        ctx.set_mailbox_capacity(MAILBOX_MAX);
        recipe()
    })
}

#[cfg(test)]
mod tests;
