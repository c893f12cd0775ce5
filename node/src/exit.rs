//! The exit codes of `plumb`, as the interface page promises them.

use std::fmt;
use std::process::ExitCode;

use crate::problem::Problem;

/// How a command ended. Scripts hold on to these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done: an answer was given, a bundle is authentic and current.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// It was asked in a way that makes no sense.
    Usage = 2,
    /// There was not enough evidence for an answer.
    Abstained = 3,
    /// A bundle is authentic, and its evidence was retracted.
    Retracted = 4,
    /// A bundle is authentic; its status is unknown or stale.
    Unconfirmed = 5,
    /// A bundle is not authentic.
    NotAuthentic = 6,
    /// It is not allowed.
    Denied = 7,
    /// The node is busy, or the deadline passed.
    Busy = 8,
}

impl Exit {
    /// The exit that a verdict over a bundle names, by its number.
    pub fn of_verdict(code: u8) -> Exit {
        match code {
            0 => Exit::Done,
            4 => Exit::Retracted,
            5 => Exit::Unconfirmed,
            6 => Exit::NotAuthentic,
            _ => Exit::Failed,
        }
    }

    /// The exit of a command that ended with an error: the one that the innermost known cause asks for.
    pub fn of_error(error: &anyhow::Error) -> Exit {
        for cause in error.chain() {
            if let Some(problem) = cause.downcast_ref::<Problem>() {
                return problem.exit();
            }
            if cause.downcast_ref::<UsageError>().is_some() {
                return Exit::Usage;
            }
            if cause.downcast_ref::<BusyError>().is_some() {
                return Exit::Busy;
            }
        }
        Exit::Failed
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The command was used in a way that makes no sense; the text says which way would.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Somebody else works with the home; later it can be done.
#[derive(Debug)]
pub struct BusyError(pub String);

impl fmt::Display for BusyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BusyError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Reason;

    #[test]
    fn errors_end_with_the_codes_of_the_interface_page() {
        for (error, exit) in [
            (anyhow::anyhow!("anything"), Exit::Failed),
            (UsageError("no".into()).into(), Exit::Usage),
            (BusyError("later".into()).into(), Exit::Busy),
            (Problem::new(Reason::Denied, "no").into(), Exit::Denied),
            (Problem::new(Reason::Busy, "later").into(), Exit::Busy),
            (Problem::new(Reason::DeadlinePassed, "late").into(), Exit::Busy),
            (Problem::new(Reason::InvalidRequest, "what").into(), Exit::Usage),
            (Problem::new(Reason::NotFound, "nothing").into(), Exit::Failed),
            (anyhow::Error::from(Problem::new(Reason::Denied, "no")).context("while asking"), Exit::Denied),
        ] {
            assert_eq!(Exit::of_error(&error), exit, "{error:?}");
        }
    }

    #[test]
    fn verdicts_keep_their_numbers() {
        for code in [0, 4, 5, 6] {
            assert_eq!(Exit::of_verdict(code) as u8, code);
        }
        assert_eq!(Exit::of_verdict(77), Exit::Failed);
    }
}
