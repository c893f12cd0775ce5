//! What a job reads: inputs, one after the other, each loaded only when its turn comes.

use std::path::PathBuf;

use plumb_sources::{Input, Parked, declared_of, load, walk};

use super::Intake;
use crate::premises::Premises;

/// An input that is not loaded yet.
pub(super) enum Pending {
    /// A file.
    File {
        /// Its address.
        address: String,
        /// Its path.
        path: PathBuf,
    },
    /// Something that cannot be read.
    Parked {
        /// Its address.
        address: String,
        /// Why.
        parked: Parked,
    },
    /// Bytes that came with the request.
    Inline(Input),
}

impl Pending {
    /// Its address.
    pub fn address(&self) -> &str {
        match self {
            Pending::File { address, .. } | Pending::Parked { address, .. } => address,
            Pending::Inline(input) => &input.address,
        }
    }

    /// Loads it.
    pub fn load(self, premises: &Premises) -> Result<Input, Parked> {
        match self {
            Pending::File { address, path } => {
                let bytes = load(&path, premises.registry.limits())?;
                Ok(Input::new(address, declared_of(&path).as_deref(), bytes))
            }
            Pending::Parked { parked, .. } => Err(parked),
            Pending::Inline(input) => Ok(input),
        }
    }
}

/// Everything that a job shall read, folders opened.
pub(super) fn pending(intake: Vec<Intake>) -> Vec<Pending> {
    let mut all = Vec::new();
    for intake in intake {
        match intake {
            Intake::Path(path) => all.extend(walk([path]).map(|found| match found.parked {
                None => Pending::File { address: found.address, path: found.path },
                Some(parked) => Pending::Parked { address: found.address, parked },
            })),
            Intake::Inline { name, declared, bytes } => {
                let declared = declared.or_else(|| declared_of(std::path::Path::new(&name)));
                all.push(Pending::Inline(Input::new(format!("inline:{name}"), declared.as_deref(), bytes)));
            }
        }
    }
    all
}
