//! The command line: what may be typed, and what then happens.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, CommandFactory, Parser, Subcommand};
use plumb_core::identity::EntityId;

use crate::commands::{
    answers, ask, audit, bench, bundle, care, config, context, entity, eval, feedback, gravity, ingest, init, jobs,
    log, model, notices, org, peers, search, sources, teach, token, trust, up,
};
use crate::exit::Exit;
use crate::home::Home;
use crate::problem::Problem;
use crate::{demo, logs, output};

/// The environment variable with the filter of the log of short commands.
const LOG_VARIABLE: &str = "PLUMB_LOG_FILTER";
/// What short commands log: what went wrong, and nothing else.
const LOG_DEFAULT: &str = "error";
/// Threads for the network, the index and other work beside the actors. Two keep a swarm alive beside a busy index.
const WORKER_THREADS: usize = 2;

/// A knowledge node that answers only from evidence, and hears of retractions.
#[derive(Debug, Parser)]
#[command(
    name = "plumb",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "The first steps:\n  \
        plumb demo                                            see the whole story\n  \
        plumb init --org Northwater --department operations   make a home for a node\n  \
        plumb ingest ~/documents                              take documents in\n  \
        plumb ask \"Who approves a planned shutdown?\"          ask; the answer cites its evidence\n\n\
        Exit codes: 0 done · 1 failed · 2 wrong usage · 3 abstained · 4 authentic but retracted ·\n  \
        5 authentic, status unknown or stale · 6 not authentic · 7 denied · 8 busy or deadline passed"
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every verb takes.
#[derive(Clone, Debug, Args)]
struct Global {
    /// The home of the node; otherwise the platform's data directory
    #[arg(long, global = true, env = "PLUMB_HOME", value_name = "DIR", help_heading = "For every verb")]
    home: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long, global = true, help_heading = "For every verb")]
    json: bool,
    /// Ask for this person, such as person-mara-lindqvist; otherwise for the one of plumb.toml
    #[arg(id = "as", long = "as", global = true, value_name = "PERSON", help_heading = "For every verb")]
    person: Option<EntityId>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell the whole story on embedded documents: three nodes of two organisations, on this machine
    Demo(DemoArgs),
    /// Make a home: keys, configuration, and an organisation or a request to join one
    Init(init::InitArgs),
    /// Run the node until SIGTERM
    Up(up::UpArgs),
    /// Take files, folders or standard input in
    Ingest(ingest::IngestArgs),
    /// List sources
    Sources(sources::SourcesArgs),
    /// Look at jobs, and cancel them
    Jobs(jobs::JobsArgs),
    /// Search what you may read
    Search(search::SearchArgs),
    /// Ask a question; the answer is made of evidence, or there is none
    Ask(ask::AskArgs),
    /// Look at saved answers as they stand now
    Answers(answers::AnswersArgs),
    /// Export, show, verify, replay and import signed bundles
    Bundle(bundle::BundleArgs),
    /// Make, show and answer from portable contexts
    Context(context::ContextArgs),
    /// Take sources of this node back, or counsel caution
    Retract(notices::RetractArgs),
    /// Undo a notice of this node
    Reinstate(notices::ReinstateArgs),
    /// Look at notices, and at who has confirmed them
    Notices(notices::NoticesArgs),
    /// Look at other nodes, connect to them, refuse them
    Peers(peers::PeersArgs),
    /// Found an organisation, certify its nodes, join one
    Org(org::OrgArgs),
    /// Offer knowledge to peers, and decide about what they offer
    Teach(teach::TeachArgs),
    /// Say which organisations are trusted
    Trust(trust::TrustArgs),
    /// Look at the audit log, and verify it
    Audit(audit::AuditArgs),
    /// Look at the public log and its cosignatures; decide when a log shows two histories
    Log(log::LogArgs),
    /// Look at the graph of people, teams, projects and systems, and change it
    Entity(entity::EntityArgs),
    /// Say what became of what a search showed; show and forget what was learned
    Feedback(feedback::FeedbackArgs),
    /// Say what independent corroboration would let rise
    Gravity(gravity::GravityArgs),
    /// Make and revoke bearer tokens for HTTP
    Token(token::TokenArgs),
    /// Build the text index anew from the store
    Rebuild(care::RebuildArgs),
    /// Give the space of what was overwritten and removed back to the disk
    Compact(care::CompactArgs),
    /// Add models that find by meaning, and see how far they are
    Model(model::ModelArgs),
    /// Examine the node, and say what to do
    Doctor(care::DoctorArgs),
    /// Measure: whole nodes on this machine, or simulated federations
    Bench(bench::BenchArgs),
    /// Measure how well a node finds: a judged collection, two runs compared, the release gate
    Eval(eval::EvalArgs),
    /// Show the configuration, and where each value comes from
    Config(config::ConfigArgs),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  plumb completions bash > ~/.local/share/bash-completion/completions/plumb")]
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plumb demo --keep /tmp/story    and look around in it afterwards")]
struct DemoArgs {
    /// Play it in this empty folder, and leave everything there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// For which shell
    shell: clap_complete::Shell,
}

/// What every command knows.
pub struct Context {
    /// Whether one JSON document is printed.
    pub json: bool,
    /// For whom is asked, if somebody else than the one of plumb.toml.
    pub person: Option<EntityId>,
    home: Option<PathBuf>,
}

impl Context {
    /// What a command knows that works with a home of its own, for nobody in particular.
    pub fn at(home: PathBuf) -> Context {
        Context { json: false, person: None, home: Some(home) }
    }

    /// The home, whether or not it is there.
    pub fn home(&self) -> anyhow::Result<Home> {
        Home::at(self.home.as_deref())
    }
}

/// Does what was typed.
pub fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    let cx = Context { json: global.json, person: global.person, home: global.home };
    match run(&cx, command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::remark(&format!("plumb: {error:#}"));
            if cx.json {
                // A program that asked for JSON gets the reason as JSON; if even that fails, the exit code remains.
                let _ = output::emit(true, &Problem::of_error(&error), String::new);
            }
            Exit::of_error(&error).into()
        }
    }
}

fn run(cx: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(args) => demo::run(args.keep.as_deref(), cx.json),
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "plumb", &mut script);
            output::write(&String::from_utf8_lossy(&script))?;
            Ok(Exit::Done)
        }
        Command::Bench(args) => bench::run(cx, args),
        Command::Config(args) => config::run(cx, args),
        Command::Init(args) => init::run(cx, args),
        command => in_system(cx, command),
    }
}

/// Runs a command that may need a node: actors live on this thread, and the runtime's own threads carry the network
/// and whatever else need not wait for them.
fn in_system(cx: &Context, command: Command) -> anyhow::Result<Exit> {
    if !matches!(command, Command::Up(_)) {
        let filter = std::env::var(LOG_VARIABLE).unwrap_or_else(|_| LOG_DEFAULT.to_string());
        logs::begin(logs::Format::Human, &filter).map_err(|e| anyhow::anyhow!("{LOG_VARIABLE}: {e}"))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .context("the threads of the node cannot be started")?;
    actix::System::with_tokio_rt(|| runtime).block_on(dispatch(cx, command))
}

async fn dispatch(cx: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Up(args) => up::run(cx, args).await,
        Command::Ingest(args) => ingest::run(cx, args).await,
        Command::Sources(args) => sources::run(cx, args).await,
        Command::Jobs(args) => jobs::run(cx, args).await,
        Command::Search(args) => search::run(cx, args).await,
        Command::Ask(args) => ask::run(cx, args).await,
        Command::Answers(args) => answers::run(cx, args).await,
        Command::Bundle(args) => bundle::run(cx, args).await,
        Command::Context(args) => context::run(cx, args).await,
        Command::Retract(args) => notices::retract(cx, args).await,
        Command::Reinstate(args) => notices::reinstate(cx, args).await,
        Command::Notices(args) => notices::run(cx, args).await,
        Command::Peers(args) => peers::run(cx, args).await,
        Command::Org(args) => org::run(cx, args).await,
        Command::Teach(args) => teach::run(cx, args).await,
        Command::Trust(args) => trust::run(cx, args).await,
        Command::Audit(args) => audit::run(cx, args).await,
        Command::Log(args) => log::run(cx, args).await,
        Command::Entity(args) => entity::run(cx, args).await,
        Command::Feedback(args) => feedback::run(cx, args).await,
        Command::Gravity(args) => gravity::run(cx, args).await,
        Command::Token(args) => token::run(cx, args).await,
        Command::Compact(args) => care::compact(cx, args).await,
        Command::Rebuild(args) => care::rebuild(cx, args).await,
        Command::Model(args) => model::run(cx, args).await,
        Command::Doctor(args) => care::doctor(cx, args).await,
        Command::Eval(args) => eval::run(cx, args).await,
        Command::Demo(_) | Command::Completions(_) | Command::Bench(_) | Command::Config(_) | Command::Init(_) => {
            unreachable!("these need no system and are done by `run`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_agrees_with_itself() {
        Cli::command().debug_assert();
    }

    /// Arguments for every verb and those of one verb share their names inside clap; a clash shows only when parsed.
    #[test]
    fn typical_lines_are_understood() {
        for line in [
            "plumb demo --keep /tmp/x --json",
            "plumb init --org N --department d --person p --join --home /tmp/x",
            "plumb up --http 127.0.0.1:0 --listen /a --listen /b --bootstrap /c --ready-file f --log-format json",
            "plumb ingest a - --name n --scope team:team-a --sensitivity public --adapter markdown --dry-run",
            "plumb search q --k 3 --peers --explain --as person-a --deadline 2s --json",
            "plumb ask q --peers --save --bundle f --as person-a --deadline 2s --home h",
            "plumb answers show last",
            "plumb bundle verify f --trust did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --offline",
            "plumb bundle export last --out f",
            "plumb context make q --out f --max-chunks 4 --budget-chars 9 --trust a=b=7 --peers",
            "plumb context answer f --markdown",
            "plumb context block q --k 3 --max-tokens 400 --as person-a --json",
            "plumb retract a b --kind expression-of-concern --reason data_error --note n",
            "plumb reinstate bafy --note n",
            "plumb notices receipts bafy",
            "plumb peers list --wait 2 --deadline 3s",
            "plumb org init N --out d",
            "plumb org certify r --root d --install h --valid 10d",
            "plumb org certify r --root d --out c --department d --capability search --succeeds did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --passphrase-file p",
            "plumb org rotate --root d --out f --passphrase-file p",
            "plumb org revoke did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --root d --reason key-compromise --log-size 3",
            "plumb org show --root d --json",
            "plumb retract a --reason legal --as-root d --passphrase-file p",
            "plumb trust add did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --name N --incoming notices --outgoing none --weight 20",
            "plumb trust set did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --outgoing none",
            "plumb trust remove did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --forget",
            "plumb trust rotate f",
            "plumb trust import f",
            "plumb trust settle did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
            "plumb bundle verify f --statement s",
            "plumb trust add did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --name N",
            "plumb teach offer a.md --kind decision --confidence 920 --validated --seen 3",
            "plumb teach resolve bafy context-dependent",
            "plumb teach list --pending",
            "plumb teach send",
            "plumb audit list --action a --before 3 --limit 5",
            "plumb log status --json",
            "plumb log resume --accept-loss",
            "plumb log fork show Northwater --out f",
            "plumb log fork verify f",
            "plumb log fork lift did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --note n",
            "plumb gravity plan",
            "plumb sources remove a b --dry-run",
            "plumb feedback give q --used a --used b --wrong c",
            "plumb entity list --kind team --after team-a --limit 3",
            "plumb entity add team crew --id team-x --set purpose=a=b --set department=department-o",
            "plumb entity link person-a member_of crew --weight 900 --role lead",
            "plumb entity unlink person-a member_of crew",
            "plumb entity rename crew c",
            "plumb entity populate d --name n --team t",
            "plumb entity distance a b",
            "plumb token create --person person-a --label l --valid 1d --as person-b",
            "plumb sources name --after a --limit 3",
            "plumb jobs cancel 1",
            "plumb bench sim --nodes 10,100 --seeds 1..=3 --publishers 4 --loss 50 --delay 200 --scenario all --plot f --json",
            "plumb eval run d --run f --queries q --qrels f --slices s --markdown m --svg v --seed 3 --json",
            "plumb eval score f --qrels q --measure nDCG@10,RR --corpus d",
            "plumb eval compare a b --qrels q",
            "plumb eval gate a b --qrels q --slices s --primitive p",
            "plumb completions zsh",
            "plumb config show",
        ] {
            let parsed = Cli::try_parse_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
        for line in [
            "plumb",
            "plumb ask",
            "plumb ask q --deadline 5",
            "plumb retract a --reason because",
            "plumb context make q --max-chunks -1",
            "plumb context make q --trust a=101",
            "plumb context show f --markdown --json",
            "plumb ingest a --sensitivity secret",
            "plumb org certify r",
            "plumb search q --as mara",
            "plumb eval score f",
            "plumb eval score f --qrels q --measure ndcg",
            "plumb teach offer a.md --kind decision --confidence 1001",
            "plumb teach resolve bafy maybe",
            "plumb entity add robot r",
            "plumb entity link a likes b",
            "plumb entity populate --name n",
            "plumb trust add did:web:x --name N",
            "plumb trust set did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --incoming some",
            "plumb org revoke did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --root d --reason boredom",
        ] {
            assert_eq!(Cli::try_parse_from(line.split(' ')).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn every_verb_teaches() {
        fn check(command: &clap::Command, path: &str) {
            let has_words = command.get_about().is_some() || command.get_long_about().is_some();
            assert!(has_words, "{path} says nothing of itself");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{path}: {} is not explained", arg.get_id());
            }
            for sub in command.get_subcommands().filter(|s| s.get_name() != "help") {
                check(sub, &format!("{path} {}", sub.get_name()));
            }
        }
        let cli = Cli::command();
        check(&cli, "plumb");
        for verb in cli.get_subcommands() {
            let teaches = verb.get_after_help().is_some() || verb.get_name() == "help";
            assert!(teaches, "{} has no example", verb.get_name());
        }
    }
}
