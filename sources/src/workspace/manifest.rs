//! Manifests of packages: what each kind says of name, dependencies and keywords.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

/// The files that are manifests.
pub(super) const NAMES: [&str; 3] = ["Cargo.toml", "package.json", "pyproject.toml"];

/// Bytes of one manifest. Those that people write have some kilobytes.
const BYTES_MAX: u64 = 1 << 20;
/// Dependencies and keywords of one package, and the bytes of one name.
const LIST_MAX: usize = 1_000;
const NAME_BYTES_MAX: usize = 150;

/// What a manifest says of its package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Package {
    pub name: String,
    pub system_type: &'static str,
    pub dependencies: BTreeSet<String>,
    pub keywords: BTreeSet<String>,
}

/// Reads a manifest: its package, or none if it describes no package of its own (the root of a workspace).
pub(super) fn read(path: &Path) -> Result<Option<Package>, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|e| e.to_string())?;
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|e| e.to_string())?;
    if read as u64 > BYTES_MAX {
        return Err(format!("it has more than {BYTES_MAX} bytes"));
    }
    let package = match path.file_name().and_then(|name| name.to_str()) {
        Some("Cargo.toml") => cargo(&text)?,
        Some("package.json") => npm(&text)?,
        _ => python(&text)?,
    };
    Ok(package.map(bounded).filter(|package| !package.name.is_empty()))
}

/// A name from outside is cut to what an entity may be called.
fn bounded(package: Package) -> Package {
    let fits = |name: &String| !name.is_empty() && name.len() <= NAME_BYTES_MAX;
    let list = |names: BTreeSet<String>| names.into_iter().filter(fits).take(LIST_MAX).collect();
    let name = if fits(&package.name) { package.name } else { String::new() };
    Package { name, dependencies: list(package.dependencies), keywords: list(package.keywords), ..package }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CargoToml {
    package: Option<CargoPackage>,
    #[serde(default)]
    dependencies: toml::Table,
    #[serde(default)]
    dev_dependencies: toml::Table,
    #[serde(default)]
    build_dependencies: toml::Table,
}

#[derive(Deserialize)]
struct CargoPackage {
    name: String,
    /// A list, or the word that the workspace has one.
    keywords: Option<toml::Value>,
}

fn cargo(text: &str) -> Result<Option<Package>, String> {
    let file: CargoToml = toml::from_str(text).map_err(|e| e.message().to_string())?;
    let tables = [file.dependencies, file.dev_dependencies, file.build_dependencies];
    // A dependency may go by another name here than its package has.
    let renamed = |value: &toml::Value| value.get("package").and_then(toml::Value::as_str).map(str::to_string);
    let dependencies = tables.into_iter().flatten().map(|(name, value)| renamed(&value).unwrap_or(name)).collect();
    Ok(file.package.map(|package| {
        let words = package.keywords.iter().filter_map(toml::Value::as_array).flatten();
        let keywords = words.filter_map(|word| word.as_str().map(str::to_string)).collect();
        Package { name: package.name, system_type: "cargo", dependencies, keywords }
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageJson {
    name: Option<String>,
    #[serde(default)]
    dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    dev_dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    peer_dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    keywords: Vec<String>,
}

fn npm(text: &str) -> Result<Option<Package>, String> {
    let file: PackageJson = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let tables = [file.dependencies, file.dev_dependencies, file.peer_dependencies];
    let dependencies = tables.into_iter().flat_map(BTreeMap::into_keys).collect();
    let keywords = file.keywords.into_iter().collect();
    Ok(file.name.map(|name| Package { name, system_type: "npm", dependencies, keywords }))
}

#[derive(Deserialize)]
struct PyprojectToml {
    project: Option<PythonProject>,
}

#[derive(Deserialize)]
struct PythonProject {
    name: String,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default)]
    keywords: Vec<String>,
}

fn python(text: &str) -> Result<Option<Package>, String> {
    let file: PyprojectToml = toml::from_str(text).map_err(|e| e.message().to_string())?;
    // PEP 508: the name ends where anything else but its own characters begins.
    let name_of = |requirement: &String| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        requirement.trim().chars().take_while(|c| is_name(*c)).collect::<String>()
    };
    Ok(file.project.map(|project| Package {
        name: project.name,
        system_type: "python",
        dependencies: project.dependencies.iter().map(name_of).collect(),
        keywords: project.keywords.into_iter().collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_kind_says_name_dependencies_and_keywords() {
        let rust = "[package]\nname = \"pump-core\"\nkeywords = [\"pumps\"]\n[dependencies]\nlog = \"1\"\n\
                    wire = { package = \"pump-wire\", path = \"../wire\" }\n[dev-dependencies]\nproptest.workspace = true\n";
        let package = cargo(rust).unwrap().unwrap();
        assert_eq!((package.name.as_str(), package.system_type), ("pump-core", "cargo"));
        assert_eq!((package.dependencies, package.keywords), (set(&["log", "proptest", "pump-wire"]), set(&["pumps"])));
        assert_eq!(cargo("[workspace]\nmembers = []\n").unwrap(), None);
        let inherited = cargo("[package]\nname = \"a\"\nkeywords.workspace = true\n").unwrap().unwrap();
        assert_eq!(inherited.keywords, set(&[]));

        let web = r#"{"name": "@x/board", "dependencies": {"react": "^19"}, "devDependencies": {"vite": "*"}, "keywords": ["ui"]}"#;
        let package = npm(web).unwrap().unwrap();
        assert_eq!((package.dependencies, package.keywords), (set(&["react", "vite"]), set(&["ui"])));
        assert_eq!(npm(r#"{"private": true}"#).unwrap(), None);

        let py = "[project]\nname = \"meter\"\ndependencies = [\"numpy>=2\", \"pandas[all] ; python_version > '3'\"]\n";
        assert_eq!(python(py).unwrap().unwrap().dependencies, set(&["numpy", "pandas"]));
    }

    #[test]
    fn what_is_no_manifest_is_an_error_and_no_panic() {
        for bad in ["[package", "[package]\nname = 3\n", &"[".repeat(5000)] {
            assert!(cargo(bad).is_err() && python(bad).is_err() | python(bad).is_ok_and(|p| p.is_none()), "{bad:.20}");
        }
        for bad in ["{", "[]", r#"{"name": 3}"#, r#"{"name": "a", "keywords": "b"}"#, &"[".repeat(5000)] {
            assert!(npm(bad).is_err(), "{bad:.20}");
        }
        let long = Package { name: "x".repeat(NAME_BYTES_MAX + 1), ..Package::default() };
        assert_eq!(bounded(long).name, "");
    }
}
