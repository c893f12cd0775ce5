//! Logs go to standard error: standard output belongs to the result.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Begins to log. Only the first call of a process counts.
pub fn begin(format: Format, filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|e| format!("`{filter}` is not a filter for the log: {e}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // A second call would be an error of ours without harm: the first subscriber stays.
    let _ = match format {
        Format::Human => lines.try_init(),
        Format::Json => lines.json().try_init(),
    };
    Ok(())
}
