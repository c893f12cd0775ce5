use super::*;

struct Clumsy {
    answered: u32,
}
crate::resident!(Clumsy, "clumsy");

#[derive(Message)]
#[rtype(result = "Result<u32, NodeError>")]
enum Order {
    Count,
    Stumble,
    Dawdle,
}

impl Handler<Order> for Clumsy {
    type Result = ResponseFuture<Result<u32, NodeError>>;
    fn handle(&mut self, order: Order, _: &mut Context<Self>) -> Self::Result {
        self.answered += 1;
        let answered = self.answered;
        assert!(!matches!(order, Order::Stumble), "stumbled on purpose");
        Box::pin(async move {
            if matches!(order, Order::Dawdle) {
                std::future::pending::<()>().await;
            }
            Ok(answered)
        })
    }
}

const SOON: Duration = Duration(2_000);

#[actix::test]
async fn a_panic_is_an_error_for_its_caller_and_a_new_life_for_the_actor() {
    let arbiter = Arbiter::new();
    let door = Door::open(&arbiter.handle(), || Clumsy { answered: 0 });
    assert_eq!(door.ask(Order::Count, SOON).await.unwrap(), 1);
    assert!(matches!(door.ask(Order::Stumble, SOON).await, Err(NodeError::Crashed { actor: "clumsy" })));
    // The address may still be closing when the error arrives; the door is open again as soon as it is closed.
    let mut answer = door.ask(Order::Count, SOON).await;
    while matches!(answer, Err(NodeError::Crashed { .. })) {
        answer = door.ask(Order::Count, SOON).await;
    }
    assert_eq!(answer.unwrap(), 1, "it begins from its recipe");
    assert_eq!(door.view().incarnation, 2);
    arbiter.stop();
}

#[actix::test]
async fn a_deadline_ends_the_wait() {
    let arbiter = Arbiter::new();
    let door = Door::open(&arbiter.handle(), || Clumsy { answered: 0 });
    let late = door.ask(Order::Dawdle, Duration(20)).await;
    assert!(matches!(late, Err(NodeError::DeadlinePassed { .. })));
    assert_eq!(door.ask(Order::Count, SOON).await.unwrap(), 2, "others are served meanwhile");
    arbiter.stop();
}
