//! What a workspace says of itself: its remote, the packages that its manifests name, its folders, its history.
//!
//! Facts come out parsed and bounded, as [`plumb_core::graph`] takes them; nothing here knows whose node it is. A file
//! that cannot be understood costs its own facts and is named among the remarks, and so does a bound that was reached.

mod folders;
mod git;
mod manifest;

use std::path::Path;

use plumb_core::graph::Manifest;

pub use git::Commit;

/// Remarks that are kept of one workspace.
const REMARKS_MAX: usize = 50;

/// What was found in a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// The name of its folder.
    pub name: String,
    /// The address of its git remote, without anybody's password.
    pub repo_url: Option<String>,
    /// Its packages; the workspace as a whole where nothing names one.
    pub manifests: Vec<Manifest>,
    /// Keywords of packages: which package, and the word.
    pub keywords: Vec<(String, String)>,
    /// Its latest commits, newest first.
    pub commits: Vec<Commit>,
    /// What was left out, and why.
    pub remarks: Vec<String>,
}

impl WorkspaceFacts {
    /// Looks into a folder. It blocks, and runs `git` if that is installed and the folder is under it.
    pub fn of(dir: &Path) -> std::io::Result<WorkspaceFacts> {
        if !std::fs::metadata(dir)?.is_dir() {
            return Err(std::io::Error::new(std::io::ErrorKind::NotADirectory, "it is no folder"));
        }
        let name = dir.file_name().map_or_else(|| "workspace".to_string(), |name| name.to_string_lossy().into_owned());
        let mut facts = WorkspaceFacts { name, ..WorkspaceFacts::default() };
        for (folder, path) in folders::manifests(dir, &mut facts.remarks) {
            match manifest::read(&path) {
                Ok(Some(package)) => {
                    let modules = folders::modules(dir, &folder);
                    facts.keywords.extend(package.keywords.into_iter().map(|word| (package.name.clone(), word)));
                    facts.manifests.push(Manifest {
                        name: package.name,
                        system_type: package.system_type.to_string(),
                        dependencies: package.dependencies,
                        modules,
                    });
                }
                Ok(None) => {}
                Err(reason) => facts.remarks.push(format!("{} is passed over: {reason}", path.display())),
            }
        }
        if facts.manifests.is_empty() {
            facts.manifests.push(Manifest {
                name: facts.name.clone(),
                system_type: "folder".to_string(),
                dependencies: Default::default(),
                modules: folders::top(dir),
            });
        }
        match git::read(dir) {
            Ok(history) => {
                facts.repo_url = history.repo_url;
                facts.commits = history.commits;
                facts.remarks.extend(history.remark);
            }
            Err(reason) => facts.remarks.push(format!("no history: {reason}")),
        }
        facts.remarks.truncate(REMARKS_MAX);
        Ok(facts)
    }
}
