//! `plumb`: how people and programs reach a Plumbline node.
//!
//! **One code path.** Every verb that reads or changes a node is an HTTP call over the local socket of its home. Where
//! no node runs, the command starts one for its own length ([`session`]): the same actors, the same routes, the same
//! checks, without the network. So what the command line can do, a program can do over HTTP, and both are tested at
//! once.
//!
//! | room | holds |
//! | --- | --- |
//! | [`cli`], [`commands`] | the verbs: what is asked of a node, and how its answer is shown |
//! | [`client`], [`session`] | the way to a node over its socket |
//! | [`host`], [`serve`], [`api`] | a node with its HTTP server: routes, admission, limits |
//! | [`home`], [`config`] | where a node lives: keys, certificate, lock, configuration |
//! | [`offline`] | what needs no node: verifying and replaying a bundle file |
//! | [`problem`], [`exit`] | the one list of ways to fail, over HTTP and as exit codes |
//! | [`demo`], [`mod@bench`] | the whole story on embedded defaults; measurements with real nodes |
//! | [`mod@eval`] | judged collections: asked of a node of their own, measured, compared |
//! | [`process`] | child processes of these two, none of which outlives them |
//!
//! **Invariant:** nothing here decides about evidence. Who may read and what is said stands in `core`; who does the
//! work, in `actors`.

mod api;
mod bench;
mod cli;
mod client;
mod clock;
mod commands;
mod config;
mod demo;
mod eval;
mod exit;
mod home;
mod host;
mod logs;
mod metrics;
mod offline;
mod output;
mod passphrase;
mod problem;
mod process;
mod progress;
mod serve;
mod session;
mod span;

fn main() -> std::process::ExitCode {
    cli::main()
}
