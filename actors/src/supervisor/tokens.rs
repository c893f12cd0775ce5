//! Bearer tokens: made, shown once, kept as a hash.
//!
//! `plumb_<id>_<secret>`: the id finds the row, the secret is 256 random bits, so that a plain SHA-256 of the whole
//! token suffices; nothing can be guessed from it.

use actix::prelude::*;
use plumb_storage::{Change, Keyspace, Records, RecordsExt};
use sha2::{Digest, Sha256};

use super::{Authenticate, CreateToken, ListTokens, NewTokenView, RevokeToken, Supervisor, TokenView};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept::{SHAPE, Token, tokens};
use crate::premises::blocking;

/// Longest token that is looked at.
const TOKEN_BYTES_MAX: usize = 200;

impl Handler<CreateToken> for Supervisor {
    type Result = ResponseFuture<Result<NewTokenView, NodeError>>;

    fn handle(&mut self, ask: CreateToken, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            if !premises.people.contains_key(&ask.person) {
                return Err(NodeError::Invalid(format!(
                    "`{}` is not known here; list them under [[people]] in plumb.toml first",
                    ask.person
                )));
            }
            let id = hex(&rand::random::<[u8; 6]>());
            let token = format!("plumb_{id}_{}", hex(&rand::random::<[u8; 32]>()));
            let kept = Token {
                id: id.clone(),
                hash: Sha256::digest(token.as_bytes()).to_vec(),
                person: ask.person,
                label: ask.label,
                expires_at: premises.now().plus(ask.validity),
            };
            let event = premises.event(&ask.by, "token.create", &id, "ok", format!("for {}", kept.person));
            let mut change = Change::new(event);
            change.put_value(Keyspace::Accounts, SHAPE, &Token::key(&id), &kept);
            premises.store.commit(change)?;
            Ok(NewTokenView { token, kept: view(&kept) })
        }))
    }
}

impl Handler<ListTokens> for Supervisor {
    type Result = ResponseFuture<Result<Vec<TokenView>, NodeError>>;

    fn handle(&mut self, _: ListTokens, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || Ok(tokens(&premises.store)?.iter().map(view).collect())))
    }
}

impl Handler<RevokeToken> for Supervisor {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: RevokeToken, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            if premises.store.get(Keyspace::Accounts, &Token::key(&ask.id))?.is_none() {
                return Err(NodeError::NotFound(ask.id));
            }
            let mut change = Change::new(premises.event(&ask.by, "token.revoke", &ask.id, "ok", ""));
            change.delete(Keyspace::Accounts, &Token::key(&ask.id));
            premises.store.commit(change)?;
            Ok(())
        }))
    }
}

impl Handler<Authenticate> for Supervisor {
    type Result = ResponseFuture<Result<Caller, NodeError>>;

    fn handle(&mut self, ask: Authenticate, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let denied = || NodeError::Denied("the token is not valid here".to_string());
            if ask.token.len() > TOKEN_BYTES_MAX {
                return Err(denied());
            }
            let mut parts = ask.token.splitn(3, '_');
            let (Some("plumb"), Some(id)) = (parts.next(), parts.next()) else { return Err(denied()) };
            let kept: Option<Token> = premises.store.value(Keyspace::Accounts, SHAPE, &Token::key(id))?;
            let kept = kept.ok_or_else(denied)?;
            // Hashes are compared, so the time that it takes tells nothing of the token.
            let is_it = kept.hash.as_slice() == Sha256::digest(ask.token.as_bytes()).as_slice();
            if !is_it || kept.expires_at < premises.now() || !premises.people.contains_key(&kept.person) {
                return Err(denied());
            }
            Ok(Caller { person: kept.person, operator: false })
        }))
    }
}

fn view(token: &Token) -> TokenView {
    TokenView {
        id: token.id.clone(),
        person: token.person.to_string(),
        label: token.label.clone(),
        expires_at: token.expires_at.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
