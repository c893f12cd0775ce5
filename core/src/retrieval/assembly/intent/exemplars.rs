//! Sentences that stand for an intent without using its keywords.

use super::Intent;
use Intent::{Architecture, Debugging, General, HowTo, Onboarding, Policy, Review, Security};

/// The exemplars. The shell embeds them once for each model and passes the similarity of a question to each, in this
/// order. Those of [`Intent::General`] stand for what is none of the others: a question that is nearest to one of them
/// gets no points.
pub const EXEMPLARS: [(Intent, &str); 32] = [
    (Debugging, "The service keeps dying every night and nobody can tell what happened."),
    (Debugging, "It worked yesterday and today nothing comes back."),
    (Debugging, "The screen stays blank after I press the button."),
    (Debugging, "The numbers in the report are wrong since the last release."),
    (Architecture, "Would one database for each team serve us better than a shared one?"),
    (Architecture, "Which way of splitting this system into parts did we choose, and for what reason?"),
    (Architecture, "A queue or direct calls here: what speaks for each of them?"),
    (Architecture, "Where do the boundaries between these components lie?"),
    (Onboarding, "I am new here, where do I begin?"),
    (Onboarding, "Give me the big picture of this project."),
    (Onboarding, "Who looks after which part, and what does each part do?"),
    (Onboarding, "Help me understand this code base."),
    (Policy, "Are we allowed to store customer data outside the country?"),
    (Policy, "How long must we keep these records?"),
    (Policy, "Do I need approval before I buy this?"),
    (Policy, "What does the law ask of us here?"),
    (HowTo, "Show me what to run for putting a new version on the server."),
    (HowTo, "Walk me through setting up my machine."),
    (HowTo, "What do I type to restore last night's copy?"),
    (HowTo, "I want to add a user, tell me what to do."),
    (Review, "Is this good enough to ship?"),
    (Review, "Look over my changes and tell me what you think."),
    (Review, "Could this function be written more clearly?"),
    (Review, "What would you do better in this text?"),
    (Security, "Could someone from outside read our passwords?"),
    (Security, "A stranger got into the system, what did they see?"),
    (Security, "Is this secret key exposed to anyone?"),
    (Security, "Can a user get at data that belongs to somebody else?"),
    (General, "When is the next meeting?"),
    (General, "Who wrote this document?"),
    (General, "Thank you, that is all."),
    (General, "List the customers in the north."),
];
