//! `plumb config`: what holds, and who said so.

use std::fmt::Write;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::Context;
use crate::config::Config;
use crate::exit::Exit;
use crate::output::{self, Table};

/// Configuration.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  PLUMB_HTTP_LISTEN=127.0.0.1:8080 plumb config show\n\n\
    Defaults < plumb.toml < PLUMB_<SECTION>_<KEY> in the environment < flags of the command.")]
pub struct ConfigArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show every value, and where it comes from
    Show,
}

#[derive(Debug, Serialize)]
struct ConfigView {
    home: std::path::PathBuf,
    settings: Vec<SettingView>,
    people: Vec<PersonView>,
}

#[derive(Debug, Serialize)]
struct SettingView {
    name: &'static str,
    value: serde_json::Value,
    origin: String,
    #[serde(skip)]
    text: String,
}

#[derive(Debug, Serialize)]
struct PersonView {
    id: String,
    teams: Vec<String>,
    departments: Vec<String>,
}

/// Shows it.
pub fn run(cx: &Context, args: ConfigArgs) -> anyhow::Result<Exit> {
    let Verb::Show = args.verb;
    let home = cx.home()?;
    home.require()?;
    let config = Config::load(&home.config_file(), &[])?;
    let texts = |ids: &[plumb_core::identity::EntityId]| ids.iter().map(ToString::to_string).collect();
    let view = ConfigView {
        home: home.root().to_path_buf(),
        settings: config
            .resolved
            .iter()
            .map(|(name, value, origin)| SettingView {
                name,
                value: value.into(),
                origin: origin.to_string(),
                text: value.to_string(),
            })
            .collect(),
        people: config
            .people
            .iter()
            .map(|p| PersonView { id: p.id.to_string(), teams: texts(&p.teams), departments: texts(&p.departments) })
            .collect(),
    };
    output::emit(cx.json, &view, || {
        let mut table = Table::new(&["setting", "value", "from"]);
        for s in &view.settings {
            table.row([s.name.to_string(), s.text.clone(), s.origin.clone()]);
        }
        let mut text = format!("Home {}\n\n{}\n", view.home.display(), table.show(""));
        for p in &view.people {
            let belongs = [p.teams.as_slice(), p.departments.as_slice()].concat().join(", ");
            let _ = writeln!(text, "{}  {belongs}", p.id);
        }
        text
    })?;
    Ok(Exit::Done)
}
