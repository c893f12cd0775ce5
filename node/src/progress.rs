//! A bar on standard error for what takes longer than a second, where somebody watches.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use plumb_actors::ingestion::JobView;

/// What ends sooner needs no bar.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// The bar of a job.
pub struct Progress {
    begun: Instant,
    watched: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar that shows itself once it is worth it.
    pub fn begin() -> Progress {
        Progress { begun: Instant::now(), watched: std::io::stderr().is_terminal(), bar: None }
    }

    /// Shows where the job stands.
    pub fn update(&mut self, job: &JobView) {
        if !self.watched || self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} sources  {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        });
        bar.set_length(job.total.max(job.seen));
        bar.set_position(job.seen);
        bar.set_message(format!("{} chunks, {} parked", job.chunks, job.parked.len()));
    }

    /// Takes the bar away.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
