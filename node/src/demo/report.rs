//! What the audience sees: numbered steps as they happen, or one JSON document at the end.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use anyhow::bail;
use serde::Serialize;

use crate::exit::Exit;

/// Columns of the text. Wider lines are hard to read.
const COLUMNS: usize = 100;
/// Columns before a value.
const INDENT: usize = 19;
/// Most lines of one value that are printed; the JSON report has all of it.
const LINES_MAX: usize = 12;

/// The story as it was told.
pub struct Report {
    json: bool,
    bold: bool,
    begun: Instant,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    number: usize,
    title: &'static str,
    why: &'static str,
    commands: Vec<Command>,
    values: Vec<Value>,
    shown: Vec<String>,
    milliseconds: u64,
}

#[derive(Serialize)]
struct Command {
    command: String,
    exit_code: Option<i32>,
}

#[derive(Serialize)]
struct Value {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    failure: Option<String>,
    milliseconds: u64,
    steps: &'a [Step],
}

impl Report {
    /// Nothing is told yet.
    pub fn new(json: bool) -> Report {
        Report { json, bold: std::io::stdout().is_terminal(), begun: Instant::now(), steps: Vec::new() }
    }

    /// Words before the first step.
    pub fn open(&self, lines: &[String]) -> anyhow::Result<()> {
        lines.iter().try_for_each(|line| self.print(line))
    }

    /// Begins a step.
    pub fn step(&mut self, title: &'static str, why: &'static str) -> anyhow::Result<()> {
        let elapsed = self.elapsed();
        if let Some(last) = self.steps.last_mut() {
            last.milliseconds = elapsed - last.milliseconds;
        }
        let number = self.steps.len() + 1;
        let heading = format!("{number}. {title}");
        let heading = if self.bold { format!("\x1b[1m{heading}\x1b[0m") } else { heading };
        self.print(&format!("\n{heading}"))?;
        for line in wrap(why, COLUMNS - 3) {
            self.print(&format!("   {line}"))?;
        }
        self.print("")?;
        // Until the next step begins this is the moment at which it began.
        let milliseconds = elapsed;
        let (commands, values, shown) = (Vec::new(), Vec::new(), Vec::new());
        self.steps.push(Step { number, title, why, commands, values, shown, milliseconds });
        Ok(())
    }

    /// A command as a person would type it, before it runs.
    pub fn command(&mut self, line: &str) -> anyhow::Result<()> {
        self.print(&format!("   $ {line}"))?;
        if let Some(step) = self.steps.last_mut() {
            step.commands.push(Command { command: line.to_string(), exit_code: None });
        }
        Ok(())
    }

    /// A line that is typed after a command.
    pub fn typed(&self, line: &str) -> anyhow::Result<()> {
        self.print(&format!("     {line}"))
    }

    /// How the last command ended. Success goes without saying.
    pub fn exited(&mut self, code: i32) -> anyhow::Result<()> {
        if let Some(command) = self.steps.last_mut().and_then(|s| s.commands.last_mut()) {
            command.exit_code = Some(code);
        }
        if code == 0 { Ok(()) } else { self.print(&format!("     {:<14}{code}", "exit code")) }
    }

    /// A value out of a command's answer.
    pub fn value(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        let lines = wrap(value, COLUMNS - INDENT);
        for (i, line) in lines.iter().take(LINES_MAX).enumerate() {
            let name = if i == 0 { name } else { "" };
            self.print(&format!("     {name:<14}{line}"))?;
        }
        if lines.len() > LINES_MAX {
            self.print(&format!("     {:<14}… {} lines more", "", lines.len() - LINES_MAX))?;
        }
        if let Some(step) = self.steps.last_mut() {
            step.values.push(Value { name: name.to_string(), value: value.to_string() });
        }
        Ok(())
    }

    /// What was to be shown. If it was not, the demonstration ends.
    pub fn shows(&mut self, what: &str, holds: bool) -> anyhow::Result<()> {
        if !holds {
            bail!("it does not show that {what}");
        }
        self.print(&format!("   ✓ {what}"))?;
        if let Some(step) = self.steps.last_mut() {
            step.shown.push(what.to_string());
        }
        Ok(())
    }

    /// Ends the story, well or not.
    pub fn finish(mut self, failure: Option<&anyhow::Error>, kept: bool) -> anyhow::Result<Exit> {
        let elapsed = self.elapsed();
        if let Some(last) = self.steps.last_mut() {
            last.milliseconds = elapsed - last.milliseconds;
        }
        let at = self.steps.last().map_or(String::new(), |s| format!("step {} ({}): ", s.number, s.title));
        let failure = failure.map(|error| format!("{at}{error:#}"));
        if self.json {
            let document =
                Document { ok: failure.is_none(), failure: failure.clone(), milliseconds: elapsed, steps: &self.steps };
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&document)?)?;
        }
        match failure {
            None => {
                self.print(&format!(
                    "\nThat is the whole story: {} steps, {} things shown, {}.{} s. Nothing is left running.",
                    self.steps.len(),
                    self.steps.iter().map(|s| s.shown.len()).sum::<usize>(),
                    elapsed / 1000,
                    elapsed % 1000 / 100,
                ))?;
                Ok(Exit::Done)
            }
            Some(failure) => {
                eprintln!("\nplumb demo: {failure}");
                if !kept {
                    eprintln!("`plumb demo --keep DIR` keeps everything, with the logs of the nodes");
                }
                Ok(Exit::Failed)
            }
        }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn print(&self, line: &str) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{line}")?;
        Ok(stdout.flush()?)
    }
}

/// Lines of at most so many characters, broken at spaces. A word that is longer has a line of its own.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("one two  three", 8), ["one two", "three"]);
        assert_eq!(wrap("a verylongword b", 5), ["a", "verylongword", "b"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn a_step_that_does_not_show_what_it_says_ends_the_story() {
        let mut report = Report::new(true);
        report.step("A step", "To see.").unwrap();
        report.shows("all is well", true).unwrap();
        let error = report.shows("something else", false).unwrap_err();
        assert_eq!(error.to_string(), "it does not show that something else");
        assert_eq!(report.finish(Some(&error), true).unwrap(), Exit::Failed);
    }
}
