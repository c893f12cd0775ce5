//! The history of a workspace, read through the `git` command: its own code knows every form of repository, and whoever
//! has a repository has it.
//!
//! A repository is data of somebody else's, and its configuration can name programs to run. Whatever could do so in the
//! commands used here is switched off; what is read is bounded in bytes, in commits and in time.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use plumb_core::measure::Timestamp;

/// Commits that are read, the latest first.
const COMMITS_MAX: usize = 20_000;
/// Files of one commit. A commit that touches more moved everything and says nothing of anybody's work.
const FILES_MAX: usize = 500;
/// Bytes of output that are read.
const OUTPUT_MAX: u64 = 64 << 20;
/// How long one command may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// Bytes of a name, an address, a path.
const TEXT_BYTES_MAX: usize = 1_000;
/// What begins a commit in the output.
const BEGIN: char = '\u{1}';

/// Settings of a repository that would run something, or ask the network, switched off.
const HARMLESS: [&str; 5] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "core.pager=cat",
    "protocol.allow=never",
];

/// A commit: who, when, which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The author's name, as a mailmap has it.
    pub author: String,
    /// The author's address.
    pub email: String,
    /// When it was written.
    pub at: Timestamp,
    /// The files that it touched, from the root of the workspace.
    pub paths: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    pub repo_url: Option<String>,
    pub commits: Vec<Commit>,
    pub remark: Option<String>,
}

/// Reads the history of a folder.
pub(super) fn read(dir: &Path) -> Result<History, String> {
    let top = run(dir, &["rev-parse", "--is-inside-work-tree"])?;
    if top.bytes.trim_ascii() != b"true" {
        return Err("it is no work tree of git".to_string());
    }
    let url = run(dir, &["remote", "get-url", "origin"]).ok();
    let repo_url = url.map(|url| without_secret(String::from_utf8_lossy(&url.bytes).trim())).filter(|u| !u.is_empty());
    if run(dir, &["rev-parse", "--verify", "--quiet", "HEAD"]).is_err() {
        return Ok(History { repo_url, ..History::default() });
    }
    let most = format!("--max-count={COMMITS_MAX}");
    let format = format!("--format=tformat:{BEGIN}%aN%x00%aE%x00%at");
    let log = ["log", "-z", "--name-only", "--no-merges", "--no-ext-diff", "--relative", &most, &format, "--", "."];
    let output = run(dir, &log)?;
    let commits = parse(&String::from_utf8_lossy(&output.bytes));
    let remark = (output.is_cut || commits.len() >= COMMITS_MAX)
        .then(|| format!("of the history, the latest {} commits are read", commits.len()));
    Ok(History { repo_url, commits, remark })
}

struct Output {
    bytes: Vec<u8>,
    is_cut: bool,
}

/// Runs git in a folder and gives what it printed.
fn run(dir: &Path, args: &[&str]) -> Result<Output, String> {
    let mut command = Command::new("git");
    command.arg("--no-pager").arg("-C").arg(dir);
    for setting in HARMLESS {
        command.args(["-c", setting]);
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    // Whoever started this process may stand in another repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF"] {
        command.env_remove(name);
    }
    let mut child = command.spawn().map_err(|e| format!("`git` cannot be run ({e}); install it to read histories"))?;
    let (stdout, stderr) = (read_aside(child.stdout.take(), OUTPUT_MAX), read_aside(child.stderr.take(), 4096));
    let read = stdout.recv_timeout(DEADLINE);
    // What was cut off writes into a closed pipe and ends; what ran out of time is ended.
    let is_cut = read.as_ref().is_ok_and(|bytes| bytes.len() as u64 >= OUTPUT_MAX);
    if read.is_err() || is_cut {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    match read {
        Err(_) => Err(format!("`git {}` took longer than {} s", args[0], DEADLINE.as_secs())),
        Ok(bytes) if status.success() || is_cut => Ok(Output { bytes, is_cut }),
        Ok(_) => {
            let said = stderr.recv_timeout(DEADLINE).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            Err(said.lines().next().map_or_else(|| format!("git ended with {status}"), |line| line.trim().to_string()))
        }
    }
}

fn read_aside(pipe: Option<impl Read + Send + 'static>, max: u64) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What came before an error is what there is.
            let _ = pipe.take(max).read_to_end(&mut bytes);
        }
        let _ = send.send(bytes);
    });
    receive
}

/// The commits in the output of `git log -z`: name, address and second of the author, then the files, each ended by a
/// NUL. Where it is cut off, the last commit is as it stands there.
fn parse(output: &str) -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    let mut parts = output.split('\0');
    while let Some(part) = parts.next() {
        if let Some(author) = part.strip_prefix(BEGIN) {
            let (Some(email), Some(at)) = (parts.next(), parts.next()) else { break };
            let seconds: i64 = at.trim().parse().unwrap_or(0);
            commits.push(Commit {
                author: cut(author),
                email: cut(email),
                at: Timestamp(seconds.saturating_mul(1000)),
                paths: BTreeSet::new(),
            });
        } else if let Some(commit) = commits.last_mut() {
            let path = part.trim_start_matches('\n');
            if !path.is_empty() && path.len() <= TEXT_BYTES_MAX && commit.paths.len() <= FILES_MAX {
                commit.paths.insert(path.to_string());
            }
        }
    }
    for commit in &mut commits {
        if commit.paths.len() > FILES_MAX {
            commit.paths.clear();
        }
    }
    commits
}

fn cut(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(150).collect()
}

/// An address without what stands before the `@` of its host: people write tokens there.
fn without_secret(url: &str) -> String {
    let plain = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_string(),
    };
    plain.chars().filter(|c| !c.is_control()).take(TEXT_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_commit_by_commit() {
        let output =
            "\u{1}Ann B\0ann@x.org\x001700000000\0\nsrc/a.rs\0src/b c.rs\0\u{1}Bo\0bo@x.org\x001600000000\0\u{1}Cy\0";
        let commits = parse(output);
        assert_eq!(commits.len(), 2, "the last one is cut off");
        assert_eq!((commits[0].author.as_str(), commits[0].at.0), ("Ann B", 1_700_000_000_000));
        assert_eq!(commits[0].paths, ["src/a.rs", "src/b c.rs"].map(String::from).into());
        assert!(commits[1].paths.is_empty());
        assert!(parse("").is_empty() && parse("a\0b\0").is_empty());
        let wide = format!("\u{1}A\0a\01\0\n{}", (0..=FILES_MAX).map(|i| format!("f{i}\0")).collect::<String>());
        assert!(parse(&wide)[0].paths.is_empty(), "what touches everything touches nothing");
    }

    #[test]
    fn no_password_comes_out_of_an_address() {
        for (url, plain) in [
            ("https://bob:ghp_secret@git.example.org/a/b.git", "https://git.example.org/a/b.git"),
            ("https://token@git.example.org", "https://git.example.org"),
            ("ssh://git@git.example.org:22/a", "ssh://git.example.org:22/a"),
            ("git@git.example.org:a/b", "git@git.example.org:a/b"),
            ("/srv/git/a@b", "/srv/git/a@b"),
            ("https://git.example.org/@scope/x", "https://git.example.org/@scope/x"),
        ] {
            assert_eq!(without_secret(url), plain);
        }
    }
}
