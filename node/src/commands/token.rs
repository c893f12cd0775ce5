//! `plumb token`: bearer tokens for HTTP.

use clap::{Args, Subcommand};
use plumb_actors::supervisor::{NewTokenView, TokenView};
use plumb_core::identity::EntityId;
use plumb_core::measure::Duration;

use crate::api::Done;
use crate::api::tokens::TokenRequest;
use crate::cli::Context;
use crate::client::escape;
use crate::exit::Exit;
use crate::output::Table;
use crate::{output, session, span};

/// Tokens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb token create --person person-mara-lindqvist --label dashboard\n  \
    curl -H \"Authorization: Bearer TOKEN\" \"http://127.0.0.1:7411/v1/grounded?q=…\"\n  \
    plumb token list\n  \
    plumb token revoke ID\n\n\
    A token has the rights of its person, and never those of the operator.")]
pub struct TokenArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a token. It is shown once
    Create {
        /// In whose name it is used; one of the people of plumb.toml
        #[arg(long, value_name = "PERSON")]
        person: EntityId,
        /// What it is for
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
        /// How long it holds, such as 90d
        #[arg(long, value_name = "SPAN", default_value = "90d", value_parser = span::parse)]
        valid: Duration,
    },
    /// List tokens
    List,
    /// Revoke a token
    Revoke {
        /// Its id
        id: String,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: TokenArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Create { person, label, valid } => {
            let request = TokenRequest { person: person.to_string(), label, valid_ms: Some(valid.0) };
            let new: NewTokenView =
                session::with_node(cx, async |client| client.post("/v1/tokens", &request).await).await?;
            output::emit(cx.json, &new, || {
                let kept = &new.kept;
                format!(
                    "{}\n\nIt is not shown again. Its id is {}; it holds for {} until {}.\n",
                    new.token, kept.id, kept.person, kept.expires_at
                )
            })?;
        }
        Verb::List => {
            let tokens: Vec<TokenView> = session::with_node(cx, async |client| client.get("/v1/tokens").await).await?;
            output::emit(cx.json, &tokens, || {
                let mut table = Table::new(&["id", "person", "until", "label"]);
                for t in &tokens {
                    table.row([t.id.clone(), t.person.clone(), t.expires_at.clone(), t.label.clone()]);
                }
                table.show("no tokens")
            })?;
        }
        Verb::Revoke { id } => {
            let path = format!("/v1/tokens/{}", escape(&id));
            let done: Done = session::with_node(cx, async |client| client.delete(&path).await).await?;
            output::emit(cx.json, &done, || format!("Token {id} is revoked.\n"))?;
        }
    }
    Ok(Exit::Done)
}
