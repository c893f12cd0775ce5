//! Folders of a workspace: where manifests lie, and which parts a package has.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use plumb_core::graph::Module;

use super::manifest;

/// Folders inside each other that are looked into. Packages lie near the root.
const DEPTH_MAX: usize = 6;
/// Folders that are looked into.
const FOLDERS_MAX: usize = 20_000;
/// Manifests that are read.
const MANIFESTS_MAX: usize = 1_000;
/// Parts of one package.
const MODULES_MAX: usize = 100;
/// Folders of things that somebody else wrote, or that are built.
const FOREIGN: [&str; 8] = ["target", "node_modules", "vendor", "dist", "build", "venv", "__pycache__", "third_party"];

/// Every manifest below a folder, with the folder of each as a path from the root (`core`, or nothing for the root), in
/// the order of names. Links are not followed: what is read lies where it was named.
pub(super) fn manifests(root: &Path, remarks: &mut Vec<String>) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut pending = VecDeque::from([(String::new(), 0)]);
    let mut n_folders = 0;
    while let Some((folder, depth)) = pending.pop_front() {
        n_folders += 1;
        if n_folders > FOLDERS_MAX || found.len() >= MANIFESTS_MAX {
            remarks.push(format!("at most {FOLDERS_MAX} folders and {MANIFESTS_MAX} manifests are looked at"));
            break;
        }
        let here = root.join(&folder);
        for name in manifest::NAMES {
            let path = here.join(name);
            if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                found.push((folder.clone(), path));
            }
        }
        if depth < DEPTH_MAX {
            pending.extend(inside(&here).into_iter().map(|name| (below(&folder, &name), depth + 1)));
        }
    }
    found
}

/// The parts of the package in a folder: its `src` with the folders directly below, or else the folder itself.
pub(super) fn modules(root: &Path, folder: &str) -> Vec<Module> {
    let src = below(folder, "src");
    if !fs::symlink_metadata(root.join(&src)).is_ok_and(|meta| meta.is_dir()) {
        return vec![module("files", folder)];
    }
    let parts = inside(&root.join(&src)).into_iter().take(MODULES_MAX - 1);
    let parts = parts.map(|name| module(&format!("src/{name}"), &below(&src, &name)));
    std::iter::once(module("src", &src)).chain(parts).collect()
}

/// The folders at the root, as parts of a workspace without any manifest.
pub(super) fn top(root: &Path) -> Vec<Module> {
    inside(root).iter().take(MODULES_MAX).map(|name| module(name, name)).collect()
}

fn module(name: &str, folder: &str) -> Module {
    Module { name: name.to_string(), path_pattern: format!("{}/**", folder).trim_start_matches('/').to_string() }
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") }
}

/// Names of the folders in a folder, in order: neither hidden ones nor foreign ones nor links.
fn inside(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.') && !FOREIGN.contains(&name.as_str()));
    names.sort();
    names
}
