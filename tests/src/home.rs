//! Homes of nodes: made, certified, and commands run in them.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Outcome, finish};
use crate::{plumb_binary, view};

/// Longest that an ordinary command may take; a debug build on a busy machine is slow.
const COMMAND_TIME: Duration = Duration::from_secs(120);

/// The passphrase of every root.
pub const ROOT_PASSPHRASE: &str = "a passphrase for tests";

/// An organisation: a root key in a directory of its own, as on somebody's USB stick.
#[derive(Debug)]
pub struct Organisation {
    /// Its name.
    pub name: String,
    /// Its root: a `did:key`.
    pub did: String,
    /// Where the root lies.
    pub root: PathBuf,
}

impl Organisation {
    /// Makes the root key below `scratch`.
    pub fn found(scratch: &Path, name: &str) -> Organisation {
        let root = scratch.join(format!("root-{}", name.to_lowercase().replace(' ', "-")));
        let made = plumb(scratch, ["org", "init", name, "--root"].map(OsStr::new), [root.as_os_str()]).expect(0);
        Organisation { name: name.to_string(), did: view::text(&made, "/organisation").to_string(), root }
    }

    /// A certified node of this organisation, in a home of its own below `scratch`.
    pub fn node(&self, scratch: &Path, department: &str, person: &str) -> Home {
        let home = Home::join(scratch, &self.name, department, person);
        self.certify(&home);
        home
    }

    /// Certifies whoever made a request of its own, in whatever language; the certificate goes into a file.
    pub fn certify_request(&self, scratch: &Path, request: &Path, certificate: &Path) {
        let args = ["org".as_ref(), "certify".as_ref(), request.as_os_str(), "--root".as_ref(), self.root.as_os_str()];
        plumb(scratch, args, ["--out".as_ref(), certificate.as_os_str()]).expect(0);
    }

    /// Certifies a home that asks for it.
    pub fn certify(&self, home: &Home) {
        self.certify_with(home, &[]);
    }

    /// Certifies a home with further terms, such as `--capability search`.
    pub fn certify_with(&self, home: &Home, terms: &[&str]) -> Value {
        let request = home.request().into_os_string();
        let args = ["org".as_ref(), "certify".as_ref(), request.as_os_str(), "--root".as_ref(), self.root.as_os_str()];
        let install = ["--install".as_ref(), home.dir.as_os_str()];
        plumb(&home.scratch, args, install.into_iter().chain(terms.iter().map(OsStr::new))).expect(0)
    }

    /// Runs `plumb org VERB … --root` for this organisation, without a home, and requires its exit code.
    pub fn org(&self, scratch: &Path, args: &[&str], code: i32) -> Value {
        let args = ["org"].iter().chain(args).map(OsStr::new);
        plumb(scratch, args, ["--root".as_ref(), self.root.as_os_str()]).expect(code)
    }
}

/// A home. Commands run in it with `--json`, in an empty working directory and an environment without `PLUMB_*`.
#[derive(Clone, Debug)]
pub struct Home {
    /// The directory.
    pub dir: PathBuf,
    scratch: PathBuf,
}

impl Home {
    /// A home that asks `org` to be let in, and is not certified yet.
    pub fn join(scratch: &Path, org: &str, department: &str, person: &str) -> Home {
        let dir = scratch.join(format!("{}-{department}", org.to_lowercase().replace(' ', "-")));
        let home = Home { dir, scratch: scratch.to_path_buf() };
        home.ok(&["init", "--org", org, "--department", department, "--person", person, "--join"]);
        home
    }

    /// A home at a place where one already is, such as a copy.
    pub fn at(scratch: &Path, dir: &Path) -> Home {
        Home { dir: dir.to_path_buf(), scratch: scratch.to_path_buf() }
    }

    /// Copies the whole directory to another place. No process may have it open.
    pub fn copy_to(&self, name: &str) -> Home {
        let dir = self.scratch.join(name);
        copy_tree(&self.dir, &dir);
        Home { dir, scratch: self.scratch.clone() }
    }

    /// Where this home's files of logs and readiness may lie.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Lets this home trust an organisation.
    pub fn trust(&self, org: &Organisation) {
        self.ok(&["trust", "add", &org.did, "--name", &org.name]);
    }

    /// Adds a person to the configuration, with their departments.
    pub fn add_person(&self, id: &str, departments: &[&str]) {
        let departments: Vec<String> = departments.iter().map(|d| format!("\"department-{d}\"")).collect();
        let person = format!("\n[[people]]\nid = \"{id}\"\nteams = []\ndepartments = [{}]\n", departments.join(", "));
        let file = std::fs::OpenOptions::new().append(true).open(self.dir.join("plumb.toml"));
        file.and_then(|mut f| f.write_all(person.as_bytes())).expect("plumb.toml takes another person");
    }

    /// Runs a command here, whatever its exit code.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Outcome {
        self.run_within(COMMAND_TIME, args)
    }

    /// The same with a deadline of its own.
    #[track_caller]
    pub fn run_within<S: AsRef<OsStr>>(&self, deadline: Duration, args: &[S]) -> Outcome {
        let mut command = bare(&self.scratch);
        command.args(args).arg("--home").arg(&self.dir).arg("--json");
        finish(command, deadline)
    }

    /// Runs a command that must succeed, and gives its JSON.
    #[track_caller]
    pub fn ok<S: AsRef<OsStr>>(&self, args: &[S]) -> Value {
        self.run(args).expect(0)
    }

    /// What a command that must succeed shows to a person.
    #[track_caller]
    pub fn shown<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let mut command = bare(&self.scratch);
        command.args(args).arg("--home").arg(&self.dir);
        let outcome = finish(command, COMMAND_TIME);
        assert_eq!(outcome.code, 0, "exit code of {outcome}");
        String::from_utf8(outcome.stdout).expect("what is shown is text")
    }

    fn request(&self) -> PathBuf {
        self.dir.join("node.request.json")
    }
}

/// The binary in an environment that knows of no home.
pub(crate) fn bare(scratch: &Path) -> Command {
    clean(Command::new(plumb_binary()), scratch)
}

/// The same in a network namespace. `ip` becomes the binary, so the process is the node itself.
pub(crate) fn inside(namespace: &str, scratch: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(plumb_binary());
    clean(command, scratch)
}

fn clean(mut command: Command, scratch: &Path) -> Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PLUMB_")) {
        command.env_remove(name);
    }
    command.env("PLUMB_ROOT_PASSPHRASE", ROOT_PASSPHRASE);
    // Vectors cost each home a model in memory and each chunk its embedding. The tests about them turn them on.
    command.env("PLUMB_SEARCH_MODEL", "off");
    command.env("HOME", scratch).env("XDG_DATA_HOME", scratch.join("no-home-here")).current_dir(scratch);
    command
}

/// Runs a command that needs no home.
fn plumb<'a>(
    scratch: &Path,
    args: impl IntoIterator<Item = &'a OsStr>,
    more: impl IntoIterator<Item = &'a OsStr>,
) -> Outcome {
    let mut command = bare(scratch);
    command.args(args).args(more).arg("--json");
    finish(command, COMMAND_TIME)
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("the home can be read") {
        let entry = entry.expect("the home can be read");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("a file has a type");
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}
